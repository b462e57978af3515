"""The component that a file of Vue, Svelte or Astro defines: it has the name of the file."""

from __future__ import annotations

import re
from array import array

from msgspec.structs import replace

from winnow.symbols.file_symbols import (
    BINDS,
    CALLED,
    DEFINES,
    Definition,
    FileSymbols,
    Import,
)

# A capitalized word, or words with hyphens.
_WORDS = re.compile(r"[A-Z]\w*|[A-Za-z]\w*(?:-\w+)+")
_TAG = re.compile(rb"<([A-Z]\w*)(?=[\s/>])")


def component_name(path: str) -> str:
    """Return the name of the component that a file defines, `ShopItem` for `shop-item.vue`, or ""
    if it cannot be the name of one."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    if not _WORDS.fullmatch(stem):
        return ""
    return "".join(word[:1].upper() + word[1:] for word in stem.split("-"))


def with_component(symbols: FileSymbols, source: bytes, scripts: bytes, path: str) -> FileSymbols:
    """Add the component of a file, exported as its default, and the components in its template:
    the text without the scripts."""
    occurrences = {name: array("I", packed) for name, packed in symbols.occurrences.items()}
    for tag in _TAG.finditer(source):
        if scripts[tag.start()] == ord(" "):
            numbers = occurrences.setdefault(tag[1].decode(), array("I"))
            numbers.extend((tag.start(1), CALLED, 0))
    table, definitions = symbols.scope_table, symbols.definitions
    if name := component_name(path):
        occurrences.setdefault(name, array("I")).extend((0, BINDS | DEFINES, 0))
        default = Import("default", "", name, 0, 0)
        table = replace(table, imports=(*table.imports, default))
        last = source.rstrip().count(b"\n")
        component = Definition(name, "module", 0, 0, len(source), 0, last, (0, 0, 0))
        definitions = [component, *definitions]
    return replace(
        symbols,
        definitions=definitions,
        scope_table=table,
        occurrences={name: numbers.tobytes() for name, numbers in occurrences.items()},
    )
