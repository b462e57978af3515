"""Paths, patterns and options from untrusted clients: nothing outside is read, nothing is run."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import FILES, git_init, requires_posix, write_files
from documents.making_office import make_docx
from frontends.lsp.test_index_hazards import started
from hazard_table import Row
from winnow.documents.library.locations import file_uri, preview_uri
from winnow.processes import sandbox
from winnow.tools import TOOLS
from winnow.tools.registry import Tool

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_posix]

CANARY = "canary_that_is_outside"
SECRET = f"def {CANARY}():\n    return '{CANARY}'\n"
REFUSALS = {"path_outside_workspace", "not_found", "not_a_file", "unreadable_document"}
SWAPS = 25
GIT_FILE_SWAPS = 10  # a tenth of the answers had text from outside
# Each state lasts this long, so that programs see all of them.
PAUSE_SECONDS = 0.0005


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """Create a workspace, and other files outside it."""
    write_files(tmp_path, {"outside/secret.py": SECRET, "inside-too/secret.py": SECRET})
    folder = write_files(git_init(tmp_path / "inside"), FILES)
    for name, target in {
        "link.py": "../outside/secret.py",
        "link": "../outside",
        "up": "..",
        "all": "/",
        "chain": "chain2",
        "chain2": "src/../link",
        "loop": "loop",
    }.items():
        (folder / name).symlink_to(target)
    return folder


def escapes(inside: Path) -> list[str]:
    """Return paths outside the workspace, in many spellings."""
    outside = inside.parent / "outside/secret.py"
    return [
        *("../outside/secret.py", "../outside", "..", "../", "../../../../../../../../etc/passwd"),
        *("src/../../outside/secret.py", "./../outside/secret.py", "src/./.././../outside"),
        *("../inside-too/secret.py", f"{inside}-too/secret.py", f"{inside}/../outside/secret.py"),
        *(str(outside), f"{outside.parent}/", f"/{outside}", "/etc/passwd", "/", "//etc/passwd"),
        *("/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/self/cwd/../outside"),
        *("/dev/zero", "/dev/stdin", "/dev/fd/0", "/sys/kernel/notes"),
        *(
            outside.as_uri(),
            "file:///etc/passwd",
            "file://localhost/etc/passwd",
            "file:/etc/passwd",
        ),
        *(
            "file://host/etc/passwd",
            "file:///etc/%70asswd",
            "file:../outside",
        ),
        *(f"file://{inside}/%2e%2e/outside/secret.py", f"file://{inside}/..%2foutside/secret.py"),
        *("%2e%2e/outside/secret.py", "..%2foutside%2fsecret.py", "..\\outside\\secret.py"),
        *("\\x2e\\x2e/outside/secret.py", "src/loader.py\x00/../../../outside/secret.py", "\x00"),
        *("link.py", "link", "link/secret.py", "up/outside/secret.py", "up", "all/etc/passwd"),
        *(
            "chain",
            "chain/secret.py",
            "loop",
            "~/.bashrc",
            "$HOME",
            "src/loader.py/../../../outside",
        ),
        preview_uri(file_uri(str(outside)), "builtin", None),
    ]


def requests_with(path: str) -> list[tuple[str, dict[str, Any]]]:
    """Return a request with this path for every tool that has a path."""
    with_path = [
        (tool.method, {**tool.example, "path": path})
        for tool in TOOLS.values()
        if any(field.name == "path" for field in tool.fields) and tool.name != "feedback"
    ]
    references = {"path": path, "line": 1, "column": 5}
    return [*with_path, ("$/findReferences", references), ("$/refresh", {"paths": [path]})]


def test_escapes(inside: Path, row: Row) -> None:
    row.hazard = "paths that lead outside, for every tool that has a path"
    paths = escapes(inside)
    tools = set()
    with started(inside, bash={"enabled": True}) as session:
        session.wait_for_index()
        for path in paths:
            for method, params in requests_with(path):
                answer = session.answer(method, params)
                check_refused(answer, (method, path))
                tools.add(method)
                row.tries += 1
            quoted = path.replace("'", "")
            answer = session.answer("$/bash", {"command": f"cat '{quoted}'"})
            check_no_outside_text(answer)
            assert "error" in answer or answer["result"]["exit_code"], path
            row.tries += 1
    row.result = f"all refused: {len(paths)} spellings, {len(tools) + 1} tools"


def check_refused(answer: Any, request: tuple[str, str]) -> None:
    check_no_outside_text(answer)
    if request[0] == "$/searchDocs" and "result" in answer:  # its path may be a glob
        assert answer["result"]["statistics"]["files"] == 0, request
        return
    assert "error" in answer, (request, str(answer)[:500])
    error = answer["error"]
    assert error["code"] == -32602 or error["data"]["kind"] in REFUSALS, (request, error)


def check_no_outside_text(answer: Any) -> None:
    text = json.dumps(answer)
    for part in (f"return '{CANARY}", "root:x:0", "PATH="):
        assert part not in text, text[:1_000]


def test_globs_that_lead_outside(inside: Path, row: Row) -> None:
    row.hazard = "globs that lead outside"
    outside = inside.parent / "outside"
    globs = ["../**", "../outside/*", f"{outside}/*", "/etc/pass*", "src/../../outside/*", "up/**"]
    globs += ["link/*", "all/etc/*", "**/../../outside/**", "{..,src}/outside/*", "chain/**", "*"]
    searches = [tool for tool in TOOLS.values() if any(f.name == "include" for f in tool.fields)]
    with started(inside) as session:
        session.wait_for_index()
        for glob in globs:
            for tool in searches:
                query = {
                    name: CANARY for name in ("pattern", "name", "query") if name in tool.example
                }
                if tool.name == "glob":
                    query = {"pattern": glob}
                params = {**tool.example, **query, "include": [glob]}
                if "search_terms" in params:
                    params["search_terms"] = [CANARY]
                for more in ({}, {"follow_symlinks": True}):
                    if more and not any(f.name == "follow_symlinks" for f in tool.fields):
                        continue
                    answer = session.answer(tool.method, {**params, **more})
                    check_no_outside_text(answer)
                    text = json.dumps(answer.get("result", {}))
                    assert "secret.py" not in text, (tool.method, params, text[:500])
                    assert "passwd" not in text.replace(json.dumps(glob)[1:-1], "")
                    row.tries += 1
    row.result = f"0 files from outside: {len(globs)} globs, {len(searches)} tools"


# --- links that replace files -------------------------------------------------------------------


@contextmanager
def swapped(inside: Path) -> Iterator[None]:
    """During the ``with`` block, replace a file, a document and a folder repeatedly with links to
    outside paths, with links to inside paths, and with themselves."""
    targets = {"a.py": "outside/secret.py", "a.docx": "outside/secret.docx", "d": "outside"}
    aside = inside / "aside"
    aside.mkdir()
    end = threading.Event()

    def swap() -> None:
        while not end.is_set():
            for name, target in targets.items():
                (inside / name).rename(aside / name)
                for link in (f"../{target}", f"aside/{name}"):
                    (inside / ".new").symlink_to(link)
                    (inside / ".new").replace(inside / name)
                    end.wait(PAUSE_SECONDS)
                (inside / name).unlink()
                (aside / name).rename(inside / name)
            end.wait(PAUSE_SECONDS)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


OPENED_HERE: list[tuple[str, dict[str, Any]]] = [
    ("$/readFile", {"path": "a.py"}),
    ("$/readFile", {"path": "d/secret.py"}),
    ("$/documentText", {"path": "a.docx"}),
    ("$/searchDocs", {"query": ".", "path": "a.docx"}),
    ("$/semanticSearch", {"query": "canary", "path": "d"}),
    ("$/findSymbol", {"name": CANARY}),
    ("$/findReferences", {"path": "a.py", "line": 1}),
]
OPENED_BY_PROGRAMS: list[tuple[str, dict[str, Any]]] = [
    ("$/grep", {"pattern": ".", "path": "a.py"}),
    ("$/grep", {"pattern": "return"}),
    ("$/keywordSearch", {"query": "q", "search_terms": ["return", "def"], "path": "a.py"}),
    ("$/bash", {"command": "cat a.py"}),
]


def test_swapped(inside: Path, row: Row, often: int) -> None:
    row.hazard = "links that lead outside, swapped in while Winnow opens a file"
    leaks = swapped_answers(inside, OPENED_HERE, row, often * SWAPS)
    row.result = f"{leaks} answers contain text from outside"
    assert leaks == 0


@pytest.mark.xfail(
    not sandbox.is_available(),
    reason="without Landlock, programs open files by names that were checked earlier",
)
def test_swapped_for_programs(inside: Path, row: Row, often: int) -> None:
    row.hazard = "links that lead outside, swapped in while ripgrep and `bash` programs open files"
    leaks = swapped_answers(inside, OPENED_BY_PROGRAMS, row, often * SWAPS)
    row.result = f"{leaks} answers contain text from outside, with a thousand swaps per second"
    assert leaks == 0


# `.git` files that widened what programs may read: files by path, symlinks by path and target.
GIT_FILES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "exclude is a symlink to the root folder": (
        {".git": "gitdir: g\n", "g/commondir": ".\n"},
        {"g/info/exclude": "/"},
    ),
    "exclude is a symlink to a folder outside": (
        {".git": "gitdir: g\n", "g/commondir": ".\n"},
        {"g/info/exclude": "../../../outside"},
    ),
    "linked as git does, exclude is a symlink": (
        {
            ".git": "gitdir: g/worktrees/w\n",
            "g/worktrees/w/commondir": "../..\n",
            "g/worktrees/w/gitdir": "../../../.git\n",
        },
        {"g/info/exclude": "/"},
    ),
}


@pytest.mark.skipif(not sandbox.is_available(), reason="there is no Landlock here")
@pytest.mark.parametrize("kind", GIT_FILES)
def test_swapped_with_a_git_file(inside: Path, row: Row, kind: str, often: int) -> None:
    """A repository cannot widen the sandbox (#21)."""
    row.hazard = f"the same beside a `.git` file whose {kind.removeprefix('linked as git does, ')}"
    files, symlinks = GIT_FILES[kind]
    shutil.rmtree(inside / ".git")
    write_files(inside, files)
    for name, target in symlinks.items():
        (inside / name).parent.mkdir(parents=True, exist_ok=True)
        (inside / name).symlink_to(target)
    leaks = swapped_answers(inside, OPENED_BY_PROGRAMS, row, often * GIT_FILE_SWAPS)
    row.result = f"{leaks} answers contain text from outside"
    assert leaks == 0


def swapped_answers(
    inside: Path, requests: list[tuple[str, dict[str, Any]]], row: Row, swaps: int
) -> int:
    """Send each request repeatedly; return the number of answers with text from outside."""
    write_files(inside, {"a.py": "def inside(): pass\n", "d/secret.py": "def inside(): pass\n"})
    (inside / "a.docx").write_bytes(make_docx(["inside"]))
    (inside.parent / "outside/secret.docx").write_bytes(make_docx([f"return '{CANARY}'"]))
    leaks = 0
    with started(inside, bash={"enabled": True}) as session:
        session.wait_for_index()
        with swapped(inside):
            for method, params in requests:
                for _ in range(swaps):
                    text = json.dumps(session.answer(method, params))
                    text = text.replace(json.dumps(params), "")
                    leaks += f"return '{CANARY}" in text or f'"{CANARY}"' in text
                    row.tries += 1
    return leaks


# --- options ------------------------------------------------------------------------------------


def options(marker: Path) -> list[str]:
    """Return texts that some programs interpret as options that run, read or write something."""
    return [
        *("--pre=./script", "--pre ./script", "--pre=script", "--pre-glob=*", "--search-zip", "-z"),
        *("--hostname-bin=./script", "--hostname-bin ./script", "-f./script", "--file=/etc/passwd"),
        *(
            "--ignore-file=./script",
            "--config",
            "--rga-adapters=+custom",
            "--rga-config-file=./rga",
        ),
        *(
            "-exec ./script {} ;",
            "-execdir",
            f"-fprint {marker}",
            f"-fprintf {marker} x",
            "-delete",
        ),
        *(f"-o{marker}", f"--output={marker}", "--compress-program=./script", f"w {marker}"),
        *(
            "--to-command=./script",
            "--checkpoint-action=exec=./script",
            "`./script`",
            "$(./script)",
        ),
        *("; ./script", "| ./script", "|| ./script", "&& ./script", "a\n./script", f"> {marker}"),
        *("--", "-", "-e", "./script", "file://./script", "@./script", "--files0-from=./script"),
    ]


def test_options(inside: Path, row: Row, tmp_path: Path, often: int) -> None:
    """Each text is tried in a quarter of the fields; with `--thorough`, in all fields."""
    row.hazard = "texts that are options or commands, in every text field"
    marker = tmp_path / "made"
    script = inside / "script"
    script.write_text(f"#!/bin/sh\ntouch {marker}\necho load_plugin\n")
    script.chmod(0o755)
    (inside / "rga").write_text('{"custom_adapters": [{"binary": "./script", "args": []}]}')
    payloads = options(marker)
    fields = list(text_fields())
    before = listing(inside)
    path = f"{inside}{os.pathsep}{os.environ['PATH']}"
    with started(inside, variables={"PATH": path}, bash={"enabled": True}) as session:
        session.wait_for_index()
        for number, payload in enumerate(payloads):
            for method, make in fields if often > 1 else fields[number % 4 :: 4]:
                answer = session.answer(method, make(payload))
                assert "Usage" not in json.dumps(answer)
                row.tries += 1
            for command in (
                f"rg {payload} load .",
                f"find . {payload}",
                f"cat src/main.py {payload}",
            ):
                session.answer("$/bash", {"command": command})
                row.tries += 1
            assert not marker.exists(), payload
        assert listing(inside) == before
    row.result = f"0 programs run, 0 files created: {len(payloads)} texts, {len(fields)} fields"


def text_fields() -> Iterator[tuple[str, Callable[[str], dict[str, Any]]]]:
    """Yield each text field of a tool, with a function that returns params with a text in it."""

    def with_field(
        tool: Tool[Any, Any], name: str, several: bool
    ) -> Callable[[str], dict[str, Any]]:
        return lambda text: {**tool.example, name: [text] if several else text}

    for tool in TOOLS.values():
        for name, schema in tool.input_schema["properties"].items():
            if schema.get("type") == "string" and "enum" not in schema:
                yield tool.method, with_field(tool, name, False)
            elif schema.get("type") == "array" and schema["items"].get("type") == "string":
                yield tool.method, with_field(tool, name, True)
    rga = {"engine": "rga", "path": "docs"}
    yield "$/searchDocs", lambda text: {**rga, "query": text}
    yield "$/searchDocs", lambda text: {**rga, "query": "a", "include": [text]}
    yield "$/callTool", lambda text: {"name": "grep", "arguments": {"pattern": text}}


def listing(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if ".winnow" not in path.parts}
