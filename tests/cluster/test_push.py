"""Pushing commits into a cluster: what is sent, kept and removed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from cluster.nodes import Cluster, pushed
from conftest import git_init, write_files
from planted import all_planted
from winnow.config import ClusterSettings, Config
from winnow.search.shared.push import PushError, push, remove
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

pytestmark = [pytest.mark.cluster, pytest.mark.process]

CACHE = "class LruCache:\n    def evictOldest(self):\n        return 1\n"
FILES = {"src/cache.py": CACHE, "src/copy.py": CACHE, "README.md": "# A cache\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "repository"), FILES)


def texts(cluster: Cluster) -> list[dict[str, Any]]:
    """Return all texts in the cluster, with their locations."""
    cluster.request("POST", "/winnow/_refresh")
    query = {"query": {"term": {"kind": "text"}}, "size": 1_000}
    answer = cluster.request("POST", "/winnow/_search", query)
    found: list[dict[str, Any]] = [hit["_source"] for hit in answer["hits"]["hits"]]
    return found


def places(cluster: Cluster) -> set[tuple[str, str]]:
    return {(place["ref"], place["path"]) for text in texts(cluster) for place in text["locations"]}


async def test_a_text_on_ten_branches_is_one_document(cluster: Cluster, folder: Path) -> None:
    first = await pushed(cluster, folder, "team/a")
    assert (first.new, first.branch.files, first.branch.skipped) == (2, 3, {})
    for number in range(9):
        again = await pushed(cluster, folder, "team/a", branch=f"b{number}")
        assert again.new == 0
    found = texts(cluster)
    assert len(found) == 2
    assert sorted(len(text["locations"]) for text in found) == [10, 20]
    # The same text in another repository may be visible to others.
    assert (await pushed(cluster, folder, "team/b")).new == 2


async def test_removed_and_moved_texts(cluster: Cluster, folder: Path) -> None:
    await pushed(cluster, folder, "team/a")
    (folder / "src/copy.py").rename(folder / "src/moved.py")
    (folder / "README.md").unlink()
    write_files(folder, {"new.py": "x = 1\n"})
    second = await pushed(cluster, folder, "team/a", "c2")
    assert (second.new, second.moved) == (1, 2)
    assert places(cluster) == {
        ("team/a", path) for path in ("src/cache.py", "src/moved.py", "new.py")
    }
    assert len(texts(cluster)) == 2
    nothing = await pushed(cluster, folder, "team/a", "c3")
    assert (nothing.new, nothing.moved, nothing.branch.commit) == (0, 0, "c3")


async def test_secrets_are_masked_and_the_rest_is_counted(cluster: Cluster, folder: Path) -> None:
    secret = all_planted(seed=3)[0]
    write_files(folder, {"settings.py": f"{secret.text}\n", "id_rsa": "-----BEGIN\n"})
    (folder / "latin.txt").write_bytes(b"caf\xe9\n")
    (folder / "binary.txt").write_bytes(b"a\0b\n")
    done = await pushed(cluster, folder, "team/a")
    assert (done.branch.masked, dict(done.branch.skipped)) == (1, {"not_utf8": 1, "secret": 1})
    assert secret.value not in str(texts(cluster))


async def test_two_pushes_at_once(cluster: Cluster, folder: Path) -> None:
    await pushed(cluster, folder, "team/a")
    await asyncio.gather(
        *(pushed(cluster, folder, "team/a", branch=branch) for branch in ("b1", "b2", "b3"))
    )
    assert {ref for ref, _ in places(cluster)} == {"team/a", *(f"team/a@b{n}" for n in (1, 2, 3))}


async def test_a_removed_branch_can_be_pushed_at_once(cluster: Cluster, folder: Path) -> None:
    workspace = EngineWorkspace([folder], Config(cluster=cluster.settings()))
    await pushed(cluster, folder, "team/a")
    assert await remove(workspace, "team/a", "") == 2
    assert places(cluster) == set()
    assert (await pushed(cluster, folder, "team/a")).new == 2
    assert await remove(workspace, "team/a", "other") == 0
    assert len(places(cluster)) == 3
    await workspace.aclose()


async def test_a_node_fails_during_a_push(cluster: Cluster, tmp_path: Path) -> None:
    folder = git_init(tmp_path / "large")
    names = [f"module_{number}.py" for number in range(600)]
    write_files(
        folder,
        {name: f"def f_{name[7:-3]}():\n    return '{name * 400}'\n" for name in names},
    )
    # Without this, the new index may have no complete replica yet when the node fails.
    small = write_files(git_init(tmp_path / "small"), {"a.py": "def f():\n    pass\n"})
    await pushed(cluster, small, "team/b")
    await asyncio.to_thread(cluster.wait)
    before = len(texts(cluster))
    pushing = asyncio.create_task(pushed(cluster, folder, "team/a"))
    try:
        # Texts arrive, and more are to come.
        for _ in range(600):
            await asyncio.sleep(0.1)
            try:
                if len(await asyncio.to_thread(texts, cluster)) > before:
                    break
            except OSError:
                continue
        assert not pushing.done()
        cluster.kill("1")
        done = await pushing
    finally:
        pushing.cancel()
    assert done.branch.files == len(names)
    assert places(cluster) == {("team/b", "a.py"), *(("team/a", name) for name in names)}


@pytest.mark.parametrize("name", ["team/*", "../a", "a@b", "", "a b"])
async def test_names_that_searches_could_not_select(folder: Path, name: str) -> None:
    workspace = EngineWorkspace([folder], Config(cluster=ClusterSettings()))
    with pytest.raises(PushError, match="--repository"):
        await push(workspace, name, "c", "", no_progress)
    await workspace.aclose()
