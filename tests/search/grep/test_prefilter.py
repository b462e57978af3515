"""Searches of text through the index: the answers are those of a search of the whole tree."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import winnow.search.grep.search
import winnow.search.keyword.search
from conftest import MakeWorkspace, git_init, requires_linux, write_files
from waiting_for import until
from winnow.cluster.documents import Branch
from winnow.errors import InvalidParams, InvalidPattern
from winnow.index.postings.trigrams import Condition
from winnow.ranking.matched_corpus import LooseText
from winnow.search.grep.prefilter import PrefilteredFiles, indexed_files, prefilter
from winnow.search.shared.scope import SharedScope
from winnow.text.grep import TextSearch
from winnow.text.listing import list_files
from winnow.text.ripgrep import TextPattern
from winnow.text.scope import Filters
from winnow.tools import TOOLS
from winnow.tools.grep import GrepResult
from winnow.tools.keyword_search import KeywordSearchResult
from winnow.types import Answer, SearchAnswer, SharedState, no_progress
from winnow.workspace import EngineWorkspace

STEPS = int(os.environ.get("WINNOW_STEPS", "60"))
PATIENT = 10.0
HURRIED = 0.02
SEED = int(os.environ.get("WINNOW_SEED", "1"))
WORDS = [
    "alpha",
    "Bravo",
    "charlie_delta",
    "echo",
    "foxtrot",
    "kelvin",
    "größe",
    "\u212aelvin",
    "zulu",
]
PATTERNS: list[dict[str, Any]] = [
    {"pattern": "alpha"},
    {"pattern": "bravo", "case_sensitive": False},
    {"pattern": "kelvin", "case_sensitive": False, "word": True},
    {"pattern": r"charlie_\w+|zulu"},
    {"pattern": r"echo.*foxtrot"},
    {"pattern": "größe", "literal": True},
    {"pattern": r"^zulu\s+\S+$"},
    {"pattern": r"alpha\s*\n\s*Bravo", "multiline": True},
    {"pattern": "foxtrot", "file_types": ["py"]},
    {"pattern": "echo", "include": ["*.txt"], "exclude": ["d1/**"]},
    {"pattern": "zulu", "path": "d2"},
    {"pattern": "ech[op]", "context_lines": 0},
]  # fmt: skip


@pytest.fixture(autouse=True)
def time_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Don't stop searches when a page is full: their totals would depend on time."""
    monkeypatch.setattr("winnow.search.grep.search.GRACE_SECONDS", 60.0)
    monkeypatch.setattr("winnow.search.grep.search.ONE_MORE_SECONDS", 60.0)


@pytest.fixture(autouse=True)
def time_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a busy index: otherwise its use would depend on time."""
    monkeypatch.setattr("winnow.search.grep.prefilter.PROCESS_SECONDS", PATIENT)
    monkeypatch.setattr("winnow.search.grep.prefilter.MOST_SECONDS", PATIENT)
    monkeypatch.setattr("winnow.search.grep.prefilter.SMALL_TREE", 0)


@pytest.fixture
def prefiltered(monkeypatch: pytest.MonkeyPatch) -> list[PrefilteredFiles | None]:
    """Record the prefilter of each search."""
    seen: list[PrefilteredFiles | None] = []
    for module in (winnow.search.grep.search, winnow.search.keyword.search):
        original = module.prefilter

        async def spied(*args: Any, original: Any = original) -> list[PrefilteredFiles | None]:
            files: list[PrefilteredFiles | None] = await original(*args)
            seen.extend(files)
            return files

        monkeypatch.setattr(module, "prefilter", spied)
    return seen


async def with_index(make_workspace: MakeWorkspace, *folders: Path) -> EngineWorkspace:
    workspace = make_workspace(*folders)
    workspace.index.enable_watching()
    await workspace.index.build()
    assert workspace.index.state().state == "ready"
    return workspace


def comparable(result: Answer) -> Any:
    """Return an answer without counts of skipped files, which are absent if they were not counted.
    For a keyword search, return the matches of the terms: the rest depends on the index."""
    if isinstance(result, KeywordSearchResult):
        matching = [file for file in result.files if file.terms]
        return result.terms, {
            file.path: (file.terms, file.matches, file.total_matches, file.line)
            for file in matching
        }
    completeness = msgspec.structs.replace(result.completeness, skipped=None)
    changed: dict[str, Any] = {"completeness": completeness}
    if isinstance(result, SearchAnswer):
        changed["search_id"] = ""
    return msgspec.structs.replace(result, **changed)


class Beside:
    """Two workspaces on the same folders, one with an index; requests to both."""

    def __init__(self, indexed: EngineWorkspace, plain: EngineWorkspace) -> None:
        self.indexed = indexed
        self.plain = plain

    async def ask(self, tool: str, **params: Any) -> Answer:
        """Run a search with and without the index; both must return the same answer."""
        if tool == "keyword_search":
            params["max_results"] = 500  # of all files: their order is not the same
        answer: Answer = await TOOLS[tool].call(self.indexed, params, no_progress)
        expected = await TOOLS[tool].call(self.plain, params, no_progress)
        assert comparable(answer) == comparable(expected), params
        return answer

    async def grep(self, **params: Any) -> GrepResult:
        answer = await self.ask("grep", **params)
        assert isinstance(answer, GrepResult)
        return answer


async def beside(make_workspace: MakeWorkspace, *folders: Path) -> Beside:
    return Beside(await with_index(make_workspace, *folders), make_workspace(*folders))


# --- sequences of changes ------------------------------------------------------------------


async def test_files_that_cannot_match_are_not_read(
    project: Path, make_workspace: MakeWorkspace, prefiltered: list[PrefilteredFiles | None]
) -> None:
    both = await beside(make_workspace, project)
    found = await both.grep(pattern="def load_plug", mode="files")
    assert [one.path for one in found.files or ()] == ["src/loader.py"]
    assert [one and one.files for one in prefiltered] == [["src/loader.py"], None]


async def test_if_nothing_matches_excluded_files_are_searched_alone(
    tmp_path: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    git_init(tmp_path)
    write_files(
        tmp_path,
        {
            ".gitignore": "ignored/\n",
            "src/plain.py": "alpha = 1\n",
            "src/other.py": "beta = 2\n",
            "ignored/one.txt": "alpha, ignored_word\n",
            ".hidden/two.txt": "alpha, hidden_word\n",
        },
    )
    (tmp_path / "early.bin").write_bytes(b"\0 binary_word\n")
    (tmp_path / "late.txt").write_bytes(b"text\n" * 20_000 + b"\0\nlate_word\n")
    (tmp_path / "latin1.txt").write_bytes("café_word au lait\n".encode("latin-1"))
    both = await beside(make_workspace, tmp_path)
    searched: list[list[str] | None] = []

    def spied(*args: Any, **params: Any) -> TextSearch:
        candidates = params["candidates"]
        searched.append(None if candidates is None else sorted(candidates))
        return TextSearch(*args, **params)

    monkeypatch.setattr(winnow.search.grep.search, "TextSearch", spied)

    async def told_of(pattern: str, mode: str) -> list[str]:
        found = await both.grep(pattern=pattern, mode=mode)
        assert found.total_found == 0
        return list(found.warnings)

    in_binary = "0 matches; 1 in binary files: pass include_binary"
    in_latin1 = "0 matches; 1 if files are read as Latin-1: pass encoding='latin1'"
    for mode in ("matches", "files"):
        assert await told_of("ignored_word", mode) == [
            "0 matches; 1 in excluded files: pass include_ignored"
        ]
        assert await told_of("hidden_word", mode) == [
            "0 matches; 1 in excluded files: pass include_hidden"
        ]
        assert await told_of("binary_word", mode) == [in_binary]
        assert await told_of("late_word", mode) == [in_binary]
        assert await told_of("café_word", mode) == [in_latin1]
        assert await told_of(r"caf\xe9_word", mode) == [in_latin1]
        assert await told_of("caf._word", mode) == [in_latin1]
        assert await told_of("nowhere_at_all", mode) == []
    searched.clear()
    await TOOLS["grep"].call(both.indexed, {"pattern": "nowhere_at_all"}, no_progress)
    assert searched[0] == []
    # Side by side.
    assert sorted(filter(None, searched)) == [
        [".gitignore", ".hidden/two.txt", "ignored/one.txt"],
        ["early.bin"],
    ]
    # The index knows that no file has the word in another case, either.
    assert searched.count([]) == 2
    assert len(searched) == 4


@requires_linux  # on file systems whose link counts give the number of subfolders
async def test_excluded_files_are_listed_once_until_a_folder_changes(
    tmp_path: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    git_init(tree)
    write_files(
        tree,
        {
            ".gitignore": "ignored/\n",
            "src/plain.py": "alpha = 1\n",
            "ignored/one.txt": "ignored_word\n",
            ".hidden/two.txt": "hidden_word\n",
        },
    )
    (tree / "ignored/empty/inner").mkdir(parents=True)
    (tree / "src/none/.none").mkdir(parents=True)
    both = await beside(make_workspace, tree)
    listed = 0

    async def spied(*args: Any) -> Any:
        nonlocal listed
        listed += 1
        return await list_files(*args)

    monkeypatch.setattr(winnow.search.grep.search, "list_files", spied)

    async def listings(pattern: str, *warnings: str) -> int:
        nonlocal listed
        listed = 0
        found = await both.grep(pattern=pattern, mode="files")
        assert (found.total_found, *found.warnings) == (0, *warnings)
        return listed

    ignored = "0 matches; 1 in excluded files: pass include_ignored"
    hidden = "0 matches; 1 in excluded files: pass include_hidden"
    # Folders that have changed a moment ago may do so once more unseen.
    with monkeypatch.context() as patch:
        patch.setattr("winnow.index.untracked_files.RECENT_NS", 10**18)
        assert [await listings("nowhere"), await listings("nowhere")] == [1, 1]
    await asyncio.sleep(0.1)
    assert [await listings("nowhere"), await listings("nowhere_else")] == [1, 0]
    # Without ignored files, and without hidden ones.
    assert await listings("ignored_word", ignored) == 2
    for number, name in enumerate(
        ["ignored/empty/inner/a", "ignored/empty/a", "src/none/.none/a", "src/.a", ".hidden/a/a"]
    ):
        assert await listings("nowhere") == 0
        write_files(tree, {name: f"late_{number}\n"})
        told = hidden if "/." in name or name.startswith(".") else ignored
        assert await listings(f"late_{number}", told) > 0
        await asyncio.sleep(0.1)
        await listings("nowhere")
    (tree / "ignored").rename(tree / "moved")
    assert (await both.grep(pattern="ignored_word", mode="files")).total_found == 1
    (tree / "moved").rename(tree / "ignored")
    await listings("ignored_word", ignored)
    # No folder changes, but what the index knows.
    (tree / ".gitignore").write_text("ignored/\nsrc/\n")
    await listings("alpha", ignored)


MODES: list[dict[str, Any]] = [
    {"max_results": 3},
    {"mode": "files"},
    {"mode": "counts", "max_results": 2},
    {"path": "src"},
    {"path": "src/loader.py"},
    {"path": "ignored"},
    {"path": ".hidden"},
    {"include": ["*.py", "docs/*"], "exclude": ["tests"]},
    {"file_types": ["markdown"]},
    {"include_ignored": True},
    {"include_hidden": True},
    {"include_binary": True},
    {"encoding": "latin1"},
    {"scope": "open"},
    {"follow_symlinks": True},
]


async def test_answers_are_the_same_for_all_params(
    project: Path, make_workspace: MakeWorkspace, prefiltered: list[PrefilteredFiles | None]
) -> None:
    filler = "x" * 99 + "\n"
    late = "load_plugin\n" + filler * 1000 + "\0"
    write_files(project, {"big.bin": "load_plugin\0", "late.txt": late})
    both = await beside(make_workspace, project)
    for pattern in ("plugin", "load_plugin", "no_such_word", "register_p.ugin"):
        for params in MODES:
            cursor: str | None = ""
            while cursor is not None:
                answer = await both.grep(pattern=pattern, **params, cursor=cursor)
                cursor = answer.cursor
    assert sum(one is not None for one in prefiltered) > 20


async def test_an_unknown_type_is_reported_with_the_same_message(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    both = await beside(make_workspace, project)
    said = set()
    params = {"pattern": "plugin", "file_types": ["no_such_type"]}
    for workspace in (both.indexed, both.plain):
        with pytest.raises(InvalidParams) as refused:
            await TOOLS["grep"].call(workspace, params, no_progress)
        said.add(str(refused.value))
    assert len(said) == 1


async def test_unsaved_documents_replace_their_files(
    project: Path, make_workspace: MakeWorkspace, prefiltered: list[PrefilteredFiles | None]
) -> None:
    both = await beside(make_workspace, project)
    buffers = {
        project / "src/loader.py": "nothing\n",
        project / "src/registry.py": "load_plugin_now\n",
        project / "src/new.py": "load_plugin_soon\n",
    }
    both.indexed.open_documents = both.plain.open_documents = lambda: buffers
    found = await both.grep(pattern="load_plugin_", mode="files")
    assert [one.path for one in found.files or ()] == ["src/new.py", "src/registry.py"]
    assert prefiltered[0] is not None


async def test_a_bad_pattern_is_refused_though_no_file_can_match(
    project: Path, make_workspace: MakeWorkspace, prefiltered: list[PrefilteredFiles | None]
) -> None:
    both = await beside(make_workspace, project)
    for workspace in (both.indexed, both.plain):
        with pytest.raises(InvalidPattern):
            await TOOLS["grep"].call(workspace, {"pattern": "no_such_word\\n"}, no_progress)
    assert [one and one.files for one in prefiltered] == [[], None]


async def test_a_binary_file_counts_up_to_its_first_null_byte_if_that_is_late(
    project: Path, make_workspace: MakeWorkspace, prefiltered: list[PrefilteredFiles | None]
) -> None:
    filler = "x" * 99 + "\n"
    write_files(
        project,
        {
            "early.txt": "wanted\n\0\nwanted\n",
            "late.txt": "wanted\n" + filler * 2000 + "\0\nwanted\n",
            "later.txt": filler * 1000 + "\0\nwanted\n",
            "plain.txt": "wanted\n",
        },
    )
    both = await beside(make_workspace, project)
    found = await both.grep(pattern="wanted")
    assert [(one.path, one.line) for one in found.matches] == [("late.txt", 1), ("plain.txt", 1)]
    for mode in ("files", "counts"):
        found = await both.grep(pattern="wanted", mode=mode)
        assert [one.path for one in found.files or ()] == ["late.txt", "plain.txt"]
    await both.grep(pattern="want[e]d\\n", multiline=True)
    await both.ask("keyword_search", query="wanted", search_terms=["wanted", "x{9}\\s"])
    assert sum(one is not None for one in prefiltered) == 6


async def test_nested_folders_of_a_workspace_are_searched_once(
    tmp_path: Path, make_workspace: MakeWorkspace, prefiltered: list[PrefilteredFiles | None]
) -> None:
    outer = write_files(git_init(tmp_path / "outer"), {"a.txt": "wanted a\n", "b.txt": "other\n"})
    inner = write_files(git_init(outer / "inner"), {"c.txt": "wanted c\n", "d.txt": "other\n"})
    another = write_files(git_init(tmp_path / "another"), {"e.txt": "wanted e\n"})
    both = await beside(make_workspace, outer, inner, another)
    found = await both.grep(pattern="wanted")
    assert [one.path for one in found.matches] == ["a.txt", "c.txt", "e.txt"]
    assert prefiltered[0] is not None
    assert len((await both.grep(pattern="wanted", path=str(inner))).matches) == 1
    # Alone, the outer folder also contains the files of the inner folder.
    await both.grep(pattern="wanted", path=str(outer))
    assert prefiltered[-2] is None


async def test_outside_ignore_files_and_settings_change_the_searched_files(
    tmp_path: Path, make_workspace: MakeWorkspace, prefiltered: list[PrefilteredFiles | None]
) -> None:
    folder = write_files(git_init(tmp_path / "here"), {"a.txt": "wanted\n", "b.log": "wanted\n"})
    both = await beside(make_workspace, folder)
    assert len((await both.grep(pattern="wanted")).matches) == 2
    (tmp_path / ".ignore").write_text("*.log\n")
    assert len((await both.grep(pattern="wanted")).matches) == 1
    (tmp_path / ".ignore").unlink()
    assert len((await both.grep(pattern="wanted")).matches) == 2
    for workspace in (both.indexed, both.plain):
        search = msgspec.structs.replace(workspace.config.search, exclude=("a.*",))
        workspace.reconfigure(msgspec.structs.replace(workspace.config, search=search))
    assert len((await both.grep(pattern="wanted")).matches) == 1

    async def is_back() -> bool:
        await both.grep(pattern="wanted")
        return prefiltered[-2] is not None

    await until(is_back, "the index does not come back")


@pytest.mark.parametrize("broad", ["skip", "shrink"])
async def test_a_keyword_search_collects_the_same_evidence(
    project: Path,
    make_workspace: MakeWorkspace,
    prefiltered: list[PrefilteredFiles | None],
    broad: str,
) -> None:
    lines = {f"many/{number}.txt": f"common word {number}\n" * 400 for number in range(60)}
    write_files(project, lines)
    both = await beside(make_workspace, project)
    terms = ["load_plugins?", "no_such_word", "register", "common word 7", "(", "comm", "lo"]
    answer = await both.ask(
        "keyword_search", query="load a plugin", search_terms=terms, broad_terms=broad
    )
    assert isinstance(answer, KeywordSearchResult)
    assert [one.status for one in answer.terms][:5] == [
        "used",
        "no_match",
        "used",
        "used",
        "invalid",
    ]
    assert sum(one is not None for one in prefiltered) >= 3


async def test_the_index_is_queried_once_for_all_terms(
    project: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each question may wait for an index that is busy.
    both = await beside(make_workspace, project)
    asked: list[int] = []
    original = both.indexed.index.candidates

    async def spied(conditions: Sequence[Condition], seconds: float) -> Any:
        asked.append(len(conditions))
        return await original(conditions, seconds)

    monkeypatch.setattr(both.indexed.index, "candidates", spied)
    terms = ["load_plugins?", "no_such_word", "register", "(", "lo"]
    await both.ask("keyword_search", query="load a plugin", search_terms=terms)
    assert asked == [3]


async def test_waiting_for_a_busy_index_takes_no_longer_than_ripgrep(
    project: Path,
    make_workspace: MakeWorkspace,
    prefiltered: list[PrefilteredFiles | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = await beside(make_workspace, project)
    waited: list[float] = []

    async def busy(conditions: Sequence[Condition], seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(both.indexed.index, "candidates", busy)
    monkeypatch.setattr("winnow.search.grep.prefilter.PROCESS_SECONDS", 0.01)
    monkeypatch.setattr("winnow.search.grep.prefilter.FILE_SECONDS", 0.001)
    for most in (1.0, 0.012):
        monkeypatch.setattr("winnow.search.grep.prefilter.MOST_SECONDS", most)
        await both.grep(pattern="load_plugin")
    assert waited == [pytest.approx(0.015), pytest.approx(0.012)]
    assert prefiltered == [None] * 4


# --- many things after each other ----------------------------------------------------------


class Edits:
    """Random changes of a tree, as people and programs make them."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self._folder = folder
        self._chance = chance

    def make(self) -> str:
        """Make a change, and return its description."""
        chance = self._chance
        ways = [self._write] * 5 + [self._append] * 3 + [self._remove, self._rename] * 2
        ways += [self._ignore, self._odd_file, self._move_folder, self._replace, self._link]
        way = chance.choice(ways)
        way()
        return way.__name__

    def _text(self) -> str:
        words = [*WORDS, *(f"word{number}" for number in range(200))]
        lines = [
            " ".join(self._chance.choices(words, k=self._chance.randint(1, 4)))
            for _ in range(self._chance.randint(1, 15))
        ]
        if self._chance.random() < 0.2:  # what some patterns want side by side
            lines += ["zulu word", "alpha", "Bravo echo and foxtrot"]
        return "\n".join(lines) + "\n"

    def _new(self) -> Path:
        folder = self._chance.choice(["", "d1", "d2", "d2/sub", "d3/a/b", ".hidden", "made"])
        name = self._chance.choice(["a.py", "b.txt", "c.md", "d.log", "e", ".f", "größe.txt"])
        file = self._folder / folder / f"{self._chance.randint(0, 9)}{name}"
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink():
            file.unlink()
        return file

    def _any(self) -> Path:
        files = [path for path in sorted(self._folder.rglob("*")) if self._is_plain(path)]
        return self._chance.choice(files) if files else self._new()

    def _is_plain(self, path: Path) -> bool:
        kept = {".git", ".winnow"} & set(path.relative_to(self._folder).parts)
        return not kept and path.is_file() and not path.is_symlink()

    def _write(self) -> None:
        encoding = self._chance.choice(["utf-8"] * 6 + ["utf-16", "utf-8-sig"])
        self._new().write_bytes(self._text().encode(encoding))

    def _append(self) -> None:
        with self._any().open("ab") as file:
            file.write(self._text().encode())

    def _remove(self) -> None:
        self._any().unlink(missing_ok=True)

    def _rename(self) -> None:
        file = self._any()
        if file.exists():
            file.replace(self._new())

    def _replace(self) -> None:
        """Replace a file with a new file, like editors."""
        file = self._any()
        other = file.with_name("written~")
        other.write_text(self._text())
        other.replace(file)

    def _ignore(self) -> None:
        folder = self._chance.choice([self._folder, self._folder / "d1", self._folder / "d2"])
        folder.mkdir(exist_ok=True)
        name = self._chance.choice([".gitignore", ".ignore", ".winnowignore"])
        rules = self._chance.choice(["*.log\n", "d2/\n", "*.txt\n!1b.txt\n", "", "1*\n", "sub\n"])
        (folder / name).write_text(rules)

    def _odd_file(self) -> None:
        text = self._text().encode()
        odd = [text + b"\0", b"\xff\xfe" + text, b"\xe9" + text]
        self._new().write_bytes(self._chance.choice(odd))

    def _move_folder(self) -> None:
        folder = self._folder / self._chance.choice(["d1", "d2", "d2/sub", "d3"])
        other = self._folder / self._chance.choice(["d1", "d4", "d3", ".hidden"])
        if folder.is_dir() and not other.exists():
            folder.rename(other)
        elif folder.is_dir() and self._chance.random() < 0.3:
            shutil.rmtree(folder)

    def _link(self) -> None:
        file = self._new()
        if not file.exists():
            file.symlink_to(self._any())


async def test_after_any_change_the_answers_are_still_the_same(
    tmp_path: Path,
    make_workspace: MakeWorkspace,
    prefiltered: list[PrefilteredFiles | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chance = random.Random(SEED)
    folder = git_init(tmp_path / "tree")
    edits = Edits(folder, chance)
    for _ in range(150):
        edits.make()
    both = await beside(make_workspace, folder)
    done = []
    for _ in range(STEPS):
        done.append([edits.make() for _ in range(chance.choice([1, 1, 2, 5]))])
        params = chance.choice(PATTERNS) | {"mode": chance.choice(["matches", "files", "counts"])}
        if params.get("path") and not (folder / params["path"]).exists():
            continue
        monkeypatch.setattr(
            "winnow.search.grep.prefilter.MOST_SECONDS", chance.choice([HURRIED, PATIENT])
        )
        try:
            await both.grep(**params)
        except AssertionError as error:
            raise AssertionError(f"after {done[-3:]}: {error}") from None
        if chance.random() < 0.2:
            await asyncio.sleep(chance.random() * 0.05)
    assert sum(one is not None for one in prefiltered) > STEPS / 3


async def test_each_file_of_a_cluster_may_match(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {f"{number}.py": f"value_{number} = 1\n" for number in range(100)}
    folder = write_files(git_init(tmp_path / "here"), {**files, "local.py": "needle = 1\n"})
    further = write_files(tmp_path / "further", {"ok.py": "needle = 2\n", "no.py": "x = 1\n"})
    workspace = await with_index(make_workspace, folder)
    local = workspace.scope(Filters(), [further])
    branch = Branch(
        ref="team/a", commit="c1", pushed_at="", format="", files=2, bytes=1, masked=0, skipped={}
    )
    scope = SharedScope(
        **{name: getattr(local, name) for name in local.__struct_fields__},
        state=SharedState(answered=True),
        branches=[branch],
        texts={(further / name).as_posix(): LooseText(name, {}) for name in ("ok.py", "no.py")},
    )
    needle = TextPattern("needle", case_sensitive=False)
    [found] = await prefilter(workspace, workspace.run_ripgrep(), scope, [needle])
    assert found is not None
    expected = {"local.py", str(further / "ok.py"), str(further / "no.py")}
    assert set(found.files) == expected
    assert not found.binary()
    listed = await indexed_files(workspace, workspace.run_ripgrep(), scope)
    assert listed is not None
    assert expected < set(filter(listed.covers, listed.paths))
