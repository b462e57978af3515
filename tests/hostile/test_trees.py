"""Hostile trees: every tool answers in time and with bounded memory and size."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import git_init, requires_linux
from frontends.lsp.test_index_hazards import started
from frontends.lsp.test_symbols_hazards import Session
from hazard_table import Row
from hostile.test_load import status

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_linux]

MANY, WIDE, DEEP = 100_000, 10_000, 500
ANSWER_BYTES = 9_000_000  # `limits.answer_bytes`, and the rest of the answer
MEMORY_MB = 200
# At the worst moment, with the mapped parts of files: 198 to 202 are usual.
PEAK_MB = 220
# The deadlines of tools, and the time to report a timeout on a busy machine.
SEARCH_SECONDS, READ_SECONDS, GRACE_SECONDS = 10.0, 2.0, 25.0
TURNS = 10
NEEDLE = "needle"
TEXT = "def needle():\n    return 'needle'\n"

NAMES: list[bytes] = [
    *(
        b"new\nline.py",
        b'quo"te.py',
        b"quo'te.py",
        "emoji 😀.py".encode(),
        b"-needle.py",
        b"--pre=x.py",
    ),
    *(
        b" .py",
        b"tab\t.py",
        b"colon:12:needle.py",
        b"d-3-needle.txt",
        b"latin\xe9.py",
        b"bad\xff\xfe.py",
    ),
    *(b"esc\x1b[31m.py", b"back\\slash.py", b"*.py", b"[a].py", b"{a,b}.py", b"?.py", b"$(x).py"),
    *(
        "bidi\u202e.py".encode(),
        b"a" * 250 + b".py",
        b"%2e%2e.py",
        b"\\xff.py",
        b"~.py",
        b"!.py",
        b"#.py",
    ),
]
CONTENTS: dict[str, bytes] = {
    "nul.py": TEXT.encode() + b"\0" + TEXT.encode(),
    "nuls.py": b"\0" * 100_000 + TEXT.encode(),
    "utf8_mark.py": TEXT.encode("utf-8-sig"),
    "utf16.py": TEXT.encode("utf-16"),
    "utf16_be.py": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "utf32.py": TEXT.encode("utf-32"),
    "latin1.py": (TEXT + "# é ü\n").encode("latin-1"),
    "sjis.py": (TEXT + "# 日本語\n").encode("shift-jis"),
    "invalid.py": TEXT.encode() + b"# \xff\xfe\x80\xc0\n" + TEXT.encode(),
    "surrogates.py": TEXT.encode() + b"# \xed\xa0\x80\n",
    "cr.py": TEXT.replace("\n", "\r").encode(),
    "crlf.py": TEXT.replace("\n", "\r\n").encode(),
    "no_end.py": b"needle",
    "empty.py": b"",
    "nested.py": b"(" * 100_000 + b"needle" + b")" * 100_000,
    "nested.json": b"[" * 100_000,
    "lines.py": b"\n" * 1_000_000 + TEXT.encode(),
    "minified.js": b"function needle(){return 1};" * 40_000,
    "bad.pdf": b"%PDF-1.7\n" + b"needle\xff" * 1_000,
    "bad.docx": b"PK\x03\x04" + b"needle\xff" * 1_000,
    "bad.zip": b"PK\x05\x06" + b"\xff" * 18,
    "bad.png": b"\x89PNG\r\n\x1a\n" + b"needle",
}


def odd(root: Path) -> None:
    """Create files with all unusual names, contents and types."""
    folder = root / "odd"
    folder.mkdir(parents=True)
    for name in NAMES:
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text(TEXT)
    for other, content in CONTENTS.items():
        (folder / other).write_bytes(content)
    (folder / "long_line.py").write_bytes(b"x" * 25_000_000 + b"needle" + b"y" * 25_000_000)
    for link, target in {"loop": "loop", "self": ".", "up": "..", "all": "/", "none": "no"}.items():
        (folder / link).symlink_to(target)
    os.mkfifo(folder / "fifo.py")
    os.mknod(folder / "socket.py", stat.S_IFSOCK | 0o600)
    with contextlib.suppress(OSError):  # root may
        os.mknod(folder / "zero.py", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    (folder / "closed.py").write_text(TEXT)
    (folder / "closed.py").chmod(0)
    (folder / "closed").mkdir()
    (folder / "closed/in.py").write_text(TEXT)
    (folder / "closed").chmod(0)
    deep = folder.joinpath(*["d"] * DEEP)
    os.makedirs(deep)
    (deep / "deep.py").write_text(TEXT)


def many(root: Path) -> None:
    """Create a hundred thousand small files, ten thousand of them in one folder."""
    wide = root / "wide"
    wide.mkdir(parents=True)
    for number in range(WIDE):
        put(wide / f"file_{number}.py", b"x = needle\n" if number % 10 == 0 else b"x = 1\n")
    for folder in range((MANY - WIDE) // 300):
        made = root / f"many/{folder % 10}/{folder}"
        made.mkdir(parents=True)
        for number in range(300):
            put(made / f"file_{number}.py", b"y = needle\n" if number == 7 else b"y = 2\n")


def put(file: Path, content: bytes) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT, 0o644)
    os.write(descriptor, content)
    os.close(descriptor)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Path]:
    """Create an empty repository and delete it at the end. If possible, it is in memory, where
    deleting a hundred thousand files takes a second instead of a minute."""
    folder = tmp_path / "tree"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1g", "tmpfs", str(folder)]
    mounted = not subprocess.run(mount, capture_output=True).returncode
    try:
        yield git_init(folder)
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
        else:
            for closed in folder.glob("odd/closed"):
                closed.chmod(0o700)
            shutil.rmtree(folder)


def searches() -> list[tuple[str, dict[str, Any]]]:
    """Return requests of every tool that searches the entire tree."""
    return [
        ("$/grep", {"pattern": NEEDLE}),
        ("$/grep", {"pattern": ".", "max_results": 1_000_000}),
        ("$/grep", {"pattern": NEEDLE, "mode": "counts", "max_results": 1_000_000}),
        ("$/grep", {"pattern": NEEDLE, "multiline": True, "include_binary": True}),
        ("$/grep", {"pattern": "(x+x+)+y", "include_hidden": True, "include_ignored": True}),
        ("$/grep", {"pattern": NEEDLE, "follow_symlinks": True}),
        ("$/grep", {"pattern": NEEDLE, "encoding": "utf-16le"}),
        ("$/glob", {"pattern": "**", "max_results": 100_000}),
        ("$/glob", {"pattern": "**/*.py", "sort_by": "mtime", "follow_symlinks": True}),
        ("$/tree", {"depth": 100, "max_entries": 100_000, "show_sizes": True}),
        ("$/tree", {}),
        ("$/keywordSearch", {"query": "what is needle", "search_terms": ["needle", "def", "."]}),
        ("$/keywordSearch", {"query": "q", "search_terms": ["e", "x"], "broad_terms": "shrink"}),
        ("$/searchDocs", {"query": NEEDLE}),
        ("$/findSymbol", {"name": NEEDLE}),
        ("$/findReferences", {"name": NEEDLE}),
        ("$/semanticSearch", {"query": "where is the needle"}),
        *(
            ("$/codeSearch", {"query": "needle", "search_type": kind})
            for kind in ("auto", "text", "semantic", "symbol", "file")
        ),
        ("workspace/symbol", {"query": NEEDLE}),
        ("$/bash", {"command": "rg -c needle | tail -5", "timeout": 10}),
        ("$/bash", {"command": "find . -name '*.py' | wc -l", "timeout": 10}),
        ("$/suggestTerms", {"query": "where is the needle"}),
        ("$/refresh", {"wait": False}),
        ("$/indexStatus", {}),
        ("$/searchMetrics", {}),
        ("$/tools", {}),
    ]


class Watched:
    """A session that measures the time and size of answers."""

    def __init__(self, session: Session, row: Row) -> None:
        self.session = session
        self.row = row
        self.slowest = (0.0, "")
        self.largest = 0

    def ask(self, method: str, params: dict[str, Any], deadline: float) -> Any:
        """Send a request and return the answer; fail if it is late."""
        most = deadline + GRACE_SECONDS
        began = time.monotonic()
        answer = self._answer(method, params)
        seconds = time.monotonic() - began
        self.slowest = max(self.slowest, (seconds, method.removeprefix("$/")))
        assert seconds < most, (method, params, seconds)
        return answer

    def _answer(self, method: str, params: dict[str, Any]) -> Any:
        try:
            answer = self.session.answer(method, params)
        except queue.Empty:
            self.session.wire.process.kill()
            raise AssertionError(f"no answer to {method} {params}") from None
        size = len(json.dumps(answer))
        self.row.tries += 1
        self.largest = max(self.largest, size)
        assert size < ANSWER_BYTES, (method, params, size)
        return answer

    def summary(self) -> str:
        pid = self.session.wire.process.pid
        most, now = status(pid, "VmHWM"), status(pid, "VmRSS")
        seconds, method = self.slowest
        return (
            f"0 crashes; {seconds:.1f} s at most ({method}), {self.largest / 1e6:.1f} MB an answer"
            f" at most, {most:.0f} MB resident at most, {now:.0f} MB at the end"
        )


def check_searches(watched: Watched) -> None:
    for method, params in searches():
        answer = watched.ask(method, params, SEARCH_SECONDS)
        if "error" in answer:
            kinds = ("terms_too_broad", "timeout", "not_found")
            assert answer["error"]["data"]["kind"] in kinds, (method, params, answer)


def test_odd(tree: Path, row: Row) -> None:
    row.hazard = "a tree of unusual files, with an index"
    odd(tree)
    with started(tree, forked=False, bash={"enabled": True}) as session:
        session.wait_for_index()
        watched = Watched(session, row)
        check_searches(watched)
        found = session.ask("$/grep", {"pattern": NEEDLE, "mode": "files", "max_results": 1_000})
        paths = [file["path"] for file in found["files"]]
        # The displayed form of a name that is not valid text is accepted as a path.
        assert len([path for path in paths if path.startswith("odd/")]) >= len(NAMES)
        everything = [str(entry.relative_to(tree)) for entry in (tree / "odd").iterdir()]
        for path in {*paths, *map(os.fsencode, everything)}:
            check_file(
                watched, path if isinstance(path, str) else path.decode("utf-8", "backslashreplace")
            )
        for path in paths:
            if path.startswith("odd/bad."):
                continue  # not valid documents
            assert "result" in session.answer("$/readFile", {"path": path}), path
        row.result = watched.summary()
        assert status(session.wire.process.pid, "VmRSS") < MEMORY_MB


def check_file(watched: Watched, path: str) -> None:
    """Call every tool that accepts a single file."""
    requests: list[tuple[str, dict[str, Any]]] = [
        ("$/readFile", {"path": path}),
        ("$/readFile", {"path": path, "spans": [{"start": 999_999}], "line_endings": "keep"}),
        ("$/grep", {"pattern": NEEDLE, "path": path}),
        ("$/documentText", {"path": path}),
        ("$/findReferences", {"path": path, "line": 1, "column": 5}),
    ]
    for method, params in requests:
        watched.ask(method, params, READ_SECONDS)
    uri = f"file://{watched.session.folders[0]}/{path}"
    watched.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}, READ_SECONDS)


@pytest.mark.serial
def test_many(tree: Path, row: Row) -> None:
    row.hazard = f"a tree of {MANY:,} files, {WIDE:,} of them in one folder"
    many(tree)
    with started(tree, forked=False, bash={"enabled": True}) as session:
        watched = Watched(session, row)
        check_searches(watched)
        for _ in range(TURNS):
            counted = session.ask("$/grep", {"pattern": NEEDLE, "mode": "counts", "max_results": 5})
            if not counted["completeness"]["timed_out"]:  # a busy machine, during indexing
                break
        assert counted["total_found"] == WIDE // 10 + (MANY - WIDE) // 300
        row.result = watched.summary()
        assert status(session.wire.process.pid, "VmHWM") < PEAK_MB
