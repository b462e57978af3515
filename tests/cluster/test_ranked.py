"""Ranked searches in repositories of a cluster: rows, scopes and what is remembered."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from cluster.nodes import Cluster, pushed, workspace_of
from conftest import git_init, write_files
from winnow.config import Config, IndexSettings
from winnow.errors import InvalidParams
from winnow.storage.user_folders import state_folder
from winnow.tools.code_search import CodeSearchParams, code_search
from winnow.tools.find_references import FindReferencesParams, find_references
from winnow.tools.find_symbol import FindSymbolParams, find_symbol
from winnow.tools.keyword_search import KeywordSearchParams, keyword_search
from winnow.tools.semantic_search import Passage, SemanticSearchParams, semantic_search
from winnow.types import InRepository, no_progress
from winnow.workspace import EngineWorkspace

pytestmark = [pytest.mark.cluster, pytest.mark.process]

UPLOADS = {
    "src/uploads.py": (
        '"""Uploads of files."""\n\n'
        "class Uploader:\n"
        '    """Sends files in parts."""\n\n'
        "    def resume_upload(self, offset):\n"
        '        """Continue a failed upload from the last part."""\n'
        "        return self.client.put(offset)\n"
    ),
    "src/parts.py": "PART_BYTES = 1024\n\n\ndef split_parts(data):\n    return data[:PART_BYTES]\n",
    "README.md": "# Uploads\n\nFiles are sent in parts.\n",
    "data/names.csv": "upload,resume\n1,2\n",
}
HERE = {
    "local.py": "def cancel_upload(part):\n    '''Cancel an upload that has failed.'''\n",
    "other.py": "def unrelated():\n    return 1\n",
}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "here"), HERE)


@pytest.fixture(scope="module")
def uploads(started_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(git_init(tmp_path_factory.mktemp("uploads") / "uploads"), UPLOADS)


@pytest.fixture
async def two_branches(cluster: Cluster, uploads: Path, tmp_path: Path) -> Cluster:
    """Return a cluster with a repository that has two branches."""
    await pushed(cluster, uploads, "team/uploads")
    other = tmp_path / "release"
    shutil.copytree(uploads, other)
    write_files(other, {"src/uploads.py": "def resume_upload():\n    return 'old'\n"})
    await pushed(cluster, other, "team/uploads", "c2", "release")
    return cluster


async def test_rows_of_both_are_ranked_together(two_branches: Cluster, here: Path) -> None:
    params = SemanticSearchParams(
        query="continue or cancel an upload that has failed", repositories=["team/*"], top_k=3
    )
    async with workspace_of(here, two_branches.settings()) as workspace:
        result = await semantic_search.run(workspace, params, no_progress)
        assert workspace.index.state().files_total == len(HERE)
    shown = {(row.repository, row.path, row.root, row.uri) for row in result.results}
    assert (None, "local.py", None, None) in shown
    assert ("team/uploads", "src/uploads.py", None, None) in shown
    assert [row.score for row in result.results] == sorted(
        (row.score for row in result.results), reverse=True
    )
    [remote] = [row for row in result.results if row.path == "src/uploads.py"]
    assert (remote.commit, remote.origin) == ("c1", "cluster")
    assert remote.symbol == "Uploader.resume_upload"
    assert "def resume_upload(self, offset):" in str(remote.snippet)
    assert "team/uploads:src/uploads.py:" in semantic_search.plain(result)
    assert result.cursor is None
    assert result.completeness.complete
    assert result.completeness.shared is not None
    assert result.completeness.shared.searched == 1


async def test_branches_and_paths(two_branches: Cluster, here: Path) -> None:
    (here / "src").mkdir()

    async def found(workspace: EngineWorkspace, **changes: object) -> list[Passage]:
        params = SemanticSearchParams(query="resume upload", repositories=["team/*"])
        result = await semantic_search.run(
            workspace, msgspec.structs.replace(params, **changes), no_progress
        )
        return [row for row in result.results if row.repository]

    async with workspace_of(here, two_branches.settings()) as workspace:
        [release, *_] = await found(workspace, repositories=["team/uploads@release"])
        assert (release.repository, release.commit) == ("team/uploads@release", "c2")
        assert "'old'" in str(release.snippet)
        assert await found(workspace, repositories=["team/*@*"])
        assert {row.path for row in await found(workspace, path="src")} <= {
            "src/uploads.py",
            "src/parts.py",
        }
        assert {row.path for row in await found(workspace, include=["*.md"])} == {"README.md"}
        assert await found(workspace, path="local.py") == []


@pytest.mark.parametrize(
    ("query", "search", "path", "line"),
    [
        ("Uploader.resume_upload", "symbol", "src/uploads.py", 6),
        ("split_parts", "symbol", "src/parts.py", 4),
        ('"from the last part"', "text", "src/uploads.py", None),
        ("def \\w+_upload\\(self", "text", "src/uploads.py", None),
        ("uploads.py", "file", "src/uploads.py", None),
        ("names.csv", "file", "data/names.csv", None),
        ("how does a failed upload continue", "semantic", "src/uploads.py", None),
    ],
)
async def test_a_query_finds_what_it_finds_locally(
    two_branches: Cluster, here: Path, query: str, search: str, path: str, line: int | None
) -> None:
    params = CodeSearchParams(query=query, repositories=["team/*"])
    async with workspace_of(here, two_branches.settings()) as workspace:
        result = await code_search.run(workspace, params, no_progress)
    assert result.search_type_used == search
    [row] = [row for row in result.results if row.path == path]
    assert (row.repository, row.commit, row.origin) == ("team/uploads", "c1", "cluster")
    assert (row.root, row.uri) == (None, None)
    assert line in (None, row.line)


async def test_keywords(two_branches: Cluster, here: Path) -> None:
    params = KeywordSearchParams(
        query="how are uploads continued",
        search_terms=["resume_\\w+", "cancel"],
        repositories=["team/*"],
    )
    async with workspace_of(here, two_branches.settings()) as workspace:
        result = await keyword_search.run(workspace, params, no_progress)
    found = {(row.repository, row.path): row for row in result.files}
    assert (None, "local.py") in found
    remote = found["team/uploads", "src/uploads.py"]
    assert remote.terms == ["resume_\\w+"]
    assert [match.line for match in remote.matches] == [6]
    assert result.cursor is None
    assert result.ranked_by.kind == "local"
    assert result.completeness.shared is not None


async def test_uses_here_of_a_definition_there(two_branches: Cluster, here: Path) -> None:
    code = "from src.uploads import Uploader\n\nUploader().resume_upload(1)\n"
    write_files(here, {"user.py": code})
    params = FindReferencesParams(name="Uploader.resume_upload", repositories=["team/uploads"])
    async with workspace_of(here, two_branches.settings()) as workspace:
        result = await find_references.run(workspace, params, no_progress)
    assert result.symbol is not None
    assert (result.symbol.repository, result.symbol.path) == ("team/uploads", "src/uploads.py")
    rows = {(row.repository, row.path, row.line, row.kind) for row in result.references}
    assert rows == {
        (None, "user.py", 3, "call"),
        ("team/uploads", "src/uploads.py", 6, "definition"),
    }
    assert "team/uploads:src/uploads.py" in find_references.plain(result)
    assert result.completeness.complete


async def test_a_question_about_uses_covers_repositories(two_branches: Cluster, here: Path) -> None:
    write_files(here, {"user.py": "from src.parts import PART_BYTES\n\nprint(PART_BYTES)\n"})
    params = CodeSearchParams(query="where is PART_BYTES used", repositories=["team/uploads"])
    async with workspace_of(here, two_branches.settings()) as workspace:
        result = await code_search.run(workspace, params, no_progress)
    assert {(row.repository, row.path, row.symbol, row.why) for row in result.results} == {
        (None, "user.py", None, "uses `PART_BYTES`"),
        ("team/uploads", "src/parts.py", "split_parts", "uses `PART_BYTES`"),
    }
    assert result.completeness.complete


async def test_texts_are_not_sent_to_language_models(two_branches: Cluster, here: Path) -> None:
    async with workspace_of(here, two_branches.settings()) as workspace:
        params = CodeSearchParams(query="resume", repositories=["team/*"], ranker="llm")
        with pytest.raises(InvalidParams, match="not sent to language models"):
            await code_search.run(workspace, params, no_progress)
        params = msgspec.structs.replace(params, ranker="auto")
        result = await code_search.run(workspace, params, no_progress)
    assert "not sent to language models" in str(result.ranked_by.fallback_reason)


async def test_the_words_of_files_are_searched_without_an_index(
    two_branches: Cluster, here: Path
) -> None:
    params = SemanticSearchParams(query="continue a failed upload", repositories=["team/*"])
    config = Config(cluster=two_branches.settings(), index=IndexSettings(enabled=False))
    home = {"HOME": str(here.parent / "home"), "PATH": "/usr/bin:/bin"}
    workspace = EngineWorkspace([here], config, home)
    try:
        result = await semantic_search.run(workspace, params, no_progress)
    finally:
        await workspace.aclose()
    assert result.engine == "text"
    found = {(row.repository, row.path): row for row in result.results}
    assert (None, "local.py") in found
    assert found["team/uploads", "src/uploads.py"].symbol == "Uploader.resume_upload"


async def test_no_temporary_path_is_remembered(two_branches: Cluster, here: Path) -> None:
    async with workspace_of(here, two_branches.settings()) as workspace:
        for _ in range(2):
            rows: list[Sequence[InRepository]] = []
            semantic = SemanticSearchParams(query="resume upload", repositories=["team/*"])
            rows.append((await semantic_search.run(workspace, semantic, no_progress)).results)
            symbol = FindSymbolParams(name="Uploader", repositories=["team/*"])
            rows.append((await find_symbol.run(workspace, symbol, no_progress)).symbols)
            assert all(any(row.repository for row in found) for found in rows)
            assert not any(".winnow-" in str(row) for found in rows for row in found)
        state = state_folder(workspace.environment)
        assert state is not None
    written = [file for file in (*state.parent.rglob("*"), *here.rglob("*")) if file.is_file()]
    assert written
    assert not any(b"/.winnow-" in file.read_bytes() for file in written)


async def test_a_repository_that_is_open_here_is_searched_only_here(
    two_branches: Cluster, uploads: Path, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(uploads, clone)
    with (clone / ".git/config").open("a") as config:
        config.write('[remote "origin"]\n\turl = git@example.com:team/uploads.git\n')
    (clone / "src/uploads.py").write_text("def changed_here():\n    return 'upload'\n")
    async with workspace_of(clone, two_branches.settings()) as workspace:
        params = SemanticSearchParams(query="resume an upload", repositories=["team/*"])
        result = await semantic_search.run(workspace, params, no_progress)
    assert not any(row.repository for row in result.results)
    assert result.completeness.shared is not None
    assert result.completeness.shared.open_here == ["team/uploads"]
