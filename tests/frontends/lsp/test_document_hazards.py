"""Documents that were made to harm: the search ends in time, with bounded memory, and the others
are answered."""

from __future__ import annotations

import asyncio
import gzip
import io
import itertools
import os
import sqlite3
import tarfile
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import requires_posix, write_files
from documents.making_office import make_docx
from documents.making_pdf import make_pdf
from frontends.lsp.conftest import Client, StartClient, children

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_posix]

METHOD = "$/searchDocs"
SECONDS = 30.0  # the deadline of a search
GRACE_SECONDS = 20.0
MEGABYTES = 400
ZEROS = bytes(1024 * 1024)


def zipped(members: Mapping[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def bomb(megabytes: int) -> bytes:
    """Return an archive with a member that unpacks to this number of megabytes."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("zeros.txt", "w", force_zip64=True) as member,
    ):
        for _ in range(megabytes):
            member.write(b"a" * len(ZEROS))
    return file.getvalue()


def nested(depth: int, innermost: bytes) -> bytes:
    made = innermost
    for number in range(depth):
        made = zipped({f"inner{number}.zip": made, f"text{number}.txt": b"needle in between"})
    return made


def entities() -> bytes:
    """Return a DOCX whose XML entities would expand to gigabytes."""
    names = [f"e{number}" for number in range(12)]
    declared = '<!ENTITY e0 "needle needle needle needle">' + "".join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in itertools.pairwise(names)
    )
    body = f"<w:p><w:r><w:t>&{names[-1]};</w:t></w:r></w:p>"
    xml = (
        f"<?xml version='1.0'?><!DOCTYPE w [{declared}]><w:document xmlns:w="
        "'http://schemas.openxmlformats.org/wordprocessingml/2006/main'>"
        f"<w:body>{body}</w:body></w:document>"
    )
    types = (
        "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>"
        "<Override PartName='/word/document.xml' ContentType='application/vnd."
        "openxmlformats-officedocument.wordprocessingml.document.main+xml'/></Types>"
    )
    return zipped({"[Content_Types].xml": types.encode(), "word/document.xml": xml.encode()})


def traversing() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name in ("../../escaped.txt", "/tmp/winnow-escaped.txt", "fine.txt"):
            content = b"needle in a member"
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return file.getvalue()


def memory(pid: int) -> float:
    """Return the anonymous memory of a process and its children, in MB."""
    total = 0.0
    for one in (pid, *children(pid)):
        try:
            status = Path(f"/proc/{one}/status").read_text()
        except OSError:
            continue
        _, _, behind = status.partition("RssAnon:")
        total += int(behind.split()[0]) * 1024 / 1e6 if behind else 0
    return total


async def peak_memory(client: Client, done: asyncio.Event) -> float:
    most = 0.0
    while not done.is_set():
        most = max(most, memory(client.pid))
        await asyncio.sleep(0.02)
    return most


async def ask(client: Client, **params: Any) -> tuple[Any, float, float]:
    """Search documents; return the answer, the seconds, and the peak memory."""
    done = asyncio.Event()
    watching = asyncio.create_task(peak_memory(client, done))
    started = time.monotonic()
    future = client.lsp.protocol.send_request_async(  # type: ignore[no-untyped-call]
        METHOD, {"query": "needle", "engine": "builtin", **params}
    )
    result = await asyncio.wait_for(future, 2 * SECONDS)
    seconds = time.monotonic() - started
    done.set()
    return result, seconds, await watching


async def started(start_client: StartClient, root: Path, cache: Path) -> Client:
    options = {"index": {"enabled": False}}
    return await start_client(root, options=options, XDG_CACHE_HOME=str(cache))


@pytest.mark.serial
async def test_all_hazards_at_once_do_no_harm(start_client: StartClient, tmp_path: Path) -> None:
    root, cache = tmp_path / "root", tmp_path / "cache"
    good = {f"good/{n}.docx": make_docx([f"needle number {n}"]) for n in range(20)}
    good |= {f"good/{n}.pdf": make_pdf([[f"needle number {n}"]]) for n in range(20)}
    bad = {
        "bad/bomb.zip": bomb(512),
        "bad/deep_bomb.zip": nested(3, bomb(512)),
        "bad/bomb.txt.gz": gzip.compress(b"a" * 256 * 1024 * 1024, 9),
        "bad/nested.zip": nested(100, b"needle"),
        "bad/pages.pdf": make_pdf([[f"page {n}"] for n in range(2_999)] + [["needle"]]),
        "bad/entities.docx": entities(),
        "bad/traversing.tar.gz": traversing(),
        **{f"bad/stream{n}.pdf": _content_bomb() for n in range(2)},
        "bad/cut.pdf": make_pdf([["needle"]] * 50)[:-3000],
        "bad/cut.docx": make_docx(["needle"] * 500)[:-200],
        "bad/cut.zip": zipped({"a.txt": b"needle " * 1000})[:60],
        "bad/garbage.pdf": b"%PDF-1.7\n" + os.urandom(20_000),
        "bad/garbage.docx": os.urandom(20_000),
        "bad/garbage.xlsx": b"PK\x03\x04" + os.urandom(20_000),
        "bad/garbage.sqlite": b"SQLite format 3\0" + os.urandom(20_000),
        "bad/garbage.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + os.urandom(20_000),
        "bad/empty.pdf": b"",
    }
    for name, content in {**good, **bad}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    # Newer than the valid documents, so that they are read first.
    for name in good:
        os.utime(root / name, (0, 0))
    before = _files(tmp_path)
    client = await started(start_client, root, cache)
    result, seconds, megabytes = await ask(client)
    print(seconds, megabytes)
    assert seconds < SECONDS + GRACE_SECONDS
    assert megabytes < MEGABYTES
    found = {one["path"]: one for one in result["documents"]}
    assert {name for name in found if name.startswith("good/")} == set(good)
    assert [one["page"] for one in found["bad/pages.pdf"]["matches"]] == [3_000]
    members = {one["member"] for one in found["bad/traversing.tar.gz"]["matches"]}
    assert len(members) == 3
    # Nothing is written but to the cache.
    assert {name for name in _files(tmp_path) - before if not name.startswith("cache/")} == set()
    assert not Path("/tmp/winnow-escaped.txt").exists()
    # Unread documents are reported with a reason.
    told = {one["path"] for one in result["failed"]}
    assert told >= {
        name
        for name in bad
        if name not in ("bad/pages.pdf", "bad/traversing.tar.gz", "bad/cut.pdf")
    } - _pending_of(result, bad)
    # A second search uses the documents read so far.
    again, seconds, _ = await ask(client)
    assert seconds < SECONDS + GRACE_SECONDS
    assert {one["path"] for one in again["documents"]} >= set(found)


def _pending_of(result: Any, bad: Mapping[str, bytes]) -> set[str]:
    """Return the slow documents if any are pending: an answer has only their number."""
    slow = ("bad/bomb.zip", "bad/deep_bomb.zip", "bad/bomb.txt.gz", "bad/stream")
    return {name for name in bad if name.startswith(slow)} if result.get("pending") else set()


def _content_bomb() -> bytes:
    """Return a PDF page that unpacks to 25 MB of operators."""
    from documents.making_pdf import made

    return made([b"BT /F 12 Tf 72 720 Td (needle) Tj ET\n" * 700_000])


def _files(folder: Path) -> set[str]:
    return {
        str(Path(where, name).relative_to(folder))
        for where, _, names in os.walk(folder)
        for name in names
    }


async def test_a_document_replaced_during_reading_is_never_half_read(
    start_client: StartClient, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    file = root / "a.pdf"
    texts = [make_pdf([[f"needle version{version}"]] * 100) for version in range(2)]
    file.write_bytes(texts[0])
    client = await started(start_client, root, tmp_path / "cache")
    stop = asyncio.Event()

    async def replace() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            if number % 2:
                file.write_bytes(texts[number // 2 % 2])  # in place
            else:
                (root / "new").write_bytes(texts[number // 2 % 2])
                os.replace(root / "new", file)
            await asyncio.sleep(0.03)

    replacing = asyncio.create_task(replace())
    for _ in range(8):
        result, _, _ = await ask(client, max_count=1000, max_results=1000)
        for document in result["documents"]:
            versions = {match["text"] for match in document["matches"]}
            assert len(versions) == 1
            assert len(document["matches"]) == 100
        if not result["documents"]:
            assert result["failed"] or result["pending"]
    stop.set()
    await replacing
    file.write_bytes(texts[1])
    result, _, _ = await ask(client)
    assert result["documents"][0]["matches"][0]["text"] == "needle version1"


async def test_reading_a_database_creates_no_file_next_to_it(
    start_client: StartClient, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    connection = sqlite3.connect(root / "notes.sqlite")
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT)")
    connection.execute("INSERT INTO notes VALUES (7, 'a needle')")
    connection.commit()
    connection.close()
    client = await started(start_client, root, tmp_path / "cache")
    result, _, _ = await ask(client)
    (match,) = result["documents"][0]["matches"]
    assert (match["sheet"], match["cell"]) == ("notes", "row 1, text")
    assert sorted(path.name for path in root.iterdir()) == ["notes.sqlite"]


async def test_files_that_change_their_kind(start_client: StartClient, tmp_path: Path) -> None:
    root = write_files(tmp_path / "root", {"b.json": "needle"})
    os.mkfifo(root / "fifo.pdf")
    (root / "folder.pdf").mkdir()
    (root / "folder.pdf" / "inner.docx").write_bytes(make_docx(["needle"]))
    (root / "device.pdf").symlink_to("/dev/zero")
    client = await started(start_client, root, tmp_path / "cache")
    result, _, _ = await ask(client)
    assert [one["path"] for one in result["documents"]] == ["folder.pdf/inner.docx"], result
    for path in ("fifo.pdf", "device.pdf"):
        named, seconds, _ = await ask_or_error(client, path)
        assert seconds < SECONDS  # a blocked request would take longer
        assert named is None or not named["documents"]


async def ask_or_error(client: Client, path: str) -> tuple[Any, float, float]:
    started = time.monotonic()
    try:
        return await ask(client, path=path)
    except Exception:
        return None, time.monotonic() - started, 0.0
