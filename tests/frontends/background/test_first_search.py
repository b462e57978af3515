"""The first search in a folder begins its index, waits for a limited time, and answers."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

import pytest

from commands import command, running_in, streams, written
from conftest import git_init, requires_permissions, requires_posix, write_files
from frontends.background.background_process import (
    Done,
    by_itself,
    environment_of,
    offered,
    running,
    started,
    winnow,
)
from leftovers import processes
from waiting_for import wait_until
from winnow.frontends.background import control
from winnow.frontends.cli import call, main
from winnow.processes.children import start_detached

pytestmark = [pytest.mark.process, requires_posix]

QUESTION = "where are plugins loaded"
ASK = ("code-search", QUESTION)
# More than a search indexes by itself while it answers.
MORE = {f"more/part_{number}.py": f"part = {number}\n" for number in range(60)}
INCOMPLETE = "the index is being built"
LATER = "; the next search knows more files"
# The command line with more time to wait for an index.
PATIENT = "import sys; from winnow.frontends.cli import main; main.INDEX_SECONDS = 600.0;"
PATIENT += " sys.exit(main.main(sys.argv[1:]))"


def search_first(folder: Path, *arguments: str, environment: Mapping[str, str]) -> Done:
    """Run a command as `winnow` does if there is no background process."""
    with (
        running_in(folder),
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(control, "START_SECONDS", 60.0),
        mock.patch("gc.freeze"),
        streams() as (out, err),
    ):
        code = main.run(arguments, may_start=True)
        out.flush()
        err.flush()
        return Done(code, written(out), written(err))


@pytest.fixture(autouse=True)
def time_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "STOP_SECONDS", 60.0)


def indexes(folder: Path) -> list[Path]:
    return list(folder.glob(".winnow/index-*.db"))


@contextlib.contextmanager
def kept_from_building(project: Path, environment: Mapping[str, str]) -> Iterator[None]:
    """Hold the lock of an index that lacks most files, as another process that builds it does."""
    assert by_itself(project, "index", "build", environment=environment).code == 0
    write_files(project, MORE)
    [lock] = project.glob(".winnow/index-*.lock")
    with lock.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --- who builds the index ------------------------------------------------------------------


def test_the_first_search_starts_a_process_that_builds_the_index_and_answers(
    project: Path, home: Path
) -> None:
    environment = environment_of(home)
    try:
        done = search_first(project, *ASK, "--json", environment=environment)
        assert done.code == 0, done.errors
        process = running(project, environment)
        assert process is not None
        assert process.commands == 1
        assert indexes(project)

        def is_complete() -> bool:
            again = offered(project, *ASK, "--json", environment=environment)
            return bool(json.loads(again.output)["completeness"]["complete"])

        wait_until(is_complete)
    finally:
        control.stop(environment, project)


def test_only_searches_that_need_an_index_begin_one(project: Path, home: Path) -> None:
    write_files(project, MORE)
    environment = environment_of(home)
    with started(project, environment):
        for arguments in (
            ("grep", "load_plugin"),
            ("glob", "*.py"),
            ("read", "src/loader.py"),
            ("tree",),
            (*ASK, "--no-enable-indexing"),
        ):
            assert offered(project, *arguments, environment=environment).code == 0
        assert not (project / ".winnow").exists()
        # It doesn't wait, and the process builds the index.
        found = ("keyword-search", QUESTION, "load_plugin")
        assert offered(project, *found, environment=environment).code == 0
        wait_until(lambda: indexes(project), "the index")


@pytest.mark.parametrize(
    "arguments", [("find-symbol", "load_plugin"), ("find-references", "load_plugin")]
)
def test_symbols_begin_the_index_without_a_wait(
    project: Path, home: Path, arguments: Sequence[str]
) -> None:
    write_files(project, MORE)
    environment = environment_of(home)
    with started(project, environment, "INDEX_SECONDS=600"):
        assert offered(project, *arguments, environment=environment).code == 0
        wait_until(lambda: indexes(project), "the index")


@pytest.mark.slow
def test_two_first_searches_at_once_start_one_process(project: Path, home: Path) -> None:
    write_files(project, MORE)
    environment = environment_of(home)
    codes: list[int] = []

    def search() -> None:
        codes.append(winnow(project, *ASK, environment=environment).returncode)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0, 0]
    first = wait_until(lambda: running(project, environment), "the process")
    assert first is not None

    def others() -> list[str]:
        found = processes().items()
        return [command for pid, command in found if str(project) in command and pid != first.pid]

    wait_until(lambda: not others(), others)
    assert [process.pid for process in control.stop(environment, project)] == [first.pid]


def test_a_process_that_ends_at_once_is_not_waited_for(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "START_SECONDS", 600.0)
    monkeypatch.setattr(
        control,
        "start_detached",
        lambda program, *others: start_detached([program[0], "-c", "raise SystemExit(1)"], *others),
    )
    assert not control.start_and_wait(project, environment_of(home))


def test_without_a_process_a_search_builds_the_index_itself(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "INDEX_SECONDS", 600.0)
    environment = {**environment_of(home), "WINNOW_BACKGROUND": "0"}
    done = command(project, *ASK, "--json", environment=environment)
    assert json.loads(done.stdout)["completeness"]["index"]["state"] == "ready"
    assert indexes(project)


# --- how long it waits ---------------------------------------------------------------------


def test_a_search_that_has_waited_answers_from_what_there_is(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = environment_of(home)
    monkeypatch.setattr(main, "INDEX_SECONDS", 0.3)
    monkeypatch.setattr(call, "NOTICE_SECONDS", 0.0)
    with kept_from_building(project, environment):
        alone = by_itself(project, *ASK, "--json", environment=environment)
        with started(project, environment, "INDEX_SECONDS=0.3"):
            done = offered(project, *ASK, "--json", environment=environment)
    notice = "winnow: indexing this folder; this search waits at most 0.3 s\n"
    assert (alone.code, alone.errors) == (0, notice)
    for answer in map(json.loads, (alone.output, done.output)):
        assert any(hit["path"] == "src/loader.py" for hit in answer["results"])
        reason = answer["completeness"]["reasons"][-1]
        assert reason.startswith(INCOMPLETE)
        assert reason.endswith(LATER)
        assert "index_offer" not in answer


def test_the_next_search_goes_on_where_the_last_one_stopped(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {**environment_of(home), "WINNOW_BACKGROUND": "0"}
    with kept_from_building(project, environment):
        monkeypatch.setattr(main, "INDEX_SECONDS", 0.1)
        stopped = json.loads(command(project, *ASK, "--json", environment=environment).stdout)
        assert not stopped["completeness"]["complete"]
    monkeypatch.setattr(main, "INDEX_SECONDS", 600.0)
    done = json.loads(command(project, *ASK, "--json", environment=environment).stdout)
    assert done["completeness"]["complete"]
    assert done["completeness"]["index"]["files_indexed"] > len(MORE)


# --- Ctrl-C --------------------------------------------------------------------------------


class Terminal:
    """A command whose standard error is a terminal."""

    def __init__(
        self, folder: Path, program: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, *program],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        self.shown = ""
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other end is closed
            while read := os.read(self._ours, 4096):
                self.shown += read.decode()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str]:
        """Wait for the command. Return its exit code and standard output."""
        output, _ = self.process.communicate(timeout=60)
        self._reading.join()
        os.close(self._ours)
        return self.process.returncode, output.decode()


@pytest.mark.parametrize("has_process", [True, False])
def test_an_interrupt_skips_the_wait(project: Path, home: Path, has_process: bool) -> None:
    environment = environment_of(home)
    with contextlib.ExitStack() as stack:
        stack.enter_context(kept_from_building(project, environment))
        program = ["-c", PATIENT]
        if has_process:
            stack.enter_context(started(project, environment, "INDEX_SECONDS=600"))
            program = ["-m", "winnow"]
        else:
            environment["WINNOW_BACKGROUND"] = "0"
        terminal = Terminal(project, [*program, *ASK, "--json"], environment)
        wait_until(lambda: "(Ctrl-C skips the wait)" in terminal.shown, lambda: terminal.shown)
        terminal.interrupt()
        code, output = terminal.end()
        assert code == 0
        assert json.loads(output)["completeness"]["reasons"][-1].startswith(INCOMPLETE)
        where = " in the background" * has_process
        assert f"\r\x1b[KIndexing this folder{where}" in terminal.shown
        assert terminal.shown.endswith("\r\x1b[K")
        if has_process:
            assert offered(project, "grep", "load_plugin", environment=environment).code == 0


# --- where no index is begun ---------------------------------------------------------------


def test_a_large_folder_is_only_offered_an_index(project: Path, home: Path) -> None:
    write_files(home, {".config/winnow/config.toml": "[index]\nauto_index_threshold = 5\n"})
    environment = environment_of(home)
    with started(project, environment):
        done = offered(project, *ASK, "--json", environment=environment)
        assert json.loads(done.output)["index_offer"]["files"] == 5
        assert not (project / ".winnow").exists()


def test_no_index_is_begun_if_it_is_off(project: Path, home: Path) -> None:
    write_files(home, {".config/winnow/config.toml": "[index]\nenabled = false\n"})
    environment = environment_of(home)
    done = winnow(project, *ASK, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "index.enabled is off" in done.stdout
    assert running(project, environment) is None
    assert not (project / ".winnow").exists()


def test_no_index_is_begun_in_a_home_folder(home: Path) -> None:
    write_files(git_init(home), {"src/loader.py": "def load_plugins(): pass\n"})
    settings = {".config/winnow/config.toml": "[workspace]\nallow_home_root = true\n"}
    write_files(home, settings)
    environment = environment_of(home)
    done = winnow(home, *ASK, environment=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "src/loader.py" in done.stdout
    assert running(home, environment) is None
    assert not (home / ".winnow").exists()


def state_of_index(folder: Path, environment: Mapping[str, str]) -> str:
    """Return the state of the index that a question is answered from."""
    done = offered(folder, *ASK, "--json", environment=environment)
    return str(json.loads(done.output)["completeness"]["index"]["state"])


@requires_permissions
def test_the_index_of_a_folder_that_cannot_be_written_is_in_the_users_cache(
    project: Path, home: Path
) -> None:
    environment = environment_of(home)
    project.chmod(0o500)
    try:
        with started(project, environment):
            # On a busy machine, the first answers may say that changes are being looked for.
            wait_until(lambda: state_of_index(project, environment) == "ready")
    finally:
        project.chmod(0o700)
    assert not (project / ".winnow").exists()
    assert list((home / ".cache/winnow").rglob("index-*.db"))
