"""The index over the wire when processes are killed, files of it are damaged, disks are full, folders
go away and others write there, too: no answer is wrong, and none is a defect."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import alive, git_init, requires_linux
from lsp.conftest import children
from lsp.test_symbols_hazards import SECONDS, Session

pytestmark = [pytest.mark.wire, requires_linux]

SHARED = 5
LETTERS = str.maketrans("0123456789", "bcfghjklmp")
DIGITS = str.maketrans("bcfghjklmp", "0123456789")
FILLER = "".join(
    f"def helper_{number}(value):\n    return value + {number}\n" for number in range(40)
)


def name_of(number: int) -> str:
    """A name that is one word, and no part of another one."""
    return f"item{str(number).translate(LETTERS)}end"


def number_of(name: str) -> int:
    return int(name[4:-3].translate(DIGITS))


class Project:
    """A folder of sources, and what they are: each defines a name that says its number and its
    version, and has a word in common with others."""

    def __init__(self, root: Path, files: int, seed: int) -> None:
        self.root = git_init(root)
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
        text = f"def {name}():\n    return shared_{self._number % SHARED}\n\n\n{FILLER}"
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self.files[path] = name

    def edit(self) -> None:
        """One change of any kind."""
        path = self.random.choice(list(self.files))
        what = self.random.randrange(8)
        if what == 0:
            self.add()
        elif what == 1 and len(self.files) > 10:
            (self.root / path).unlink()
            del self.files[path]
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
    assert not found["truncated"]
    return sorted(one["path"] for one in found["files"])


def defined(session: Session, name: str) -> list[str]:
    found = session.ask("$/findSymbol", {"name": name, "exact": True})
    return sorted(one["path"] for one in found["symbols"])


def meant(session: Session, query: str) -> set[str]:
    found = session.ask("$/semanticSearch", {"query": query, "top_k": 50})
    return {one["path"] for one in found["results"]}


def check_texts(session: Session, project: Project, seed: int) -> None:
    """What text search says is what the files hold."""
    one = random.Random(seed)
    for word in one.sample(range(SHARED), 2):
        assert grep(session, f"shared_{word}\n"[:-1]) == project.with_word(word)
    for path in one.sample(sorted(project.files), 3):
        assert grep(session, f"def {project.files[path]}(") == [path]
    assert grep(session, "itemend") == []


def check(session: Session, project: Project, seed: int) -> None:
    """What all searches say is what the files hold."""
    check_texts(session, project, seed)
    one = random.Random(seed)
    for path in one.sample(sorted(project.files), 3):
        name = project.files[path]
        assert defined(session, name) == [path]
        found = session.ask("$/codeSearch", {"query": name})
        assert [hit["path"] for hit in found["results"]] == [path]
        passages = session.ask("$/semanticSearch", {"query": f"where is {name}"})["results"]
        assert passages[0]["path"] == path
        for passage in passages:
            assert passage["snippet"] in (project.root / passage["path"]).read_text()


def check_against_a_new_index(session: Session, project: Project, folder: Path) -> None:
    """What the index says is what one says that was made anew of a copy."""
    ignore = shutil.ignore_patterns(".winnow")
    copy = shutil.copytree(project.root, folder / "copy", symlinks=True, ignore=ignore)
    with ready(copy) as other:
        names = sorted(project.files.values())
        for name in names[:: max(1, len(names) // 10)]:
            assert defined(session, name) == defined(other, name)
        for word in range(SHARED):
            assert grep(session, f"shared_{word}") == grep(other, f"shared_{word}")
        for query in ("where is shared_2 returned", "helper value", names[0], names[-1]):
            assert meant(session, query) == meant(other, query), query
    shutil.rmtree(copy)


@contextlib.contextmanager
def started(*folders: Path, **options: Any) -> Iterator[Session]:
    """A session that ends as a client ends it, and leaves no process and no complaint behind,
    unless it was killed."""
    session = Session(*folders, **options)
    try:
        yield session
    finally:
        if session.wire.process.poll() is None:
            processes = children(session.wire.process.pid)
            assert session.wire.stop() == 0
            assert [pid for pid in processes if alive(pid)] == []
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


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_kill_9_at_any_moment(tmp_path: Path, kills: int) -> None:
    """While the index is built, while it takes changes one by one, while segments are merged."""
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


# --- damaged -------------------------------------------------------------------------------


def flip(file: Path, one: random.Random) -> None:
    with file.open("r+b") as opened:
        for _ in range(one.choice([1, 1, 50])):
            opened.seek(one.randrange(file.stat().st_size))
            byte = opened.read(1)[0]
            opened.seek(-1, os.SEEK_CUR)
            opened.write(bytes([byte ^ 1 << one.randrange(8)]))


def truncate(file: Path, one: random.Random) -> None:
    os.truncate(file, one.randrange(file.stat().st_size))


def zero(file: Path, one: random.Random) -> None:
    size = file.stat().st_size
    at = one.randrange(size)
    with file.open("r+b") as opened:
        opened.seek(at)
        opened.write(bytes(min(one.choice([1, 100, 4096, 100_000]), size - at)))


def swap(file: Path, one: random.Random) -> None:
    """Two ranges of a file in each other's place."""
    raw = bytearray(file.read_bytes())
    size = min(one.choice([16, 512, 4096]), len(raw) // 2)
    first, second = one.randrange(len(raw) - size + 1), one.randrange(len(raw) - size + 1)
    raw[first : first + size], raw[second : second + size] = (
        raw[second : second + size],
        raw[first : first + size],
    )
    with file.open("r+b") as opened:
        opened.write(raw)


def exchange(file: Path, one: random.Random) -> None:
    """A file in the place of another one of its kind."""
    others = sorted(file.parent.glob(f"*{file.suffix}"))
    shutil.copyfile(one.choice(others), file.with_name("copy"))
    file.with_name("copy").replace(file)


def delete(file: Path, one: random.Random) -> None:
    file.unlink()


DAMAGES = [flip, truncate, zero, swap, exchange, delete]


def damage(root: Path, one: random.Random) -> str:
    """Damage a file of a store at random; says which and how."""
    endings = (".db", ".db-wal", ".sum", ".seg")
    files = [
        file
        for file in sorted((root / ".winnow").iterdir())
        if file.name.endswith(endings) and file.stat().st_size
    ]
    ending = one.choice(sorted({"".join(file.suffixes) for file in files}))
    file = one.choice([file for file in files if file.name.endswith(ending)])
    how = one.choice(DAMAGES)
    how(file, one)
    return f"{how.__name__} of {file.name}"


@pytest.mark.parametrize("damages", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_what_is_damaged_between_sessions(tmp_path: Path, damages: int) -> None:
    project = Project(tmp_path / "project", 100, seed=1)
    one = random.Random(damages)
    done = []
    for turn in range(damages):
        with ready(project.root) as session:
            check(session, project, turn)
            for _ in range(10):
                project.edit()
            session.state()
            if one.random() < 0.3:  # the log stays
                kill(session)
        for _ in range(one.choice([1, 1, 3])):
            done.append(damage(project.root, one))
        with ready(project.root) as session:
            for seed in range(3):
                check(session, project, seed)
    assert len(done) >= damages


@pytest.mark.parametrize("damages", [5, pytest.param(20, marks=pytest.mark.slow)])
def test_what_is_damaged_under_the_server(tmp_path: Path, damages: int) -> None:
    """Text search never misses a match; the others are right as soon as they can know."""
    project = Project(tmp_path / "project", 100, seed=2)
    one = random.Random(damages)
    with ready(project.root) as session:
        check(session, project, 0)
        for turn in range(damages):
            told = damage(project.root, one)
            for seed in range(3):
                check_texts(session, project, turn + seed)
                defined(session, "itemend")
                meant(session, "shared helper")
            for _ in range(5):
                project.edit()
                check_texts(session, project, turn)
            settle(session, project, told)
    with ready(project.root) as session:
        check(session, project, 0)
        check_against_a_new_index(session, project, tmp_path)


def settle(session: Session, project: Project, told: str) -> None:
    """Wait until everything is as it should be again."""
    end = time.monotonic() + SECONDS
    while True:
        try:
            session.wait_for_index()
            check(session, project, 1)
            return
        except AssertionError:
            if time.monotonic() > end:
                raise AssertionError(f"after {told}") from None
            time.sleep(0.2)
