"""The ripgrep-all engine, with the real programs and with stand-ins."""

from __future__ import annotations

import asyncio
import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import zipfile
import zlib
from base64 import b85decode
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import RIPGREP, alive, requires, requires_posix
from documents.making_pdf import make_pdf
from waiting_for import until
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.library.request import (
    DocumentFile,
    DocumentHit,
    DocumentHits,
    DocumentQuery,
    ReadFailure,
)
from winnow.documents.rga.engine import ANCHORED, RgaEngine
from winnow.documents.rga.failures import RgaFailure
from winnow.documents.rga.prefixes import ZipDirectory, directory_of, is_anchored
from winnow.documents.unreadable import Unreadable
from winnow.errors import InvalidPattern, ProgramNotInstalled, SearchFailed
from winnow.processes.children import STDERR_BYTES, Processes
from winnow.processes.programs import InstalledPrograms
from winnow.text.ripgrep import TextPattern

pytestmark = [pytest.mark.process, requires_posix]
requires_rga = requires("rga", "pdftotext", "pandoc")

SECONDS = 60.0

# A page with the text "needle", encrypted by qpdf (40-bit RC4, which is small).
ENCRYPTED_PDF = (
    "c-n<hJ&V*p81B<qX(ey7$Q5ViD>E5bwzw}mRBpLd@i;6dGjGn7H93-"
    "5xwG;Q2%`VsI(rYqMjKl}JAZ(!m511flkDzo<OGvI!jt#;n1{DF+}K*B*G1HO|MTQ`M1eq=J&O8$h==9?YhVG{h4{|"
    "#Aws-vyqS~-Fc?HwxMq-b2<zpv@IWEHId(Pd18=Dh7UY@UlFI+079I;<gP7UfMmIKV<xx-};g*zv(yY-Mnkoz~V(ns"
    "GPAeO98<nk~GW(#Av;%`d^K=4q{6)wA78VEoAqXD0<B7*AyeG!v2HMiKq}o?#9!Hl({PgV8Uj6mU<=5Yztwe9W{knD"
    "*pME$g-d;U@wYRc;<z@2j^N;8EKfVYybJE-"
    "}=@_n=8r!(>4V*kdKeh(q(KPdI(k3rm#BRryv1LbPk#*!v;Y{V02O$veKwk??i57xtDVb492*L7<D2CkWoNCmLa)Op"
    "<BOD=;qDphrjO5B>lI5YgA*_nfb0|E%3w<f2HkMmw9XC=inGjC1EHjpHZiHf)NHZ-p8j~~W3|ecYL7t^S5c4z$-"
    "U}PDJk3#sc|<@(<op7eBs_r}&M_LAYyT8WOo|H_W&8rh5_$pS|KJMV!F*-"
    "LlhA8Z@orf*JKb*EX#5mGLA<>I`+Xr&&6IM^n%oegY)Tl4L}UrloT+5+|B0~9n}w~84?W2Fx`sV7m2X>-"
    "f<(RE=FV312Ywm^ng"
)


# --- documents ------------------------------------------------------------------------------------


def pdf(*pages: Sequence[str]) -> bytes:
    """Return a PDF with these lines on its pages."""
    return make_pdf(pages)


def by_pandoc(folder: Path, name: str, text: str) -> Path:
    """Convert Markdown to a document with pandoc."""
    end = name.rpartition(".")[2]
    written = "html" if end == "htm" else end
    command = ["pandoc", "--from=markdown", f"--to={written}", "-o", str(folder / name)]
    more = ["--metadata=title:title"] if end == "epub" else []
    subprocess.run([*command, *more], input=text.encode(), check=True)
    return folder / name


def zipped(members: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return held.getvalue()


def tarred(members: Mapping[str, bytes], mode: str = "w") -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode=mode) as file:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return held.getvalue()


def encrypted(archive: bytes) -> bytes:
    """Mark the only member of a ZIP file as encrypted."""
    changed = bytearray(archive)
    changed[6] |= 1
    changed[archive.index(b"PK\x01\x02") + 8] |= 1
    return bytes(changed)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder with documents."""
    made = tmp_path / "documents"
    made.mkdir()
    return made


# --- asking ---------------------------------------------------------------------------------------


@pytest.fixture
def make(tmp_path: Path, folder: Path) -> Callable[..., RgaEngine]:
    """Return a factory of engines; ``programs`` is a folder of stand-ins that hides the real
    programs."""

    def made(programs: Path | None = None, **more: Any) -> RgaEngine:
        path = os.environ["PATH"] if programs is None else str(programs)
        environment = {"PATH": path, "HOME": str(tmp_path / "home")}
        return RgaEngine(
            Processes(),
            InstalledPrograms(environment, [folder]),
            ripgrep=RIPGREP,
            **more,
        )

    return made


def document(path: Path) -> DocumentFile:
    return DocumentFile(path.name, str(path), path.suffix.removeprefix("."))


Answers = list[DocumentHits | ReadFailure]


async def answers(
    engine: RgaEngine,
    paths: Sequence[Path],
    pattern: str,
    *,
    context: int = 0,
    max_count: int = 100,
    width: int = 300,
    seconds: float = SECONDS,
    literal: bool = False,
    case_sensitive: bool = False,
    word: bool = False,
) -> Answers:
    query = TextPattern(pattern, literal=literal, case_sensitive=case_sensitive, word=word)
    document_query = DocumentQuery(query, context, max_count, width)
    deadline = asyncio.get_running_loop().time() + seconds
    found = engine.search([document(path) for path in paths], document_query, deadline)
    async with contextlib.aclosing(found):
        return [one async for one in found]


async def hits(engine: RgaEngine, path: Path, pattern: str, **query: Any) -> list[DocumentHit]:
    """Return the hits in a document that is read without failures."""
    results = await answers(engine, [path], pattern, **query)
    assert all(isinstance(one, DocumentHits) and one.engine == "rga" for one in results), results
    assert len(results) <= 1
    assert engine.pending == []
    return [hit for one in results if isinstance(one, DocumentHits) for hit in one.hits]


def short(found: Sequence[DocumentHit]) -> list[tuple[int, str, list[str], DocumentLocation]]:
    """Return the number, line, matches and location of each hit."""
    return [
        (hit.number, hit.line.text, [hit.line.text[a:b] for a, b in hit.line.ranges], hit.place)
        for hit in found
    ]


# --- formats --------------------------------------------------------------------------------------


@requires_rga
@pytest.mark.parametrize(
    "name",
    [
        *("a.docx", "a.odt", "a.epub", "a.fb2", "a.ipynb", "a.html", "a.htm"),
        *("A.DOCX", "A.HTML", "Ä ö.docx", "-a.docx", "--pre=x.docx", "a: b.docx", "a\nb.docx"),
        "'a' \"b\" [c] {d,e}*?.docx",
    ],
)
async def test_pandoc_formats_are_read_with_any_file_name(
    make: Callable[..., RgaEngine], folder: Path, name: str
) -> None:
    by_pandoc(folder, name.lower(), "Before.\n\nThe Needle, *the* needle.\n")
    os.rename(folder / name.lower(), folder / name)
    engine = make()
    assert engine.unsupported(str(folder / name)) is None
    (hit,) = await hits(engine, folder / name, "needle")
    assert short([hit])[0][1:] == (
        "The Needle, the needle.".replace("the needle", hit.line.text[12:22]),
        ["Needle", "needle"],
        DocumentLocation(),
    )


@requires_rga
async def test_rga_gets_no_path_that_is_not_unicode(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    path, other = folder / os.fsdecode(b"a\xff.pdf"), folder / "b.pdf"
    for one in (path, other):
        one.write_bytes(pdf(["needle"]))
    reason = "rga takes no path that is not Unicode"
    assert make().unsupported(str(path)) == reason
    # With such a path, rga would not search the other document either.
    failed, found = await answers(make(), [path, other], "needle")
    assert failed == ReadFailure(document(path), reason)
    assert found.document == document(other)


@requires_rga
async def test_compressed_texts_and_documents_are_read(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    text = "one\nthe needle é x\n".encode()
    contents = {
        "a.txt.gz": gzip.compress(text),
        "a.txt.bz2": bz2.compress(text),
        "a.txt.xz": lzma.compress(text),
        "a.gz": gzip.compress(text),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        assert make().unsupported(str(folder / name)) is None
        found = await hits(make(), folder / name, "needle . x", context=1)
        assert short(found) == [(2, "the needle é x", ["needle é x"], DocumentLocation())]
        assert (found[0].before, found[0].after) == (("one",), ("",))
    (folder / "a.pdf.gz").write_bytes(gzip.compress(pdf(["x"], ["needle"])))
    (hit,) = await hits(make(), folder / "a.pdf.gz", "needle")
    assert (hit.number, hit.place) == (6, DocumentLocation(page=2, member="a.pdf"))


@requires_rga
def test_files_that_rga_does_not_read_have_a_reason(
    make: Callable[..., RgaEngine], tmp_path: Path
) -> None:
    engine = make()
    expected = {
        "a.xlsx": "rga does not read .xlsx",
        "a.Pdf": "rga does not read .Pdf: it knows .pdf",
        "a.eml": "rga does not read .eml",
        "a.db": "rga does not read .db",
        "a": "rga needs a file extension",
        "A.TGZ": "rga does not read .TGZ: it knows .tgz",
        "x.y/a.zst": None,
        "a.PDF": None,
        "a.tbz2": None,
    }
    assert {name: engine.unsupported(f"/x/{name}") for name in expected} == expected


def test_a_missing_program_is_named_with_its_install_command(
    make: Callable[..., RgaEngine], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ProgramNotInstalled) as raised:
        make(empty)
    assert raised.value.data["kind"] == "rga_not_installed"
    assert "rga is not on PATH" in raised.value.message
    for name in ("rga", "apt-get"):
        stand_in(empty, name, "exit 1")
    engine = make(empty)
    if sys.platform == "linux":
        for file, program, package in (
            ("a.docx", "pandoc", "pandoc"),
            ("a.pdf.gz", "pdftotext", "poppler-utils"),
        ):
            problem = engine.unsupported(f"/x/{file}")
            assert problem is not None
            results = rf"{program} is not installed: [\w ,-]+ install [\w ,-]*{package}"
            assert re.fullmatch(results, problem)
    assert engine.unsupported("/x/a.zip") is None


def test_rga_of_the_workspace_is_not_run(make: Callable[..., RgaEngine], folder: Path) -> None:
    stand_in(folder, "rga", "exit 1")
    with pytest.raises(ProgramNotInstalled):
        make(folder)


# --- pages ----------------------------------------------------------------------------------------


PAGES: tuple[list[str], ...] = (
    ["The first page", "Page 7: not a page"],
    [],
    ["A needle here", "another line", "and a second needle"],
    [],
    [],
    ["needle on page six"],
    [],
)


@requires_rga
async def test_hits_have_page_numbers_and_preview_line_numbers(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    path = folder / "a.pdf"
    path.write_bytes(pdf(*PAGES))
    found = await hits(make(), path, "needle")
    assert [(hit.line.text, hit.place.page) for hit in found] == [
        ("A needle here", 3),
        ("and a second needle", 3),
        ("needle on page six", 6),
    ]
    engine = make()
    text, known = await engine.text(document(path), asyncio.get_running_loop().time() + SECONDS)
    shown = list(known.shown(text))
    every = await hits(make(), path, "[a-z]")
    assert len(every) == 6
    for hit in [*found, *every]:
        assert shown[hit.number - 1][0] == hit.line.text
        line = text.index(hit.line.text) + 1
        assert known.shown_line(line) == hit.number
        assert known.place_at(line) == hit.place
    assert [one for one, anchor in shown if anchor] == [
        f"──── Page {number} ────" for number in range(1, 8)
    ]
    assert (known.format, known.lines, known.failed) == ("pdf", len(text), ())


@requires_rga
async def test_context_stays_on_the_page(make: Callable[..., RgaEngine], folder: Path) -> None:
    path = folder / "a.pdf"
    path.write_bytes(pdf(["one", "two", "three"], ["four", "five"]))
    (found,) = await hits(make(), path, "three", context=2)
    assert (found.before, found.line.text, found.after) == (("one", "two"), "three", ("", ""))
    (found,) = await hits(make(), path, "four", context=2)
    assert (found.before, found.after) == ((), ("five", ""))


@requires_rga
async def test_prefixes_of_rga_do_not_match(make: Callable[..., RgaEngine], folder: Path) -> None:
    path = folder / "a.pdf"
    path.write_bytes(pdf(*[["nothing", "more"]] * 30, ["the page 12", "Page 3: x"]))
    assert [one[1:] for one in short(await hits(make(), path, "page"))] == [
        ("the page 12", ["page"], DocumentLocation(page=31)),
        ("Page 3: x", ["Page"], DocumentLocation(page=31)),
    ]
    assert [hit.line.text for hit in await hits(make(), path, r"\d+")] == [
        "the page 12",
        "Page 3: x",
    ]
    assert [hit.line.text for hit in await hits(make(), path, "12")] == ["the page 12"]
    assert await hits(make(), path, "page 31") == []
    assert await hits(make(), path, "1: the", literal=True) == []
    (hit,) = await hits(make(), path, ".*page 12")
    assert hit.line.ranges == ((0, 11),)


@requires_rga
async def test_matches_in_prefixes_do_not_count(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    path, other = folder / "a.pdf", folder / "b.pdf"
    path.write_bytes(pdf(*[["nothing", "more"]] * 30, *[["the page", "next"]] * 5))
    other.write_bytes(pdf(["page one"]))
    results = await answers(make(), [path, other], "page", max_count=3, context=1)
    by_name = {one.document.path: one for one in results if isinstance(one, DocumentHits)}
    assert len(results) == len(by_name) == 2
    assert [hit.place.page for hit in by_name["a.pdf"].hits] == [31, 32, 33]
    assert [(hit.before, hit.after) for hit in by_name["a.pdf"].hits] == [((), ("next",))] * 3
    assert (by_name["a.pdf"].more, by_name["b.pdf"].more) == (True, False)


@requires_rga
async def test_at_most_max_count_lines_are_returned(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    path = by_pandoc(folder, "a.docx", "\n\n".join(f"needle {number}" for number in range(5)))
    for most, more in ((4, True), (5, False), (6, False)):
        (results,) = await answers(make(), [path], "needle", max_count=most, context=2)
        assert isinstance(results, DocumentHits)
        assert [hit.line.text for hit in results.hits] == [
            f"needle {n}" for n in range(min(most, 5))
        ]
        assert results.more is more
        assert results.hits[3].after[:2] == ("", "needle 4")


@requires_rga
async def test_long_lines_are_cut_around_the_first_match(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    path = folder / "a.zip"
    path.write_bytes(zipped({"a.txt": b"x" * 5000 + b" needle " + b"y" * 5000 + b"\n"}))
    (found,) = await hits(make(), path, "needle", width=100)
    assert (len(found.line.text), found.line.cut, found.line.ranges) == (102, True, ((5001, 5007),))
    assert found.line.text[5001 - found.line.start + 1 :].startswith("needle")
    assert found.place == DocumentLocation(member="a.txt")


# --- archives -------------------------------------------------------------------------------------


@pytest.mark.slow
@requires_rga
async def test_members_of_nested_archives_are_named(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    docx = by_pandoc(folder, "x.docx", "A needle.").read_bytes()
    inner = {
        "ä b.txt": b"one: two\nneedle: x\n",
        "sub/b.pdf": pdf(["x"], ["a needle"]),
        "c.docx": docx,
        "d.bin": b"\0\1 needle",
    }
    zips, tars = zipped(inner), tarred(inner, "w:gz")
    contents = {
        "a.zip": (zips, ""),
        "a.jar": (zips, ""),
        "a.tar": (tarred(inner), ""),
        "a.tar.gz": (tars, ""),
        "a.tgz": (tars, ""),
        "a.tbz2": (tarred(inner, "w:bz2"), ""),
        "a.tar.xz": (tarred(inner, "w:xz"), ""),
        "b.zip": (zipped({"in.zip": zips}), "in.zip!/"),
        "c.zip": (zipped({"in.tar.gz": tars}), "in.tar.gz!/"),
        "d.tar": (tarred({"e.zip": zipped({"in.zip": zips})}), "e.zip!/in.zip!/"),
        "e.zip": (zipped({"text.gz": gzip.compress(inner["ä b.txt"])}), None),
    }
    for name, (content, before) in contents.items():
        (folder / name).write_bytes(content)
        found = await hits(make(), folder / name, "needle", context=1)
        assert [(hit.line.text, hit.line.ranges, hit.place, hit.before) for hit in found] == (
            [("needle: x", ((0, 6),), DocumentLocation(member="text.gz"), ("one: two",))]
            if before is None
            else [
                (
                    "needle: x",
                    ((0, 6),),
                    DocumentLocation(member=f"{before}ä b.txt"),
                    ("one: two",),
                ),
                ("a needle", ((2, 8),), DocumentLocation(page=2, member=f"{before}sub/b.pdf"), ()),
                ("A needle.", ((2, 8),), DocumentLocation(member=f"{before}c.docx"), ()),
            ]
        ), name
        text, known = await make().text(
            document(folder / name), asyncio.get_running_loop().time() + SECONDS
        )
        shown = [line for line, _ in known.shown(text)]
        assert shown == text
        assert [shown[hit.number - 1] for hit in found] == [hit.line.text for hit in found]
        assert [known.place_at(hit.number) for hit in found] == [hit.place for hit in found]


@requires_rga
async def test_the_name_of_a_member_ends_at_a_colon(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    (folder / "a.zip").write_bytes(zipped({"a: b.txt": b"needle: one\n", "needle.txt": b"two\n"}))
    assert short(await hits(make(), folder / "a.zip", "needle")) == [
        (1, "b.txt: needle: one", ["needle"], DocumentLocation(member="a"))
    ]


@requires_rga
async def test_a_damaged_member_does_not_hide_matches_before_it(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    path, good = folder / "a.zip", folder / "b.pdf"
    path.write_bytes(zipped({"a.txt": b"needle\n", "b.docx": b"nonsense", "c.txt": b"needle\n"}))
    good.write_bytes(pdf(["needle"]))
    results = await answers(make(), [path, good], "needle")
    assert {
        one.document.path: short(one.hits) for one in results if isinstance(one, DocumentHits)
    } == {
        "a.zip": [(1, "needle", ["needle"], DocumentLocation(member="a.txt"))],
        "b.pdf": [(2, "needle", ["needle"], DocumentLocation(page=1))],
    }
    (failed,) = [one for one in results if isinstance(one, ReadFailure)]
    assert (failed.document.path, failed.member) == ("a.zip", "b.docx")
    # The lines of two programs that write at the same time may be mixed in any way: see below.
    assert failed.reason
    text, known = await make().text(document(path), asyncio.get_running_loop().time() + SECONDS)
    assert text[0] == "needle"
    assert [one.member for one in known.failed] == ["b.docx"]


@pytest.mark.parametrize(
    "lines",
    [
        ["b.docx.txt adapter: postprocprefix", "couldn't unpack docx container"],
        # Both programs write at the same time.
        ["b.docx.txt adapter: c", "postprocprefixouldn't unpack docx container"],
        ["b.docx.txt adapter: postprocprefixcouldn't unpack docx container", ""],
    ],
)
def test_the_damaged_member_is_named_even_if_programs_share_a_line(lines: list[str]) -> None:
    failure = RgaFailure("a.zip")
    failure.lines = ["/a/a.zip adapter: zip", "a.txt adapter: postprocprefix"]
    failure.lines += ["b.docx adapter: pandoc", *lines, "Error: during preprocessing"]
    assert failure.member() == "b.docx"
    reason = failure.reason(str)
    assert reason.startswith("it is damaged: ")
    assert reason.endswith("ouldn't unpack docx container")


# --- documents that cannot be read ---------------------------------------------------------------


@requires_rga
async def test_each_unreadable_document_has_a_reason(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    contents = {
        "damaged.pdf": b"nothing",
        "truncated.pdf": pdf(["needle"])[:300],
        "damaged\nname.pdf": b"nothing",
        "encrypted.pdf": zlib.decompress(b85decode(ENCRYPTED_PDF)),
        "damaged.docx": b"nothing",
        "damaged.zip": b"nothing",
        "truncated.zip": zipped({"a.txt": b"needle" * 100})[:80],
        "encrypted.zip": encrypted(zipped({"a.txt": b"needle"})),
        "damaged.gz": b"nothing",
        "truncated.xz": lzma.compress(os.urandom(10_000))[:5_000],
        "empty.pdf": b"",
        "good.pdf": pdf(["needle"]),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    paths = [*(folder / name for name in contents), folder / "gone.pdf"]
    engine = make()
    # One at a time: concurrent programs can write into the same line.
    results = [one for path in paths for one in await answers(engine, [path], "needle")]
    assert [one.document.path for one in results if isinstance(one, DocumentHits)] == ["good.pdf"]
    reasons = {one.document.path: one.reason for one in results if isinstance(one, ReadFailure)}
    assert {name: reason.partition(":")[0] for name, reason in reasons.items()} == {
        **{name: "it is damaged" for name in contents if name != "good.pdf"},
        "encrypted.pdf": "it is encrypted",
        "encrypted.zip": "it is encrypted",
        "gone.pdf": "it is gone",
    }
    assert len(results) == len(paths)
    assert (engine.pending, engine.timed_out) == ([], False)
    for name, reason in reasons.items():
        with pytest.raises(Unreadable) as raised:
            await make().text(document(folder / name), asyncio.get_running_loop().time() + SECONDS)
        assert str(raised.value).partition(":")[0] == reason.partition(":")[0]


@requires_rga
async def test_encrypted_members_are_reported_and_others_searched(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    path = folder / "a.zip"
    held = bytearray(zipped({"a.txt": b"needle", "b.txt": b"needle"}))
    second = held.rindex(b"PK\x01\x02")
    held[second + 8] |= 1
    path.write_bytes(held)
    assert directory_of(str(path)) == ZipDirectory(2, 1)
    first, *_ = await answers(make(), [path], "needle")
    assert first == ReadFailure(document(path), "1 of its 2 members are encrypted")


@requires_rga
async def test_a_missing_pandoc_is_reported_for_each_document(
    make: Callable[..., RgaEngine], folder: Path, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("rga", "pdftotext"):
        (programs / name).symlink_to(shutil.which(name) or name)
    archive, page = folder / "a.zip", folder / "b.pdf"
    docx = by_pandoc(folder, "x.docx", "A needle.")
    archive.write_bytes(zipped({"a.docx": docx.read_bytes()}))
    page.write_bytes(pdf(["needle"]))
    results = await answers(make(programs), [archive, docx, page], "needle")
    assert [one.document.path for one in results if isinstance(one, DocumentHits)] == ["b.pdf"]
    missing = {(one.document.path, one.member) for one in results if isinstance(one, ReadFailure)}
    assert missing == {("a.zip", "a.docx"), ("x.docx", "")}
    for one in results:
        assert isinstance(one, DocumentHits) or one.reason.startswith("pandoc is not installed: ")


@pytest.mark.slow
@requires_rga
async def test_a_line_that_exceeds_memory_does_not_affect_other_documents(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    bomb = folder / "bomb.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for _ in range(600):  # more than the memory limit
            file.write(b"x" * 1024**2)
    others = [folder / f"{number}.gz" for number in range(10)]
    for path in others:
        path.write_bytes(gzip.compress(b"needle"))
    engine = make()
    results = await answers(engine, [bomb, *others], "needle")
    assert [one for one in results if isinstance(one, ReadFailure)] == [
        ReadFailure(document(bomb), "it has lines that do not fit into memory")
    ]
    found = sorted(one.document.path for one in results if isinstance(one, DocumentHits))
    assert found == sorted(path.name for path in others)
    assert engine.pending == []
    with pytest.raises(Unreadable, match="do not fit into memory"):
        await engine.text(document(bomb), asyncio.get_running_loop().time() + SECONDS)


# --- queries --------------------------------------------------------------------------------------


QUERIES = [
    *("--rga-config-file=x", "--rga-no-cache", "--rg-help", "-e", "--pre=touch marker", "--help"),
    *("-h", "-V", "--", "-", "--json", "a b", "$HOME", "`x`", "é ü", "'", '"', "\\", "[", "*"),
]


@requires_rga
async def test_a_query_is_never_an_option(make: Callable[..., RgaEngine], folder: Path) -> None:
    path = folder / "a.zip"
    lines = "\n".join(f"<{query}>" for query in QUERIES)
    path.write_bytes(zipped({"a.txt": lines.encode()}))
    for number, query in enumerate(QUERIES, 1):
        found = await hits(make(), path, f"<{query}>", literal=True, case_sensitive=True)
        assert short(found) == [
            (number, f"<{query}>", [f"<{query}>"], DocumentLocation(member="a.txt"))
        ]
    for query in ("--rga-config-file=x", "--rga-no-cache", "--rg-help", "--pre=touch", "--help"):
        (hit,) = await hits(make(), path, query, literal=True)
        assert hit.line.text[slice(*hit.line.ranges[0])] == query


@requires_rga
async def test_case_literals_and_words(make: Callable[..., RgaEngine], folder: Path) -> None:
    path = folder / "a.zip"
    path.write_bytes(zipped({"a.txt": "Needle.\nneedles\nN.edle Ä\n".encode()}))

    async def lines(pattern: str, **query: Any) -> list[str]:
        return [hit.line.text for hit in await hits(make(), path, pattern, **query)]

    assert await lines("needle") == ["Needle.", "needles"]
    assert await lines("Needle") == ["Needle.", "needles"]
    assert await lines("ä") == ["N.edle Ä"]
    assert await lines("Needle", case_sensitive=True) == ["Needle."]
    assert await lines("n.edle", literal=True) == ["N.edle Ä"]
    assert await lines("needle", word=True) == ["Needle."]
    assert await lines("nothing") == []


@requires_rga
async def test_an_invalid_regex_is_refused(make: Callable[..., RgaEngine], folder: Path) -> None:
    path = folder / "a.pdf"
    path.write_bytes(pdf(["needle"]))
    for pattern in ("(", "[a", "a\nb", "needle{99999}{99999}"):
        with pytest.raises(InvalidPattern):
            await answers(make(), [path], pattern)


@requires_rga
async def test_anchored_patterns_skip_documents_with_prefixes(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    page, docx = folder / "a.pdf", by_pandoc(folder, "b.docx", "needle")
    page.write_bytes(pdf(["needle"]))
    found, failed = sorted(
        await answers(make(), [page, docx], "^needle"),
        key=lambda one: isinstance(one, ReadFailure),
    )
    assert isinstance(found, DocumentHits)
    assert found.document.path == "b.docx"
    assert failed == ReadFailure(document(page), ANCHORED)
    assert await answers(make(), [page], "^", literal=True) == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        *(("^a", True), ("a|^b", True), ("(^a)", True), (r"\Aa", True), (r"\\^a", True)),
        *(("a", False), (r"\^a", False), ("[^a]", False), ("[a^]", False), (r"\\A", False)),
        *(("[]^]", False), ("[^]^]", False), (r"[\]^]", False), ("[]]^", True), ("[a]^", True)),
        *((r"[\[]^", True), ("[[:alpha:]^]", False), ("[[:alpha:]]^", True), (r"[\A]", False)),
    ],
)
def test_a_regex_that_is_anchored_to_the_start_of_a_line_is_detected(
    pattern: str, expected: bool
) -> None:
    assert is_anchored(pattern) is expected


# --- the cache ------------------------------------------------------------------------------------


@pytest.mark.slow
@requires_rga
async def test_a_damaged_cache_is_recreated(
    make: Callable[..., RgaEngine], folder: Path, tmp_path: Path
) -> None:
    paths = [folder / f"{number}.pdf" for number in range(5)]
    for path in paths:
        path.write_bytes(pdf(["needle"], [str(path)] * 20))
    database = tmp_path / "home/.cache/winnow/rga/cache.sqlite3"

    async def found() -> int:
        results = await answers(make(), paths, "needle")
        assert all(isinstance(one, DocumentHits) for one in results), results
        return len(results)

    async def text() -> int:
        deadline = asyncio.get_running_loop().time() + SECONDS
        lines, _ = await make().text(document(paths[0]), deadline)
        assert lines[0] == "needle"
        return len(paths)

    assert await found() == 5
    # If the last programs end at the same time, the data may still be in the write-ahead log.
    with contextlib.closing(sqlite3.connect(database)) as opened:
        opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    intact = database.read_bytes()
    # First an invalid file, then a database whose pages contradict the first page.
    for damaged in (b"no database at all" * 100, intact[:4096] + b"\xff" * (len(intact) - 4096)):
        for ask in (found, text):
            for name in ("-wal", "-shm"):
                database.with_name(database.name + name).unlink(missing_ok=True)
            database.write_bytes(damaged)
            assert await ask() == 5
            assert database.read_bytes() != damaged
    assert sorted(one.name for one in folder.iterdir()) == sorted(path.name for path in paths)


@requires_rga
async def test_a_changed_document_is_read_again(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    path = folder / "a.pdf"
    for number in range(2):
        path.write_bytes(pdf([f"needle {number}"]))
        os.utime(path, (number + 1, number + 1))
        (found,) = await hits(make(), path, "needle")
        assert found.line.text == f"needle {number}"


@pytest.mark.slow
@requires_rga
async def test_more_documents_are_searched_than_runs_are_concurrent(
    make: Callable[..., RgaEngine], folder: Path
) -> None:
    paths = [folder / f"{number}.gz" for number in range(8 + 8 + 3)]
    for path in paths:
        path.write_bytes(gzip.compress(b"needle" if path.stem.endswith("5") else b"x"))
    engine = make()
    results = await answers(engine, paths, "needle")
    assert sorted(one.document.path for one in results) == sorted(
        path.name for path in paths if path.stem.endswith("5")
    )
    assert (engine.pending, engine.timed_out) == ([], False)


# --- stand-ins ------------------------------------------------------------------------------------


def stand_in(folder: Path, name: str, script: str) -> Path:
    """Write a program of this name as a shell script with the usual PATH."""
    file = folder / name
    file.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin:$PATH\n{script}\n")
    file.chmod(0o755)
    return file


def event(kind: str, **data: Any) -> str:
    """Return a shell command that prints an event of `rg --json`."""
    written = msgspec.json.encode({"type": kind, "data": data}).decode()
    return f"printf '%s\\n' '{written}'"


def events_of(path: Path) -> list[str]:
    named = {"path": {"text": str(path)}}
    line = {"lines": {"text": "Page 1: needle\n"}, "line_number": 1, "absolute_offset": 0}
    return [
        event("begin", **named),
        event("match", **named, **line, submatches=[{"start": 8, "end": 14}]),
        event("end", **named, binary_offset=None),
    ]


SUMMARY = event("summary", stats={"searches": 1})


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    made = tmp_path / "programs"
    made.mkdir()
    return made


@pytest.mark.slow
async def test_a_hanging_rga_ends_at_the_deadline_and_its_matches_are_kept(
    make: Callable[..., RgaEngine], folder: Path, programs: Path, tmp_path: Path
) -> None:
    paths = [folder / "a.pdf", folder / "b.pdf", folder / "c.pdf"]
    # Each run searches one document.
    script = [
        'case "$*" in',
        *("*a.pdf)", *events_of(paths[0]), SUMMARY, "exit 0;;"),
        *("*b.pdf)", *events_of(paths[1])[:2], ";;"),
        *("esac", f"echo $$ >{tmp_path}/pid", "exec sleep 600"),
    ]
    stand_in(programs, "rga", "\n".join(script))
    engine = make(programs)
    results = await answers(engine, paths, "needle", seconds=2.0)
    assert [
        (one.document.path, len(one.hits)) for one in results if isinstance(one, DocumentHits)
    ] == [
        ("a.pdf", 1),
        ("b.pdf", 1),
    ]
    # The second document may have more matches.
    assert [one.path for one in engine.pending] == ["b.pdf", "c.pdf"]
    assert engine.timed_out
    assert not alive(int((tmp_path / "pid").read_text()))
    stand_in(programs, "rga", "exec sleep 600")
    with pytest.raises(Unreadable, match="time ran out"):
        await engine.text(document(paths[2]), asyncio.get_running_loop().time() + 0.1)


@requires_rga
async def test_children_of_rga_end_with_it(
    make: Callable[..., RgaEngine], folder: Path, programs: Path, tmp_path: Path
) -> None:
    path = by_pandoc(folder, "a.docx", "A needle.")
    for name in ("rga", "pdftotext"):
        (programs / name).symlink_to(shutil.which(name) or name)
    stand_in(programs, "pandoc", f"echo $$ >{tmp_path}/pid; exec sleep 600")
    (folder / "b.pdf").write_bytes(pdf(["needle"]))
    engine = make(programs)
    search = asyncio.create_task(answers(engine, [path, folder / "b.pdf"], "needle", seconds=600))
    pid = tmp_path / "pid"
    await until(lambda: search.done() or (pid.exists() and pid.read_text()), "pandoc has not begun")
    pandoc = int(pid.read_text())
    assert alive(pandoc)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    await until(lambda: not alive(pandoc), "pandoc still runs")


@pytest.mark.slow
async def test_a_failure_after_forty_megabytes_of_errors_is_reported(
    make: Callable[..., RgaEngine], folder: Path, programs: Path
) -> None:
    good, bad = folder / "a.pdf", folder / "b.pdf"
    divider = "-" * 79
    script = [
        'case "$*" in *a.pdf)',
        *events_of(good),
        SUMMARY,
        "exit 0; esac",
        "head -c 20000000 /dev/zero | tr '\\0' 'x' >&2",
        "yes 'something is wrong' | head -c 20000000 >&2",
        "echo >&2",
        f"echo \"rg: {bad}: preprocessor command failed: 'x': \" >&2",
        f"echo '{divider}' >&2",
        "yes 'Syntax Error: broken' | head -c 1000000 >&2",
        f"echo >&2; echo '{divider}' >&2",
        SUMMARY,
        "exit 2",
    ]
    stand_in(programs, "rga", "\n".join(script))
    results = await answers(make(programs), [good, bad], "needle")
    assert results[1:] == [ReadFailure(document(bad), "it is damaged: broken")]
    assert isinstance(results[0], DocumentHits)
    assert short(results[0].hits) == [(2, "needle", ["needle"], DocumentLocation(page=1))]


async def test_a_failing_rga_is_reported_with_exit_code_and_stderr(
    make: Callable[..., RgaEngine], folder: Path, programs: Path
) -> None:
    path = folder / "a.pdf"
    stand_in(programs, "rga", "echo 'it is broken' >&2; exit 2")
    with pytest.raises(SearchFailed) as raised:
        await answers(make(programs), [path], "needle")
    assert raised.value.data == {
        "kind": "search_failed",
        "exit_code": 2,
        "stderr": "it is broken\n",
    }
    stand_in(programs, "rga", "kill -SEGV $$")
    with pytest.raises(SearchFailed) as raised:
        await answers(make(programs), [path], "needle")
    assert raised.value.data["exit_code"] == -11
    # rga exits with 1, "nothing found", if a signal killed its ripgrep.
    stand_in(programs, "rga", "exit 1")
    with pytest.raises(SearchFailed):
        await answers(make(programs), [path], "needle")
    stand_in(programs, "rga", f"{SUMMARY}; exit 1")
    assert await answers(make(programs), [path], "needle") == []
    stand_in(programs, "rga", "yes x | head -c 1000000 >&2; exit 101")
    with pytest.raises(SearchFailed) as raised:
        await answers(make(programs), [path], "needle")
    assert len(raised.value.data["stderr"]) < STDERR_BYTES
    (programs / "rga").write_text("no program")
    with pytest.raises(SearchFailed, match="127"):
        await answers(make(programs), [path], "needle")


async def test_a_line_that_is_too_long_is_reported(
    make: Callable[..., RgaEngine], folder: Path, programs: Path
) -> None:
    path = folder / "a.pdf"
    begin, match, end = events_of(path)
    long = "head -c 5000000 /dev/zero | tr '\\0' 'x'; echo"
    stand_in(programs, "rga", "\n".join([begin, long, match, end, SUMMARY]))
    results = await answers(make(programs), [path], "needle")
    assert isinstance(results[0], DocumentHits)
    assert results[1:] == [
        ReadFailure(document(path), "lines of more than 4 MiB in it are left out")
    ]
