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
_TAG = re.compile(rb"<([A-Z]\w*|[a-z]\w*(?:-\w+)+)(?=[\s/>])")


def component_name(path: str) -> str:
    """Return the name of the component that a file defines, `ShopItem` for `shop-item.vue`, or ""
    if it cannot be the name of one."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    return _without_hyphens(stem) if _WORDS.fullmatch(stem) else ""


def _without_hyphens(name: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in name.split("-"))


def with_component(symbols: FileSymbols, source: bytes, scripts: bytes, path: str) -> FileSymbols:
    """Add the component of a file, exported as its default, and the components in its template:
    the text without the scripts."""
    occurrences = {name: array("I", packed) for name, packed in symbols.occurrences.items()}
    table, definitions = symbols.scope_table, symbols.definitions
    itself = component_name(path)
    imported = {each.local: each for each in table.imports}
    imported[itself] = Import(itself, "", itself, 0, 0)
    spelled: dict[str, Import] = {}  # `AlertBox` as `<alert-box>`
    for tag in _TAG.finditer(source):
        if scripts[tag.start()] == ord(" "):
            name = tag[1].decode()
            occurrences.setdefault(name, array("I")).extend((tag.start(1), CALLED, 0))
            if "-" in name and (known := imported.get(_without_hyphens(name))):
                spelled[name] = replace(known, local=name, exported=False)
    table = replace(table, imports=(*table.imports, *spelled.values()))
    if itself:
        occurrences.setdefault(itself, array("I")).extend((0, BINDS | DEFINES, 0))
        default = Import("default", "", itself, 0, 0)
        table = replace(table, imports=(*table.imports, default))
        last = source.rstrip().count(b"\n")
        component = Definition(itself, "module", 0, 0, len(source), 0, last, (0, 0, 0))
        definitions = [component, *definitions]
    return replace(
        symbols,
        definitions=definitions,
        scope_table=table,
        occurrences={name: numbers.tobytes() for name, numbers in occurrences.items()},
    )
