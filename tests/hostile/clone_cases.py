"""Requests of every tool for a hostile clone, with properties of the correct answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hostile.clone import (
    CALLER,
    MAIL,
    MAIL_NEEDLE,
    NEEDLE,
    ODD,
    ODD_NAMES,
    PLANTED,
    SERVICE,
    TOPIC,
    VARIANTS,
    Variant,
)

SEARCH_ID = "the last answer's"  # placeholder for a `search_id`
OUTSIDE = ("path_outside_workspace", "not_found")
NO_FILE = (*OUTSIDE, "not_a_file", "not_a_folder")
# git cannot read some of these repositories.
NO_CHANGES = ("invalid_params", "timeout")
TOPICS = frozenset(f"src/topic_{number}.py" for number in range(8))
SPECIAL: tuple[Variant, ...] = ("ignore_files", "archive")


class Case(NamedTuple):
    """A request, with the files that its answer must contain, or the expected kinds of error.

    With ``needles``, the answer must contain the files with the needle; with ``exact``, a complete
    answer must contain no other files. ``says`` is text in the answer, ``at_least`` the minimum
    number of files. With ``nothing``, the answer must be empty.
    """

    params: Mapping[str, Any]
    finds: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()
    may_fail: tuple[str, ...] = ()
    needles: bool = False
    exact: bool = False
    says: str = ""
    at_least: int = 0
    nothing: bool = False
    variants: Sequence[Variant] = VARIANTS
    seconds: float = 0.0  # overrides the default deadline


def grep(**params: Any) -> dict[str, Any]:
    return {"pattern": NEEDLE, "max_results": 10_000, **params}


def keywords(**params: Any) -> dict[str, Any]:
    query = "who runs what a caller sends"
    return {"query": query, "search_terms": [NEEDLE], "ranker": "local", **params}


def documents(**params: Any) -> dict[str, Any]:
    return {"query": MAIL_NEEDLE, **params}


LETTER = frozenset((MAIL,))
SOURCE = frozenset((SERVICE,))

CASES: dict[str, list[Case]] = {
    "audit": [Case({}), Case({"limit": 1})],
    "bash": [
        Case({"command": f"rg -l {NEEDLE}"}, needles=True, seconds=30),
        Case({"command": f"grep -rl {NEEDLE} src docs | head -50"}, says=SERVICE, seconds=30),
        Case({"command": f"cat {SERVICE} | head -20"}, says="os.system"),
        Case({"command": "find . -name '*.py'"}, says=SERVICE),
        Case({"command": "ls -la"}, says="src"),
        Case(
            {"command": f"file {SERVICE}"},
            may_fail=("not_allowed", "file_not_installed"),
            says=SERVICE,
        ),
        Case({"command": "tree -L 2"}, may_fail=("not_allowed", "tree_not_installed")),
        Case({"command": f"wc -l {SERVICE} | tail -1"}, says=SERVICE),
        Case({"command": "cat src/linked.py"}, refused=("not_allowed", *OUTSIDE)),
        Case({"command": "cat all/etc/passwd"}, refused=("not_allowed", *OUTSIDE)),
        Case({"command": "ls linked_folder/"}, refused=("not_allowed", *OUTSIDE)),
        Case(
            {"command": "rga -l quicksilver docs"},
            may_fail=("rga_not_installed", "not_allowed"),
            seconds=30,
        ),
        Case(
            {"command": "cat src/blocks.py", "timeout": 2},
            may_fail=("not_allowed", "not_a_file", "timeout"),
            variants=("archive",),
            seconds=2,
        ),
    ],
    "code_search": [
        Case({"query": NEEDLE}, finds=SOURCE),
        Case({"query": "run what a caller sends", "search_type": "semantic"}, finds=SOURCE),
        Case({"query": NEEDLE, "search_type": "text", "limit": 200}, needles=True),
        Case({"query": NEEDLE, "search_type": "symbol"}, finds=SOURCE),
        Case({"query": "service.py", "search_type": "file"}, finds=SOURCE),
        Case({"query": NEEDLE, "enable_indexing": True}, finds=SOURCE, seconds=30),
        Case({"query": NEEDLE, "path": "linked_folder"}, refused=OUTSIDE),
        Case({"query": NEEDLE, "path": "all/etc"}, refused=OUTSIDE),
    ],
    "consent": [Case({"action": "show"})],
    "document_text": [
        Case({"path": MAIL}, says=MAIL_NEEDLE),
        Case({"path": "docs/linked.eml"}, refused=NO_FILE),
        Case(
            {"path": "docs/blocks.eml"},
            refused=("unreadable_document", *NO_FILE),
            variants=("archive",),
        ),
        Case({"path": "linked_folder/inner.py"}, refused=NO_FILE),
    ],
    "feedback": [
        Case({"search_id": SEARCH_ID, "path": SERVICE, "action": "opened"}, may_fail=OUTSIDE),
        Case({"search_id": SEARCH_ID, "path": "src/linked.py", "action": "up"}, refused=OUTSIDE),
        Case({"search_id": "unknown", "path": SERVICE, "action": "kept"}, refused=OUTSIDE),
    ],
    "find_references": [
        Case({"name": NEEDLE}, finds=frozenset((SERVICE, CALLER, "src/deep/nested/handler.py"))),
        Case({"path": CALLER, "line": 5}, may_fail=("not_found",)),
        Case({"path": SERVICE, "name": NEEDLE}, finds=frozenset((SERVICE, CALLER))),
        Case({"path": "web/app.js", "line": 5, "column": 11}),
        Case({"path": "web/app.js", "line": 5, "column": 22}),
        Case({"path": "web/linked.js", "line": 1}, refused=NO_FILE),
        Case({"path": "src/linked.py", "line": 1}, refused=NO_FILE),
        Case({"name": PLANTED}, may_fail=("not_found",), nothing=True),
    ],
    "find_symbol": [
        Case({"name": NEEDLE}, finds=SOURCE),
        Case({"name": NEEDLE, "exact": True, "path": "src"}, finds=SOURCE),
        Case({"name": PLANTED}, nothing=True),
        Case({"name": "canary"}),
        Case({"name": NEEDLE, "path": "linked_folder"}, refused=OUTSIDE),
    ],
    "glob": [
        Case({"pattern": "src/*.py", "max_results": 1_000}, finds=SOURCE),
        Case({"pattern": "**", "max_results": 10_000}, finds=frozenset((SERVICE, CALLER, MAIL))),
        Case(
            {"pattern": "**/*.py", "follow_symlinks": True, "max_results": 10_000},
            finds=frozenset((SERVICE, CALLER)),
        ),
        Case(
            {
                "pattern": "**/*.py",
                "include_hidden": True,
                "include_ignored": True,
                "max_results": 10_000,
                "sort_by": "mtime",
            },
            finds=frozenset((SERVICE, ".hidden/inner.py", "build/output.py")),
        ),
        Case({"pattern": "odd/*", "max_results": 1_000}, at_least=len(ODD_NAMES)),
        Case({"pattern": "all/**"}),
        Case({"pattern": "linked_folder/*"}),
        Case({"pattern": "*", "path": "linked_folder"}, refused=OUTSIDE),
        Case({"pattern": "../outside/*"}, may_fail=(*OUTSIDE, "invalid_params")),
        Case(
            {"pattern": "*.py", "scope": "changed"}, finds=frozenset((CALLER,)), may_fail=NO_CHANGES
        ),
    ],
    "grep": [
        Case(grep(), needles=True, exact=True),
        Case(grep(mode="files"), needles=True, exact=True),
        Case(grep(mode="counts", literal=True, word=True), needles=True, exact=True),
        Case(grep(pattern=NEEDLE.upper(), case_sensitive=False), needles=True, exact=True),
        Case(grep(multiline=True, include_binary=True), needles=True),
        Case(grep(follow_symlinks=True), needles=True),
        Case(
            grep(include_hidden=True, include_ignored=True),
            finds=frozenset((SERVICE, ".hidden/inner.py", "build/output.py")),
        ),
        Case(grep(include_submodules=True), needles=True, exact=True),
        Case(grep(pattern=r"os\.system"), finds=SOURCE),
        Case(grep(pattern=ODD), at_least=len(ODD_NAMES)),
        Case(grep(file_types=["py"], exclude=["lib/**"]), finds=frozenset((SERVICE, CALLER))),
        Case(grep(pattern=PLANTED), nothing=True),
        Case(grep(scope="changed"), finds=frozenset((CALLER,)), may_fail=NO_CHANGES),
        Case(
            grep(scope="changed", include_submodules=True),
            finds=frozenset((CALLER,)),
            may_fail=NO_CHANGES,
        ),
        Case(grep(path="src"), finds=frozenset((SERVICE, CALLER, "src/deep/nested/handler.py"))),
        Case(grep(path="all"), refused=OUTSIDE),
        Case(grep(path="linked_folder"), refused=OUTSIDE),
        Case(grep(path="src/linked.py"), refused=OUTSIDE),
        Case(grep(path="relative.py"), refused=OUTSIDE),
        Case(grep(path="src/blocks.py"), refused=NO_FILE, variants=("archive",)),
        Case(grep(path="src/socket.py"), refused=NO_FILE, variants=("archive",)),
    ],
    "index": [
        Case({"action": "pause"}),
        Case({"action": "resume"}),
        Case({"action": "build"}, seconds=30),
        Case({"action": "clear"}, seconds=30),
        Case({"action": "build"}, seconds=30),
    ],
    "index_status": [Case({})],
    "keyword_search": [
        Case(keywords(), finds=SOURCE),
        Case(keywords(broad_terms="shrink", max_results=50), needles=True),
        Case(keywords(search_terms=["os.system", "caller"]), finds=SOURCE),
        Case(keywords(search_terms=[MAIL_NEEDLE], include_documents=True), finds=LETTER),
        Case(keywords(include_hidden=True, include_ignored=True), finds=SOURCE),
        Case(keywords(include_submodules=True), finds=SOURCE),
        Case(keywords(search_terms=[ODD], max_results=100), at_least=len(ODD_NAMES)),
        Case(keywords(ranker="llm"), refused=("no_llm_available",)),
        Case(keywords(ranker="auto", dry_run=True), may_fail=("no_llm_available",)),
        Case(keywords(path="linked_folder"), refused=OUTSIDE),
    ],
    "read_file": [
        Case({"path": SERVICE}, says="os.system"),
        Case({"path": SERVICE, "spans": [{"start": 4, "end": 6}]}, says="os.system"),
        Case({"path": MAIL}, says=MAIL_NEEDLE),
        Case({"path": ".git/config"}, may_fail=NO_FILE),
        *(
            Case({"path": path}, refused=NO_FILE)
            for path in (
                *("src/linked.py", "relative.py", "linked_folder/inner.py", "all/etc/passwd"),
                *("pipe.py", "loop", "absent.py", "src/zero.py", "src/proc.py", "README.md"),
                *("gitdata/info/exclude", "../outside/canary.py", "linked_folder"),
            )
        ),
        Case({"path": "src/blocks.py"}, refused=NO_FILE, variants=("archive",)),
        Case({"path": "src/socket.py"}, refused=NO_FILE, variants=("archive",)),
        Case({"path": "lib/sparse.py"}, refused=("binary_file",), variants=("archive",)),
        Case({"path": ".gitignore"}, refused=NO_FILE, variants=SPECIAL),
        Case({"path": ".gitmodules"}, refused=("binary_file",), variants=SPECIAL),
    ],
    "refresh": [
        Case({}, seconds=30),
        Case(
            {"paths": [SERVICE, "src/linked.py", "pipe.py", "all", "linked_folder/inner.py"]},
            may_fail=OUTSIDE,
            seconds=30,
        ),
    ],
    "search_docs": [
        Case(documents(), finds=LETTER, seconds=30),
        Case(documents(path="docs/*.eml", literal=True), finds=LETTER, seconds=30),
        Case(documents(path="docs", include_hidden=True), finds=LETTER, seconds=30),
        Case(documents(include_ignored=True, include_submodules=True), finds=LETTER, seconds=30),
        Case(documents(engine="rga"), may_fail=("rga_not_installed",), finds=LETTER, seconds=30),
        Case(documents(path="linked_folder"), refused=OUTSIDE),
        Case(documents(path="linked_folder/*"), may_fail=OUTSIDE),
        Case(documents(path="docs/linked.eml"), refused=NO_FILE),
    ],
    "search_metrics": [Case({})],
    "semantic_search": [
        Case({"query": "run what a caller sends"}, finds=SOURCE),
        Case({"query": TOPIC, "top_k": 50}, finds=TOPICS),
        Case({"query": "run what a caller sends", "path": "src"}, finds=SOURCE),
        Case({"query": NEEDLE, "path": "linked_folder"}, refused=OUTSIDE),
    ],
    "tools": [Case({})],
    "tree": [
        Case({}, says="src"),
        Case(
            {"depth": 100, "show_hidden": True, "show_sizes": True, "include_ignored": True},
            says="service.py",
        ),
        Case({"path": "src", "include_submodules": True}, says="service.py"),
        Case({"path": "linked_folder"}, refused=NO_FILE),
        Case({"path": "all"}, refused=NO_FILE),
    ],
}


def at(path: str, line: int, character: int) -> dict[str, Any]:
    """Return the parameters of a position in a file, relative to the root."""
    return {"textDocument": {"uri": path}, "position": {"line": line, "character": character}}


# Standard requests; each `uri` is relative to the root.
WIRE_CASES: list[tuple[str, dict[str, Any], str]] = [
    ("workspace/symbol", {"query": NEEDLE}, SERVICE),
    ("workspace/symbol", {"query": "canary"}, ""),
    ("textDocument/definition", at(CALLER, 4, 12), SERVICE),
    (
        "textDocument/references",
        {**at(SERVICE, 3, 6), "context": {"includeDeclaration": True}},
        CALLER,
    ),
    ("textDocument/documentHighlight", at(SERVICE, 3, 6), ""),
    ("textDocument/documentSymbol", {"textDocument": {"uri": SERVICE}}, NEEDLE),
    ("textDocument/definition", at("web/app.js", 4, 11), ""),
    ("textDocument/definition", at("web/app.js", 4, 22), ""),
    ("textDocument/definition", at("web/app.js", 0, 12), ""),
    ("textDocument/documentSymbol", {"textDocument": {"uri": "src/linked.py"}}, ""),
    ("textDocument/documentSymbol", {"textDocument": {"uri": "pipe.py"}}, ""),
    ("textDocument/documentSymbol", {"textDocument": {"uri": "linked_folder/inner.py"}}, ""),
    ("textDocument/definition", at("src/linked.py", 0, 6), ""),
    (
        "textDocument/references",
        {**at("src/linked.py", 0, 6), "context": {"includeDeclaration": True}},
        "",
    ),
    ("textDocument/prepareCallHierarchy", at(SERVICE, 3, 6), NEEDLE),
    ("$/suggestTerms", {"query": "where does it run what a caller sends"}, ""),
]
