"""Texts in the index: parked, adopted, merged, left out, and ranked."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from conftest import MakeWorkspace, aged, built, git, git_commit, requires_linux, write_files
from indexed import folder_of
from waiting_for import until
from winnow.config import Config, IndexSettings, merge_layer
from winnow.index.builder.extraction import extract_file
from winnow.index.builder.size_limit import FULL_AT, MEGABYTE
from winnow.index.builder.workers import IndexWorkers
from winnow.index.not_covered import NotCovered
from winnow.index.postings.corpus import Corpus
from winnow.index.postings.trigrams import Condition, TrigramQuery, required_by
from winnow.index.store import rows
from winnow.index.store.file_record import EXCLUDED, FULL, FileRecord, IndexJob
from winnow.index.store.merging import SegmentMerger
from winnow.index.store.store import Store
from winnow.search.index.state import current_status
from winnow.storage.database import value_of
from winnow.text.ripgrep import TextPattern
from winnow.workspace import EngineWorkspace

SECONDS = 120.0
FILES = {
    "src/loader.py": "class Loader:\n    def load_plugins(self): ...\n",
    "src/main.py": "from src.loader import Loader\n\n\ndef main(): ...\n",
    "docs/guide.md": "# Plugins\n\nHow they are found.\n",
    "data.bin": "\0\1\2",
}


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the names of the files that workers read."""
    asked: list[str] = []
    extract = IndexWorkers.extract

    def recorded(self: IndexWorkers, jobs: Sequence[IndexJob], urgent: bool = False) -> object:
        asked.extend(os.fsdecode(job.path) for job in jobs)
        return extract(self, jobs, urgent)

    monkeypatch.setattr(IndexWorkers, "extract", recorded)
    return asked


async def texts(workspace: EngineWorkspace) -> dict[str, str]:
    """Return the files that can be ranked, each with three characters that identify it."""
    async with workspace.index.corpus(workspace.buffers, SECONDS) as (make, _, view):
        corpus = await view.read(make)
        return dict.fromkeys(files_in(corpus), "text")


def files_in(corpus: Corpus) -> list[str]:
    return sorted(corpus.paths[file] for part in corpus.parts for file in part.files.tolist())


def files_with(corpus: Corpus, text: str) -> list[str]:
    """Return the files that may contain a text, by their trigrams."""
    required = required_by(TextPattern(pattern=text, literal=True))
    assert required != TrigramQuery()
    found = []
    for part in corpus.parts:
        has = set(part.segment.documents_with(Condition(required)).tolist())
        pairs = zip(part.documents.tolist(), part.files.tolist(), strict=True)
        found += [corpus.paths[file] for document, file in pairs if document in has]
    return sorted(found)


async def holding(workspace: EngineWorkspace, text: str) -> list[str]:
    await workspace.index.refresh([], SECONDS)
    async with workspace.index.corpus(workspace.buffers, SECONDS) as (make, _, view):
        corpus = await view.read(make)
        return files_with(corpus, text)


async def test_all_texts_can_be_ranked_and_binary_files_are_recorded(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    workspace = await built(make_workspace(project))
    async with workspace.index.corpus({}, SECONDS) as (make, state, view):
        corpus = await view.read(make)
        assert files_in(corpus) == ["docs/guide.md", "src/loader.py", "src/main.py"]
        assert files_with(corpus, "plugins") == ["docs/guide.md", "src/loader.py"]
        assert corpus.roots == [project.as_posix()]
        [(number, definition)] = corpus.definitions("load_plugins")
        assert (corpus.paths[number], definition.line) == ("src/loader.py", 1)
        assert state.state == "ready"
    reader = await folder_of(workspace).reader()
    files = folder_of(workspace).disk.table.at(reader)
    assert [files.paths[file] for file in files.binary.tolist()] == ["data.bin"]
    reader.close()


async def test_an_unsaved_text_replaces_its_file(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    workspace = await built(make_workspace(project))
    assert await holding(workspace, "def main") == ["src/main.py"]
    workspace.open_documents = lambda: {
        project / "src/main.py": "def principal(): ...\n",
        project / "src/new.py": "def principal_too(): ...\n",
    }
    assert await holding(workspace, "def main") == []
    assert await holding(workspace, "def principal") == ["src/main.py", "src/new.py"]
    workspace.open_documents = dict
    assert await holding(workspace, "def main") == ["src/main.py"]
    assert await holding(workspace, "def principal") == []


async def test_two_folders_are_ranked_together(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    one = git_commit(tmp_path / "one", {"a.py": "def shared_name(): ...\n"})
    other = git_commit(tmp_path / "other", {"b.py": "shared_name()\n"})
    workspace = await built(make_workspace(one, other))
    workspace.open_documents = lambda: {other / "c.py": "shared_name(1)\n"}
    async with workspace.index.corpus(workspace.buffers, SECONDS) as (make, _, view):
        corpus = await view.read(make)
        assert files_with(corpus, "shared_name") == ["a.py", "b.py", "c.py"]
        roots = dict(zip(corpus.paths, corpus.root_of.tolist(), strict=True))
        assert roots == {"a.py": 0, "b.py": 1, "c.py": 1}
        assert [corpus.paths[file] for file, _ in corpus.definitions("shared_name")] == ["a.py"]


async def test_a_known_branch_is_not_read_again(
    make_workspace: MakeWorkspace, tmp_path: Path, read_files: list[str]
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    git(project, "checkout", "-q", "-b", "other")
    git_commit(
        project,
        {"src/loader.py": "def other_loader(): ...\n", "src/added.py": "def added(): ...\n"},
    )
    git(project, "checkout", "-q", "-")
    workspace = await built(make_workspace(project))
    git(project, "checkout", "-q", "other")
    assert await holding(workspace, "def other_loader") == ["src/loader.py"]
    read_files.clear()
    git(project, "checkout", "-q", "-")
    assert await holding(workspace, "def load_plugins") == ["src/loader.py"]
    assert await holding(workspace, "def added") == []
    git(project, "checkout", "-q", "other")
    assert await holding(workspace, "def other_loader") == ["src/loader.py"]
    assert await holding(workspace, "def added") == ["src/added.py"]
    async with workspace.index.snapshot({}, SECONDS) as (view, _):
        names = [one.name for one in view.definitions_in(f"{project}/src/loader.py")]
        assert names == ["other_loader"]
        assert [file.path for file, _ in view.definitions("Loader")] == []
    assert read_files == []


async def test_copied_and_renamed_files_are_not_read_again(
    make_workspace: MakeWorkspace, tmp_path: Path, read_files: list[str]
) -> None:
    project = aged(git_commit(tmp_path / "project", FILES))
    workspace = await built(make_workspace(project))
    read_files.clear()
    shutil.copy(project / "src/loader.py", project / "src/copy.py")
    (project / "src/main.py").rename(project / "src/start.py")
    assert await holding(workspace, "load_plugins") == ["src/copy.py", "src/loader.py"]
    assert await holding(workspace, "def main") == ["src/start.py"]
    async with workspace.index.snapshot({}, SECONDS) as (view, _):
        places = sorted(file.path for file, _ in view.definitions("load_plugins"))
        assert places == [f"{project}/src/copy.py", f"{project}/src/loader.py"]
        uses = sorted(file.path for file, _ in view.occurrences("Loader"))
        assert uses == [f"{project}/src/{name}.py" for name in ("copy", "loader", "start")]
    assert read_files == []
    # A name of another language makes another text.
    shutil.copy(project / "src/loader.py", project / "src/loader.rb")
    assert "src/loader.rb" in await holding(workspace, "load_plugins")
    assert read_files == ["src/loader.rb"]


async def test_another_working_tree_reuses_the_index_of_the_first(
    make_workspace: MakeWorkspace, tmp_path: Path, read_files: list[str]
) -> None:
    many = {f"src/m{number}.py": f"def only_in_{number}(): ...\n" for number in range(30)}
    project = git_commit(tmp_path / "project", {**FILES, **many})
    await built(make_workspace(project))
    git(project, "worktree", "add", "-q", "-b", "second", str(tmp_path / "tree"))
    write_files(tmp_path / "tree", {"src/m7.py": "def changed_here(): ...\n"})
    read_files.clear()
    second = await built(make_workspace(tmp_path / "tree"))
    # A binary file has no text to index.
    assert sorted(read_files) == ["data.bin", "src/m7.py"]
    assert await holding(second, "only_in_8") == ["src/m8.py"]
    assert await holding(second, "changed_here") == ["src/m7.py"]
    async with second.index.snapshot({}, SECONDS) as (view, _):
        assert [one.path for one, _ in view.definitions("Loader")] == [
            f"{tmp_path}/tree/src/loader.py"
        ]
    folder = await folder_of(second).store()
    folder.check()


async def test_excluded_patterns_are_searched_without_the_index(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    more = {"node_modules/x/index.js": "var plugin = 1\n", "web/app.min.js": "var plugin=2\n"}
    project = git_commit(tmp_path / "project", {**FILES, **more})
    workspace = await built(make_workspace(project))
    assert await holding(workspace, "plugin") == ["docs/guide.md", "src/loader.py"]
    problems = await workspace.index.problems()
    assert problems == {f"{project}/{path}": EXCLUDED for path in more}
    config, _ = merge_layer(workspace.config, {"index": {"exclude_patterns": ["*.md"]}}, "test")
    workspace.reconfigure(config)
    await workspace.index.build()
    found = await holding(workspace, "plugin")
    assert found == ["node_modules/x/index.js", "src/loader.py", "web/app.min.js"]


async def test_a_full_index_drops_the_oldest_files_and_reports_it(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    numbers = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"

    def text(number: int) -> str:
        words = ["".join(numbers.choices(letters, k=9)) for _ in range(9_000)]
        return f"def only_in_{number}(): ...\n" + "\n".join(f"{word} = 1" for word in words)

    files = {f"src/m{number:02}.py": text(number) for number in range(12)}
    project = git_commit(tmp_path / "project", files)
    for age, path in enumerate(files):
        os.utime(project / path, (1_600_000_000 + age, 1_600_000_000 + age))
    workspace = make_workspace(project, config=Config(index=IndexSettings(max_index_size_mb=4)))
    await workspace.index.build()
    store = await folder_of(workspace).store()
    assert store.size() <= 4 * MEGABYTE
    problems = await workspace.index.problems()
    left_out = {path.rpartition("/")[2] for path, problem in problems.items() if problem == FULL}
    assert 0 < len(left_out) < 12
    for number in range(12):
        expected = [] if f"m{number:02}.py" in left_out else [f"src/m{number:02}.py"]
        assert await holding(workspace, f"only_in_{number}()") == expected
    # With more room, they are indexed.
    config, _ = merge_layer(workspace.config, {"index": {"max_index_size_mb": 100}}, "test")
    workspace.reconfigure(config)
    await workspace.index.build()
    assert await workspace.index.problems() == {}
    assert len(await holding(workspace, "only_in_")) == 12


async def test_files_that_fit_again_are_no_longer_reported(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = aged(git_commit(tmp_path / "project", FILES))
    workspace = make_workspace(project, config=Config(index=IndexSettings(max_index_size_mb=50)))
    await workspace.index.build()
    folder = folder_of(workspace)
    store = await folder.store()
    with store.transaction() as connection:
        number = value_of(connection, "SELECT min(id) FROM file")
        rows.empty(connection, number, rows.next_stamp(connection))
    store.note(FULL_AT, f"{50 * MEGABYTE} {store.size()}")
    write_files(project, {"src/new.py": "def new(): ...\n"})
    assert await workspace.index.refresh([project / "src/new.py"], SECONDS)
    assert workspace.index.problem_messages() == [f"1 file is left out: {FULL}"]
    config, _ = merge_layer(workspace.config, {"index": {"max_index_size_mb": 100}}, "test")
    workspace.reconfigure(config)
    assert await workspace.index.refresh([], SECONDS)
    assert workspace.index.problem_messages() == []


async def test_a_build_merges_small_segments_into_one(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {f"src/n{number}.py": f"def number_{number}_(): ...\n" for number in range(30)}
    project = git_commit(tmp_path / "project", names)
    workspace = make_workspace(project)
    monkeypatch.setattr("winnow.index.builder.writing.BATCH_BYTES", 0)  # each file is a batch
    await workspace.index.build()
    store = await folder_of(workspace).store()
    with store.read() as reader:
        assert list(reader.sizes().values()) == [30]
    assert len(await holding(workspace, "def number_")) == 30
    store.check()


async def test_many_small_changes_do_not_leave_many_segments(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    workspace = await built(make_workspace(project))
    for number in range(30):
        write_files(project, {f"src/n{number}.py": f"def number_{number}_(): ...\n"})
        workspace.files_changed([project / f"src/n{number}.py"])
        assert await holding(workspace, f"number_{number}_") == [f"src/n{number}.py"]
    store = await folder_of(workspace).store()

    def sizes() -> dict[int, int]:
        with store.read() as reader:
            return reader.sizes()

    await until(lambda: len(sizes()) < 10)
    assert sum(sizes().values()) == 33
    assert len(await holding(workspace, "def number_")) == 30
    store.check()


async def test_no_request_waits_until_segments_are_merged(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    workspace = make_workspace(project)
    await workspace.index.build()
    begun, go_on = threading.Event(), threading.Event()

    def merge(merger: SegmentMerger) -> None:
        begun.set()
        assert go_on.wait(SECONDS)

    monkeypatch.setattr(SegmentMerger, "merge_small", merge)
    try:
        for number in range(2):
            write_files(project, {f"src/n{number}.py": f"def number_{number}_(): ...\n"})
            workspace.files_changed([project / f"src/n{number}.py"])
            await asyncio.wait_for(workspace.index.refresh([], SECONDS), SECONDS / 2)
            async with workspace.index.corpus({}, SECONDS) as (make, _, view):
                corpus = await view.read(make)
                assert files_with(corpus, f"number_{number}_") == [f"src/n{number}.py"]
            await until(begun.is_set)
    finally:
        go_on.set()


def test_parked_rows_are_bounded(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    for number in range(10):
        store.write({"a.py": facts_of_text(tmp_path, f"def version_{number}(): ...\n")})
    with store.read() as reader:
        count = "SELECT count(*) FROM file WHERE parked<>0"
        assert reader.connection.execute(count).fetchone() == (3,)
        assert [one.name for one in reader.definitions_in("a.py")] == ["version_9"]
        assert list(reader.definitions("version_8")) == []
    store.check()
    store.close()


def test_only_documents_of_files_count_when_segments_are_merged(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    for number in range(7):
        store.write({"a.py": facts_of_text(tmp_path, f"def version_{number}(): ...\n")})
    with store.read() as reader:
        assert sum(reader.sizes().values()) == 7
        assert sum(reader.live_sizes().values()) == 4  # the file, and three earlier versions
    store.merger.compact()
    with store.read() as reader:
        assert list(reader.sizes().values()) == list(reader.live_sizes().values()) == [4]


def facts_of_text(folder: Path, text: str) -> FileRecord:
    from winnow.index.builder.extraction import extract_file

    write_files(folder, {"a.py": text})
    found = extract_file(IndexJob(os.fsencode(folder), b"a.py", 1_000_000))
    assert found is not None
    return msgspec.structs.replace(found)


async def test_a_cleared_index_stays_deleted_until_it_is_requested(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    workspace = await built(make_workspace(project))
    await workspace.index.clear()
    assert list((project / ".winnow").glob("index-*.seg")) == []
    assert workspace.index.state().state == "none"
    assert await texts(workspace) == {}
    await workspace.index.build()
    assert len(await texts(workspace)) == 3


async def test_refresh_indexes_files_that_no_event_reported(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    workspace = await built(make_workspace(project))
    write_files(project, {"src/main.py": "def principal(): ...\n"})
    assert await workspace.index.refresh([project / "src/main.py"], SECONDS)
    async with workspace.index.snapshot({}, 0.0) as (view, _):
        names = [one.name for one in view.definitions_in(f"{project}/src/main.py")]
    assert names == ["principal"]
    write_files(project, {"src/other.py": "def other(): ...\n"})
    assert await workspace.index.refresh([], SECONDS)
    await asyncio.sleep(0)
    assert await holding(workspace, "def other") == ["src/other.py"]


# --- which files may match -----------------------------------------------------------------


async def candidates(workspace: EngineWorkspace, text: str) -> list[str] | None:
    """Return the files that may contain a text; None if that is uncertain."""
    required = required_by(TextPattern(pattern=text, literal=True))
    known = await workspace.index.candidates([Condition(required)], SECONDS)
    if known is None:
        return None
    [found] = known
    return sorted(path for folder in found.paths for path in found.files(folder))


async def eventually(workspace: EngineWorkspace, text: str) -> list[str]:
    """Return the files that may contain a text, once that is certain."""
    end = asyncio.get_running_loop().time() + SECONDS
    while (found := await candidates(workspace, text)) is None:
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.01)
    return found


@requires_linux
async def test_candidates_follow_every_change(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    workspace = make_workspace(project)
    assert await candidates(workspace, "plugins") is None
    workspace.index.enable_watching()
    await workspace.index.build()
    assert await candidates(workspace, "plugins") == ["docs/guide.md", "src/loader.py"]
    assert await candidates(workspace, "nowhere at all") == []
    write_files(project, {"src/main.py": "plugins = 1\n"})
    assert await eventually(workspace, "plugins") == [
        "docs/guide.md",
        "src/loader.py",
        "src/main.py",
    ]
    # While a file is reported before its ignore file, nothing is certain.
    (project / "docs/guide.md").unlink()
    write_files(project, {"deep/er/new.txt": "plugins", "ignored/x.py": "plugins"})
    write_files(project, {".gitignore": "ignored/\n"})
    assert await eventually(workspace, "plugins") == [
        "deep/er/new.txt",
        "src/loader.py",
        "src/main.py",
    ]
    (project / "deep").rename(project / "moved")
    (project / "src/main.py").rename(project / "src/start.py")
    assert await eventually(workspace, "plugins") == [
        "moved/er/new.txt",
        "src/loader.py",
        "src/start.py",
    ]
    (project / ".gitignore").unlink()
    assert "ignored/x.py" in await eventually(workspace, "plugins")


@requires_linux
async def test_files_without_contents_are_always_candidates(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    password = "pass" + "word = 'k9X2vQ8rT" + "4mZ7wL1'\n"
    project = git_commit(
        tmp_path / "project",
        {
            **FILES,
            "web/app.min.js": "var x=1\n",
            "settings.py": password,
            "wide.txt": "x",
            ".env.py": "",
        },
    )
    (project / "wide.txt").write_bytes("plugins ünd".encode("utf-16"))
    workspace = make_workspace(project)
    workspace.index.enable_watching()
    await workspace.index.build()
    always = ["settings.py", "web/app.min.js"]
    assert await candidates(workspace, "nowhere at all") == always
    found = ["docs/guide.md", "settings.py", "src/loader.py", "web/app.min.js", "wide.txt"]
    assert await candidates(workspace, "plugins") == found


async def test_the_status_reports_files_that_are_not_covered_and_why(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(
        tmp_path / "project",
        {**FILES, "id_rsa": "x\n", "web/app.min.js": "var x=1\n", "large.txt": "x" * 5_000_000},
    )
    workspace = await built(make_workspace(project))
    status = await current_status(workspace)
    [folder] = status.folders
    assert (folder.state, folder.files_indexed, folder.files_total) == ("ready", 7, 7)
    assert folder.not_covered == NotCovered(excluded=1, too_large=1, secret=1, binary=1)
    assert folder.bytes_on_disk is not None
    assert folder.bytes_on_disk > 10_000
    assert (folder.watching, folder.problem) == ("asked", None)
    assert status.settings.max_index_size_mb == 100


async def test_a_paused_index_reports_it_and_continues_when_resumed(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(tmp_path / "project", FILES)
    workspace = make_workspace(project)
    workspace.index.pause()
    building = asyncio.create_task(workspace.index.build())

    async def is_paused() -> bool:
        return (await current_status(workspace)).folders[0].state == "paused"

    await until(is_paused)
    assert (await current_status(workspace)).paused
    workspace.index.resume()
    await building
    assert (await current_status(workspace)).folders[0].state == "ready"


async def test_added_secret_rules_apply_to_an_existing_index(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    project = git_commit(
        tmp_path / "project", {"a.py": "def load(): return 'acme_k3y7q9w2'\n", "b.py": "load()\n"}
    )
    workspace = await built(make_workspace(project))
    assert await holding(workspace, "acme_k3y7q9w2") == ["a.py"]
    assert await holding(workspace, "no_such_text") == []
    rules = {"search": {"secrets": ["acme_[a-z0-9]{8}"]}}
    config, problems = merge_layer(workspace.config, rules, "winnow.toml")
    assert not problems
    workspace.reconfigure(config)
    await workspace.index.build()
    # A partly indexed text may contain anything.
    assert await holding(workspace, "no_such_text") == ["a.py"]
    (project / "b.py").write_text("key = 'acme_f5t6u7v8'\n")
    assert await holding(workspace, "no_such_text") == ["a.py", "b.py"]


def test_added_secret_rules_apply_to_a_file(tmp_path: Path) -> None:
    def taken(text: str, *rules: str) -> FileRecord:
        (tmp_path / "a.py").write_text(text)
        found = extract_file(IndexJob(os.fsencode(tmp_path), b"a.py", 10_000, rules=rules))
        assert found is not None
        return found

    ruled = taken("def load(): return 'acme_k3y7q9w2'\n", "acme_[a-z0-9]{8}")
    starred = taken("def load(): return '*************'\n")
    assert (ruled.symbols, ruled.contents and ruled.contents.trigrams) == (
        starred.symbols,
        starred.contents and starred.contents.trigrams,
    )
