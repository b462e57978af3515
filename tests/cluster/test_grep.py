"""`grep` in repositories of a cluster: equal to a local search of the same files, or it says why
not."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from cluster.nodes import Cluster, pushed, workspace_of
from conftest import RIPGREP, git, git_init, write_files
from winnow.config import ClusterSettings
from winnow.errors import InvalidPattern
from winnow.tools.grep import GrepParams, GrepResult, grep
from winnow.types import no_progress

pytestmark = [pytest.mark.cluster, pytest.mark.process]

QUESTIONS = 200
EVERYTHING = 10_000
Rows = set[tuple[str, str, int | None]]


def patterns(repositories: dict[str, Path]) -> list[GrepParams]:
    """Return questions: words, parts of lines and regular expressions, some of which occur."""
    chance = random.Random(29)
    files = [file for folder in repositories.values() for file in sorted(folder.rglob("*.py"))]
    lines = [
        line.strip()
        for file in chance.sample(files, 150)
        for line in file.read_text("utf-8").split("\n")
        if len(line.strip()) > 8
    ]
    made = []
    for number in range(QUESTIONS):
        line = chance.choice(lines)
        start = chance.randrange(len(line) - 6)
        part = line[start : start + chance.randint(3, 30)]
        word = chance.choice(re.findall(r"\w{3,}", line) or ["self"])
        pattern, literal = (
            (part, True),
            (word, True),
            (rf"\b{word}\w*\(", False),
            (rf"{word}.*\b{chance.choice(['self', 'None', 'return'])}\b", False),
            (rf"(?:{word}|{word[::-1]})\s*[=:]", False),
        )[number % 5]
        made.append(
            GrepParams(
                pattern=pattern,
                literal=literal,
                case_sensitive=chance.random() < 0.5,
                word=chance.random() < 0.2,
                mode="counts",
                repositories=["team/*"],
                max_results=EVERYTHING,
            )
        )
    return made


def shared_rows(result: GrepResult) -> Rows:
    return {
        (file.repository, file.path, file.matches)
        for file in result.files or ()
        if file.repository is not None
    }


def by_ripgrep(top: Path, params: GrepParams) -> Rows:
    """Return the number of matches of each file."""
    flags = ["--fixed-strings"] * params.literal + ["--word-regexp"] * params.word
    flags += ["--ignore-case"] * (not params.case_sensitive)
    command = [RIPGREP, "--no-config", "--count-matches", "--null", *flags, "-e", params.pattern]
    done = subprocess.run([*command, "."], cwd=top, capture_output=True, text=True, check=False)
    found: Rows = set()
    for line in done.stdout.splitlines():
        path, _, count = line.partition("\0")
        repository, _, below = path.removeprefix("./").partition("/")
        found.add((f"team/{repository}", below, int(count)))
    return found


async def test_the_answer_is_ripgreps(
    filled: Cluster, repositories: dict[str, Path], folder: Path
) -> None:
    top = next(iter(repositories.values())).parent
    incomplete = found = 0
    async with workspace_of(folder, filled.settings()) as workspace:
        for params in patterns(repositories):
            result = await grep.run(workspace, params, no_progress)
            expected = by_ripgrep(top, params)
            state = result.completeness.shared
            assert state is not None
            assert state.answered, state
            assert state.searched == len(repositories)
            rows = shared_rows(result)
            if result.completeness.reasons:
                assert "texts that may match were searched" in result.completeness.reasons[0]
                assert rows < expected
                incomplete += 1
            else:
                assert rows == expected, params
            found += bool(expected)
    assert found > QUESTIONS / 2
    assert incomplete < QUESTIONS / 10


ODD = {
    "stars.txt": 'a*b?c\\d\n[x](y){z}|^$.+\n"quoted" #~<>@&\n',
    "unicode.txt": "\u212aelvin Stra\u00dfe \u017fhort \u0130stanbul caf\u00e9 \u65e5\u672c\n",
    "ascii.txt": "kelvin strasse short istanbul cafe\n",
    "long.txt": f"{'x' * 40_000}needle{'y' * 40_000}\nshort\n",
    "blank.txt": "\n\n  \n\t\nend",
    "crlf.txt": "one\r\ntwo\r\n",
}


@pytest.mark.parametrize("literal", [True, False])
async def test_hostile_patterns(filled: Cluster, folder: Path, literal: bool) -> None:
    top = folder.parent / "top"
    await pushed(filled, write_files(git_init(top / "odd"), ODD), "odd/odd")
    patterns = [
        *("*", "?", "\\", "a*b", "c\\d", "[x]", "(y)", "{z}", "|", "^", "$", ".", '"', "#~<>@&"),
        *("kelvin", "KELVIN", "short", "strasse", "stra\u00dfe", "i\u0307stanbul", "CAF\u00c9"),
        "ort \u0130stan",
        *("xneedley", "x{10}", "(?i)kelvin", "(|a)", "a|b|", ".*", "^$", "\\s+", "end$", "one\r"),
        *("o\\w+$", "\\p{L}+", "[^a-z]", "(?-u:\\xc3)", "e{0}", "\\bshort\\b", "*?", " ", "\u65e5"),
    ]  # fmt: skip
    async with workspace_of(folder, filled.settings()) as workspace:
        for pattern in patterns:
            for case_sensitive in (True, False):
                params = GrepParams(
                    pattern=pattern,
                    literal=literal,
                    case_sensitive=case_sensitive,
                    mode="counts",
                    repositories=["odd/odd"],
                    max_results=EVERYTHING,
                )
                try:
                    result = await grep.run(workspace, params, no_progress)
                except InvalidPattern:
                    assert not literal
                    continue
                assert not result.completeness.reasons
                found = {(path, count) for _, path, count in shared_rows(result)}
                expected = {(path, count) for _, path, count in by_ripgrep(top, params)}
                assert found == expected, (pattern, case_sensitive)


async def test_rows_and_columns_are_those_of_ripgrep(
    filled: Cluster, repositories: dict[str, Path], folder: Path
) -> None:
    name, root = max(repositories.items(), key=lambda item: len(list(item[1].rglob("*.py"))))
    params = GrepParams(pattern=r"\bself\.\w+", max_results=EVERYTHING, repositories=[name])
    async with (
        workspace_of(folder, filled.settings()) as workspace,
        workspace_of(root, ClusterSettings()) as local,
    ):
        result = await grep.run(workspace, params, no_progress)
        alone = msgspec.structs.replace(params, repositories=[])
        expected = (await grep.run(local, alone, no_progress)).matches
    where = {"repository": name, "commit": "c1", "origin": "cluster"}
    assert result.matches == [msgspec.structs.replace(match, **where) for match in expected]
    assert expected


async def test_scope_limits_and_streams(filled: Cluster, folder: Path) -> None:
    everywhere = GrepParams(pattern="import", mode="counts", repositories=["team/*"])
    async with workspace_of(folder, filled.settings()) as workspace:

        async def rows(**changes: object) -> Rows:
            params = msgspec.structs.replace(everywhere, max_results=EVERYTHING, **changes)
            return shared_rows(await grep.run(workspace, params, no_progress))

        everything = await rows()
        only_init = {row for row in everything if row[1].endswith("__init__.py")}
        assert only_init == await rows(include=["__init__.py"])
        below = next(path.split("/")[0] for _, path, _ in everything if "/" in path)
        (folder / below).mkdir()
        in_folder = {row for row in everything if row[1].startswith(f"{below}/")}
        assert in_folder == await rows(path=below)
        page = await grep.run(
            workspace, msgspec.structs.replace(everywhere, max_results=3), no_progress
        )
        assert (page.returned, page.truncated, page.total_found) == (3, True, len(everything))


async def test_what_the_answer_says(filled: Cluster, folder: Path) -> None:
    params = GrepParams(pattern="needle", repositories=["team/none", "other/*"])
    async with workspace_of(folder, filled.settings()) as workspace:
        result = await grep.run(workspace, params, no_progress)
    assert [match.path for match in result.matches] == ["local.py"]
    state = result.completeness.shared
    assert state is not None
    assert (state.answered, state.searched, state.missing) == (True, 0, ["team/none", "other/*"])
    assert "or you have no access" in str(state.reason)


async def test_a_repository_that_is_open_here_is_searched_only_here(
    filled: Cluster, repositories: dict[str, Path], tmp_path: Path
) -> None:
    name, root = next(iter(repositories.items()))
    clone = tmp_path / "clone"
    shutil.copytree(root, clone)
    with (clone / ".git/config").open("a") as config:
        config.write(f'[remote "origin"]\n\turl = git@example.com:{name}.git\n')
    first = sorted(clone.rglob("*.py"))[0]
    first.write_text("changed_here = 1\n")
    params = GrepParams(pattern="changed_here|import", repositories=["team/*"], mode="files")
    async with workspace_of(clone, filled.settings()) as workspace:
        result = await grep.run(
            workspace, msgspec.structs.replace(params, max_results=EVERYTHING), no_progress
        )
    state = result.completeness.shared
    assert state is not None
    assert state.open_here == [name]
    assert name not in {file.repository for file in result.files or ()}
    changed = first.relative_to(clone).as_posix()
    assert changed in {file.path for file in result.files or () if not file.repository}


async def test_commits_that_the_cluster_lacks(filled: Cluster, folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    git(folder, "remote", "add", "origin", "https://example.com/mine/here.git")
    await pushed(filled, folder, "mine/here", git(folder, "rev-parse", "HEAD").strip())
    for name in ("second", "third"):
        git(folder, "commit", "-qm", name, "--allow-empty")
    params = GrepParams(pattern="needle", repositories=["mine/here"])
    async with workspace_of(folder, filled.settings()) as workspace:
        result = await grep.run(workspace, params, no_progress)
    state = result.completeness.shared
    assert state is not None
    assert state.commits_behind == {"mine/here": 2}


async def test_an_alias_shows_only_its_repositories(
    filled: Cluster, repositories: dict[str, Path], folder: Path
) -> None:
    name, other, *_ = repositories
    alias = {"filter": {"term": {"repository": name}}}
    filled.request("PUT", "/winnow-1/_alias/one-team", alias)
    params = GrepParams(pattern="import", repositories=["*", other], mode="files")
    async with workspace_of(folder, filled.settings(index="one-team")) as workspace:
        result = await grep.run(workspace, params, no_progress)
    assert {file.repository for file in result.files or ()} == {name}
    assert result.completeness.shared is not None
    assert result.completeness.shared.searched == 1
    assert result.completeness.shared.missing == [other]


async def test_a_node_fails_during_queries(filled: Cluster, folder: Path) -> None:
    params = GrepParams(pattern="import", mode="counts", repositories=["team/*"])
    async with workspace_of(folder, filled.settings()) as workspace:

        async def rows() -> Rows:
            wanted = msgspec.structs.replace(params, max_results=EVERYTHING)
            result = await grep.run(workspace, wanted, no_progress)
            assert result.completeness.shared is not None
            assert result.completeness.shared.answered, result.completeness.reasons
            assert not result.completeness.shared.reason
            return shared_rows(result)

        expected = await rows()
        for number in range(20):
            if number == 5:
                filled.kill("2")
            assert await rows() == expected
