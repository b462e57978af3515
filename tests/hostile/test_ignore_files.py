"""Tools answer without ignore files that would block them or exhaust their memory (#21)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from conftest import git_init, requires_linux, write_files
from documents.making_office import make_docx
from frontends.lsp.test_index_hazards import started
from hazard_table import Row
from hostile.test_load import status
from hostile.test_trees import SEARCH_SECONDS, Watched

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_linux]

NAMES = {
    "at the root": (".gitignore", ".ignore", ".rgignore", ".git/info/exclude"),
    "in subfolders": (
        *("sub/.gitignore", "sub/.ignore", "sub/.rgignore"),
        "dep/.git/info/exclude",
    ),
}
READ_BY_WINNOW = (".winnowignore", ".gitmodules")  # at the root only
SPARSE_BYTES = 3 * 1024**3
MEMORY_MB = 300
FILES = {
    "a.py": "def needle():\n    return 1\n",
    "sub/b.py": "def other():\n    return needle()\n",
}
TREE_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("$/grep", {"pattern": "needle"}),
    ("$/grep", {"pattern": "needle", "mode": "counts"}),
    ("$/grep", {"pattern": "needle", "path": "sub"}),
    ("$/grep", {"pattern": "needle", "scope": "changed"}),
    ("$/grep", {"pattern": "needle", "follow_symlinks": True}),
    ("$/glob", {"pattern": "**"}),
    ("$/tree", {}),
    ("$/keywordSearch", {"query": "needle", "search_terms": ["needle", "return"]}),
    ("$/searchDocs", {"query": "needle"}),
    ("$/findSymbol", {"name": "needle"}),
    ("$/findReferences", {"name": "needle"}),
    ("$/semanticSearch", {"query": "where is needle"}),
    ("$/codeSearch", {"query": "needle"}),
    ("$/bash", {"command": "rg -c needle", "timeout": 10}),
]
# Expected text in answers that do not contain the paths of all files.
FOUND = {
    "$/searchDocs": "a.docx",
    "$/tree": "b.py",
    "$/findSymbol": "a.py",
    "$/findReferences": "a.py",
    "$/codeSearch": "a.py",
}


@pytest.mark.parametrize("place", NAMES)
@pytest.mark.parametrize("kind", ["FIFO", "file of 3 GB"])
def test_unusable_ignore_files(tmp_path: Path, row: Row, kind: str, place: str) -> None:
    row.hazard = f"a {kind} in place of each ignore file, {place}"
    root = write_files(git_init(tmp_path / "root"), FILES)
    (root / "a.docx").write_bytes(make_docx(["needle"]))
    git_init(root / "dep")
    read_by_winnow = READ_BY_WINNOW if place == "at the root" else ()
    for name in (*NAMES[place], *read_by_winnow):
        plant(root / name, kind)
    with started(root, forked=False, bash={"enabled": True}) as session:
        watched = Watched(session, row)
        for method, params in TREE_TOOLS:
            result = watched.ask(method, params, SEARCH_SECONDS)["result"]
            assert FOUND.get(method, "sub/b.py") in json.dumps(result), method
            read = () if method == "$/bash" else read_by_winnow
            for name in (*NAMES[place], *read):
                warnings = result["warnings"]
                assert any(f"not applied: {name}, " in text for text in warnings), method
        assert watched.ask("workspace/symbol", {"query": "needle"}, SEARCH_SECONDS)["result"]
        assert "result" in watched.ask("$/readFile", {"path": "sub/b.py"}, SEARCH_SECONDS)
        session.wait_for_index()
        row.result = watched.summary()
        assert status(session.wire.process.pid, "VmHWM") < MEMORY_MB


def plant(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "FIFO":
        os.mkfifo(path)
    else:
        path.touch()
        os.truncate(path, SPARSE_BYTES)
