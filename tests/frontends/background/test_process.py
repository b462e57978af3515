"""The background process: when it starts, for whom it works, and when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from unittest import mock

import psutil
import pytest

from commands import command, running_in
from conftest import (
    FAKE_KEY,
    FILES,
    SLOW_TERM,
    alive,
    git_init,
    requires_permissions,
    requires_posix,
    write_files,
)
from frontends.background.background_process import (
    by_itself,
    environment_of,
    home_folder,
    offered,
    running,
    socket_of,
    started,
    winnow,
)
from leftovers import children, command_of
from waiting_for import until, wait_until
from winnow.frontends.background import control, from_event_loop, messages
from winnow.storage import sockets

pytestmark = [pytest.mark.process, requires_posix]

GREP = ("grep", "load_plugin")


def logged(environment: Mapping[str, str]) -> str:
    folder = Path(sockets.sockets_folder(environment) or "")
    return "".join(file.read_text() for file in folder.glob("background.*"))


def serves(folder: Path, environment: dict[str, str]) -> bool:
    return offered(folder, *GREP, environment=environment).code == 0


# --- its start -----------------------------------------------------------------------------


def test_a_command_starts_a_process_that_runs_the_next_one(project: Path, home: Path) -> None:
    environment = environment_of(home)
    first = winnow(project, *GREP, environment=environment)
    wait_until(lambda: running(project, environment), "the process")
    second = winnow(project, *GREP, environment=environment)
    assert (second.returncode, second.stdout, second.stderr) == (0, first.stdout, first.stderr)
    [process], silent = control.running(environment, project)
    assert not silent
    assert process.commands == 1
    assert alive(process.pid)
    stopped = winnow(project, "index", "stop", environment=environment)
    assert stopped.stdout.startswith(f"{project}: stopped, process {process.pid} since ")
    wait_until(lambda: not alive(process.pid), "the end of the process")
    # It leaves neither a lock nor a socket; grep has no use for an index.
    assert list(socket_of(project, environment).parent.iterdir()) == []
    assert not (project / ".winnow").exists()


@pytest.mark.slow
def test_two_commands_at_once_start_one_process(project: Path, home: Path) -> None:
    environment = environment_of(home)
    threads = [
        threading.Thread(target=winnow, args=(project, *GREP), kwargs={"environment": environment})
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = wait_until(lambda: running(project, environment), "the process")
    assert first is not None

    def is_own(process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):  # it may end meanwhile
            own: list[str] = process.cmdline()[-2:]
            return own == ["winnow.frontends.background", str(project)]
        return False

    def processes() -> list[int]:
        return [process.pid for process in psutil.process_iter() if is_own(process)]

    wait_until(lambda: processes() == [first.pid], processes)
    control.stop(environment, project)


def test_a_second_process_ends_at_once(project: Path, home: Path) -> None:
    environment = environment_of(home)
    program = [sys.executable, "-m", "winnow.frontends.background", str(project)]
    with started(project, environment):
        assert subprocess.run(program, env=environment, cwd=home).returncode == 0
        assert serves(project, environment)


def test_the_socket_of_a_killed_process_is_replaced(project: Path, home: Path) -> None:
    environment = environment_of(home)
    with started(project, environment) as killed:
        killed.kill()
        killed.wait()
    assert socket_of(project, environment).exists()
    assert offered(project, *GREP, environment=environment).code is None
    with started(project, environment):
        assert serves(project, environment)


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The programs that commands start in the background; none is started."""
    found: list[object] = []
    monkeypatch.setattr(control, "start_detached", lambda program, *_: found.append(program))
    return found


def test_no_process_is_started_unasked(
    project: Path, home: Path, starts: list[object], tmp_path: Path
) -> None:
    environment = environment_of(home)
    settings = tmp_path / "off.toml"
    for text in ("enabled = false", "background = false"):
        settings.write_text(f"[index]\n{text}\n")
        control.start(project, {**environment, "WINNOW_CONFIG": str(settings)})
    control.start(project, {**environment, "WINNOW_BACKGROUND": "0"})
    control.start(project, {**environment, "WINNOW_BACKGROUND": "off"})
    without_switch = {name: environment[name] for name in environment if "BACKGROUND" not in name}
    control.start(project, {**without_switch, "CI": "true"})
    # A home folder, also as a repository, is never a workspace unasked, nor is a shared folder.
    control.start(git_init(home), environment)
    control.start(Path("/tmp"), environment)
    control.start(tmp_path / "gone", environment)
    long = home / ("long" * 30)
    control.start(project, {**environment, "HOME": str(long)})
    assert starts == []
    control.start(project, {**without_switch, "CI": ""})
    control.start(project / "src", {**environment, "CI": "true"})
    program = [sys.executable, "-m", "winnow.frontends.background", str(project)]
    assert starts == [program, program]


def test_a_failed_command_starts_none(project: Path, home: Path, starts: list[object]) -> None:
    environment = environment_of(home)
    assert command(project, "grep", "(", environment=environment).returncode == 2
    assert starts == []
    assert command(project, *GREP, environment=environment).returncode == 0
    assert len(starts) == 1


# --- for whom it works ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str]]]:
    """A project with a process that no test ends."""
    project = write_files(git_init(tmp_path_factory.mktemp("place") / "project"), FILES)
    with home_folder() as home:
        environment = environment_of(home, OPENAI_API_KEY=FAKE_KEY)
        with started(project, environment):
            yield project, environment


@pytest.fixture
def own_place(project: Path, home: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    environment = environment_of(home)
    with started(project, environment):
        yield project, environment


def test_another_environment_is_declined(place: tuple[Path, dict[str, str]]) -> None:
    project, environment = place
    for other in (
        {"OPENAI_API_KEY": "sk-other"},
        {"FIREWORKS_API_KEY": FAKE_KEY},
        {"PATH": f"{environment['PATH']}:/elsewhere"},
        {"GIT_DIR": "/elsewhere"},
        {"HTTPS_PROXY": "http://elsewhere"},
        {"LC_ALL": "C"},
        {"WINNOW_CONFIG": "/elsewhere"},
    ):
        assert offered(project, *GREP, environment={**environment, **other}).code is None, other
    same = {"TERM": "xterm", "SHLVL": "3", "WINDOWID": "1", "WINNOW_BACKGROUND": "yes"}
    assert serves(project, {**environment, **same})


def test_a_declined_command_starts_no_other_process(
    place: tuple[Path, dict[str, str]], starts: list[object]
) -> None:
    project, environment = place
    control.start(project, {**environment, "LC_ALL": "C"})
    assert starts == []


def test_what_it_cannot_do_is_declined(place: tuple[Path, dict[str, str]]) -> None:
    project, environment = place
    for arguments in (
        ("grep", "--help"),
        ("keyword-search",),
        ("grep", "load", "--no-such-option"),
        ("grepp",),
        ("doctor",),
        ("--version",),
        (),
        ("index",),
        ("index", "status"),
        # Consent for one call must not reach the models of later ones.
        ("keyword-search", "q", "load_plugin", "--yes"),
    ):
        declined = offered(project, *arguments, environment=environment)
        assert declined == (None, "", ""), arguments
    assert serves(project, environment)


def test_only_its_own_folder_is_served(place: tuple[Path, dict[str, str]]) -> None:
    project, environment = place
    nested = write_files(git_init(project / "nested"), {"a.py": "load_plugin\n"})
    assert offered(nested, *GREP, environment=environment).code is None
    assert serves(project / "src", environment)
    beside = write_files(git_init(project.parent / "beside"), {"a.py": "load_plugin\n"})
    assert offered(beside, *GREP, environment=environment).code is None
    link = project.parent / "link"
    link.symlink_to(project)
    assert serves(link, environment)


def test_changed_settings_end_it(own_place: tuple[Path, dict[str, str]]) -> None:
    project, environment = own_place
    write_files(project, {"winnow.toml": "[search]\nexclude = ['src/']\n"})
    assert offered(project, *GREP, environment=environment).code is None
    wait_until(lambda: not socket_of(project, environment).exists(), "the end of the process")


def test_settings_of_the_user_end_it(own_place: tuple[Path, dict[str, str]]) -> None:
    project, environment = own_place
    write_files(Path(environment["HOME"]), {".config/winnow/config.toml": "[bash]\nenabled=true\n"})
    assert offered(project, *GREP, environment=environment).code is None
    wait_until(lambda: not socket_of(project, environment).exists(), "the end of the process")


def test_another_version_ends_it(
    own_place: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, environment = own_place
    monkeypatch.setattr("winnow.__version__", "0.0.1")
    assert offered(project, *GREP, environment=environment).code is None
    wait_until(lambda: not socket_of(project, environment).exists(), "the end of the process")


@pytest.mark.slow
def test_changed_code_ends_it(project: Path, home: Path, tmp_path: Path) -> None:
    package = Path(control.__file__).parents[2]
    copied = tmp_path / "server"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, copied / "winnow", ignore=ignored)
    environment = environment_of(home)
    path = os.pathsep.join([str(copied), environment.get("PYTHONPATH", "")])
    environment["PYTHONPATH"] = path
    winnow(project, *GREP, environment=environment)
    process = wait_until(lambda: running(project, environment), "the process")
    assert process is not None
    winnow(project, *GREP, environment=environment)
    [process], _ = control.running(environment, project)
    assert process.commands == 1
    (copied / "winnow/types.py").touch()
    assert winnow(project, *GREP, environment=environment).returncode == 0
    wait_until(lambda: not alive(process.pid), "the end of the process")
    wait_until(lambda: running(project, environment), "its successor")
    control.stop(environment, project)


# --- its end -------------------------------------------------------------------------------


def removed_folder(project: Path, environment: dict[str, str]) -> None:
    shutil.rmtree(project)


def replaced_folder(project: Path, environment: dict[str, str]) -> None:
    project.rename(project.with_name("moved"))
    project.mkdir()


def recreated_folder(project: Path, environment: dict[str, str]) -> None:
    """Replace the folder by one that would get its inode number."""
    shutil.rmtree(project)
    project.mkdir()


def removed_socket(project: Path, environment: dict[str, str]) -> None:
    socket_of(project, environment).unlink()


def nothing(project: Path, environment: dict[str, str]) -> None:
    """It ends because no command comes."""


@pytest.mark.parametrize(
    ("event", "constant"),
    [
        (removed_folder, "CHECK_SECONDS=0.01"),
        (replaced_folder, "CHECK_SECONDS=0.01"),
        (recreated_folder, "CHECK_SECONDS=0.01"),
        (removed_socket, "CHECK_SECONDS=0.01"),
        (nothing, "IDLE_SECONDS=0"),
    ],
)
def test_it_ends_by_itself(
    project: Path,
    home: Path,
    event: Callable[[Path, dict[str, str]], None],
    constant: str,
) -> None:
    environment = environment_of(home)
    with started(project, environment, constant, "CHECK_SECONDS=0.5") as process:
        event(project, environment)
        assert process.wait(60) == 0
    assert list(socket_of(project, environment).parent.iterdir()) == []


def test_a_command_in_a_replaced_folder_is_declined(project: Path, home: Path) -> None:
    environment = environment_of(home)
    with started(project, environment, "CHECK_SECONDS=600") as process:
        replaced_folder(project, environment)
        assert offered(project, *GREP, environment=environment).code is None
        assert process.wait(60) == 0


def ripgrep_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the children that run ripgrep. Others, such as git, may run before a command does."""
    found = children(process.pid)
    return [pid for pid in found if Path(command_of(pid).split(" ")[0]).name == "rg"]


def without_time_limit(home: Path) -> dict[str, str]:
    """Return an environment in which no search ends by itself."""
    write_files(home, {".config/winnow/config.toml": "[limits]\nsearch_seconds = 600\n"})
    return environment_of(home)


def test_sigterm_ends_it_and_its_children(slow_project: Path, home: Path) -> None:
    environment = without_time_limit(home)
    with (
        started(git_init(slow_project), environment) as process,
        client_of(slow_project, environment, "keyword-search", "q", SLOW_TERM) as client,
    ):
        ripgreps = wait_until(lambda: ripgrep_of(process), "ripgrep")
        process.terminate()
        assert process.wait(60) == 0
        # The command does its work itself.
        wait_until(lambda: ripgrep_of(client), "the command's own ripgrep")
        client.send_signal(signal.SIGINT)
        _, errors = client.communicate(timeout=60)
        assert client.returncode == 130, errors
    wait_until(lambda: not any(map(alive, ripgreps)), "the end of ripgrep")
    assert logged(environment) == ""
    assert list(socket_of(slow_project, environment).parent.iterdir()) == []


@contextlib.contextmanager
def client_of(
    folder: Path, environment: dict[str, str], *arguments: str
) -> Iterator[subprocess.Popen[bytes]]:
    program = [sys.executable, "-m", "winnow", *arguments]
    with subprocess.Popen(
        program, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as client:
        try:
            yield client
        finally:
            client.send_signal(signal.SIGINT)
            client.wait(60)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_a_command_ends_its_work(
    slow_project: Path, home: Path, end: signal.Signals
) -> None:
    environment = without_time_limit(home)
    with started(git_init(slow_project), environment) as process:
        with client_of(slow_project, environment, "keyword-search", "q", SLOW_TERM) as client:
            wait_until(lambda: ripgrep_of(process), "ripgrep")
            client.send_signal(end)
            assert client.wait(60) == (130 if end == signal.SIGINT else -end)
            wait_until(lambda: not ripgrep_of(process), "the end of ripgrep")
        assert offered(slow_project, "glob", "*.txt", environment=environment).code == 0


async def test_the_cancellation_of_a_command_ends_its_work(slow_project: Path, home: Path) -> None:
    environment = without_time_limit(home)
    with (
        started(git_init(slow_project), environment) as process,
        running_in(slow_project),
        mock.patch.dict(os.environ, environment, clear=True),
    ):
        command = ("keyword-search", "q", SLOW_TERM)
        task = asyncio.create_task(from_event_loop.run(command, lambda line: None))
        await until(lambda: ripgrep_of(process), "ripgrep")
        task.cancel()
        await until(lambda: not ripgrep_of(process), "the end of ripgrep")
        await asyncio.wait([task])
        assert task.cancelled()
        done = await from_event_loop.run(("glob", "*.txt"), lambda line: None)
        assert done is not None
        assert (done.code, "big.txt" in done.output) == (0, True)


def test_a_command_whose_process_crashes_does_its_work_itself(
    slow_project: Path, home: Path
) -> None:
    environment = without_time_limit(home)
    with (
        started(git_init(slow_project), environment) as process,
        client_of(slow_project, environment, "keyword-search", "q", SLOW_TERM) as client,
    ):
        ripgreps = wait_until(lambda: ripgrep_of(process), "ripgrep")
        process.kill()
        wait_until(lambda: ripgrep_of(client), "the command's own ripgrep")
    for ripgrep in ripgreps:
        with contextlib.suppress(ProcessLookupError):
            os.kill(ripgrep, signal.SIGKILL)


# --- the index -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_command_builds_the_index_and_the_process_keeps_it(
    own_place: tuple[Path, dict[str, str]],
) -> None:
    project, environment = own_place
    built = offered(project, "code-search", "where are plugins loaded", environment=environment)
    assert built.code == 0
    assert list(project.glob(".winnow/index-*.db"))

    def status() -> str:
        return offered(project, "index-status", environment=environment).output

    if sys.platform == "linux":
        wait_until(lambda: "changes are detected by file system events" in status(), status)
    write_files(project, {"src/fresh.py": "def a_fresh_definition():\n    pass\n"})
    definition = ("find-symbol", "a_fresh_definition")
    wait_until(lambda: "src/fresh.py" in offered(project, *definition, environment=environment)[1])


@pytest.mark.slow
def test_its_work_can_be_paused(own_place: tuple[Path, dict[str, str]]) -> None:
    project, environment = own_place

    def index(action: str) -> str:
        return offered(project, "index", action, environment=environment).output

    assert index("pause").startswith("background work is paused\n")
    status = offered(project, "index-status", environment=environment).output
    assert "paused by the user" in status
    assert index("build").startswith("the index is complete\n")
    assert index("pause").startswith("background work is paused\n")
    assert index("resume").startswith("background work is resumed\n")
    assert "changed nothing" not in index("resume")
    alone = by_itself(project, "index", "pause", environment=environment)
    assert alone.output.startswith("nothing runs in the background\n")


# --- security ------------------------------------------------------------------------------


def test_only_the_user_can_open_the_socket(place: tuple[Path, dict[str, str]]) -> None:
    project, environment = place
    file = socket_of(project, environment)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert sorted(one.name for one in file.parent.iterdir()) == [file.name, f"{file.name}.lock"]


def test_a_folder_that_others_can_open_is_not_used(
    project: Path, home: Path, starts: list[object]
) -> None:
    environment = environment_of(home)
    with started(project, environment):
        folder = socket_of(project, environment).parent
        folder.chmod(0o755)
        assert offered(project, *GREP, environment=environment).code is None
        control.start(project, environment)
        moved = folder.with_name("moved")
        folder.chmod(0o700)
        folder.rename(moved)
        folder.symlink_to(moved)
        assert offered(project, *GREP, environment=environment).code is None
        control.start(project, environment)
        folder.unlink()
        moved.rename(folder)
        assert serves(project, environment)
    assert starts == []


def test_a_process_loads_no_module_of_the_workspace(project: Path, home: Path) -> None:
    trap = "open(__file__ + '.ran', 'w').close()\n"
    write_files(project, {f"{name}.py": trap for name in ("msgspec", "asyncio", "hashlib")})
    write_files(project, {"winnow/__init__.py": trap, "sitecustomize.py": trap})
    environment = environment_of(home)
    environment["PYTHONPATH"] = f"{os.pathsep}{environment['PYTHONPATH']}"
    with running_in(project):
        control.start(project, environment)
    wait_until(lambda: running(project, environment), "the process")
    control.stop(environment, project)
    assert list(project.rglob("*.ran")) == []


@requires_permissions
def test_no_folder_is_created_where_nothing_may_be_written(
    project: Path, home: Path, starts: list[object]
) -> None:
    home.chmod(0o500)
    try:
        control.start(project, environment_of(home))
    finally:
        home.chmod(0o700)
    assert starts == []


def test_both_ends_check_the_user_of_the_other(
    place: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, environment = place
    path = socket_of(project, environment)
    with sockets.connect(str(path), 5.0) as connection:
        found = sockets.peer_of(connection)
        assert found is None or found[1] == os.geteuid()
    monkeypatch.setattr(sockets, "peer_of", lambda connection: (1, os.geteuid() + 1))
    with pytest.raises(PermissionError):
        sockets.connect(str(path), 5.0)
    assert offered(project, *GREP, environment=environment).code is None


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff\xff\xff\xff" * 10,
        messages.framed(b"?", ["x"]),
        messages.framed(messages.RUN, ["x"]),
        b"\x05\0\0\0C\xff\xff\xff\xff",
    ],
)
def test_other_messages_do_no_harm(place: tuple[Path, dict[str, str]], sent: bytes) -> None:
    project, environment = place
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(socket_of(project, environment)))
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(60)
        with contextlib.suppress(ConnectionError):
            while connection.recv(4096):
                pass
    assert serves(project, environment)


def test_keys_are_neither_sent_nor_stored(
    place: tuple[Path, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, environment = place
    sent: list[bytes] = []
    framed = messages.framed

    def recorded(kind: bytes, parts: list[str]) -> bytes:
        sent.append(framed(kind, parts))
        return sent[-1]

    monkeypatch.setattr(messages, "framed", recorded)
    assert serves(project, environment)
    assert len(sent) == 2
    assert FAKE_KEY.encode() not in b"".join(sent)
    # Nor the same hash for two commands.
    first = sent[-1]
    assert serves(project, environment)
    assert sent[-1] != first


# --- winnow index status and stop ----------------------------------------------------------


def test_processes_are_listed_and_stopped(project: Path, home: Path, tmp_path: Path) -> None:
    environment = environment_of(home)
    other = write_files(git_init(tmp_path / "other"), {"a.py": "load_plugin\n"})
    with started(project, environment) as one, started(other, environment) as two:
        assert serves(project, environment)
        shown = by_itself(project, "index", environment=environment)
        assert shown.code == 0
        index, process = shown.output.rstrip().rsplit("\n", 1)
        assert index.startswith(f"{project}: ")
        assert "files indexed" in index
        assert process.startswith(f"{project}: running, process {one.pid} since 20")
        assert process.endswith(" MB, 1 command")
        form = ("--all", "--json")
        listed = by_itself(project, "index", "status", *form, environment=environment)
        found = {one["root"]: one for one in json.loads(listed.output)["processes"]}
        assert {root: one["pid"] for root, one in found.items()} == {
            str(project): one.pid,
            str(other): two.pid,
        }
        assert found[str(project)]["memory_mb"] > 1
        stopped = by_itself(project, "index", "stop", environment=environment)
        assert f"{project}: stopped, process {one.pid}" in stopped.output
        assert one.wait(60) == 0
        assert serves(other, environment)
        assert by_itself(project, "index", "stop", "--all", environment=environment).code == 0
        assert two.wait(60) == 0
    for arguments in (("stop",), ("stop", "--all"), ("status", "--all")):
        none = by_itself(project, "index", *arguments, environment=environment)
        assert (none.code, none.output) == (1, "no background process\n")
    none = by_itself(project, "index", "status", environment=environment)
    assert none.code == 0
    assert none.output.startswith(f"{project}: ")
    assert none.output.endswith("\nno background process\n")


def test_a_process_that_does_not_end_is_named(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = environment_of(home)
    connect, connected = sockets.connect, 0
    with started(project, environment) as process:

        def stopping(path: str, seconds: float) -> socket.socket:
            nonlocal connected
            connected += 1
            if connected == 2:  # after it was found
                process.send_signal(signal.SIGSTOP)
            return connect(path, seconds)

        monkeypatch.setattr(sockets, "connect", stopping)
        monkeypatch.setattr(control, "STOP_SECONDS", 0.1)
        with pytest.raises(TimeoutError, match=f"process {process.pid} does not answer: kill it"):
            control.stop(environment, project)
        process.send_signal(signal.SIGCONT)


def test_a_process_that_does_not_answer_is_named(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = environment_of(home)
    monkeypatch.setattr(control, "ANSWER_SECONDS", 0.1)
    with started(project, environment) as process:
        process.send_signal(signal.SIGSTOP)
        try:
            shown = by_itself(project, "index", "status", environment=environment)
            with pytest.raises(TimeoutError, match=f"process {process.pid} does not answer"):
                control.stop(environment, project)
        finally:
            process.send_signal(signal.SIGCONT)
    assert shown.errors == f"winnow index: process {process.pid} does not answer: kill it\n"
    assert "no background process" not in shown.output
