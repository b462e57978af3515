"""Generate the page of settings from ``winnow/config.py``: fields with a sentence below each."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Iterator

import msgspec
from msgspec import inspect as inspection

from reference.markdown import page, table
from reference.shapes import Struct, json_type, sentence
from winnow.config import MODELS, WORKSPACE_FILE, WORKSPACE_SECTIONS, Config
from winnow.tools.registry import ToolField, fields_of

INTRODUCTION = f"""\
Sources of settings, lowest precedence first: the defaults; the user's file (`$WINNOW_CONFIG`, else
`winnow/config.toml` in `$XDG_CONFIG_HOME`, `~/.config` or `%APPDATA%`); `{WORKSPACE_FILE}` in the
root of the workspace; the editor's `initializationOptions`; its section `winnow` of
`workspace/configuration`. Files are TOML; the editor's settings are the same tree as JSON. Winnow
reports an invalid value and keeps the previous one.

`{WORKSPACE_FILE}` may only set {" and ".join(f"`[{name}]`" for name in WORKSPACE_SECTIONS)},
because it comes with an untrusted repository. No setting contains an API key: a model names the
environment variable with its key."""


def settings_page() -> str:
    """Return the page of all settings, by section."""
    parts = [part for path, struct in sections() for part in _section(path, struct)]
    return page("Settings", INTRODUCTION, *parts, "## Built-in models", _models())


def sections() -> Iterator[tuple[str, Struct]]:
    """Yield the tables of the settings file with their structs."""
    for field in fields_of(Config):
        yield from _sections(field.name, field.kind)


def _sections(path: str, kind: inspection.Type) -> Iterator[tuple[str, Struct]]:
    kind = _bare(kind)
    if isinstance(kind, inspection.DictType):
        kind, path = _bare(kind.value_type), f"{path}.NAME"
    if isinstance(kind, inspection.StructType):
        yield path, kind.cls
        for field in kind.fields:
            yield from _sections(f"{path}.{field.encode_name}", field.type)


def _bare(kind: inspection.Type) -> inspection.Type:
    """Return the type without annotations and without None."""
    while isinstance(kind, (inspection.Metadata, inspection.UnionType)):
        kind = kind.type if isinstance(kind, inspection.Metadata) else kind.types[0]
        if isinstance(kind, inspection.NoneType):
            raise TypeError("None comes last in a union")
    return kind


def _section(path: str, struct: Struct) -> list[str]:
    sentences = sentences_of(struct)
    rows = [
        [f"`{field.name}`", json_type(field.kind), _default(field), sentences.get(field.name, "")]
        for field in fields_of(struct)
        if not isinstance(_bare(field.kind), (inspection.StructType, inspection.DictType))
    ]
    head = ["Name", "Type", "Default", "Description"]
    return [f"## `[{path}]`", sentence(struct), table(head, rows)]


def _default(field: ToolField) -> str:
    if field.required:
        return "required"
    if field.default is None:
        return ""
    return f"`{json.dumps(msgspec.to_builtins(field.default))}`"


def sentences_of(struct: Struct) -> dict[str, str]:
    """Return the text below each field in the source."""
    [found] = ast.parse(inspect.getsource(struct)).body
    assert isinstance(found, ast.ClassDef)
    sentences = {}
    for field, text in zip(found.body, found.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            sentences[ast.unparse(field.target)] = " ".join(str(text.value.value).split())
    return sentences


def _models() -> str:
    head = ["Name", *(f"`{name}`" for name in ("provider", "model", "key_env", "effort"))]
    rows = [
        [f"`{name}`", model.provider, f"`{model.model}`", f"`{model.key_env}`", model.effort or ""]
        for name, model in MODELS.items()
    ]
    return table(head, rows)
