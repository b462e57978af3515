"""Files of repositories in the cluster, as the rows of a search name them."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from cluster.nodes import Cluster, pushed, workspace_of
from conftest import git_init, write_files
from winnow.config import ClusterSettings, Config
from winnow.errors import InvalidParams, NotFound, NotInRepository, RepositoryUnavailable
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchParams, code_search
from winnow.tools.read_file import ReadFileResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

pytestmark = [pytest.mark.cluster, pytest.mark.process]

SECRET = "sk_live_4eC39HqLyjWDarjtT1zdp7dcXYZ"
PARTS = (
    "PART_BYTES = 1024\n\n\ndef split_parts(data):\n    return data[:PART_BYTES]\n\n\n"
    "class Parts:\n    def join(self):\n        def inner():\n            pass\n"
)
FILES = {
    "src/parts.py": PARTS,
    "README.md": "# Parts\n\nFiles are sent in parts.\n",
    "crlf.txt": "one\r\ntwo\r\n",
    "mark.txt": "\ufeffone\n",
    "key.py": f'API_KEY = "{SECRET}"\nNAME = "parts"\n',
}


@pytest.fixture(scope="module")
def parts(started_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a repository that the cluster has twice, with another text in a
    branch."""
    started_cluster.start_missing()
    started_cluster.clear()
    top = tmp_path_factory.mktemp("reading")
    folder = write_files(git_init(top / "parts"), FILES)
    release = write_files(git_init(top / "release"), {**FILES, "src/parts.py": "OLD = 1\n"})

    async def push_both() -> None:
        await pushed(started_cluster, folder, "team/parts")
        await pushed(started_cluster, release, "team/parts", "r1", "release")

    asyncio.run(push_both())
    return folder


async def read(workspace: EngineWorkspace, path: str, **params: Any) -> ReadFileResult:
    result = await TOOLS["read_file"].call(workspace, {"path": path, **params}, no_progress)
    assert isinstance(result, ReadFileResult)
    return result


def content(result: ReadFileResult) -> str:
    return "".join(chunk.content for chunk in result.chunks)


def clone_of(folder: Path, to: Path, url: str = "git@example.com:team/parts.git") -> Path:
    """Copy a repository, as a clone of a remote one."""
    shutil.copytree(folder, to)
    with (to / ".git/config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = {url}\n')
    return to


async def test_a_row_opens(started_cluster: Cluster, parts: Path, folder: Path) -> None:
    async with workspace_of(folder, started_cluster.settings()) as workspace:
        params = CodeSearchParams(query="split_parts", repositories=["team/*"])
        [row, *_] = (await code_search.run(workspace, params, no_progress)).results
        assert row.repository == "team/parts"
        by_fields = await read(workspace, row.path, repository=row.repository, commit=row.commit)
        by_place = await read(workspace, f"{row.repository}:{row.path}")
        lines = await read(workspace, f"{row.repository}:{row.path}:4-5")
    assert content(by_fields) == content(by_place) == PARTS
    assert (by_fields.repository, by_fields.commit) == ("team/parts", "c1")
    assert (by_fields.path, by_fields.total_lines) == ("src/parts.py", 11)
    assert not by_fields.warnings
    assert [(chunk.start, chunk.end) for chunk in lines.chunks] == [(4, 5)]
    assert "[from the search cluster: team/parts, commit c1]" in TOOLS["read_file"].plain(lines)


async def test_branches_lines_pages_and_outlines(
    started_cluster: Cluster, parts: Path, folder: Path
) -> None:
    async with workspace_of(folder, started_cluster.settings()) as workspace:
        release = await read(workspace, "team/parts@release:src/parts.py")
        assert (content(release), release.commit) == ("OLD = 1\n", "r1")
        span = await read(workspace, "src/parts.py", repository="team/parts", spans=["4", "8-"])
        assert [(chunk.start, chunk.end) for chunk in span.chunks] == [(4, 4), (8, 11)]
        outline = await read(workspace, "team/parts:src/parts.py", outline=True)
        assert [chunk.start for chunk in outline.chunks] == [1, 4, 8]
        first = await read(workspace, "team/parts:src/parts.py", max_lines=4)
        rest = await read(workspace, "team/parts:src/parts.py", max_lines=4, cursor=first.cursor)
        assert [(chunk.start, chunk.end) for chunk in rest.chunks] == [(5, 8)]
        kept = await read(workspace, "team/parts:crlf.txt", line_endings="keep")
        assert content(kept) == "one\r\ntwo\r\n"
        assert content(await read(workspace, "team/parts:mark.txt")) == "one\n"
        with pytest.raises(InvalidParams, match="no definitions are known"):
            await read(workspace, "team/parts:crlf.txt", outline=True)


async def test_secrets_are_replaced(started_cluster: Cluster, parts: Path, folder: Path) -> None:
    async with workspace_of(folder, started_cluster.settings()) as workspace:
        result = await read(workspace, "team/parts:key.py")
    assert SECRET not in content(result)
    assert 'NAME = "parts"' in content(result)


async def test_a_later_push_is_named(started_cluster: Cluster, parts: Path, folder: Path) -> None:
    async with workspace_of(folder, started_cluster.settings()) as workspace:
        result = await read(workspace, "README.md", repository="team/parts", commit="c0")
    assert result.warnings == [
        "team/parts was pushed again since: this is the text of commit c1, not of c0"
    ]


@pytest.mark.parametrize("name", ["src/none.py", "../here/local.py", "/etc/passwd", "src", "."])
async def test_what_is_not_there(
    started_cluster: Cluster, parts: Path, folder: Path, name: str
) -> None:
    async with workspace_of(folder, started_cluster.settings()) as workspace:
        with pytest.raises(NotInRepository, match="or you have no access to it"):
            await read(workspace, name, repository="team/parts")
        with pytest.raises(NotInRepository):
            await read(workspace, name, repository="team/none")


async def test_without_access_a_file_is_not_there(
    started_cluster: Cluster, parts: Path, folder: Path
) -> None:
    alias = {"filter": {"term": {"repository": "team/other"}}}
    started_cluster.request("PUT", "/winnow-1/_alias/other-team", alias)
    settings = started_cluster.settings(index="other-team")
    async with workspace_of(folder, settings) as workspace:
        with pytest.raises(NotInRepository) as hidden:
            await read(workspace, "team/parts:README.md")
        with pytest.raises(NotInRepository) as missing:
            await read(workspace, "team/none:README.md")
    assert hidden.value.message.replace("team/parts", "team/none") == missing.value.message


async def test_an_identical_file_of_a_clone_is_opened(
    started_cluster: Cluster, parts: Path, tmp_path: Path
) -> None:
    clone = clone_of(parts, tmp_path / "clone")
    (clone / "README.md").write_text("changed here\n")
    open_documents = {clone / "crlf.txt": "unsaved\n"}
    workspace = EngineWorkspace(
        [clone],
        Config(cluster=started_cluster.settings()),
        {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"},
        open_documents=lambda: open_documents,
    )
    try:
        same = await read(workspace, "team/parts:src/parts.py:4-5")
        with_secret = await read(workspace, "team/parts:key.py")
        changed = await read(workspace, "team/parts:README.md")
        unsaved = await read(workspace, "team/parts:crlf.txt")
        of_branch = await read(workspace, "team/parts@release:README.md")
        (clone / "src/parts.py").unlink()
        deleted = await read(workspace, "team/parts:src/parts.py")
    finally:
        await workspace.aclose()
    assert (same.repository, same.root, same.path) == (None, str(clone), "src/parts.py")
    assert [(chunk.start, chunk.end) for chunk in same.chunks] == [(4, 5)]
    assert with_secret.repository is None
    assert SECRET in content(with_secret)
    assert (changed.repository, content(changed)) == ("team/parts", FILES["README.md"])
    assert (unsaved.repository, content(unsaved)) == ("team/parts", "one\ntwo\n")
    assert (of_branch.repository, content(of_branch)) == ("team/parts@release", FILES["README.md"])
    assert (deleted.repository, content(deleted)) == ("team/parts", PARTS)


async def test_files_of_the_workspace_come_first(
    started_cluster: Cluster, parts: Path, folder: Path
) -> None:
    write_files(folder, {"team/parts:README.md": "local\n", "src/a.py": "def name():\n    pass\n"})
    async with workspace_of(folder, started_cluster.settings()) as workspace:
        local = await read(workspace, "team/parts:README.md")
        assert (local.repository, content(local)) == (None, "local\n")
        symbol = await read(workspace, "src/a.py:name")
        assert (symbol.repository, content(symbol)) == (None, "def name():\n    pass\n")


async def test_the_settings_name_repositories(
    started_cluster: Cluster, parts: Path, folder: Path
) -> None:
    settings = started_cluster.settings(repositories=("team/*",))

    async def found(workspace: EngineWorkspace, **params: Any) -> set[str | None]:
        raw = {"query": "split_parts", **params}
        result: Any = await TOOLS["code_search"].call(workspace, raw, no_progress)
        return {row.repository for row in result.results}

    async with workspace_of(folder, settings) as workspace:
        assert "team/parts" in await found(workspace)
        assert "team/parts@release" not in await found(workspace)
        assert not {"team/parts"} & await found(workspace, repositories=[])
        assert not {"team/parts"} & await found(workspace, repositories=["other/*"])
        grep: Any = await TOOLS["grep"].call(workspace, {"pattern": "PART_BYTES"}, no_progress)
    assert {match.repository for match in grep.matches} == {"team/parts"}


async def test_a_cluster_that_is_away_is_named(folder: Path) -> None:
    settings = ClusterSettings(addresses=("http://127.0.0.1:9",))
    async with workspace_of(folder, settings) as workspace:
        with pytest.raises(RepositoryUnavailable, match="cannot be reached"):
            await read(workspace, "team/parts:README.md")
    async with workspace_of(folder, ClusterSettings()) as workspace:
        with pytest.raises(RepositoryUnavailable, match="no cluster is configured"):
            await read(workspace, "README.md", repository="team/parts")
        with pytest.raises(NotFound, match="in the workspace"):
            await read(workspace, "team/parts:README.md")
    private = ClusterSettings(addresses=("https://search.example.com:9200",))
    async with workspace_of(folder, private) as workspace:
        with pytest.raises(RepositoryUnavailable, match="run `winnow cluster consent`"):
            await read(workspace, "team/parts:README.md")
