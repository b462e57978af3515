"""Generate the page of errors from the classes in ``winnow/errors.py``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from reference.markdown import page, table
from reference.shapes import sentence
from winnow import errors
from winnow.errors import InvalidParams, SearchError
from winnow.tools import TOOLS

INTRODUCTION = """\
An error that a caller can act on has a message that suggests a fix, and `data` with its `kind` and
the fields below. Over LSP, the code is -32602 (`InvalidParams`) for `invalid_params`, whose message
starts with the field, and -32803 (`RequestFailed`) for all other kinds. The command line prints the
message to standard error and exits with code 2. With `--json` it prints
`{"error": {"message": …, "kind": …}}`, including the extra data, to standard output."""

OTHER_CODES = """\
Other codes over LSP: -32601 for an unknown method, -32800 for a canceled request, -32002 for a
request before `initialize`, -32700 for invalid JSON, -32600 for JSON that is not a request, and
-32603 for a bug in Winnow. The message of -32603 has an incident number, which also appears in the
server's log."""

TYPES = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "list[str]": "array of string",
    "list[dict[str, str]]": "array of object",
}


def error_page() -> str:
    """Return the page of all errors, with their data and the tools that raise them."""
    rows = [
        [f"`{error.kind}`", sentence(error), "<br>".join(_data(error)), ", ".join(_tools(error))]
        for error in sorted(error_classes(), key=kind_of)
    ]
    head = ["Kind", "When", "Extra data", "Raised by"]
    return page("Errors", INTRODUCTION, table(head, rows), OTHER_CODES)


def error_classes() -> list[type[SearchError]]:
    """Return the classes of all error kinds."""
    return SearchError.__subclasses__()


def kind_of(error: type[SearchError]) -> str:
    """Return the `kind` of an error class."""
    return error.kind


def _tools(error: type[SearchError]) -> Iterator[str]:
    if error is InvalidParams:
        yield "every tool"
        return
    for tool in TOOLS.values():
        if error in tool.raises:
            yield f"[{tool.name}](tools/{tool.command}.md)"


def _data(error: type[SearchError]) -> Iterator[str]:
    """Yield the name and type of each value that the class passes to its base class as data."""
    tree = ast.parse(inspect.getsource(errors))
    [definition] = [
        node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == error.__name__
    ]
    [init] = [node for node in definition.body if isinstance(node, ast.FunctionDef)]
    types = {arg.arg: ast.unparse(arg.annotation) for arg in init.args.args if arg.annotation}
    for call in ast.walk(init):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
            for keyword in call.keywords:
                yield f"`{keyword.arg}`: {TYPES[types[ast.unparse(keyword.value)]]}"
