"""Call a tool for a command, which this process or another one was started with.

The background process calls tools for other processes, so nothing here uses this process's streams
or working folder: both come from the caller.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from winnow.config.globs import GLOB_CHARACTERS, escaped, glob_regex
from winnow.errors import InvalidParams, SearchError
from winnow.frontends.cli import ripgrep_flags
from winnow.frontends.cli.grep_output import GrepOutput
from winnow.frontends.cli.guarded import FAILED, FOUND, NOTHING_FOUND
from winnow.search.shared.place import shared_place
from winnow.storage.paths import shown_path
from winnow.storage.state_folder import new_notices
from winnow.text.paths import (
    Located,
    is_symbol_name,
    lines_of_part,
    locate,
    member_of,
    path_of_uri,
    place_of,
)
from winnow.text.sanitize import printable
from winnow.text.scope import Filters
from winnow.text.search_roots import repository_root
from winnow.text.selection import file_types, unknown_file_type
from winnow.tools.grep import GrepPartial, GrepResult
from winnow.tools.registry import Tool
from winnow.tools.terminal import Style
from winnow.tools.wording import for_people, worded
from winnow.types import Answer, Progress, Result
from winnow.workspace import EngineWorkspace

Write = Callable[[str], object]
Opened = AbstractAsyncContextManager[EngineWorkspace]


# How long a search waits at most for the index that it has begun, in seconds.
INDEX_SECONDS = 10.0
# Without a terminal, a command says that it waits for the index after this time, in seconds: the
# index of a small folder takes less.
NOTICE_SECONDS = 1.0

# Returns an event that is set when the user presses Ctrl-C within the block.
Interrupts = Callable[[], AbstractContextManager[asyncio.Event]]


class Caller(NamedTuple):
    """The process that a command was started with: its working folder, the style of its standard
    output, `write` for its standard error, whether that is a terminal, and its interrupts."""

    folder: Path
    style: Style
    write: Write
    is_terminal: bool
    interrupts: Interrupts


class Outcome(NamedTuple):
    """The exit code of a command and its output."""

    code: int
    output: str
    errors: str = ""


async def call(
    tool: Tool[Any, Any], options: argparse.Namespace, caller: Caller, opened: Opened
) -> Outcome:
    """Call a tool with the options of a command, in the workspace that ``opened`` opens."""
    if (color := getattr(options, "color", "auto")) != "auto":
        caller = caller._replace(style=Style(color == "always"))
    try:
        raw = params_of(tool, options, caller.folder)
        with contextlib.closing(_Status(caller)) as status:
            async with opened as workspace:
                if names := getattr(options, "types_not", None):
                    raw["exclude"] += await _globs_of_types(workspace, names)
                if tool.name == "grep" and options.format == "text":
                    root, folder = workspace.shown_root, str(caller.folder)
                    status.show(GrepOutput(options, root, folder, caller.style))
                result: Result = await tool.call(workspace, raw, status)
    except SearchError as error:
        return _failed(tool, error, options.format)
    found = getattr(result, "done", None) or getattr(result, "returned", 1)
    code = FOUND if found else NOTHING_FOUND
    if isinstance(result, GrepResult) and status.output is not None:
        errors = _problems(result) if options.form else ""
        return Outcome(code, status.output.finished(result), errors)
    return Outcome(code, _rendered(tool, result, options.format, caller, raw) + "\n")


async def _globs_of_types(workspace: EngineWorkspace, names: Sequence[str]) -> list[str]:
    """Return the globs of ripgrep's file types. Raise InvalidParams."""
    types = await file_types(workspace.run_ripgrep(), workspace.scope(Filters()).root)
    for name in names:
        if name not in types:
            raise unknown_file_type("file_types", name, types)
    return [glob for name in names for glob in types[name]]


def _problems(result: GrepResult) -> str:
    """Return why the records on standard output may not be all, as lines of standard error."""
    reasons = list(result.completeness.reasons)
    if result.truncated and not reasons:
        reasons.append(f"shortened: {result.returned} of {result.total_found}")
    return "".join(f"winnow grep: {printable(reason)}\n" for reason in reasons)


def params_of(tool: Tool[Any, Any], options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return a tool's params, as plain data."""
    named = {
        field.name: value
        for field in tool.fields
        if (value := getattr(options, field.name)) is not None
    }
    raw: dict[str, Any] = {**tool.for_people, **named}
    if tool.name == "grep":
        raw |= ripgrep_flags.params_of_grep(options)
    if tool.takes_paths:
        _add_scope(raw, options, folder)
    elif path := raw.get("path"):
        is_read = tool.name == "read_file" and (
            raw.get("repository") or _is_shared(path, folder) or _names_a_symbol(path, folder)
        )
        raw["path"] = path if is_read else _from_folder(path, folder)
    return raw


def _is_shared(path: str, folder: Path) -> bool:
    """Return True for a place in a repository of a cluster, such as `team/project:a.py`."""
    return shared_place(path) is not None and not _exists(path, folder)


def _exists(path: str, folder: Path) -> bool:
    """Return True if a folder has a file, which a path may name with lines or a symbol, such as
    `a.py:12` or `a.py:send`."""
    file, *_ = place_of(path) or member_of(path) or (path,)
    return any(os.path.lexists(folder / name) for name in (path, file))


def _names_a_symbol(path: str, folder: Path) -> bool:
    """Return True for the name of a symbol, such as `Client.send`, where a path is expected."""
    if not is_symbol_name(path) or os.path.lexists(folder / path):
        return False
    # The languages take time to load.
    from winnow.symbols.language import language_of

    is_below = os.path.lexists(repository_root(folder) / path)
    return not is_below and language_of(path) is None


def _add_scope(raw: dict[str, Any], options: argparse.Namespace, folder: Path) -> None:
    """Add the paths and globs of a command to a tool's params. Raise SearchError."""
    root = repository_root(folder)
    paths = [_from_folder(path, folder) for path in options.path]
    included, excluded = ripgrep_flags.relative_globs(options.globs or [], str(folder), str(root))
    raw["include"] = [*(raw.get("include") or ()), *included]
    raw["exclude"] = [*(raw.get("exclude") or ()), *excluded]
    if len(paths) == 1:
        raw["path"] = paths[0]
        return
    raw.pop("path", None)
    if paths:
        below = [locate(path, [root]) for path in paths]
        if any(map(lines_of_part, below)):
            raise InvalidParams("path", "lines, as in `a.py:12-40`, need a single path")
        within = [_glob_of(one) for one in below if one.below != "."]
        if len(within) == len(paths):
            raw["include"] = _intersected(raw["include"], within)


def _glob_of(located: Located) -> str:
    """Return a glob of all files of a path."""
    return f"/{escaped(located.below)}" + ("/**" if os.path.isdir(located.real) else "")


def _intersected(globs: Sequence[str], within: Sequence[str]) -> list[str]:
    """Return globs of the files that match one of both. Raise InvalidParams."""
    if not globs:
        return list(within)
    both = []
    for glob in globs:
        if "/" in glob:
            raise InvalidParams("include", "a glob with / needs a single path")
        for one in within:
            is_folder, name = one.endswith("/**"), one.rpartition("/")[2]
            if is_folder:
                both.append(f"{one}/{glob}")
            elif glob_regex(glob).fullmatch(name):
                both.append(one)
    return both or ["/"]


def _from_folder(path: str, folder: Path) -> str:
    """Return a path that is relative to the caller's folder, unless it exists only relative to the
    repository's root."""
    is_uri = re.match(r"[\w-]{2,}:/", path)
    is_glob = GLOB_CHARACTERS.intersection(path) and not is_uri
    root = repository_root(folder)
    means_root = is_uri or root == folder or _exists(path, root)
    if _exists(path, folder) or is_glob or not means_root:
        return shown_path(os.path.abspath(os.path.join(folder, path)))[0]
    return path


def folder_named(path: str, folder: Path) -> Path | None:
    """Return the folder of an existing path: the path itself, or the folder of a file."""
    path = path_of_uri(path) or path
    path = path and os.path.join(folder, path)
    if not path or not os.path.exists(path):
        return None
    return Path(path if os.path.isdir(path) else os.path.dirname(path))


def notices_for(workspace: EngineWorkspace, problems: Iterable[str]) -> str:
    """Return the problems of settings files and new notices, as lines of standard error."""
    notices = [*problems, *new_notices(workspace.roots(), workspace.user)]
    return "".join(f"winnow: {notice}\n" for notice in notices)


def _rendered(
    tool: Tool[Any, Any], result: Result, form: str, caller: Caller, raw: Mapping[str, Any]
) -> str:
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(result)).decode()
    if form == "plain":
        return tool.plain(result)
    if isinstance(result, Answer):
        result = worded(result, for_people)
    style = caller.style.highlighting(raw.get("query", ""))
    return tool.text(result, style, str(caller.folder))


def _failed(tool: Tool[Any, Any], error: SearchError, form: str) -> Outcome:
    output = ""
    if form == "json":
        output = msgspec.json.encode({"error": {"message": error.message, **error.data}}).decode()
        output += "\n"
    command = f"winnow {tool.command}"
    errors = f"{command}: {for_people(error.message)}\n"
    if isinstance(error, InvalidParams):
        errors += f"Try '{command} --help'.\n"
    return Outcome(FAILED, output, errors)


class _Status(Progress):
    """Progress as one line of a terminal that is overwritten; without a terminal only the reason
    for a long wait."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._hint = "…"
        self.output: GrepOutput | None = None

    def show(self, output: GrepOutput) -> None:
        """Add partial results to an output."""
        self.output, self.streaming = output, True

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        if self.output is not None and isinstance(partial, GrepPartial):
            self.output.add(partial)
        if self._caller.is_terminal:
            self._caller.write(f"\r\x1b[K{message}{self._hint}")

    @contextlib.contextmanager
    def waiting(self, notice: str) -> Iterator[asyncio.Event]:
        if self._caller.is_terminal:
            with self._caller.interrupts() as interrupted:
                self._hint = " (Ctrl-C skips the wait)"
                try:
                    yield interrupted
                finally:
                    self._hint = "…"
            return
        line = f"winnow: {notice}\n"
        timer = asyncio.get_running_loop().call_later(NOTICE_SECONDS, self._caller.write, line)
        try:
            yield asyncio.Event()
        finally:
            timer.cancel()

    def close(self) -> None:
        if self._caller.is_terminal:
            self._caller.write("\r\x1b[K")
