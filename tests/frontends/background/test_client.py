"""What a command does before the background process runs it."""

from __future__ import annotations

import ast
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import winnow
from conftest import child_environment, without_coverage
from frontends.background.background_process import environment_of, home_folder, started
from winnow.frontends.background import client, messages
from winnow.frontends.background.log import MAX_BYTES, NAME, BoundedLog
from winnow.tools.index import Action

PROGRAM = """
import sys
before = set(sys.modules)
sys.argv[1:] = ["grep", "load_plugin"]
from winnow.__main__ import main
code = main()
print(code, *sorted(sys.modules.keys() - before))
"""
# They take longer to import than the rest of a command's start.
SLOW = {
    *("argparse", "asyncio", "contextlib", "json", "msgspec", "pathlib", "tempfile", "typing"),
    *("winnow.tools", "winnow.config", "winnow.workspace", "lsprotocol", "pygls", "tree_sitter"),
}
# Variables that Winnow reads, and that change no answer.
IRRELEVANT = {
    "CI": "only whether a process is started",
    "WINNOW_BACKGROUND": "only whether a process is used",
    "TOKENIZERS_PARALLELISM": "set by Winnow itself",
    "ORT_DISABLE_TELEMETRY": "set by Winnow itself",
    "APPDATA": "only on Windows",
    "LOCALAPPDATA": "only on Windows",
    "NO_COLOR": "sent",
    "TERM": "sent",
    "LESS": "only in the process of the command",
    "PAGER": "only in the process of the command",
}


@without_coverage
@pytest.mark.process
def test_a_command_loads_little(project: Path) -> None:
    with home_folder() as home:
        environment = environment_of(home)
        with started(project, environment):
            program = [sys.executable, "-c", PROGRAM]
            done = subprocess.run(program, cwd=project, env=environment, capture_output=True)
    code, *loaded = done.stdout.decode().splitlines()[-1].split()
    assert (code, done.stderr) == ("0", b"")
    assert set(loaded) & SLOW == set()
    ours = {name for name in loaded if name.startswith("winnow.")}
    assert ours == {
        "winnow.__main__",
        "winnow.frontends",
        "winnow.frontends.background",
        "winnow.frontends.background.client",
        "winnow.frontends.background.messages",
        "winnow.frontends.cli",
        "winnow.frontends.cli.guarded",
        "winnow.frontends.cli.pager",
        "winnow.storage",
        "winnow.storage.sockets",
        "winnow.storage.user_paths",
    }


def test_every_variable_that_winnow_reads_counts() -> None:
    """One that is missing here would let a command get the answer of another environment."""
    found: dict[str, str] = {}
    for file in Path(winnow.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if name := variable_read_by(node):
                found[name] = file.name
    assert {"PATH", "HOME", "XDG_CONFIG_HOME", "WINNOW_CONFIG"} <= found.keys()
    missing = {
        name: file
        for name, file in found.items()
        if name not in IRRELEVANT and not messages.counts(name, ())
    }
    assert missing == {}


def variable_read_by(node: ast.AST) -> str:
    """The name of the variable in `environment.get("NAME")` and `environment["NAME"]`, or ""."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        owner, key = node.func.value, node.args[0]
    elif isinstance(node, ast.Subscript):
        owner, key = node.value, node.slice
    else:
        return ""
    is_environment = ast.unparse(owner).endswith(("environ", "environment"))
    is_name = isinstance(key, ast.Constant) and isinstance(key.value, str)
    return str(key.value) if is_environment and is_name else ""  # type: ignore[attr-defined]


def test_keys_count_by_the_names_in_settings() -> None:
    before, after = {"MY_MODEL": "one"}, {"MY_MODEL": "two"}
    assert messages.fingerprint(before, (), "") == messages.fingerprint(after, (), "")
    named = ("MY_MODEL",)
    assert messages.fingerprint(before, named, "") != messages.fingerprint(after, named, "")
    assert "one" not in messages.fingerprint(before, named, "")
    # A value cannot pass for the next variable.
    joined = {"PATH": "a", "TZ": "b"}
    assert messages.fingerprint(joined, (), "") != messages.fingerprint({"PATH": "aTZ=b"}, (), "")


@given(st.lists(st.text(st.characters(exclude_categories=()))))
def test_any_text_can_be_sent(parts: list[str]) -> None:
    assert messages.unpack(messages.pack(parts)) == parts
    framed = messages.framed(messages.DONE, parts)
    assert int.from_bytes(framed[: messages.LENGTH_BYTES], "little") == len(framed) - 4


@given(st.binary(max_size=64))
def test_anything_else_is_no_message(payload: bytes) -> None:
    try:
        parts = messages.unpack(payload)
    except ValueError:
        return
    assert messages.pack(parts) == payload


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, True),
        ({"CI": "true"}, False),
        ({"CI": "1"}, False),
        ({"CI": "false"}, True),
        ({"CI": "true", "WINNOW_BACKGROUND": "1"}, True),
        ({"WINNOW_BACKGROUND": "0"}, False),
        ({"WINNOW_BACKGROUND": "No"}, False),
    ],
)
def test_the_environment_turns_it_off(environment: dict[str, str], expected: bool) -> None:
    assert client.is_on(environment) is expected


@pytest.mark.process
def test_without_a_process_a_command_does_its_work(project: Path) -> None:
    with home_folder() as home:
        environment = child_environment(home)
        program = [sys.executable, "-m", "winnow", "grep", "load_plugin"]
        done = subprocess.run(program, cwd=project, env=environment, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        assert not (home / ".local/state/winnow/run").exists()


def test_the_log_is_small(tmp_path: Path) -> None:
    log = BoundedLog(tmp_path)
    record = logging.makeLogRecord({"msg": "x" * 10_000})
    for _ in range(100):
        log.emit(record)
    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert sizes.keys() == {NAME, "background.old"}
    assert max(sizes.values()) < MAX_BYTES + 10_100
    (tmp_path / NAME).unlink()
    os.symlink(tmp_path / "elsewhere", tmp_path / NAME)
    log.emit(record)
    assert not (tmp_path / "elsewhere").exists()


def test_every_action_of_the_index_tool_is_forwarded() -> None:
    assert get_args(Action) == client.FORWARDED
