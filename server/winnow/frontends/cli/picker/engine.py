"""Run the searches of the picker in this process.

Separate because it loads the engine, which the background process has loaded already.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from winnow.errors import SearchError
from winnow.frontends import config_files
from winnow.frontends.cli.call import INDEX_SECONDS, notices_for
from winnow.search.index.background import IndexKeeper
from winnow.text.search_roots import repository_root
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.tools.index_status import IndexStatusResult
from winnow.tools.read_file import ReadFileResult
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace


class Engine:
    """An open workspace whose index is built and kept current meanwhile. Created inside a running
    event loop."""

    def __init__(self, folder: Path) -> None:
        config, problems = config_files.load(os.environ, repository_root(folder))
        self._workspace = EngineWorkspace([folder], config, index_seconds=INDEX_SECONDS)
        self._keeper = IndexKeeper(self._workspace)
        self.notices = notices_for(self._workspace, problems)

    async def search(
        self, params: Mapping[str, Any], notify: Callable[[str], object]
    ) -> CodeSearchResult:
        """Return the result of a search. Raise SearchError."""
        self._keeper.begin_if_indexed()
        result = await TOOLS["code_search"].call(self._workspace, params, _Waits(notify))
        assert isinstance(result, CodeSearchResult)
        return result

    async def read(self, params: Mapping[str, Any]) -> ReadFileResult:
        """Return lines of a file. Raise SearchError."""
        result = await TOOLS["read_file"].call(self._workspace, params, no_progress)
        assert isinstance(result, ReadFileResult)
        return result

    async def index_status(self) -> IndexStatusResult:
        """Return the status of the index. Raise SearchError."""
        result = await TOOLS["index_status"].call(self._workspace, {}, no_progress)
        assert isinstance(result, IndexStatusResult)
        return result

    async def feedback(self, params: Mapping[str, Any]) -> None:
        """Record that the user has opened a result."""
        with contextlib.suppress(SearchError):
            await TOOLS["feedback"].call(self._workspace, params, no_progress)

    async def aclose(self) -> None:
        """End the work on the index, and save the search history."""
        await self._keeper.aclose()
        await self._workspace.aclose()


class _Waits(Progress):
    """Passes on why a search waits."""

    def __init__(self, notify: Callable[[str], object]) -> None:
        self._notify = notify

    @contextlib.contextmanager
    def waiting(self, notice: str) -> Iterator[asyncio.Event]:
        self._notify(notice)
        yield asyncio.Event()
