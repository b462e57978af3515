"""The library reads documents once, in workers, and its results are current."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from conftest import requires_posix, write_files
from documents.conftest import MakeLibrary, documents_in
from winnow.documents.extract.job import ExtractionResult, FileStamp, stamp_of
from winnow.documents.library import library as library_module
from winnow.documents.library import texts
from winnow.documents.library.library import DocumentLibrary, Report
from winnow.documents.library.locations import UnreadPart
from winnow.documents.library.request import DocumentFile
from winnow.errors import NotFound, SearchTimedOut, UnreadableDocument

pytestmark = pytest.mark.process

FAR_SECONDS = 2**63 // 10**9 + 1  # in the year 2262
TEXT = "# 1 One\nalpha\n# 2\nbeta\n"


async def read(
    library: DocumentLibrary, documents: list[DocumentFile]
) -> dict[str, ExtractionResult]:
    return {one.path: taken async for one, taken in library.read(documents)}


async def lines_of(library: DocumentLibrary, document: DocumentFile) -> list[str]:
    return (await library.text(document, 20))[0]


async def test_a_document_is_read_once(make_library: MakeLibrary, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.pag": TEXT, "folder/copy.pag": TEXT, "b.pag": "gamma"})
    library = make_library()
    documents = documents_in(tmp_path, "a.pag", "folder/copy.pag", "b.pag")
    known = await library.sort(documents)
    assert (known.ready, list(known.unreadable)) == ({}, [])
    assert {one.path for one in known.unread} == {"a.pag", "folder/copy.pag", "b.pag"}
    taken = await read(library, documents)
    assert taken["a.pag"].key == taken["folder/copy.pag"].key != taken["b.pag"].key
    await asyncio.sleep(0.06)  # until the clock of the file system has advanced
    await read(library, documents)
    known = await library.sort(documents)
    assert sorted(sorted(one.path for one in same) for same in known.ready.values()) == [
        ["a.pag", "folder/copy.pag"],
        ["b.pag"],
    ]
    assert list(known.unread) == []
    lines, text_map = await library.text(documents[0], 20)
    assert lines == ["alpha", "beta"]
    assert [(anchor.place.page, anchor.ruler) for anchor in text_map.anchors] == [
        (1, "Page 1"),
        (2, "Page 2"),
    ]


async def test_another_server_finds_cached_texts(make_library: MakeLibrary, tmp_path: Path) -> None:
    write_files(tmp_path / "root", {"a.pag": TEXT})
    documents = documents_in(tmp_path / "root", "a.pag")
    await asyncio.sleep(0.06)
    first = make_library(tmp_path / "texts")
    await read(first, documents)
    await first.aclose()
    second = make_library(tmp_path / "texts")
    assert [len(one) for one in (await second.sort(documents)).ready.values()] == [1]
    assert await lines_of(second, documents[0]) == ["alpha", "beta"]


async def test_a_document_with_a_time_in_the_far_future_is_remembered(
    make_library: MakeLibrary, tmp_path: Path
) -> None:
    write_files(tmp_path / "root", {"a.pag": TEXT, "b.pag": "gamma"})
    documents = documents_in(tmp_path / "root", "a.pag", "b.pag")
    os.utime(tmp_path / "root/a.pag", (FAR_SECONDS, FAR_SECONDS))
    if (tmp_path / "root/a.pag").stat().st_mtime_ns < FAR_SECONDS * 10**9:
        pytest.skip("the file system knows no such time")
    await asyncio.sleep(0.06)
    first = make_library(tmp_path / "texts")
    await read(first, documents)
    await first.aclose()
    known = await make_library(tmp_path / "texts").sort(documents)
    assert (len(known.ready), list(known.unread)) == (2, [])


def test_a_stamp_fits_into_the_database() -> None:
    """Network file systems use inode numbers of 64 bits, and ReFS of 128 bits."""
    numbers = (0o100644, 2**64 - 1, 0, 1, 0, 0, 7, 0, 0, 0)
    state = os.stat_result(numbers, {"st_mtime_ns": 2**63, "st_ctime_ns": 2**66})
    assert stamp_of(state) == FileStamp(7, 2**63 - 1, 2**63 - 1, 2**63 - 1)


async def test_a_lost_catalogue_is_rebuilt(make_library: MakeLibrary, tmp_path: Path) -> None:
    write_files(tmp_path / "root", {"a.pag": TEXT})
    documents = documents_in(tmp_path / "root", "a.pag")
    await asyncio.sleep(0.06)
    first = make_library(tmp_path / "texts")
    await read(first, documents)
    await first.aclose()
    (database,) = (tmp_path / "texts").glob("files-*.db")
    database.write_bytes(b"no database at all" * 1000)
    for end in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{database}{end}")
    second = make_library(tmp_path / "texts")
    assert await lines_of(second, documents[0]) == ["alpha", "beta"]
    await second.aclose()
    third = make_library(tmp_path / "texts")
    assert len((await third.sort(documents)).ready) == 1


async def test_a_change_with_the_same_size_and_time_is_detected(
    make_library: MakeLibrary, tmp_path: Path
) -> None:
    write_files(tmp_path, {"a.pag": "alpha"})
    documents = documents_in(tmp_path, "a.pag")
    library = make_library()
    assert await lines_of(library, documents[0]) == ["alpha"]
    state = os.stat(tmp_path / "a.pag")
    (tmp_path / "a.pag").write_text("omega")
    os.utime(tmp_path / "a.pag", ns=(state.st_atime_ns, state.st_mtime_ns))
    assert await lines_of(library, documents[0]) == ["omega"]


async def test_a_document_that_changes_right_after_it_was_read_is_read_again(
    make_library: MakeLibrary, tmp_path: Path
) -> None:
    document = documents_in(tmp_path, "a.pag")[0]
    library = make_library()
    for number in range(10):
        (tmp_path / "a.pag").write_text(f"text {number}")
        assert await lines_of(library, document) == [f"text {number}"]


async def test_a_deleted_document_has_no_text(make_library: MakeLibrary, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.pag": TEXT})
    document = documents_in(tmp_path, "a.pag")[0]
    library = make_library()
    await read(library, [document])
    (tmp_path / "a.pag").unlink()
    known = await library.sort([document])
    assert (known.ready, known.unread, known.unreadable) == ({}, [], [])
    with pytest.raises(NotFound):
        await library.text(document, 20)


@pytest.mark.slow
@requires_posix
async def test_an_unreadable_document_has_a_reason_and_is_not_retried(
    make_library: MakeLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "QUICK_SECONDS", 1.0)
    names = ["hang.hang", "b.crash", "c.greedy", "d.defect", "empty.pag", "large.pag", "good.pag"]
    write_files(tmp_path, dict.fromkeys(names, "") | {"good.pag": TEXT, "large.pag": "x" * 2000})
    await asyncio.sleep(0.06)
    library = make_library(seconds=1.5, file_bytes=1000)
    documents = documents_in(tmp_path, *names)
    taken = await read(library, documents)
    problems = {
        "hang.hang": "it took longer than 1.5 s",
        "b.crash": "its parser has crashed",
        "c.greedy": "reading it needs too much memory",
        "d.defect": "it is damaged: ZeroDivisionError: division by zero",
        "empty.pag": "it has no text",
        "large.pag": "it is too large: 0 MiB (see documents.file_bytes)",
        "good.pag": "",
    }
    assert {path: one.problem for path, one in taken.items()} == problems
    known = await library.sort(documents)
    assert {one.path: problem for one, problem in known.unreadable} == {
        path: problem for path, problem in problems.items() if problem
    }
    assert list(known.unread) == []
    with pytest.raises(UnreadableDocument, match=r"'empty\.pag' cannot be read: it has no text"):
        await library.text(documents[4], 20)


async def test_unreadable_parts_are_reported_with_the_text(
    make_library: MakeLibrary, tmp_path: Path
) -> None:
    write_files(tmp_path, {"a.pag": "alpha\n! page 2 is a picture\n"})
    await asyncio.sleep(0.06)
    library = make_library()
    documents = documents_in(tmp_path, "a.pag")
    taken = await read(library, documents)
    assert taken["a.pag"].failed == (UnreadPart("page 2 is a picture"),)
    known = await library.sort(documents)
    assert [(one.path, taken.failed) for one, taken in known.partly] == [
        ("a.pag", (UnreadPart("page 2 is a picture"),))
    ]


@requires_posix
async def test_a_symlink_to_the_outside_is_not_followed(
    make_library: MakeLibrary, tmp_path: Path
) -> None:
    write_files(tmp_path, {"secret.pag": "secret", "root/a.pag": "alpha"})
    (tmp_path / "root/link.pag").symlink_to(tmp_path / "secret.pag")
    os.mkfifo(tmp_path / "root/fifo.pag")
    documents = documents_in(tmp_path / "root", "link.pag", "fifo.pag", "a.pag")
    taken = await read(make_library(), documents)
    assert taken["a.pag"].problem == ""
    assert "outside of every workspace folder" in taken["link.pag"].problem
    assert "it is a FIFO" in taken["fifo.pag"].problem


async def test_a_deleted_text_is_extracted_again(make_library: MakeLibrary, tmp_path: Path) -> None:
    write_files(tmp_path / "root", {"a.pag": TEXT})
    await asyncio.sleep(0.06)
    library = make_library(tmp_path / "texts")
    document = documents_in(tmp_path / "root", "a.pag")[0]
    assert await lines_of(library, document) == ["alpha", "beta"]
    for folder in (tmp_path / "texts").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    assert await lines_of(library, document) == ["alpha", "beta"]


@requires_posix
async def test_a_read_only_cache_is_the_reason(make_library: MakeLibrary, tmp_path: Path) -> None:
    write_files(tmp_path / "root", {"a.pag": TEXT})
    (tmp_path / "texts").write_text("a file, where a folder is needed")
    taken = await read(make_library(tmp_path / "texts"), documents_in(tmp_path / "root", "a.pag"))
    assert taken["a.pag"].problem == "its text cannot be saved: Not a directory"


async def test_the_background_reads_recently_changed_documents_first_and_reports(
    make_library: MakeLibrary, tmp_path: Path
) -> None:
    names = [f"{number}.pag" for number in range(30)]
    write_files(tmp_path, {name: f"text {name}" for name in names})
    for number, name in enumerate(names):
        os.utime(tmp_path / name, (number * 100, number * 100))
    await asyncio.sleep(0.06)
    reports: list[tuple[int, int]] = []

    @contextlib.asynccontextmanager
    async def reporting() -> AsyncIterator[Report]:
        yield lambda done, total: reports.append((done, total))

    library = make_library(reporting=reporting)
    documents = documents_in(tmp_path, *names)
    assert [one.path for one in (await library.sort(documents)).unread] == names[::-1]
    library.read_in_background(documents[:20])
    library.read_in_background(documents[10:])
    assert library.waiting == 30
    while library.waiting:
        await asyncio.sleep(0.02)
    assert reports[-1] == (30, 30)
    # The last result is saved shortly after it was reported.
    assert library._background is not None
    await asyncio.wait_for(library._background, 20)
    assert list((await library.sort(documents)).unread) == []


async def test_a_document_that_was_not_read_in_time_is_read_in_the_background(
    make_library: MakeLibrary, tmp_path: Path
) -> None:
    write_files(tmp_path, {"a.hang": ""})
    library = make_library(seconds=3.0)
    document = documents_in(tmp_path, "a.hang")[0]
    with pytest.raises(SearchTimedOut):
        await library.text(document, 0.3)
    assert library.waiting == 1


async def test_a_result_is_saved_even_if_the_search_is_canceled_at_its_end(
    make_library: MakeLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search cancels its reading once it has all answers, and then checks for changes."""
    write_files(tmp_path, {"a.pag": TEXT})
    library, documents = make_library(), documents_in(tmp_path, "a.pag")
    is_noting, may_note = asyncio.Event(), asyncio.Event()
    note = library._save

    async def held(taken: Mapping[str, ExtractionResult]) -> None:
        is_noting.set()
        await may_note.wait()
        await note(taken)

    monkeypatch.setattr(library, "_save", held)
    reading = asyncio.create_task(read(library, documents))
    await is_noting.wait()
    reading.cancel()
    await asyncio.sleep(0)
    may_note.set()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert await library.changed(documents) == set()


async def test_texts_beyond_the_limit_are_deleted(
    make_library: MakeLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "PROTECTED_SECONDS", 0.0)
    names = [f"{number}.pag" for number in range(20)]
    write_files(tmp_path / "root", {name: f"{name}\n" + "x" * 200_000 for name in names})
    library = make_library(tmp_path / "texts", cache_bytes=1024 * 1024)
    await read(library, documents_in(tmp_path / "root", *names))
    kept = [path.stat().st_size for path in (tmp_path / "texts").rglob("*.txt")]
    assert 0 < sum(kept) <= 1024 * 1024
