"""A repository that is open here is answered by its working tree alone, whatever has changed since
the push: rows are those of a fresh local index."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cluster.nodes import Cluster, pushed
from conftest import git
from winnow.config import ClusterSettings, Config, LearningSettings
from winnow.tools import TOOLS
from winnow.types import Answer, no_progress
from winnow.workspace import EngineWorkspace

pytestmark = [pytest.mark.cluster, pytest.mark.process]

CHANGES = 300
NAME = "team/project"


class Tree:
    """A working tree in which files and unsaved texts change at random."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root = root
        self.unsaved: dict[str, str] = {}
        self.words: list[str] = []
        self._chance = chance

    def change(self, number: int) -> None:
        """Make a random change."""
        kinds = (self.edit, self.edit, self.rename, self.delete, self.add, self.type)
        self._chance.choice(kinds)(number)

    def edit(self, number: int) -> None:
        path = self._one()
        path.write_text(self._edited(path.read_text("utf-8"), number))

    def rename(self, number: int) -> None:
        path = self._one()
        target = self.root / f"moved{number % 7}" / f"{number}_{path.name}"
        target.parent.mkdir(exist_ok=True)
        path.rename(target)

    def delete(self, _: int) -> None:
        self._one().unlink()

    def add(self, number: int) -> None:
        """Write a file that git does not track, with the text of another one or a new text."""
        text = self._one().read_text("utf-8")
        new = text if self._chance.random() < 0.5 else self._edited("", number)
        (self.root / f"untracked_{number}.py").write_text(new)

    def type(self, number: int) -> None:
        """Change the unsaved text of an open document, which may be a new one."""
        if self._chance.random() < 0.2:
            self.unsaved[f"unsaved_{number}.py"] = self._edited("", number)
        else:
            path = self._one()
            text = self._edited(path.read_text("utf-8"), number)
            self.unsaved[path.relative_to(self.root).as_posix()] = text

    def _one(self) -> Path:
        return self._chance.choice(sorted(self.root.rglob("*.py")))

    def _edited(self, text: str, number: int) -> str:
        word = f"changed_{number}_{self._chance.choice(['upload', 'parser', 'cache'])}"
        self.words.append(word)
        lines = text.split("\n")
        at = self._chance.randrange(len(lines))
        removed = self._chance.randrange(4)
        new = ["", f"def {word}(value):", f'    """Change the {word}."""', "    return value", ""]
        return "\n".join([*lines[:at], *new, *lines[at + removed :]])


@asynccontextmanager
async def opened(
    root: Path, unsaved: Mapping[str, str], settings: ClusterSettings
) -> AsyncIterator[EngineWorkspace]:
    """Open a working tree with unsaved texts, in a home of its own."""
    home = root.parent / f"home-{root.name}"
    documents = {root / path: text for path, text in unsaved.items()}
    workspace = EngineWorkspace(
        [root],
        Config(cluster=settings, learning=LearningSettings(enabled=False)),
        {"HOME": str(home), "PATH": "/usr/bin:/bin"},
        open_documents=lambda: documents,
    )
    try:
        yield workspace
    finally:
        await workspace.aclose()


def questions(tree: Tree, chance: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """Return calls about what has changed and what has not."""
    texts = [path.read_text("utf-8") for path in sorted(tree.root.rglob("*.py"))]
    words = sorted({word for text in texts for word in re.findall(r"[A-Za-z_]\w{4,}", text)})
    names = sorted({name for text in texts for name in re.findall(r"(?:def|class) (\w{5,})", text)})
    asked: list[tuple[str, dict[str, Any]]] = []
    for word in [*chance.sample(words, 60), *chance.sample(tree.words, 40)]:
        pattern = chance.choice([word, rf"\b{word}\w*\(", rf"def .*{word[2:]}"])
        asked.append(("grep", {"pattern": pattern, "max_results": 10_000}))
    for name in [*chance.sample(names, 15), *chance.sample(tree.words, 5)]:
        asked.append(("find_symbol", {"name": name, "max_results": 200}))
        asked.append(("code_search", {"query": name, "limit": 30}))
        asked.append(("semantic_search", {"query": name.replace("_", " "), "top_k": 30}))
        terms = {"query": name, "search_terms": [name], "ranker": "local"}
        asked.append(("keyword_search", terms))
    asked += [("find_references", {"name": name}) for name in chance.sample(names, 10)]
    return asked


async def rows(workspace: EngineWorkspace, tool: str, params: Mapping[str, Any]) -> list[Any]:
    """Return the rows of an answer, without the folder; or the error."""
    try:
        result = await TOOLS[tool].call(workspace, dict(params), no_progress)
    except Exception as error:  # compared as well
        return [type(error).__name__]
    assert isinstance(result, Answer)
    if params.get("repositories"):
        shared = result.completeness.shared
        assert shared is not None
        assert shared.answered, shared
        assert shared.open_here == [NAME], shared
    fields = ("matches", "symbols", "results", "files", "references")
    return [
        msgspec.to_builtins(row) for name in fields for row in getattr(result, name, None) or ()
    ]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, repositories: dict[str, Path]) -> Path:
    """Return a repository with the files of several packages."""
    root = tmp_path_factory.mktemp("overlay") / "pushed"
    for folder in list(repositories.values())[:8]:
        shutil.copytree(folder, root / folder.name, ignore=shutil.ignore_patterns(".git"))
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


async def test_rows_are_those_of_a_fresh_index(
    cluster: Cluster, project: Path, tmp_path: Path
) -> None:
    await pushed(cluster, project, NAME, git(project, "rev-parse", "HEAD").strip())
    chance = random.Random(29)
    tree = Tree(shutil.copytree(project, tmp_path / "clone"), chance)
    git(tree.root, "remote", "add", "origin", f"https://example.com/{NAME}.git")
    async with opened(tree.root, {}, cluster.settings()) as before:
        # The index that is compared knows the tree as it was pushed.
        await rows(before, "semantic_search", {"query": "parse", "repositories": ["team/*"]})
    for number in range(CHANGES):
        tree.change(number)
        if number == CHANGES // 2:
            git(tree.root, "add", "-A")
            git(tree.root, "commit", "-qm", "second")
    fresh = shutil.copytree(tree.root, tmp_path / "fresh", ignore=shutil.ignore_patterns(".winnow"))
    asked = questions(tree, chance)
    found = 0
    async with (
        opened(tree.root, tree.unsaved, cluster.settings()) as shared,
        opened(fresh, tree.unsaved, ClusterSettings()) as local,
    ):
        for workspace in (shared, local):
            await rows(workspace, "semantic_search", {"query": "wait for the index"})
        for tool, params in asked:
            expected = await rows(local, tool, params)
            assert await rows(shared, tool, {**params, "repositories": ["team/*"]}) == expected, (
                *(tool, params),
            )
            found += bool(expected)
    assert found > len(asked) * 0.6


async def test_another_branch_is_searched_in_the_cluster(
    cluster: Cluster, project: Path, tmp_path: Path
) -> None:
    await pushed(cluster, project, NAME)
    await pushed(cluster, project, NAME, "r1", "release")
    clone = shutil.copytree(project, tmp_path / "clone")
    git(clone, "remote", "add", "origin", f"git@example.com:{NAME}.git")
    linked = tmp_path / "linked"
    git(clone, "worktree", "add", "-q", "-b", "release", str(linked))

    async def searched(root: Path) -> tuple[set[str | None], Sequence[str] | None]:
        params = {"pattern": "import", "repositories": [NAME, f"{NAME}@*"], "mode": "files"}
        async with opened(root, {}, cluster.settings()) as workspace:
            result: Any = await TOOLS["grep"].call(workspace, params, no_progress)
        return {row.repository for row in result.files}, result.completeness.shared.open_here

    assert await searched(clone) == ({None, f"{NAME}@release"}, [NAME])
    assert await searched(linked) == ({None}, [NAME, f"{NAME}@release"])
