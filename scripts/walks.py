"""Print the packages of the server that a request passes through, and its callbacks.

    python scripts/walks.py [REQUEST…]

Each request runs on a small project with an index, under a profiler that follows one value: a call
counts if an argument is this value or contains it. A call into a package above the caller's package
(`structure.ORDER`) is a callback, because imports go one way.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import msgspec

import structure

sys.path.insert(0, str(structure.ROOT / "server"))

from winnow.tools import TOOLS
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

PACKAGE = structure.ROOT / "server/winnow"
FILES = {
    "src/loader.py": "def load_plugin(name):\n    return name\n",
    "src/main.py": "from loader import load_plugin\n\nload_plugin('a')\n",
    "docs/plugins.md": "# Plugins\n\nHow plugins are loaded when the program starts.\n",
}
DEPTH = 3  # a list in a struct in a list
# Every package uses these; they are not counted.
VOCABULARY = ("errors", "config", "types")


class Walk:
    """A profiler that records the calls which receive one value.

    With ``until``, recording ends at the first call of that function.
    """

    def __init__(self, value: object, until: str = "") -> None:
        self.calls: dict[tuple[str, str], None] = {}
        self.packages: dict[str, None] = {}
        self._value = value
        self._until = until
        self._ended = False
        self._seen: set[tuple[CodeType | None, CodeType]] = set()

    def __enter__(self) -> Walk:
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or self._ended or not (callee := _module(code)):
            return
        caller = _caller(frame)
        key = (caller.f_code if caller else None, code)
        if key in self._seen:
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if not any(holds(frame.f_locals.get(name), self._value) for name in names):
            return
        self._seen.add(key)
        if structure.entry(callee) not in VOCABULARY:
            self.packages.setdefault(structure.entry(callee))
        if caller is not None:
            where = f"{_module(caller.f_code)}.{caller.f_code.co_name}"
            self.calls.setdefault((where, f"{callee}.{code.co_name}"))
        self._ended = f"{callee}.{code.co_name}" == self._until

    def callbacks(self) -> Iterator[tuple[str, str]]:
        """Yield the calls into a package above the caller's."""
        places = {name: place for place, name in enumerate(structure.ORDER)}
        for caller, callee in self.calls:
            if places[structure.entry(callee)] > places[structure.entry(caller)]:
                yield caller, callee


def holds(container: object, value: object, depth: int = DEPTH) -> bool:
    """Return True if an object is the value, or a container or struct that holds it."""
    if container is value:
        return True
    if depth == 0 or isinstance(container, str | bytes | EngineWorkspace):
        return False
    inner: Any = ()
    if isinstance(container, list | tuple | set | frozenset):
        inner = list(container)[:50]
    elif isinstance(container, Mapping):
        inner = list(container.values())[:50]
    elif isinstance(container, msgspec.Struct):
        inner = [getattr(container, name, None) for name in container.__struct_fields__]
    elif dataclasses.is_dataclass(container):
        inner = [getattr(container, field.name, None) for field in dataclasses.fields(container)]
    return any(holds(part, value, depth - 1) for part in inner)


def _module(code: CodeType) -> str:
    """Return the dotted module of code of the server; empty for other code."""
    path = Path(code.co_filename)
    if not code.co_filename.startswith(str(PACKAGE)):
        return ""
    return ".".join(["winnow", *path.relative_to(PACKAGE).with_suffix("").parts])


def _caller(frame: FrameType) -> FrameType | None:
    above = frame.f_back
    while above is not None and not _module(above.f_code):
        above = above.f_back
    return above


async def _call(workspace: EngineWorkspace, tool: str, **params: object) -> None:
    await TOOLS[tool].call(workspace, params, no_progress)


def _text(text: str) -> str:
    """Return a new string object, so that its identity is unique."""
    return "".join(list(text))


async def keyword_search(workspace: EngineWorkspace) -> Walk:
    """Follow a search term from the tool to ripgrep."""
    term = _text("load_plugin")
    with Walk(term, until="winnow.processes.children.start") as walk:
        await _call(
            workspace,
            "keyword_search",
            query="how plugins load",
            search_terms=[term],
            ranker="local",
        )
    return walk


async def semantic_search(workspace: EngineWorkspace) -> Walk:
    """Follow the query of a semantic search."""
    query = _text("how are plugins loaded")
    with Walk(query) as walk:
        await _call(workspace, "semantic_search", query=query)
    return walk


async def code_search(workspace: EngineWorkspace) -> Walk:
    """Follow the workspace through a code search."""
    with Walk(workspace) as walk:
        await _call(workspace, "code_search", query="how are plugins loaded")
    return walk


async def references(workspace: EngineWorkspace) -> Walk:
    """Follow the name of a references request."""
    name = _text("load_plugin")
    with Walk(name) as walk:
        await _call(workspace, "find_references", name=name)
    return walk


async def saved_file(workspace: EngineWorkspace) -> Walk:
    """Follow the path of a saved file."""
    path = workspace.folders[0] / "src/main.py"
    with Walk(path) as walk:
        workspace.files_changed([path])
        await workspace.index.build()
    return walk


WALKS: Mapping[str, Callable[[EngineWorkspace], Awaitable[Walk]]] = {
    function.__name__: function
    for function in (keyword_search, semantic_search, code_search, references, saved_file)
}


def _write(folder: Path) -> None:
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


@contextlib.asynccontextmanager
async def opened() -> AsyncIterator[EngineWorkspace]:
    """Open a small project with an index."""
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder, "project"))
        workspace = EngineWorkspace([Path(folder, "project")], environment={"HOME": folder})
        try:
            await workspace.index.build()
            yield workspace
        finally:
            await workspace.aclose()


async def main(names: list[str]) -> None:
    """Run the requests and print their walks."""
    async with opened() as workspace:
        for name in names or WALKS:
            await WALKS[name](workspace)  # lazy imports come first
            walk = await WALKS[name](workspace)
            callbacks = list(walk.callbacks())
            counts = f"{len(walk.packages)} packages, {len(callbacks)} callbacks"
            print(f"{name}: {counts}: {' → '.join(walk.packages)}")
            for caller, callee in callbacks:
                print(f"  callback: {caller} → {callee}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
