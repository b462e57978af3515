"""A path that does not exist is an error of every tool, `not_found` (#21)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, requires_posix, write_files
from frontends.cli.test_cli import winnow
from winnow.errors import NotFound, PathOutsideWorkspace, SearchError
from winnow.tools import TOOLS
from winnow.tools.search_docs import SearchDocsResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

# Valid params without a path, for every tool that has a path.
PARAMS: dict[str, dict[str, Any]] = {
    "code_search": {"query": "how are plugins loaded"},
    "document_text": {},
    "feedback": {"search_id": "0123456789ab", "action": "opened"},
    "find_references": {"name": "load_plugin"},
    "find_symbol": {"name": "load_plugin"},
    "glob": {"pattern": "**"},
    "grep": {"pattern": "load_plugin"},
    "keyword_search": {"query": "plugins", "search_terms": ["load_plugin"]},
    "read_file": {},
    "refresh": {},
    "semantic_search": {"query": "how are plugins loaded"},
    "tree": {},
}
MISSING = (
    "nothing.py",
    "src/nothing.py",
    "nowhere/nothing.py",
    "src/loader.py/nothing",
    "src/nothing*.py",
    "src/*.py",
    "nowhere/**/*.py",
    "src/nothing.py:2",
    "{root}/nothing.py",
    "file://{root}/nothing.py",
    "src/../nothing",
)
OUTSIDE = ("../nothing", "/etc/nothing", "/etc/passwd", "src/../../nothing", "file:///etc/nothing")


def params_of(name: str, path: str) -> dict[str, Any]:
    fields = {field.name for field in TOOLS[name].fields}
    return {**PARAMS[name], **({"paths": [path]} if "paths" in fields else {"path": path})}


async def error_of(workspace: Any, name: str, path: str) -> SearchError:
    with pytest.raises(SearchError) as failed:
        await TOOLS[name].call(workspace, params_of(name, path), no_progress)
    return failed.value


def test_the_table_has_every_tool_with_a_path() -> None:
    with_path = {
        name
        for name, tool in TOOLS.items()
        if {"path", "paths"}.intersection(field.name for field in tool.fields)
    }
    assert with_path == {*PARAMS, "search_docs"}


@pytest.mark.parametrize("name", PARAMS)
async def test_a_missing_path_is_not_found(
    name: str, project: Path, workspace: EngineWorkspace
) -> None:
    for form in MISSING:
        path = form.format(root=project)
        error = await error_of(workspace, name, path)
        assert isinstance(error, NotFound), (path, error)
        assert error.data == {"kind": "not_found", "path": path}
        assert repr(path) in error.message


@requires_posix
@pytest.mark.parametrize("name", PARAMS)
async def test_a_symlink_to_nothing_is_not_found(
    name: str, project: Path, make_workspace: MakeWorkspace
) -> None:
    (project / "link.py").symlink_to("nothing.py")
    assert isinstance(await error_of(make_workspace(project), name, "link.py"), NotFound)


@pytest.mark.parametrize("name", [*PARAMS, "search_docs"])
async def test_a_missing_path_outside_is_refused_as_outside(
    name: str, project: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PARAMS, "search_docs", {"query": "x"})
    workspace = make_workspace(project)
    for path in OUTSIDE:
        assert isinstance(await error_of(workspace, name, path), PathOutsideWorkspace), path


@pytest.mark.parametrize(
    "name", sorted({*PARAMS} - {"document_text", "feedback", "find_references"})
)
async def test_an_excluded_path_is_found(name: str, workspace: EngineWorkspace) -> None:
    paths = ["ignored", ".hidden"] if name == "tree" else ["ignored/cache.py", ".hidden/secret.py"]
    for path in paths:
        await TOOLS[name].call(workspace, params_of(name, path), no_progress)


async def test_search_docs_finds_nothing_at_a_missing_path_and_names_it(
    project: Path, workspace: EngineWorkspace
) -> None:
    for path in ("nothing.pdf", "nowhere", f"{project}/nothing.pdf", "nowhere/*.pdf"):
        params = {"query": "x", "path": path}
        result = await TOOLS["search_docs"].call(workspace, params, no_progress)
        assert isinstance(result, SearchDocsResult)
        assert result.total_found == 0
        assert path.removesuffix("/*.pdf") in result.warnings[0]
        assert "No matches found" in TOOLS["search_docs"].plain(result)


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("src/loder.py", "src/loader.py"),
        ("scr/loader.py", "src/loader.py"),
        ("SRC/Loader.py", "src/loader.py"),
        ("src/loder.py:12", "src/loader.py:12"),
        ("doc/plugin.md", "docs/plugins.md"),
        ("src/unrelated_name.py", ""),
        ("src/*.py", ""),
        ("nothing", ""),
    ],
)
async def test_the_message_suggests_a_similar_path(
    path: str, meant: str, project: Path, make_workspace: MakeWorkspace
) -> None:
    error = await error_of(make_workspace(project), "grep", path)
    assert (f"Did you mean '{meant}'?" in error.message) == bool(meant), error.message
    assert ("Did you mean" in error.message) == bool(meant), error.message


@requires_posix
async def test_a_similar_path_outside_is_not_suggested(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    outside = write_files(project.parent / "outside", {"private.txt": "x"})
    (project / "linked").symlink_to(outside)
    error = await error_of(make_workspace(project), "grep", "linkd/private.txt")
    assert "Did you mean" not in error.message


async def test_a_refresh_of_a_deleted_file_removes_it_and_reports_it(
    project: Path, indexed: EngineWorkspace
) -> None:
    (project / "src/registry.py").unlink()
    assert isinstance(await error_of(indexed, "refresh", "src/registry.py"), NotFound)
    await TOOLS["refresh"].call(indexed, {"paths": ["src"]}, no_progress)
    assert indexed.index.state().files_indexed == 4


@pytest.mark.slow
def test_the_command_line_exits_with_2(project: Path) -> None:
    commands = [
        ("grep", "x", "nothing"),
        ("glob", "**", "nothing"),
        ("tree", "nothing"),
        ("read", "src/nothing.py"),
        ("find-symbol", "x", "--path", "nothing"),
        ("keyword-search", "q", "x", "--path", "nothing"),
        ("refresh", "--paths", "nothing"),
    ]
    for command in commands:
        done = winnow(project, *command)
        assert (done.returncode, done.stdout) == (2, ""), command
        assert "There is no file or folder" in done.stderr
    done = winnow(project, "grep", "x", "src/loder.py", "--format", "json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["kind"] == "not_found"
    assert "Did you mean 'src/loader.py'?" in done.stderr
    # In a subfolder of the root, paths are relative to that folder.
    done = winnow(project / "src", "grep", "x", "loder.py")
    assert (done.returncode, "Did you mean 'src/loader.py'?" in done.stderr) == (2, True)
    done = winnow(project, "search-docs", "x", "nothing.pdf")
    assert (done.returncode, "nothing.pdf" in done.stdout) == (1, True)
