"""search_docs by ripgrep-all, by the built-in engine, and by both: real documents, real programs,
and programs that are missing, hang or fail."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import CI, MakeWorkspace, requires, requires_posix
from documents.making_pdf import make_pdf
from winnow.config import Config, merge_layer
from winnow.documents.extract import ocr
from winnow.errors import ProgramNotInstalled, SearchFailed, SearchTimedOut
from winnow.tools import TOOLS
from winnow.tools.search_docs import SearchDocsResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

pytestmark = requires_posix

FIXTURES = Path(__file__).parents[2] / "documents" / "fixtures"
SEARCH, TEXT = TOOLS["search_docs"], TOOLS["document_text"]
# A word of each page, planted by the script that makes the fixtures.
DOCUMENTS = (
    "pages-libreoffice.pdf",
    "pages-latex.pdf",
    "report-pandoc.docx",
    "report-libreoffice.odt",
    "report-pandoc.epub",
    "figures-libreoffice.xlsx",
    "slides-libreoffice.pptx",
    "bundle.zip",
    "locked.pdf",
    "locked.docx",
)

Made = Callable[..., EngineWorkspace]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    for name in DOCUMENTS:
        shutil.copy(FIXTURES / name, folder)
    return folder


@pytest.fixture(scope="module")
def read_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for tests without changes; the built-in engine has its documents in the
    cache."""
    root = tmp_path_factory.mktemp("read") / "root"
    root.mkdir()
    for name in DOCUMENTS:
        shutil.copy(FIXTURES / name, root)

    async def read() -> None:
        await asyncio.sleep(0.06)  # until the clock of the file system has gone on
        workspace = EngineWorkspace([root], Config(), variables(root, os.environ["PATH"]))
        try:
            assert not (await search(workspace, "the", engine="builtin")).pending
        finally:
            await workspace.aclose()

    asyncio.run(read())
    return root


def variables(root: Path, path: str) -> dict[str, str]:
    """Return the environment of a workspace whose cache is next to its folder."""
    home = root.parent / "home"
    return {"PATH": path, "HOME": str(home), "XDG_CACHE_HOME": str(root.parent / "cache")}


@pytest.fixture
def workspace_of(make_workspace: MakeWorkspace) -> Made:
    def make(root: Path, path: str = os.environ["PATH"], **documents: object) -> EngineWorkspace:
        config, problems = merge_layer(Config(), {"documents": documents}, "test")
        assert problems == []
        return make_workspace(root, config=config, environment=variables(root, path))

    return make


def programs(folder: Path, *names: str, **scripts: str) -> str:
    """Return a PATH with only these programs of the machine and these scripts."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(stat.S_IRWXU)
    return f"{folder}{os.pathsep}/nowhere"


async def search(workspace: EngineWorkspace, query: str, **params: Any) -> SearchDocsResult:
    result = await SEARCH.call(workspace, {"query": query, **params}, no_progress)
    assert isinstance(result, SearchDocsResult)
    return result


def pages(result: SearchDocsResult) -> set[tuple[str, int | None, str | None, str]]:
    """Return the matching words with their documents and pages."""
    return {
        (document.path, match.page, match.member, match.text[start - shift : end - shift].lower())
        for document in result.documents
        for match in document.matches
        for shift in (match.text_column or 1,)
        for start, end in match.ranges or [match.match_range]
    }


@requires("rga", "pandoc", "pdftotext")
async def test_both_engines_find_the_same_on_the_same_pages(
    workspace_of: Made, read_root: Path
) -> None:
    workspace = workspace_of(read_root)
    query = r"\b(albatross|bandicoot|cormorant|marmolite|dugong|echidna)\b"
    ours = await search(workspace, query, engine="builtin")
    theirs = await search(workspace, query, engine="rga")
    assert (ours.engine, theirs.engine) == ("builtin", "rga")
    read_by_rga = {one.path for one in theirs.documents}
    assert read_by_rga >= {"pages-libreoffice.pdf", "pages-latex.pdf"}
    of_pdf = {one for one in pages(ours) if one[0].endswith(".pdf")}
    assert of_pdf == {one for one in pages(theirs) if one[0].endswith(".pdf")}
    assert {one[1] for one in of_pdf} >= {1, 2, 3, 4, 6}
    # Unread documents are listed with their reasons.
    failed = {one.path: one.reason for one in theirs.failed}
    assert failed["figures-libreoffice.xlsx"] == "rga does not read .xlsx"
    assert failed["slides-libreoffice.pptx"] == "rga does not read .pptx"
    assert "encrypted" in failed["locked.pdf"] or "password" in failed["locked.pdf"]
    assert {one.path for one in ours.failed} == {"locked.pdf", "locked.docx"}


@requires("rga", "pandoc", "pdftotext")
@pytest.mark.parametrize("engine", ["auto", "rga", "builtin"])
async def test_a_preview_opens_at_the_line_of_the_match(
    workspace_of: Made, read_root: Path, engine: str
) -> None:
    workspace = workspace_of(read_root)
    result = await search(workspace, r"[aeiou][a-z]{6,}", engine=engine, max_results=1000)
    assert len(result.documents) >= 5
    for document in result.documents:
        text = await TEXT.call(workspace, {"path": document.matches[0].preview_uri}, no_progress)
        lines = text.text.split("\n")
        for match in document.matches:
            shown = lines[match.line - 1]
            start = (match.text_column or 1) - 1
            text_of_match = match.text.strip("…")
            assert text_of_match in shown[max(0, start - 1) :], (document.path, match)
            parts = [part for part in text.line_map if part.line <= match.line]
            if match.page is not None and match.member is None:
                assert parts[-1].page == match.page


@requires("rga", "pandoc", "pdftotext")
async def test_the_answer_names_the_engine_of_each_format(
    workspace_of: Made, read_root: Path
) -> None:
    own = await search(workspace_of(read_root), "the")
    assert (own.engine, set(own.engines.values())) == ("builtin", {"builtin"})
    result = await search(workspace_of(read_root, engine="rga"), "the")
    assert result.engine == "both"
    assert result.engines == {
        "pdf": "both",
        "docx": "both",
        "odt": "rga",
        "epub": "rga",
        "zip": "builtin",
        "xlsx": "builtin",
        "pptx": "builtin",
    }
    assert {one.path: one.engine for one in result.documents}["pages-latex.pdf"] == "rga"
    # The other engine tries documents that this one cannot read, and reports its own reason.
    assert {one.path: one.reason for one in result.failed} == {
        "locked.pdf": "it is encrypted: a password is needed",
        "locked.docx": "it is encrypted: a password is needed",
    }
    anchored = await search(workspace_of(read_root, engine="rga"), "^the")
    assert set(anchored.engines.values()) == {"builtin"}


@requires("rga", "pdftotext")
async def test_a_changed_document_is_read_again_even_with_old_timestamps(
    workspace_of: Made, root: Path
) -> None:
    workspace = workspace_of(root)
    for number in range(4):
        (root / "same.pdf").write_bytes(make_pdf([[f"state number {number}"]]))
        os.utime(root / "same.pdf", (1_600_000_000, 1_600_000_000))
        for engine in ("rga", "builtin"):
            result = await search(workspace, "state number", path="same.pdf", engine=engine)
            assert [m.text for d in result.documents for m in d.matches] == [
                f"state number {number}"
            ]
            assert [document.path for document in result.documents] == ["same.pdf"]


async def test_without_rga_the_built_in_engine_reads_all(
    workspace_of: Made, read_root: Path, tmp_path: Path
) -> None:
    workspace = workspace_of(read_root, programs(tmp_path / "bin"), engine="rga")
    result = await search(workspace, "the")
    assert set(result.engines.values()) == {"builtin"}
    with pytest.raises(ProgramNotInstalled, match="Install it: ") as missing:
        await search(workspace, "the", engine="rga")
    assert missing.value.data["kind"] == "rga_not_installed"


@requires("rga", "pdftotext")
async def test_without_pandoc_rga_reads_pdfs_and_the_built_in_engine_the_rest(
    workspace_of: Made, read_root: Path, tmp_path: Path
) -> None:
    path = programs(tmp_path / "bin", "rga", "rga-preproc", "pdftotext")
    result = await search(workspace_of(read_root, path, engine="rga"), "the")
    assert (result.engines["pdf"], result.engines["docx"]) == ("both", "builtin")
    required = await search(workspace_of(read_root, path), "the", engine="rga")
    failed = {one.path: one.reason for one in required.failed}
    assert failed["report-pandoc.docx"].startswith("pandoc is not installed: ")


async def test_a_hanging_rga_is_killed_at_the_deadline(
    workspace_of: Made, read_root: Path, tmp_path: Path
) -> None:
    path = programs(tmp_path / "bin", "sleep", rga="exec sleep 100", pdftotext="exit 1")
    workspace = workspace_of(read_root, path)
    with pytest.raises(SearchTimedOut, match=r"timed out after 0\.5 seconds"):
        await search(workspace, "the", engine="rga", timeout=0.5)
    assert workspace.processes._alive == set()


@pytest.mark.parametrize(
    "script",
    ["echo 'a message' >&2; exit 3", "kill -9 $$", "head -c 100000000 /dev/zero >&2; exit 9"],
)
async def test_an_rga_that_fails_is_an_error_where_it_is_required(
    workspace_of: Made, read_root: Path, tmp_path: Path, script: str
) -> None:
    path = programs(tmp_path / "bin", "head", rga=script, pdftotext="exit 1")
    workspace = workspace_of(read_root, path, engine="rga")
    with pytest.raises(SearchFailed) as failed:
        await search(workspace, "the", engine="rga", path="pages-latex.pdf")
    assert failed.value.data["kind"] == "search_failed"
    assert len(failed.value.message) < 5_000
    # Otherwise the other engine searches, and the answer reports it.
    result = await search(workspace, "the", path="pages-latex.pdf")
    assert [one.engine for one in result.documents] == ["builtin"]
    assert result.warnings
    assert result.warnings[0].startswith("ripgrep-all cannot be used: rga ")


@pytest.mark.skipif(not ocr.is_installed() and not CI, reason="needs winnow-ls[ocr]")
async def test_scanned_pages_and_pictures_are_found_with_recognition(
    workspace_of: Made, tmp_path: Path
) -> None:
    root = tmp_path / "scans"
    root.mkdir()
    for name in ("scanned.pdf", "scanned.png"):
        shutil.copy(FIXTURES / name, root)
    without = await search(workspace_of(root, engine="builtin"), "bandicoot")
    assert [one.path for one in without.failed] == ["scanned.pdf"]
    assert without.warnings[-1] == ("1 picture was not read: documents.ocr is off")
    assert without.documents == []
    asked = await search(workspace_of(root, engine="builtin"), "bandicoot", path="scanned.png")
    assert [one.path for one in asked.failed] == ["scanned.png"]
    result = await search(workspace_of(root, engine="builtin", ocr=True), "bandicoot", timeout=300)
    assert sorted(one.path for one in result.documents) == ["scanned.pdf", "scanned.png"]
    assert result.failed == []
