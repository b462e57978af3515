"""Run the searches of the picker: in the background process, or in this one if there is none."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from winnow.errors import SearchError
from winnow.frontends.background import from_event_loop
from winnow.frontends.cli.guarded import FAILED
from winnow.frontends.cli.picker.state import Answer, Choice, Row
from winnow.processes.waiting import wait_within
from winnow.text.sanitize import printable

if TYPE_CHECKING:
    from winnow.frontends.cli.picker.engine import Engine

ENGINE = "winnow.frontends.cli.picker.engine"
# More results than people look at; a better query is the faster way.
ROWS = 30
# Lines to read of a file: the limit of the tool.
MOST_LINES = 10_000
# How often to look whether the index is complete.
POLL_SECONDS = 1.0
# How long the picker stays open at most to record the chosen row.
FEEDBACK_SECONDS = 1.0
Notify = Callable[[str], object]


class SharedFile(NamedTuple):
    """The text of a file of the search cluster, and the same file of the workspace, if any."""

    text: str
    local: str | None


class SearchFailed(Exception):
    """A search has failed; the message says why."""


class Searches:
    """Runs searches in the current folder. Created and closed inside a running event loop."""

    def __init__(self) -> None:
        self._folder = Path.cwd()
        self._ready = asyncio.create_task(_prepare(self._folder))
        self._engine: Engine | None = None
        # Problems of settings and the like: told once, or with each answer.
        self._notices: dict[str, None] = {}

    async def search(self, query: str, notify: Notify) -> Answer:
        """Return the answer to a query. ``notify`` gets a reason to wait. Raise SearchFailed."""
        # The command of the same search, which answers the same.
        command = ["search", "--format=json", f"--limit={ROWS}", "--", query]
        await asyncio.shield(self._ready)
        # Loads all tools.
        from winnow.frontends.cli.picker import answers

        done = None
        if self._engine is None:
            done = await from_event_loop.run(command, lambda line: notify(_plain(line)))
        if done is None:
            engine = await self._opened_engine()
            try:
                result = await engine.search({"query": query, "limit": ROWS}, notify)
            except SearchError as error:
                raise SearchFailed(error.message) from None
        elif done.code == FAILED:
            raise SearchFailed(answers.problem_of(done.output, done.errors))
        else:
            self._take_notices(done.errors)
            result = answers.decoded(done.output)
        answer = answers.answer_of(result, query, str(self._folder))
        return answer._replace(notes=[*answer.notes, *self._notices])

    async def read(self, row: Row, first: int = 1, most: int = MOST_LINES) -> SharedFile:
        """Return a file of the search cluster, from a line on. Raise SearchFailed."""
        from winnow.frontends.cli.picker import answers

        where = {"repository": row.repository, "commit": row.commit}
        command = ["read", "--format=json", f"--limit={most}", f"--spans={first}-"]
        command += [*(f"--{name}={value}" for name, value in where.items()), "--", row.file]
        done = None if self._engine else await from_event_loop.run(command, lambda line: None)
        if done is None:
            params = {**where, "path": row.file, "max_lines": most, "spans": [f"{first}-"]}
            engine = await self._opened_engine()
            try:
                result = await engine.read(params)
            except SearchError as error:
                raise SearchFailed(error.message) from None
        elif done.code == FAILED:
            raise SearchFailed(answers.problem_of(done.output, done.errors))
        else:
            result = answers.decoded_file(done.output)
        text = "".join(chunk.content for chunk in result.chunks)
        local = None if result.repository else os.path.join(result.root, result.path)
        return SharedFile(text, local)

    async def wait_for_index(self) -> None:
        """Wait until the index is no longer being built."""
        is_building = True
        while is_building:
            await asyncio.sleep(POLL_SECONDS)
            is_building = await self._is_building()

    async def _is_building(self) -> bool:
        from winnow.frontends.cli.picker import answers

        if self._engine is not None:
            try:
                status = await self._engine.index_status()
            except SearchError:
                return False
            return answers.is_building(status.completeness)
        done = await from_event_loop.run(["index-status", "--format=json"], lambda line: None)
        if done is None:  # the process is too busy to answer
            return True
        if done.code == FAILED:
            return False
        return answers.is_building(answers.decoded_status(done.output).completeness)

    async def record(self, choice: Choice) -> None:
        """Record that the user has opened a row, for later rankings of the workspace's files."""
        if choice.row.repository:
            return
        found = {"search_id": choice.search_id, "path": choice.row.file, "rank": choice.rank}
        with contextlib.suppress(asyncio.TimeoutError):
            await wait_within(self._record(found), FEEDBACK_SECONDS)

    async def aclose(self) -> None:
        """End running work."""
        self._ready.cancel()
        await asyncio.gather(self._ready, return_exceptions=True)
        if self._engine is not None:
            await self._engine.aclose()

    async def _record(self, found: Mapping[str, Any]) -> None:
        if self._engine is not None:
            await self._engine.feedback({**found, "action": "opened"})
            return
        command = ["feedback", f"--rank={found['rank']}", "--"]
        command += [found["search_id"], found["path"], "opened"]
        await from_event_loop.run(command, lambda line: None)

    def _take_notices(self, lines: str) -> None:
        self._notices.update(dict.fromkeys(map(_plain, lines.splitlines())))

    async def _opened_engine(self) -> Engine:
        """Open the engine in this process, which runs all further searches."""
        if self._engine is None:
            await asyncio.to_thread(importlib.import_module, ENGINE)
            from winnow.frontends.cli.picker.engine import Engine

            self._engine = Engine(self._folder)
            self._take_notices(self._engine.notices)
        return self._engine


def _plain(line: str) -> str:
    """Return a line of standard error without the name of the program."""
    return printable(line.strip().removeprefix("winnow: "))


async def _prepare(folder: Path) -> None:
    """Do what the first search needs, while the user types: start the background process, unless
    there is one, and import what reads its answers."""
    control = await asyncio.to_thread(_imported)
    started = await asyncio.to_thread(control.start, folder, os.environ)
    end = time.monotonic() + control.START_SECONDS
    while started and time.monotonic() < end:
        if await asyncio.to_thread(started.is_ready) or started.has_ended():
            return
        await asyncio.sleep(control.POLL_SECONDS)


def _imported() -> ModuleType:
    from winnow.frontends.background import control
    from winnow.frontends.cli.picker import answers  # noqa: F401
    from winnow.tools import terminal

    terminal.word_pattern("")  # loads the stemmer
    return control
