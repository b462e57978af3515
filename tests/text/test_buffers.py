"""Unsaved documents replace their files on disk."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import requires_posix
from winnow.text.buffers import Overlay, unsaved_overlay
from winnow.text.scope import Filters, search_scope


def test_only_documents_that_differ_from_the_disk_are_in_the_overlay(project: Path) -> None:
    same = (project / "src/main.py").read_text()
    buffers = {
        project / "src/main.py": same,
        project / "src/loader.py": "changed\r\n",
        project / "src/new.py": "new\n",
        project.parent / "elsewhere.py": "not in scope\n",
    }
    with unsaved_overlay(buffers, search_scope([project], Filters())) as overlay:
        [(folder, prefix)] = overlay.folders
        assert prefix == ""
        assert overlay.paths == {"src/loader.py", "src/new.py"}
        assert (folder / "src/loader.py").read_bytes() == b"changed\r\n"
    assert not folder.exists()


def test_the_overlay_is_empty_without_open_documents(project: Path) -> None:
    with unsaved_overlay({}, search_scope([project], Filters())) as overlay:
        assert overlay == Overlay()


def test_documents_outside_the_search_path_are_ignored(project: Path) -> None:
    buffers = {project / "src/a.py": "x", project / "srcs/b.py": "x"}
    with unsaved_overlay(buffers, search_scope([project], Filters(path="src"))) as overlay:
        assert overlay.paths == {"src/a.py"}


def test_the_overlay_has_documents_of_every_root(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    buffers = {project / "a.py": "one", other / "a.py": "two"}
    with unsaved_overlay(buffers, search_scope([project, other], Filters())) as overlay:
        texts = {prefix: (folder / "a.py").read_text() for folder, prefix in overlay.folders}
        assert texts == {"": "one", f"{other}/": "two"}
        assert overlay.paths == {"a.py", f"{other}/a.py"}


@requires_posix
def test_documents_with_unusable_paths_do_no_harm(project: Path, tmp_path: Path) -> None:
    """Found by review: each of these wrote elsewhere, broke every search, or hung the server."""
    os.mkfifo(project / "fifo")
    (project / "real").write_text("on disk")
    buffers = {
        project / ".." / "escaped.py": "outside",
        Path(f"{project}/src/../../escaped2.py"): "outside",
        project / "a\0b.py": "null",
        project / ("n" * 300 + ".py"): "too long",
        project / "x": "a file",
        project / "x" / "y.py": "below a file",
        project: "the folder itself",
        project / "fifo": "would wait for ever",
        project / "good.py": "good",
    }
    with unsaved_overlay(buffers, search_scope([project], Filters())) as overlay:
        assert "good.py" in overlay.paths
        assert overlay.paths <= {"good.py", "x", "x/y.py"}
        # A path that no file can have is not a document; `x/y.py` and `x` cannot both exist.
        assert overlay.failed == 1
    assert not list(tmp_path.rglob("escaped*"))


@requires_posix
def test_a_document_is_found_under_any_spelling_of_its_folder(
    project: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(project)
    for folder, file in ((project, link), (link, project)):
        scope = search_scope([folder], Filters())
        with unsaved_overlay({file / "src/loader.py": "changed"}, scope) as overlay:
            assert overlay.paths == {"src/loader.py"}
