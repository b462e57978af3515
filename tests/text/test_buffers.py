"""Unsaved documents stand for the files on disk."""

from __future__ import annotations

from pathlib import Path

from winnow.text.buffers import Overlay, unsaved
from winnow.text.files import search_scope
from winnow.types import SearchParams


def test_only_documents_that_differ_from_the_disk_are_laid_out(project: Path) -> None:
    same = (project / "src/main.py").read_text()
    buffers = {
        project / "src/main.py": same,
        project / "src/loader.py": "changed\r\n",
        project / "src/new.py": "new\n",
        project.parent / "elsewhere.py": "not in scope\n",
    }
    with unsaved(buffers, search_scope([project], SearchParams())) as overlay:
        [(folder, prefix)] = overlay.folders
        assert prefix == ""
        assert overlay.paths == {"src/loader.py", "src/new.py"}
        assert (folder / "src/loader.py").read_bytes() == b"changed\r\n"
    assert not folder.exists()


def test_nothing_is_laid_out_where_nothing_is_open(project: Path) -> None:
    with unsaved({}, search_scope([project], SearchParams())) as overlay:
        assert overlay == Overlay()


def test_documents_outside_the_path_that_is_searched_do_not_count(project: Path) -> None:
    buffers = {project / "src/a.py": "x", project / "srcs/b.py": "x"}
    with unsaved(buffers, search_scope([project], SearchParams(path="src"))) as overlay:
        assert overlay.paths == {"src/a.py"}


def test_documents_of_every_root_are_laid_out(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    buffers = {project / "a.py": "one", other / "a.py": "two"}
    with unsaved(buffers, search_scope([project, other], SearchParams())) as overlay:
        texts = {prefix: (folder / "a.py").read_text() for folder, prefix in overlay.folders}
        assert texts == {"": "one", f"{other}/": "two"}
        assert overlay.paths == {"a.py", f"{other}/a.py"}
