"""The tools as methods, for Python programs: `from winnow import Workspace`.

A thin front end: it opens an engine workspace and calls tools by name. `tool_methods.pyi`, which is
generated from the tools, has the methods' types for type checkers and editors.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from winnow import config as configuration
from winnow.errors import InvalidParams
from winnow.frontends import config_files
from winnow.search.index.background import IndexKeeper
from winnow.storage.state_folder import User, notices
from winnow.text.search_roots import repository_root
from winnow.tools import TOOLS
from winnow.tools.registry import Tool
from winnow.types import Progress, Result, no_progress
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.frontends.tool_methods import ToolMethods
else:
    ToolMethods = object

Settings = Mapping[str, Any]


class Workspace(ToolMethods):
    """Folders to search, with a method for every tool.

        async with Workspace("path/to/project") as workspace:
            found = await workspace.grep("load_plugin", max_results=5)

    Args:
        folders: The folders to search; by default the current folder.
        settings: Overrides the user's and the workspace's settings, such as
            ``{"llm": {"enabled": False}}``; see docs/settings.md.
        environment: Supplies the keys of models and is inherited by child processes; by default
            this process's environment.

    Raises:
        ValueError: A setting is invalid.

    Attributes:
        folders: The absolute paths of the folders.
        problems: Errors in the user's and the workspace's settings files, whose values are not
            used, and notices about `.winnow` folders that are ignored because Winnow did not
            create them for this user.
    """

    def __init__(
        self,
        *folders: str | os.PathLike[str],
        settings: Settings | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folders = [Path(os.path.abspath(folder)) for folder in folders or ["."]]
        self._environment = dict(os.environ if environment is None else environment)
        config, self.problems = config_files.load(
            self._environment, repository_root(self.folders[0])
        )
        self._config, wrong = configuration.merge_layer(config, settings or {}, "settings")
        if wrong:
            raise ValueError("; ".join(wrong))
        user = User.of(self._environment, self._config.index.location)
        self.problems += notices(map(repository_root, self.folders), user)
        self._engine: EngineWorkspace | None = None
        self._keeper: IndexKeeper | None = None

    async def __aenter__(self) -> Workspace:
        if self._engine is not None:
            raise RuntimeError("the workspace is already open")
        self._engine = EngineWorkspace(
            self.folders, self._config, self._environment, index_seconds=0
        )
        self._keeper = IndexKeeper(self._engine)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End running calls and the work on the index, and save the search history."""
        engine, self._engine = self._engine, None
        if self._keeper is not None:
            await self._keeper.aclose()
        if engine is not None:
            await engine.aclose()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: Progress = no_progress
    ) -> Result:
        """Call a tool by name and return its result.

        Args:
            tool: The name, such as ``"keyword_search"``.
            arguments: The params, as plain data, structs or paths.
            progress: Receives progress messages, and partial results if it is ``streaming``.

        Raises:
            SearchError: An error the caller can act on. Its ``message`` suggests a fix, and its
                ``data["kind"]`` is the kind of error.
            RuntimeError: The workspace is not open.
        """
        if self._engine is None:
            raise RuntimeError("the workspace is not open: async with Workspace(…) as workspace")
        if tool not in TOOLS:
            raise InvalidParams("tool", f"unknown tool {tool[:100]!r}")
        result: Result = await TOOLS[tool].call(self._engine, _plain(arguments), progress)
        return result

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Result]]:
            if name not in TOOLS:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return _method(self, TOOLS[name])

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *TOOLS})


def _plain(value: Any) -> Any:
    """Convert a value to plain data, which the tool validates."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(one) for one in value]
    return value


def _method(
    workspace: Workspace, tool: Tool[Any, Any]
) -> Callable[..., Coroutine[Any, Any, Result]]:
    """Return a method that calls a tool. Required params may be positional, others are named."""
    signature = signature_of(tool)

    async def method(*arguments: Any, **named: Any) -> Result:
        return await workspace.call(tool.name, signature.bind(*arguments, **named).arguments)

    method.__name__ = tool.name
    method.__qualname__ = f"Workspace.{tool.name}"
    method.__doc__ = tool.description
    method.__signature__ = signature  # type: ignore[attr-defined]
    return method


def signature_of(tool: Tool[Any, Any]) -> inspect.Signature:
    """Return the signature of a tool's method, without types."""
    fields = sorted(tool.fields, key=lambda field: not field.required)
    return inspect.Signature(
        [
            inspect.Parameter(field.name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            if field.required
            else inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default
            )
            for field in fields
        ]
    )
