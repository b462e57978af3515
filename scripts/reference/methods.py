"""Generate the type stub of `winnow.Workspace`, with each tool as a method."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import UnsetType

from winnow.frontends.python import signature_of
from winnow.tools import TOOLS
from winnow.tools.registry import Tool, is_list_of_ranges

STUB = Path(__file__).parents[2] / "server/winnow/frontends/tool_methods.pyi"
HEAD = '''\
"""The tools as methods of `winnow.Workspace`. Written by scripts/docs from their definitions."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal
'''


def stub_text() -> str:
    """Return the expected text of the stub."""
    imports: set[tuple[str, str]] = set()
    methods = [line for tool in TOOLS.values() for line in _method(tool, imports)]
    lines = [f"from {module} import {name}" for module, name in sorted(imports)]
    return "\n".join([HEAD, *lines, "", "class ToolMethods:", *methods, ""])


def _method(tool: Tool[Any, Any], imports: set[tuple[str, str]]) -> Iterator[str]:
    hints = get_type_hints(tool.params)
    ranges = {field.name for field in tool.fields if is_list_of_ranges(field.kind)}
    yield f"    async def {tool.name}("
    yield "        self,"
    named = False
    for name, parameter in signature_of(tool).parameters.items():
        if parameter.default is not inspect.Parameter.empty and not named:
            named = True
            yield "        *,"
        kind = spelled(hints[name], imports)
        if name == "path":
            kind += " | PathLike[str]"
        elif name in ranges:
            kind = kind.replace("]", " | str]")
        yield f"        {name}: {kind}{_default(parameter)},"
    yield f"    ) -> {spelled(tool.result, imports)}:"
    yield f'        """{tool.summary}"""'


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return ""
    return f" = {() if parameter.default == [] else parameter.default!r}"


def spelled(kind: Any, imports: set[tuple[str, str]]) -> str:
    """Return the source of a field's type; add its imports to ``imports``."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, arguments))}]"
    inner = [spelled(argument, imports) for argument in arguments]
    if origin in (typing.Union, UnionType):
        return " | ".join(inner)
    if origin is list:
        return f"Sequence[{inner[0]}]"
    if kind in (NoneType, UnsetType):  # a param that isn't passed isn't set
        return "None"
    assert isinstance(kind, type)
    assert not arguments, kind
    if kind.__module__ != "builtins":
        imports.add((kind.__module__, kind.__name__))
    return kind.__name__
