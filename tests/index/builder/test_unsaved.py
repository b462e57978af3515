"""Unsaved documents: each is indexed once, and belongs to the request that needs it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import cast

from winnow.index.builder.folder_settings import FolderSettings
from winnow.index.builder.unsaved import UnsavedFile, UnsavedFiles
from winnow.index.builder.workers import IndexWorkers
from winnow.index.store.file_record import FileRecord, FileState, IndexJob

SETTINGS = FolderSettings(max_bytes=100, max_parsed=100, max_size_mb=1, threshold=0)
FACTS = FileRecord(FileState(0, 0, 0), "python")


class Slowly:
    """Workers that index a document when the test lets them."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.may = {b"a": asyncio.Event(), b"b": asyncio.Event()}

    async def extract(
        self, jobs: Sequence[IndexJob], urgent: bool = False
    ) -> AsyncGenerator[tuple[IndexJob, FileRecord | None], None]:
        for job in jobs:
            self.asked.append(job.path)
            await self.may[job.path].wait()
            yield job, FACTS


async def turns() -> None:
    """Run all tasks until they wait for something other than their turn."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_a_request_keeps_documents_that_another_request_drops() -> None:
    workers = Slowly()
    documents = UnsavedFiles(cast(IndexWorkers, workers), lambda: SETTINGS)
    query = asyncio.create_task(documents.known({"a": "one", "b": "two"}))
    workers.may[b"a"].set()
    await turns()
    assert await documents.known({}) == {}
    workers.may[b"b"].set()
    assert await query == {"a": UnsavedFile("one", FACTS), "b": UnsavedFile("two", FACTS)}
    await documents.aclose()


async def test_a_text_is_indexed_once_unless_it_is_too_large() -> None:
    workers = Slowly()
    documents = UnsavedFiles(cast(IndexWorkers, workers), lambda: SETTINGS)
    workers.may[b"a"].set()
    for _ in range(2):
        queries = [documents.known({"a": "one", "b": "x" * 101}) for _ in range(3)]
        for found in await asyncio.gather(*queries):
            assert found == {"a": UnsavedFile("one", FACTS), "b": UnsavedFile("x" * 101)}
    assert workers.asked == [b"a"]
    await documents.aclose()


async def test_while_the_user_types_the_previous_text_is_used() -> None:
    workers = Slowly()
    documents = UnsavedFiles(cast(IndexWorkers, workers), lambda: SETTINGS)
    workers.may[b"a"].set()
    assert await documents.known({"a": "o"}) == {"a": UnsavedFile("o", FACTS)}
    workers.may[b"a"].clear()
    before = asyncio.create_task(documents.known({"a": "on"}))
    await turns()
    now = asyncio.create_task(documents.known({"a": "one"}))
    assert await before == {"a": UnsavedFile("o", FACTS)}
    workers.may[b"a"].set()
    assert await now == {"a": UnsavedFile("one", FACTS)}
    await documents.aclose()
