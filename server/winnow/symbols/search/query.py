"""Queries for symbols: what people type, and agents pass, to find a definition by its name.

No text is an error: what cannot be read as syntax is a part of a name. A query is words, each of
which the name, its container or its path has to match:

- ``send``, ``MigEx``, ``getobjor404``: a name, its beginning, its initials, or letters of it
- ``Client.send``, ``Client::send``, ``Client/send``, ``Client#send``: a member of something
- ``Client.``: all members
- ``^prefix``, ``suffix$``, ``'part``: exactly these letters, at the beginning, end, anywhere. With
  a capital letter, they are case-sensitive
- ``kind:class``, ``path:src/``, ``lang:py``: only these
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from winnow.symbols.file_symbols import Kind

# More is not typed, and costs time.
QUERY_CHARACTERS = 500
WORDS = 8

_WORD = re.compile(r'"([^"]*)"?|\S+')
_FIELD = re.compile(r"(kind|path|file|lang|language):(?!:)(.*)", re.S)
_SEPARATOR = re.compile(r"::|->|[.#/\\:]")
# What stands around names in code and in messages: `foo(a, b)`; `get(`, `Vec<T>`, `(*Client).Do`.
_ARGUMENTS = re.compile(r"(?<=\w)\([^()]*\)")
_AROUND = re.compile(r"(?<=\w)(?:\(.*$|<[^<>]*>)|^[(*&]+(?=\w)|[()*&]+(?=[.:])", re.S)

# What may be asked for, and the kinds that answer. Callers do not know how a language calls a
# thing: "function" finds methods, "class" finds structs, and a more precise word is more precise.
_TYPES: tuple[Kind, ...] = (
    "class",
    "struct",
    "union",
    "object",
    "interface",
    "trait",
    "enum",
    "type",
)
KINDS: Mapping[str, frozenset[Kind]] = {
    "function": frozenset(("function", "method", "constructor", "operator")),
    "method": frozenset(("method", "constructor", "operator")),
    "class": frozenset(("class", "struct", "union", "object")),
    "struct": frozenset(("class", "struct", "union", "object")),
    "trait": frozenset(("trait", "interface")),
    "interface": frozenset(("trait", "interface")),
    "enum": frozenset(("enum",)),
    "type": frozenset(("class", "struct", "union", "object", "interface", "trait", "enum", "type")),
    "const": frozenset(("constant", "enum_member", "macro")),
    "variable": frozenset(("variable", "constant", "field", "property")),
    "field": frozenset(("field", "property")),
    "property": frozenset(("field", "property")),
    "module": frozenset(("module", "namespace")),
    "namespace": frozenset(("module", "namespace")),
    "enum_member": frozenset(("enum_member",)),
    "constructor": frozenset(("constructor",)),
    "macro": frozenset(("macro",)),
    "object": frozenset(("object",)),
    "union": frozenset(("union",)),
    "event": frozenset(("event",)),
    "operator": frozenset(("operator",)),
    "section": frozenset(("section",)),
}
# Other words for them, as they are typed after `kind:`.
_KIND_WORDS = {
    "constant": "const", "fn": "function", "func": "function", "def": "function", "cls": "class",
    "var": "variable", "let": "variable", "protocol": "interface", "mod": "module",
    "package": "module", "typedef": "type", "alias": "type", "heading": "section",
    "variant": "enum_member", "define": "macro", "attr": "field",
}  # fmt: skip


class Term(Struct, frozen=True):
    """A word of a query.

    ``text`` is for the name; empty, every member matches. ``qualifiers`` stand before it, the
    outermost first, each with one of ``separators`` behind it, as it was typed. ``start``, ``end``
    and ``together`` are ``^``, ``$`` and ``'``. ``whole`` is the word without its signs: a name may
    have dots.
    """

    text: str
    qualifiers: tuple[str, ...] = ()
    separators: tuple[str, ...] = ()
    start: bool = False
    end: bool = False
    together: bool = False
    whole: str = ""


class SymbolQuery(Struct, frozen=True):
    """A query. ``kinds`` are None if every kind will do; no paths or languages are all of them.
    ``unknown`` are words after ``kind:`` that name none, and do not count."""

    terms: tuple[Term, ...] = ()
    kinds: frozenset[str] | None = None
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def kinds_of(word: str) -> frozenset[str] | None:
    """The kinds that a word asks for; None if it is no word for any."""
    word = word.lower().replace("-", "_")
    for name in (word, word.rstrip("s"), word.removesuffix("es")):
        if found := KINDS.get(_KIND_WORDS.get(name, name)):
            return found
    return None


def parse(text: str) -> SymbolQuery:
    """The query that a text is."""
    terms: list[Term] = []
    kinds: set[str] = set()
    paths: list[str] = []
    languages: list[str] = []
    unknown: list[str] = []
    for found in _WORD.finditer(_ARGUMENTS.sub("", text[:QUERY_CHARACTERS])):
        quoted, word = found[1], found[0]
        field = None if quoted is not None else _FIELD.fullmatch(word)
        if field is None:
            term = Term(quoted, together=True, whole=quoted) if quoted else _term(word)
            terms += [term] if term else []
        elif not (value := field[2].strip("\"'`")):
            continue  # it is being typed
        elif field[1] == "kind":
            for one in value.split(","):
                named = kinds_of(one)
                kinds |= named or frozenset()
                unknown += [one] * (named is None and bool(one))
        elif field[1] in ("path", "file"):
            paths.append(value)
        else:
            languages.append(value.lower().removeprefix("."))
    return SymbolQuery(
        tuple(terms[:WORDS]),
        frozenset(kinds) if kinds else None,
        tuple(paths),
        tuple(languages),
        tuple(unknown),
    )


def _term(word: str) -> Term | None:
    bare = word.strip('`"')
    start, together = bare.startswith("^"), bare.startswith("'")
    end = bare.endswith("$") and len(bare) > 1
    inner = bare[start or together : len(bare) - end]
    if not inner:  # a sign alone is a name, if of an operator
        return Term(bare, whole=bare) if bare and bare != "'" else None
    inner = _AROUND.sub("", inner) or inner
    parts = [part.strip("()*&'\"`") for part in _SEPARATOR.split(inner)]
    *qualifiers, name = parts
    typed = zip(qualifiers, _SEPARATOR.findall(inner), strict=True)
    pairs = [(part, separator) for part, separator in typed if part]
    return Term(
        # Where nothing stands before the name, it may be no word at all.
        name or ("" if pairs else inner),
        tuple(part for part, _ in pairs),
        tuple(separator for _, separator in pairs),
        start=start,
        end=end,
        together=together,
        whole=inner,
    )
