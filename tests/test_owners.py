"""Each risky operation has one owner: a single module opens, writes, resolves or starts things.

The owners reject symlinks, FIFOs, endless files and programs of the workspace. Code that bypasses
them forgets one of these checks, as it did before (#21). So each direct use is a violation, unless
its module is listed here with a reason.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import winnow

SERVER = Path(winnow.__file__).parent
UNTRUSTED, WRITING = "storage/untrusted.py", "storage/writing.py"
DATABASE = "storage/database.py"
PROGRAMS, PROCESS = "processes/programs.py", "processes/children.py"

# The dotted names of each kind of operation; `.*` matches all names below.
NAMES = {
    "opens": ("open", "io.open", "io.FileIO", "codecs.open", "os.open", "fileinput.*", "mmap.open"),
    "writes": (
        *("os.replace", "os.rename", "os.renames", "os.link", "os.symlink", "os.truncate"),
        *("os.mkfifo", "os.mknod", "tempfile.mkstemp", "tempfile.mkdtemp", "tempfile.mktemp"),
        *("tempfile.TemporaryFile", "tempfile.NamedTemporaryFile", "tempfile.TemporaryDirectory"),
        "tempfile.SpooledTemporaryFile",
        *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move"),
        *("shutil.make_archive", "shutil.unpack_archive"),
    ),
    "resolves": ("shutil.which", "distutils.spawn.*"),
    "starts": (
        *("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call"),
        *("subprocess.check_output", "subprocess.getoutput", "subprocess.getstatusoutput"),
        *("asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell"),
        *(
            "asyncio.subprocess.create_subprocess_exec",
            "asyncio.subprocess.create_subprocess_shell",
        ),
        *("os.system", "os.popen", "os.execl", "os.execle", "os.execlp", "os.execlpe", "os.execv"),
        *("os.execve", "os.execvp", "os.execvpe", "os.posix_spawn", "os.posix_spawnp", "os.fork"),
        *("os.spawnl", "os.spawnle", "os.spawnlp", "os.spawnlpe", "os.spawnv", "os.spawnve"),
        *("os.spawnvp", "os.spawnvpe", "os.startfile", "os.forkpty", "pty.*", "multiprocessing.*"),
        *("concurrent.futures.ProcessPoolExecutor", "webbrowser.*"),
    ),
    "connects": ("sqlite3.connect", "apsw.Connection", "dbm.*", "shelve.*"),
    "executes": (
        *("exec", "eval", "compile", "runpy.*", "pickle.*", "marshal.*", "ctypes.CDLL"),
        *("ctypes.cdll.*", "importlib.util.spec_from_file_location"),
    ),
}
# Methods of paths, on any object.
METHODS = {
    "opens": {"read_text", "read_bytes"},
    "writes": {"write_text", "write_bytes", "symlink_to", "hardlink_to", "touch", "rename"},
    "starts": {"subprocess_exec", "subprocess_shell"},
}
MODES = frozenset("rwaxbt+")

# The kinds that a module may use directly, and the reason.
ALLOWED: dict[str, tuple[set[str], str]] = {
    UNTRUSTED: ({"opens"}, "the owner of opening"),
    WRITING: ({"opens", "writes"}, "the owner of writing"),
    PROGRAMS: (set(), "the owner of resolving"),
    PROCESS: ({"starts"}, "the owner of starting"),
    "processes/terminal_programs.py": (
        {"starts"},
        "the pager and the editor, which get the user's terminal",
    ),
    DATABASE: ({"connects"}, "the owner of databases"),
    "documents/library/catalogue.py": ({"connects"}, "a database in the user's own cache folder"),
    "documents/formats/sqlite.py": (
        {"connects"},
        "a document that is a database, read in a worker without write access or extensions",
    ),
    "frontends/cli/guarded.py": ({"opens"}, "the null device"),
    "processes/worker_side.py": ({"opens"}, "the null device, and /proc"),
    "processes/memory.py": ({"opens", "executes"}, "/proc; the C library"),
    "documents/extract/input_stream.py": ({"writes"}, "an unnamed temporary file, in a worker"),
    "frontends/lsp/transport.py": ({"opens"}, "standard input and output"),
    "frontends/server_process.py": ({"opens"}, "standard error"),
    "frontends/cli/doctor.py": ({"opens"}, "/proc"),
    "index/watch/mounts.py": ({"opens"}, "/proc"),
    "index/watch/watched_folders.py": ({"opens"}, "/proc"),
    "storage/identity.py": ({"executes"}, "the C library"),
    "storage/state_folder.py": (
        {"writes"},
        "folders that are renamed once they are complete: `.winnow`, and folders in the user's"
        " cache folder",
    ),
    "index/watch/inotify.py": ({"executes"}, "the C library"),
    "processes/sandbox.py": ({"executes", "opens"}, "the C library; O_PATH"),
    "documents/library/texts.py": ({"opens"}, "its own source files"),
    "documents/rga/settings.py": ({"writes"}, "symlinks in the user's own cache folder"),
    "ranking/semantic/decision_trees.py": ({"opens"}, "package data"),
    "workspace.py": ({"opens"}, "opens an index, not a file"),
    "index/store/generations.py": ({"opens"}, "its own source files"),
    "index/store/merging.py": ({"writes"}, "the times of its own segments"),
    "index/store/store.py": ({"writes"}, "a private temporary folder"),
    "index/archive/pulled.py": ({"writes"}, "the user's state folder"),
    "index/archive/reading.py": ({"opens", "writes"}, "members of a zip file; a temporary folder"),
    "index/archive/writing.py": ({"opens", "writes"}, "its own temporary store, and the target"),
    "storage/lock.py": ({"opens"}, "a lock file, opened without following symlinks"),
    "index/store/segments.py": ({"writes"}, "file times in Winnow's own folder"),
}


@pytest.mark.slow
def test_all_code_goes_through_the_owners() -> None:
    found: dict[str, set[str]] = {}
    wrong = []
    for file in sorted(SERVER.rglob("*.py")):
        module = file.relative_to(SERVER).as_posix()
        violations = list(uses(file.read_text("utf-8")))
        found[module] = {kind for kind, _, _ in violations}
        allowed = ALLOWED.get(module, (set[str](), ""))[0]
        wrong += [
            f"{module}:{line}: {name} {kind} directly"
            for kind, name, line in violations
            if kind not in allowed
        ]
    assert not wrong, "\n".join([*wrong, "Use the owner, or list the module with a reason"])
    stale = {
        module: kinds - found.get(module, set())
        for module, (kinds, reason) in ALLOWED.items()
        if kinds - found.get(module, set())
    }
    assert not stale, f"these modules no longer need to be listed: {stale}"


def uses(source: str) -> Iterator[tuple[str, str, int]]:
    """Yield each direct use in a module: its kind, name and line."""
    tree = ast.parse(source)
    targets = _imports(tree)
    for node in _code(tree):
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            name = _dotted(node, targets)
            if name is not None:
                for kind in _kinds_of(name):
                    yield kind, name, node.lineno
        if isinstance(node, ast.Attribute):
            for kind, methods in METHODS.items():
                if node.attr in methods and isinstance(node.ctx, ast.Load):
                    yield kind, f".{node.attr}", node.lineno
        elif isinstance(node, ast.Call) and _opens_a_path(node, targets):
            yield "opens", ".open", node.lineno
        elif isinstance(node, ast.Call) and _replaces_a_path(node):
            yield "writes", ".replace", node.lineno


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and its descendants, except annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _code(child)


def _imports(tree: ast.Module) -> dict[str, str]:
    """Return the targets of imported names; functions and classes of the module map to
    themselves."""
    targets = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                targets[bound] = alias.name if alias.asname else bound
        elif isinstance(node, ast.ImportFrom):
            base = f"{'.' * node.level}{node.module or ''}"
            for alias in node.names:
                targets[alias.asname or alias.name] = f"{base}.{alias.name}"
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            targets[node.name] = f".{node.name}"
    return targets


def _dotted(node: ast.expr, targets: dict[str, str]) -> str | None:
    """Return the dotted name of an expression's target, such as `os.open` for `o.open`."""
    if isinstance(node, ast.Name):
        return targets.get(node.id, node.id)
    if isinstance(node, ast.Attribute) and (above := _dotted(node.value, targets)):
        return f"{above}.{node.attr}"
    return None


@functools.cache
def _kinds_of(name: str) -> list[str]:
    return [kind for kind, names in NAMES.items() if _is_one_of(name, names)]


def _is_one_of(name: str, names: tuple[str, ...]) -> bool:
    name = name.removeprefix("builtins.")
    return any(
        name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
        for pattern in names
    )


def _opens_a_path(call: ast.Call, targets: dict[str, str]) -> bool:
    """Return True for a call of `Path.open`, with a mode as the first argument or no arguments."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "open":
        return False
    if _dotted(function.value, targets) in ("os", "io", "codecs"):  # listed in NAMES
        return False
    modes = [*call.args[:1], *(word.value for word in call.keywords if word.arg == "mode")]
    if not modes:
        return not call.args
    [mode, *_] = modes
    return (
        isinstance(mode, ast.Constant) and isinstance(mode.value, str) and set(mode.value) <= MODES
    )


def _replaces_a_path(call: ast.Call) -> bool:
    """Return True for a call of `Path.replace`, which has one argument, unlike `str.replace`."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "replace" or call.keywords:
        return False
    return len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)


# --- the test itself -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("open('a')", "opens"),
        ("with open('a') as file: pass", "opens"),
        ("f = map(open, names)", "opens"),
        ("import builtins\nbuiltins.open('a')", "opens"),
        ("import io\nio.open('a')", "opens"),
        ("import os\nos.open('a', 0)", "opens"),
        ("import os as system\nsystem.open('a', 0)", "opens"),
        ("from os import open as opened\nopened('a', 0)", "opens"),
        ("def f():\n    import os\n    return os.open", "opens"),
        ("from pathlib import Path\nPath('a').open()", "opens"),
        ("path.open('rb')", "opens"),
        ("path.open(mode='w')", "opens"),
        ("path.read_text()", "opens"),
        ("f(path.read_bytes)", "opens"),
        ("path.write_text('a')", "writes"),
        ("path.write_bytes(b'a')", "writes"),
        ("import os\nos.replace('a', 'b')", "writes"),
        ("import os\nos.rename('a', 'b')", "writes"),
        ("path.rename('b')", "writes"),
        ("path.replace(other)", "writes"),
        ("path.symlink_to(other)", "writes"),
        ("path.touch()", "writes"),
        ("import tempfile\ntempfile.mkstemp()", "writes"),
        ("import tempfile\ntempfile.mkdtemp()", "writes"),
        ("from tempfile import NamedTemporaryFile\nNamedTemporaryFile()", "writes"),
        ("from shutil import copyfile\ncopyfile('a', 'b')", "writes"),
        ("import shutil\nshutil.which('git')", "resolves"),
        ("from shutil import which\nwhich('git')", "resolves"),
        ("import subprocess\nsubprocess.run(['git'])", "starts"),
        ("import subprocess as s\ns.Popen(['git'])", "starts"),
        ("from subprocess import check_output\ncheck_output(['git'])", "starts"),
        ("import asyncio\nasyncio.create_subprocess_exec('git')", "starts"),
        ("from asyncio import create_subprocess_shell as s\ns('git')", "starts"),
        ("import asyncio.subprocess\nasyncio.subprocess.create_subprocess_exec('git')", "starts"),
        ("loop.subprocess_exec(factory, 'git')", "starts"),
        ("import os\nos.system('git')", "starts"),
        ("import os\nos.execv('git', ['git'])", "starts"),
        ("import os\nos.posix_spawn('git', [], {})", "starts"),
        ("from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor()", "starts"),
        ("from multiprocessing import Process\nProcess()", "starts"),
        ("import sqlite3\nsqlite3.connect('a')", "connects"),
        ("from sqlite3 import connect\nconnect('a')", "connects"),
        ("import apsw\napsw.Connection('a')", "connects"),
        ("eval('1')", "executes"),
        ("import pickle\npickle.loads(b'')", "executes"),
        ("from ctypes import CDLL\nCDLL('a')", "executes"),
    ],
)
def test_each_direct_use_is_found(source: str, kind: str) -> None:
    assert {found for found, _, _ in uses(source)} == {kind}


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.fdopen(descriptor, 'rb')",
        "import os\nos.close(0)\nos.listdir('a')",
        "import re\nre.compile('a')",
        "text.replace('a', 'b')",
        "text.replace(*pair)",
        "import msgspec\nmsgspec.structs.replace(value, a=1)",
        "time.replace(hour=0)",
        "def open(path): pass\nopen('a')",
        "from winnow.storage.writing import atomic_write\natomic_write('a')",
        "self.documents.open(uri, version, text)",
        "archive.open(member)",
        "Store.open(root)",
        "import subprocess\nsubprocess.PIPE\nsubprocess.DEVNULL",
        "import asyncio\nasyncio.subprocess.PIPE",
        "import sqlite3\nsqlite3.OperationalError",
        "import tempfile\ndef f(a: tempfile.TemporaryDirectory[str]) -> open: pass",
        "with contextlib.suppress(OSError): files.closed = True",
        "open_untrusted('a')",
        "'open(1)'  # open('a')",
    ],
)
def test_other_code_is_not_a_violation(source: str) -> None:
    assert list(uses(source)) == []


def test_each_listed_module_has_a_reason() -> None:
    assert all(reason for _, reason in ALLOWED.values())
