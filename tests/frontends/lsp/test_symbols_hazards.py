"""Symbols over the wire when files, workers, stores, requests or folders are not as they should be:
every request is answered, in time, and nothing is left behind."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conftest import alive, git_init, requires_permissions, requires_posix, write_files
from frontends.lsp.conftest import children, command_line, delete_tree
from frontends.lsp.wire import Wire
from index.conftest import environment_with_languages
from waiting_for import SECONDS, wait_until

pytestmark = [pytest.mark.wire, pytest.mark.hazard]

INTERNAL_ERROR = -32603
CANCELLED = -32800
FILES = {
    "net.py": "class Client:\n    def send(self, data):\n        return len(data)\n",
    "app.py": (
        "from net import Client\n"
        "\n\n"
        "def run(client: Client):\n"
        "    client.send('😀'); client.send('')\n"
        "\n\n"
        "def main():\n"
        "    run(Client())\n"
    ),
}
# The answers of each request about `send` in net.py, line 1, with exactly these files.
ALL = {
    "workspace/symbol": ["send"],
    "textDocument/documentSymbol": ["Client"],
    "textDocument/definition": ["net.py:1:8"],
    "textDocument/references": ["app.py:4:11", "app.py:4:30", "net.py:1:8"],
    "textDocument/documentHighlight": ["1:8"],
    "textDocument/prepareCallHierarchy": ["send"],
    "callHierarchy/incomingCalls": ["run"],
    "callHierarchy/outgoingCalls": [],
    "$/findSymbol": ["net.py:2"],
    "$/findReferences": ["app.py:5", "app.py:5", "net.py:2"],
}
NOTHING: dict[str, list[str]] = {method: [] for method in ALL}


class Session:
    """A client with some folders open, that expects an answer to everything, and no defects."""

    def __init__(
        self,
        *folders: Path,
        variables: dict[str, str] | None = None,
        before: Callable[[int], object] = lambda pid: None,
        forked: bool = True,
        **options: Any,
    ) -> None:
        """``before`` is called with the server's process, before the index is begun."""
        self.wire = Wire(variables=variables, forked=forked, patient=forked)
        self.folders = folders
        self._numbers = itertools.count(1)
        self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "workspaceFolders": [
                    {"uri": folder.as_uri(), "name": folder.name} for folder in folders
                ],
                "initializationOptions": options,
                "capabilities": {
                    "textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}
                },
            },
        )
        before(self.wire.process.pid)
        self.wire.notify("initialized", {})

    def answer(self, method: str, params: Any, seconds: float = SECONDS) -> Any:
        """Return the complete answer. Assert that it isn't an internal error."""
        number = next(self._numbers)
        self.wire.request(number, method, params)
        answer = self.wire.receive(seconds)
        assert answer["id"] == number
        if answer.get("error", {}).get("code") == INTERNAL_ERROR:
            time.sleep(0.2)  # for the log
            raise AssertionError(f"{method} {answer}\n{self.wire.stderr[-4000:]}")
        return answer

    def ask(self, method: str, params: Any, seconds: float = SECONDS) -> Any:
        answer = self.answer(method, params, seconds)
        assert "error" not in answer, (method, answer)
        return answer["result"]

    def state(self) -> str:
        found = self.ask("$/findSymbol", {"name": "no_such_name"})
        return str(found["completeness"]["index"]["state"])

    def wait_for_index(self, seconds: float = 2 * SECONDS) -> None:
        def problem() -> object:
            return self.ask("$/indexStatus", {}), self.wire.stderr

        wait_until(lambda: self.state() == "ready", problem, seconds)

    def everything(
        self,
        file: Path | str,
        line: int = 1,
        column: int = 10,
        name: str = "send",
        only: str = "",
    ) -> dict[str, list[str]]:
        """Send all symbol requests, or ``only`` one, for a position and a name; return short
        answers."""
        uri = file if isinstance(file, str) else file.as_uri()
        place = {"line": line, "character": column}
        at = {"textDocument": {"uri": uri}, "position": place}
        one = {"start": place, "end": place}
        item = {"name": name, "kind": 12, "uri": uri, "range": one, "selectionRange": one}
        here = {"path": uri, "line": line + 1, "column": column + 1}
        params: dict[str, Any] = {
            "workspace/symbol": {"query": name},
            "textDocument/documentSymbol": {"textDocument": {"uri": uri}},
            "textDocument/definition": at,
            "textDocument/references": {**at, "context": {"includeDeclaration": True}},
            "textDocument/documentHighlight": at,
            "textDocument/prepareCallHierarchy": at,
            "callHierarchy/incomingCalls": {"item": item},
            "callHierarchy/outgoingCalls": {"item": item},
            "$/findSymbol": {"name": name, "exact": True},
            "$/findReferences": {**here, "include_declaration": True},
        }
        return {
            method: self._short(self.answer(method, one))
            for method, one in params.items()
            if method == (only or method)
        }

    def _short(self, answer: Any) -> list[str]:
        if "error" in answer:
            return [answer["error"]["data"]["kind"]]
        result = answer["result"]
        if isinstance(result, dict):
            found = result["symbols"] if "symbols" in result else result["references"]
            return sorted(f"{one['path']}:{one['line']}" for one in found)
        return sorted(map(_short_item, result or []))

    def open(self, uri: str, text: str) -> None:
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.wire.notify("textDocument/didOpen", {"textDocument": item})


def _short_item(item: Any) -> str:
    """Format a symbol or a call by its name, and a location by its file, line and column."""
    if "name" in item:
        return str(item["name"])
    for side in ("from", "to"):
        if side in item:
            return str(item[side]["name"])
    start = item["range"]["start"]
    file = f"{item['uri'].rpartition('/')[2]}:" if "uri" in item else ""
    return f"{file}{start['line']}:{start['character']}"


Start = Callable[..., Session]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start sessions; they end as a client ends them, and leave no process behind."""
    sessions: list[Session] = []

    def begin(*folders: Path, **more: Any) -> Session:
        sessions.append(Session(*folders, **more))
        return sessions[-1]

    yield begin
    for session in sessions:
        started = children(session.wire.process.pid)
        assert session.wire.stop() == 0
        wait_until_ended(started)
        assert "Traceback" not in session.wire.stderr


def wait_until_ended(pids: Collection[int]) -> None:
    """Wait until the processes of a server that has ended are gone: killed ones may linger."""
    wait_until(lambda: not any(map(alive, pids)), lambda: [command_line(pid) for pid in pids])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "folder"), FILES)


# --- files ---------------------------------------------------------------------------------


def test_all_requests_agree_about_a_symbol(start: Start, folder: Path) -> None:
    session = start(folder)
    assert session.everything(folder / "net.py") == ALL  # the index may not be there yet
    session.wait_for_index()
    assert session.everything(folder / "net.py") == ALL


def test_a_grammar_that_never_returns(start: Start, folder: Path, tmp_path: Path) -> None:
    write_files(folder, {f"hang{n}.cob": "x\n" for n in range(3)})
    variables = environment_with_languages(tmp_path / "python")
    session = start(folder, variables=variables, limits={"parse_seconds": 1.0})
    assert session.everything(folder / "net.py") == ALL
    asked = session.everything(folder / "hang0.cob", 0, 0, "x")
    assert asked == NOTHING | {"$/findReferences": ["not_found"]}
    session.wait_for_index()
    assert session.everything(folder / "net.py") == ALL


LINES = "def huge():\n    return 1234567890\n\n"
HUGE = {
    "50 MB": LINES * (50_000_000 // len(LINES)),
    "10 MB": LINES * (10_000_000 // len(LINES)),
    "a line of 2 MB": "def huge(): pass\nDATA = '" + "x" * 2_000_000 + "'\n",
    "brackets": "def huge(): pass\nDATA = " + "[" * 100_000 + "]" * 100_000 + "\n",
    "open brackets": "def huge(): pass\nDATA = " + "(" * 100_000 + "\n",
}


# Sending the largest takes client and server a quarter of a minute.
OPENED = [
    pytest.param(name, marks=[pytest.mark.long] * (name == "50 MB"), id=name) for name in HUGE
]


def test_files_of_random_bytes_are_survived(start: Start, folder: Path) -> None:
    """In one folder: each of them is answered for, and keeps none of the others."""
    names = {name: folder / f"huge_{number}.py" for number, name in enumerate(HUGE)}
    for name, file in names.items():
        file.write_text(HUGE[name])
    session = start(folder)
    for file in names.values():
        asked = session.everything(file, 0, 5, "huge")
        assert set(asked) == set(ALL)
    assert session.everything(folder / "net.py") == ALL
    session.wait_for_index()
    assert session.everything(folder / "net.py") == ALL


@pytest.mark.parametrize("name", OPENED)
def test_documents_of_random_bytes_are_survived(start: Start, folder: Path, name: str) -> None:
    huge = folder / "huge.py"
    session = start(folder)
    session.open(huge.as_uri(), HUGE[name])
    for column in (5, 2_000_000):
        asked = session.everything(huge, 0, column, "huge")
        assert set(asked) == set(ALL)
    assert session.everything(folder / "net.py") == ALL
    session.wait_for_index()
    assert session.everything(folder / "net.py") == ALL


@requires_posix
def test_fifos_devices_and_sockets_are_ignored(start: Start, folder: Path, tmp_path: Path) -> None:
    secret = write_files(tmp_path / "outside", {"secret.py": "def send(): pass\n"})
    os.mkfifo(folder / "fifo.py")
    (folder / "folder.py").mkdir()
    (folder / "link.py").symlink_to(secret / "secret.py")
    (folder / "loop.py").symlink_to("loop.py")
    (folder / "device.py").symlink_to("/dev/zero")
    session = start(folder)
    elsewhere = {"workspace/symbol": ["send"], "$/findSymbol": ["net.py:2"]}
    for name in ("fifo.py", "folder.py", "link.py", "loop.py", "device.py", "gone.py"):
        asked = session.everything(folder / name, 0, 5)
        kind = asked.pop("$/findReferences")
        assert kind[0] in ("not_found", "path_outside_workspace", "no_symbol", "not_a_file"), name
        assert {method: found for method, found in asked.items() if found} == elsewhere, name
    session.wait_for_index()
    assert session.everything(folder / "net.py") == ALL


@requires_posix
def test_file_names_with_invalid_unicode_and_escaped_characters(
    start: Start, tmp_path: Path
) -> None:
    folder = write_files(git_init(tmp_path / "fo lder#%C3é😀"), FILES)
    names = [os.fsdecode(b"\xff\xfe.py"), "a b#?%41é😀.py", "%FF.py"]
    for name in names:
        (folder / name).write_text(f"def other{names.index(name)}(): pass\n")
    session = start(folder)
    for number, name in enumerate(names):
        asked = session.everything(folder / name, 0, 6, f"other{number}")
        assert asked["textDocument/documentSymbol"] == [f"other{number}"]
        at = f"{(folder / name).as_uri().rpartition('/')[2]}:0:4"
        assert asked["textDocument/definition"] == asked["textDocument/references"] == [at]
        assert asked["workspace/symbol"] == [f"other{number}"]
        assert len(asked["$/findReferences"]) == len(asked["$/findSymbol"]) == 1
    session.wait_for_index()
    assert session.everything(folder / "net.py") == ALL


def test_an_unsaved_document_that_hangs_the_grammar(
    start: Start, folder: Path, tmp_path: Path
) -> None:
    variables = environment_with_languages(tmp_path / "python")
    session = start(folder, variables=variables, limits={"parse_seconds": 3.0})
    session.open((folder / "hang.cob").as_uri(), "x\n")
    session.everything(folder / "net.py")  # waits for it, until it is known to hang
    session.wait_for_index()
    assert session.everything(folder / "net.py") == ALL


# --- workers and stores --------------------------------------------------------------------


def workers(session: Session) -> list[int]:
    pids = children(session.wire.process.pid)
    return [pid for pid in pids if b"winnow.index.builder.worker" in command_line(pid)]


def kill_workers(session: Session) -> int:
    killed = 0
    for pid in workers(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    return killed


@requires_posix
def test_workers_that_are_killed_during_a_build_and_between_queries(
    start: Start, folder: Path
) -> None:
    write_files(folder, {f"more/m{n}.py": "def more(): pass\n" * 1_000 for n in range(60)})
    session = start(folder)
    # At once: the build may be over before the server answers a request.
    wait_until(lambda: kill_workers(session), "no worker has begun")
    rounds = 1
    while session.state() != "ready":
        # A third process would be too many: for the file that ends them, or to start another.
        if rounds < 2 and kill_workers(session):
            rounds += 1
    assert session.everything(folder / "net.py") == ALL
    kill_workers(session)
    assert session.everything(folder / "net.py") == ALL
    session.open((folder / "unsaved.py").as_uri(), "def unsaved(): pass\n")
    kill_workers(session)
    asked = session.everything(folder / "unsaved.py", 0, 5, "unsaved")
    assert asked["textDocument/documentSymbol"] == ["unsaved"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")
@pytest.mark.parametrize("megabytes", [0, 2])
def test_a_disk_that_is_full(start: Start, folder: Path, megabytes: int) -> None:
    import resource

    text = "".join(f"def more{n}(): pass\n" for n in range(1_000))
    write_files(folder, {f"more/m{n}.py": text for n in range(60)})
    size = megabytes * 1024 * 1024
    limit = (resource.RLIMIT_FSIZE, (size, size))
    session = start(folder, before=lambda pid: resource.prlimit(pid, *limit))
    unavailable = ["index_unavailable"]
    for _ in range(3):
        for method, found in session.everything(folder / "net.py").items():
            # Where there is some room, it depends on what has it by then.
            expected = [unavailable, ALL[method], []] if megabytes else [unavailable]
            assert found in expected, method
        time.sleep(0.5)


@requires_posix
@pytest.mark.parametrize(
    "kind",
    ["a file", "a link to elsewhere", pytest.param("read only", marks=requires_permissions)],
)
def test_an_unwritable_folder(start: Start, folder: Path, tmp_path: Path, kind: str) -> None:
    store = folder / ".winnow"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if kind == "a file":
        store.write_text("")
    elif kind == "a link to elsewhere":
        store.symlink_to(elsewhere)
    else:
        folder.chmod(0o555)
    session = start(folder)
    try:
        assert session.everything(folder / "net.py") == ALL
        session.wait_for_index()
        assert session.everything(folder / "net.py") == ALL
    finally:
        folder.chmod(0o755)
    assert list(elsewhere.iterdir()) == []


# --- requests ------------------------------------------------------------------------------


def test_two_hundred_requests_that_are_cancelled_at_once(start: Start, folder: Path) -> None:
    session = start(folder)
    params = {
        "textDocument": {"uri": (folder / "net.py").as_uri()},
        "position": {"line": 1, "character": 10},
        "context": {"includeDeclaration": True},
    }
    for built in (False, True):
        if built:
            session.wait_for_index()
        names = [f"{built}-{number}" for number in range(200)]
        asked = [
            {"id": name, "method": "textDocument/references", "params": params} for name in names
        ]
        cancelled = [{"method": "$/cancelRequest", "params": {"id": name}} for name in names]
        # Together: if this process had to wait in between, all might be answered.
        sent = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in (*asked, *cancelled)]
        session.wire.send_bytes(*sent)
        answers = [session.wire.receive(SECONDS) for _ in names]
        assert sorted(answer["id"] for answer in answers) == sorted(names)
        assert {answer["error"]["code"] for answer in answers if "error" in answer} == {CANCELLED}
        assert session.everything(folder / "net.py") == ALL


def many_uses(folder: Path, files: int, lines: int) -> Path:
    """Create a project with so many uses of `get` that finding them takes long."""
    uses = "    made[0].get().get().other.get(thing.get)\n" * lines
    for number in range(files):
        before = f"from m{number - 1} import Model{number - 1}\n\n\n" if number else ""
        base = f"(Model{number - 1})" if number else ""
        text = f"class Model{number}{base}:\n    def get(self):\n        return self\n"
        write_files(folder, {f"m{number}.py": f"{before}{text}\n\ndef make(thing, made):\n{uses}"})
    return folder


def seconds_used(pid: int) -> float:
    """Return the CPU seconds of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.serial
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_long_requests_that_are_cancelled_stop(start: Start, folder: Path) -> None:
    session = start(many_uses(folder, files=150, lines=60))
    session.wait_for_index()
    pid = session.wire.process.pid
    asked = {"name": "get", "max_results": 1}

    def used_by(do: Callable[[], object]) -> float:
        before = seconds_used(pid)
        do()
        return seconds_used(pid) - before

    def cancel(names: list[str]) -> None:
        for name in names:
            session.wire.notify("$/cancelRequest", {"id": name})
        answers = [session.wire.receive(SECONDS) for _ in names]
        assert sorted(answer["id"] for answer in answers) == sorted(names)
        codes = {answer["error"]["code"] for answer in answers if "error" in answer}
        assert codes == {CANCELLED}
        assert session.ask("$/findSymbol", {"name": "Model7", "exact": True})["total_found"] > 0
        time.sleep(one)

    one = used_by(lambda: session.ask("$/findReferences", asked))
    for wait in (0.0, one / 2, 2 * one):
        names = [f"{wait}-{number}" for number in range(20)]
        for name in names:
            session.wire.request(name, "$/findReferences", asked)
        time.sleep(wait)
        # A process that continued would use as much CPU time as the one above.
        assert used_by(partial(cancel, names)) < one
    assert session.everything(folder / "net.py") == ALL


PLACES = [(1, 10_000), (3, 0), (4, 0), (1_000_000, 0), (2**31 - 1, 2**31 - 1), (0, 2**31 - 1)]


def test_positions_beyond_the_end(start: Start, folder: Path) -> None:
    session = start(folder)
    for line, column in PLACES:
        asked = session.everything(folder / "net.py", line, column)
        asked.pop("$/findReferences")
        quiet: dict[str, list[str]] = {method: [] for method in asked} | {
            "workspace/symbol": ["send"],
            "textDocument/documentSymbol": ["Client"],
            "$/findSymbol": ["net.py:2"],
        }
        assert asked == quiet, (line, column)


def test_code_that_is_being_typed(start: Start, folder: Path) -> None:
    session = start(folder)
    session.wait_for_index()
    uri = (folder / "app.py").as_uri()
    session.open(uri, FILES["app.py"])
    typed = "\n\ndef half(client: Client):\n    client.send("
    for number in range(len(typed) + 1):
        change = {"text": FILES["app.py"] + typed[:number]}
        session.wire.notify(
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": number + 2}, "contentChanges": [change]},
        )
        asked = session.everything(folder / "app.py", 4, 12)
        assert set(asked["textDocument/references"]) >= set(ALL["textDocument/references"])
    assert asked["textDocument/references"] == [
        "app.py:12:11",
        *ALL["textDocument/references"],
    ]
    asked = session.everything(folder / "app.py", 12, 12)
    assert asked["textDocument/definition"] == ["net.py:1:8"]


def test_half_a_character_before_a_name(start: Start, folder: Path) -> None:
    session = start(folder)
    session.open((folder / "half.py").as_uri(), "'\ud83d'; half = 1; half\n")
    asked = session.everything(folder / "half.py", 0, 6, "half")
    assert asked["textDocument/references"] == ["half.py:0:15", "half.py:0:5"]
    assert asked["textDocument/definition"] == ["half.py:0:5"]


def test_documents_that_are_not_files(start: Start, folder: Path) -> None:
    session = start(folder)
    for uri in (
        "untitled:Untitled-1",
        "git:/app.py?ref=HEAD",
        "file://",
        "file:///",
        "file:///%00.py",
        "file:///a%0Ab.py",
        "file://[bad",
        "",
        "not a uri",
        folder.as_uri(),
        (folder / "new/folder/new.py").as_uri(),
        f"{folder.as_uri()}/../outside.py",
    ):
        session.open(uri, "def send(): pass\n")
        asked = session.everything(uri, 0, 5)
        assert set(asked) == set(ALL)
    asked = session.everything(folder / "new/folder/new.py", 0, 5)
    assert asked["textDocument/documentSymbol"] == ["send"]


# --- folders -------------------------------------------------------------------------------


def test_no_folder(start: Start, folder: Path) -> None:
    session = start()
    for file in (str(folder / "net.py"), (folder / "net.py").as_uri(), "untitled:1"):
        asked = session.everything(file)
        refused = asked.pop("$/findSymbol"), asked.pop("$/findReferences")
        assert refused == (["no_workspace"], ["no_workspace"])
        assert asked == {method: [] for method in asked}


def test_folders_come_and_go(start: Start, folder: Path, tmp_path: Path) -> None:
    second = write_files(git_init(tmp_path / "second"), {"more.py": "def send(): pass\n"})
    session = start(folder, second)
    session.wait_for_index()
    asked = session.everything(folder / "net.py")
    assert asked == ALL | {
        "workspace/symbol": ["send", "send"],
        "$/findSymbol": ["more.py:1", "net.py:2"],
    }
    event = {"added": [], "removed": [{"uri": second.as_uri(), "name": "second"}]}
    session.wire.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    assert session.everything(folder / "net.py") == ALL
    assert session.everything(second / "more.py", 0, 5)["textDocument/documentSymbol"] == []
    event = {"added": [{"uri": second.as_uri(), "name": "second"}], "removed": []}
    session.wire.notify("workspace/didChangeWorkspaceFolders", {"event": event})
    session.wait_for_index()
    assert session.everything(second / "more.py", 0, 5)["textDocument/references"] == [
        "more.py:0:4"
    ]


@requires_posix
def test_a_folder_that_is_deleted(start: Start, folder: Path, tmp_path: Path) -> None:
    second = write_files(git_init(tmp_path / "second"), {"more.py": "def send(): pass\n"})
    session = start(folder, second)
    session.wait_for_index()
    delete_tree(second)
    for _ in range(3):
        asked = session.everything(second / "more.py", 0, 5)
        assert asked["textDocument/documentSymbol"] == []
    wait_until(lambda: session.everything(folder / "net.py") == ALL)
    found = session.ask("$/findSymbol", {"name": "send"})
    assert not found["completeness"]["complete"]
    assert found["completeness"]["reasons"] == [
        f"not searched: the workspace folder {second}, which does not exist"
    ]
    assert not found["warnings"]
    delete_tree(folder)
    asked = session.everything(folder / "net.py")
    gone = {method: ["not_found"] for method in ALL if not method.startswith(("text", "call"))}
    assert asked == NOTHING | gone
    write_files(git_init(folder), FILES)
    wait_until(lambda: session.everything(folder / "net.py") == ALL)
