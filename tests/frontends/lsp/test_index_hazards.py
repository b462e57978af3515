"""The index over the wire when processes are killed, its files damaged, disks full, when folders go
away and others write there, too: no answer is wrong, and none is a defect."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import git, git_commit, git_init, requires_linux
from damages import damage
from frontends.lsp.conftest import children, delete_tree
from frontends.lsp.test_symbols_hazards import Session, wait_until_ended
from hazard_table import Row
from offline.sitecustomize import SOCKETS
from waiting_for import SECONDS

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_linux]

SHARED = 5
LETTERS = str.maketrans("0123456789", "bcfghjklmp")
DIGITS = str.maketrans("bcfghjklmp", "0123456789")


def filler(helpers: int) -> str:
    """Return text that makes a file longer."""
    return "".join(f"def helper_{n}(value):\n    return value + {n}\n" for n in range(helpers))


def name_of(number: int) -> str:
    """Return a name that is a single word and not a part of another name."""
    return f"item{str(number).translate(LETTERS)}end"


def number_of(name: str) -> int:
    return int(name[4:-3].translate(DIGITS))


class Project:
    """A folder of generated sources. Each file defines a name with its number and version, and
    shares a word with other files."""

    def __init__(self, root: Path, files: int, seed: int, helpers: int = 12) -> None:
        self.root = git_init(root)
        self._filler = filler(helpers)
        self.random = random.Random(seed)
        self.files: dict[str, str] = {}  # the name that each defines
        self._number = 0
        for _ in range(files):
            self.add()

    def add(self) -> None:
        self.write(f"{self.random.choice('abc')}/m{len(self.files)}_{self._number}.py")

    def write(self, path: str) -> None:
        self._number += 1
        name = name_of(self._number)
        text = f"def {name}():\n    return shared_{self._number % SHARED}\n\n\n{self._filler}"
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.files[path] = name

    def remove(self, path: str) -> None:
        (self.root / path).unlink()
        del self.files[path]

    def edit(self) -> None:
        """Make a random change."""
        path = self.random.choice(list(self.files))
        what = self.random.randrange(8)
        if what == 0:
            self.add()
        elif what == 1 and len(self.files) > 10:
            self.remove(path)
        elif what == 2:
            new = path.replace(".py", "x.py")
            (self.root / path).rename(self.root / new)
            self.files[new] = self.files.pop(path)
        else:
            self.write(path)

    def with_word(self, word: int) -> list[str]:
        return sorted(path for path, name in self.files.items() if number_of(name) % SHARED == word)


def grep(session: Session, text: str) -> list[str]:
    asked = {"pattern": text, "literal": True, "mode": "files", "max_results": 100_000}
    found = session.ask("$/grep", asked)
    completeness = found["completeness"]
    assert not found["truncated"], completeness
    assert not completeness["timed_out"], completeness
    return sorted(one["path"] for one in found["files"])


def defined(session: Session, name: str) -> list[str]:
    found = session.ask("$/findSymbol", {"name": name, "exact": True})
    return sorted(one["path"] for one in found["symbols"])


def ranked(session: Session, query: str) -> tuple[list[tuple[str, int, float, str]], int]:
    """Return the best passages for a query, in order, with their scores, and the number of
    passages."""
    found = session.ask("$/semanticSearch", {"query": query, "top_k": 20})
    return [
        (each["path"], each["start_line"], each["score"], each["snippet"])
        for each in found["results"]
    ], found["total_found"]


def check_texts(session: Session, project: Project, seed: int) -> None:
    """Assert that text search agrees with the files."""
    one = random.Random(seed)
    for word in one.sample(range(SHARED), 2):
        assert grep(session, f"shared_{word}\n"[:-1]) == project.with_word(word)
    for path in one.sample(sorted(project.files), 3):
        assert grep(session, f"def {project.files[path]}(") == [path]
    assert grep(session, "itemend") == []


def check(session: Session, project: Project, seed: int) -> None:
    """Assert that all searches agree with the files."""
    check_texts(session, project, seed)
    one = random.Random(seed)
    for path in one.sample(sorted(project.files), 3):
        name = project.files[path]
        assert defined(session, name) == [path]
        found = session.ask("$/codeSearch", {"query": name})
        assert [hit["path"] for hit in found["results"]] == [path]
        passages = session.ask("$/semanticSearch", {"query": f"where is {name}"})["results"]
        # Raise only AssertionErrors: `settle` retries after them.
        assert [passage["path"] for passage in passages[:1]] == [path]
        for passage in passages:
            file = project.root / passage["path"]
            assert file.is_file()
            assert passage["snippet"] in file.read_text()


def check_against_a_new_index(session: Session, project: Project, folder: Path) -> None:
    """Assert that the index equals an index that is built from a copy."""
    ignore = shutil.ignore_patterns(".winnow")
    copy = shutil.copytree(project.root, folder / "copy", symlinks=True, ignore=ignore)
    # Without the list of indexes, nothing is copied from the index that is checked.
    with ready(copy, variables={"XDG_STATE_HOME": str(folder / "state")}) as other:
        names = sorted(project.files.values())
        for name in names[:: max(1, len(names) // 10)]:
            assert defined(session, name) == defined(other, name)
        for word in range(SHARED):
            assert grep(session, f"shared_{word}") == grep(other, f"shared_{word}")
        for query in (*names[:3], *names[-3:], f"what returns shared_2 in {names[7]}"):
            assert ranked(session, query) == ranked(other, query), query
    shutil.rmtree(copy)


@contextlib.contextmanager
def started(*folders: Path, **options: Any) -> Iterator[Session]:
    """Start a session and stop it like a client. Fail if it leaves a process or an error in its
    log, unless it was killed."""
    session = Session(*folders, **options)
    try:
        yield session
    finally:
        if session.wire.process.poll() is None:
            processes = children(session.wire.process.pid)
            assert session.wire.stop() == 0
            wait_until_ended(processes)
            assert "Traceback" not in session.wire.stderr
    assert "Incident" not in session.wire.stderr


@contextlib.contextmanager
def ready(*folders: Path, **options: Any) -> Iterator[Session]:
    with started(*folders, **options) as session:
        session.wait_for_index()
        yield session


def kill(session: Session) -> None:
    """End a server and all that it has started, as a machine without memory does."""
    pids = [session.wire.process.pid, *children(session.wire.process.pid)]
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    session.wire.join()


def segment_files(root: Path) -> int:
    return len(list((root / ".winnow").glob("index-*.seg*")))


# --- killed --------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.long)])
def test_kill_9_at_any_moment(tmp_path: Path, row: Row, kills: int) -> None:
    """During the build, during updates of single files, and while segments are merged."""
    row.hazard, row.tries = "kill -9 while files are indexed", kills
    project = Project(tmp_path / "project", 150, seed=kills)
    for turn in range(kills):
        with started(project.root) as session:
            if turn % 3 == 0:  # while it reads files
                for path in project.random.sample(sorted(project.files), 60):
                    project.write(path)
                time.sleep(project.random.uniform(0, 1.0))
            else:  # while it takes changes
                session.wait_for_index()
                check(session, project, turn)
                end = time.monotonic() + project.random.uniform(0.1, 2.0)
                while time.monotonic() < end:
                    project.edit()
                    time.sleep(project.random.choice([0, 0.01, 0.05]))
            kill(session)
        for _ in range(project.random.randrange(4)):
            project.edit()
    with started(project.root) as session:
        check_texts(session, project, 0)
        session.wait_for_index()
        for seed in range(5):
            check(session, project, seed)
        check_against_a_new_index(session, project, tmp_path)
    row.result = "0 wrong answers, the same as a new index"


# --- damaged -------------------------------------------------------------------------------


@pytest.mark.parametrize("damages", [3, pytest.param(20, marks=pytest.mark.long)])
def test_damage_between_sessions(tmp_path: Path, row: Row, damages: int) -> None:
    row.hazard, row.tries = "an index that is damaged between two sessions", damages
    project = Project(tmp_path / "project", 100, seed=1)
    one = random.Random(damages)
    for turn in range(damages):
        with ready(project.root) as session:
            check(session, project, turn)
            for _ in range(10):
                project.edit()
            session.state()
            if one.random() < 0.3:  # the log stays
                kill(session)
        for _ in range(one.choice([1, 1, 3])):
            damage(project.root, one)
        with ready(project.root) as session:
            for seed in range(3):
                check(session, project, seed)
    row.result = "0 wrong answers"


@pytest.mark.parametrize("damages", [3, pytest.param(20, marks=pytest.mark.long)])
def test_damage_under_a_running_server(tmp_path: Path, row: Row, damages: int) -> None:
    """Text search never misses a match; the others are right as soon as they can know."""
    row.hazard, row.tries = "an index that is damaged under a running server", damages
    project = Project(tmp_path / "project", 100, seed=2)
    one = random.Random(damages)
    with ready(project.root) as session:
        check(session, project, 0)
        for turn in range(damages):
            told = damage(project.root, one)
            for seed in range(3):
                check_texts(session, project, turn + seed)
                defined(session, "itemend")
                session.ask("$/semanticSearch", {"query": "shared helper"})
            for _ in range(5):
                project.edit()
                check_texts(session, project, turn)
            settle(session, project, told)
    with ready(project.root) as session:
        check(session, project, 0)
        check_against_a_new_index(session, project, tmp_path)
    row.result = "0 matches of texts missed, 0 wrong answers"


def settle(session: Session, project: Project, told: str) -> None:
    """Wait until everything is as it should be again."""
    end = 0.0
    while True:
        try:
            session.wait_for_index(2 * SECONDS)
            check(session, project, 1)
            return
        except AssertionError as error:
            end = end or time.monotonic() + SECONDS  # indexing may need more time
            if time.monotonic() > end:
                raise AssertionError(f"after {told}") from error
            time.sleep(0.2)


# --- disks and folders ---------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a separate file system of this size."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no file system may be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, leave: int) -> None:
    """Leave at most this many bytes of a disk free while a server writes to it."""

    def excess() -> int:
        return os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - leave

    with (disk / "filling").open("ab", buffering=0) as file:
        while (size := excess()) > 0:
            with contextlib.suppress(OSError):  # the server has used some of it
                file.write(bytes(size))


# Half of the moments at which there may be no room any more: the others by hand.
LONG = [pytest.param(leave, marks=pytest.mark.long) for leave in (100_000, 1_500_000)]


@pytest.mark.parametrize("leave", [0, 400_000, *LONG])
def test_a_disk_that_becomes_full(tmp_path: Path, leave: int) -> None:
    """While segments are written and merged and rows are committed; with room again, all is kept
    in the folder again at the next start."""
    with small_disk(tmp_path / "disk", 40) as disk:
        project = Project(disk / "project", 100, seed=leave, helpers=40)
        with ready(project.root) as session:
            check(session, project, 0)
            fill(disk, leave)
            for turn in range(30):
                path = project.random.choice(sorted(project.files))
                try:
                    project.write(path)
                except OSError:  # the disk has no room for the sources either
                    project.remove(path)
                check_texts_if_whole(session, project, turn)
            settle(session, project, "a full disk")
            (disk / "filling").unlink()
            for _ in range(5):
                project.edit()
                check_texts_if_whole(session, project, 0)
        for path in list(project.files):
            project.write(path)
        with ready(project.root) as session:
            check(session, project, 1)
            [folder] = session.ask("$/indexStatus", {})["index"]["folders"]
            assert "problem" not in folder
            assert segment_files(project.root) > 0


def check_texts_if_whole(session: Session, project: Project, seed: int) -> None:
    """Check the texts that a full disk has left complete."""
    for path, name in random.Random(seed).sample(sorted(project.files.items()), 3):
        held = (project.root / path).read_text()
        assert grep(session, f"def {name}(") == [path] * (f"def {name}(" in held)
    assert ranked(session, "shared helper")


def test_a_folder_that_is_deleted_and_recreated_during_indexing(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", 200, seed=3)
    with started(project.root) as session:
        for turn in range(3):
            time.sleep(0.3 * turn)
            delete_tree(project.root)
            for method, asked in (("grep", "pattern"), ("semanticSearch", "query")):
                answer = session.answer(f"$/{method}", {asked: "shared"})
                assert answer["error"]["data"]["kind"] == "not_found"
            project = Project(tmp_path / "project", 150 + turn, seed=turn)
            check_texts(session, project, turn)
        settle(session, project, "another folder")


def test_a_folder_that_replaces_another(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", 50, seed=4)
    other = Project(tmp_path / "other", 70, seed=5)
    with ready(project.root) as session:
        check(session, project, 0)
        for turn in range(4):
            project.root.rename(tmp_path / "aside")
            other.root.rename(tmp_path / "project")
            (tmp_path / "aside").rename(tmp_path / "other")
            project.root, other.root = other.root, project.root
            project, other = other, project
            project.root, other.root = tmp_path / "project", tmp_path / "other"
            check_texts(session, project, turn)
            settle(session, project, "another folder in its place")


# --- others --------------------------------------------------------------------------------


def live_documents(root: Path) -> tuple[int, int]:
    """Return the number of files with texts in segments, and the maximum number of rows per
    file."""
    [file] = (root / ".winnow").glob("index-*.db")
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        (texts,) = connection.execute(
            "SELECT count(*) FROM file WHERE parked=0 AND segment NOT NULL"
        ).fetchone()
        (most,) = connection.execute(
            "SELECT max(n) FROM (SELECT count(*) AS n FROM file WHERE parked=0 GROUP BY path)"
        ).fetchone()
    return texts, most


def test_two_servers_and_the_command_line_with_one_folder(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", 150, seed=6)
    with started(project.root) as one, started(project.root) as other:
        build = [sys.executable, "-m", "winnow", "index", "build"]
        with subprocess.Popen(
            build, cwd=project.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as line:
            for turn in range(40):
                project.edit()
                check_texts((one, other)[turn % 2], project, turn)
            assert line.stderr is not None
            assert line.wait(4 * SECONDS) == 0, line.stderr.read()
        for session in (one, other):
            settle(session, project, "two servers")
        for turn in range(20):
            project.edit()
            for session in (one, other):
                check_texts(session, project, turn)
        for session in (one, other):
            settle(session, project, "two servers")
        check_against_a_new_index(one, project, tmp_path)
        assert live_documents(project.root) == (len(project.files), 1)
        shared = one.ask("$/indexStatus", {})["index"]["folders"]
        assert shared[0]["files_indexed"] == len(project.files)


def test_branches_change_and_trees_are_added_during_indexing(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", 150, seed=7)
    git_commit(project.root)
    first = dict(project.files)
    git(project.root, "checkout", "-q", "-b", "other")
    for path in sorted(project.files)[:100]:
        project.write(path)
    git_commit(project.root)
    second = dict(project.files)
    with started(project.root) as session:
        for turn in range(6):
            project.files = (first, second)[turn % 2]
            git(project.root, "checkout", "-q", "-")
            if turn == 2:
                git(project.root, "worktree", "add", "-q", "-b", "tree", str(tmp_path / "tree"))
            check_texts(session, project, turn)
        settle(session, project, "branches")
        check_against_a_new_index(session, project, tmp_path)
    tree = Project(tmp_path / "unused", 0, seed=0)
    tree.root, tree.files = tmp_path / "tree", dict(first)
    with ready(tree.root) as session:
        check(session, tree, 0)


def test_a_file_that_is_written_a_hundred_times_a_second(tmp_path: Path) -> None:
    project = Project(tmp_path / "project", 50, seed=8)
    path = sorted(project.files)[0]
    with ready(project.root) as session:
        for turn in range(4):
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                project.write(path)
                time.sleep(0.01)
            check_texts(session, project, turn)
            assert grep(session, f"def {project.files[path]}(") == [path]
        settle(session, project, "many changes")
        assert live_documents(project.root) == (len(project.files), 1)


@pytest.mark.parametrize("files", [2_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_thousands_of_files_that_come_at_once(tmp_path: Path, files: int) -> None:
    project = Project(tmp_path / "project", 50, seed=9)
    with ready(project.root) as session:
        (project.root / "many").mkdir()
        for number in range(files):
            (project.root / f"many/n{number}.txt").write_text(f"many_{number}_end\n")
        one = random.Random(files)
        for number in one.sample(range(files), 5):
            assert grep(session, f"many_{number}_end") == [f"many/n{number}.txt"]
        settle(session, project, "many files")
        for number in one.sample(range(files), 5):
            assert grep(session, f"many_{number}_end") == [f"many/n{number}.txt"]
        assert session.ask("$/indexStatus", {})["index"]["memory_mb"] < 200
        shutil.rmtree(project.root / "many")
        assert grep(session, "many_7_end") == []
        settle(session, project, "no such files any more")


def test_no_search_and_no_watcher_makes_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are no sockets, not even to this machine; a model server would need one."""
    monkeypatch.setenv(SOCKETS, str(tmp_path / "sockets"))
    project = Project(tmp_path / "project", 30, seed=10)
    with ready(project.root) as session:
        for turn in range(5):
            project.edit()
            check(session, project, turn)
            session.ask("$/keywordSearch", {"query": "returned", "search_terms": ["shared_1"]})
        check(session, project, 0)
        pids = [session.wire.process.pid, *children(session.wire.process.pid)]
        assert [pid for pid in pids if internet_sockets(pid)] == []
    assert not (tmp_path / "sockets").exists()


def internet_sockets(pid: int) -> set[str]:
    """Return the inodes of a process's internet sockets."""
    lines: list[str] = []
    for table in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6"):
        with contextlib.suppress(OSError):  # no such table here, or the process has ended
            lines += Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    inodes = {f"socket:[{line.split()[9]}]" for line in lines}
    return inodes & set(open_files(pid))


def open_files(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):  # it may have ended
        for number in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                yield str(number.readlink())
