"""Parse queries for symbols, as people type them and agents pass them.

No text is an error: anything that is not syntax is part of a name. A query consists of words; each
must match the name, its container or its path:

- ``send``, ``MigEx``, ``getobjor404``: a name, its start, its initials, or some of its letters -
``Client.send``, ``Client::send``, ``Client/send``, ``Client#send``: a member - ``Client.``: all
members - ``^prefix``, ``suffix$``, ``'part``: exactly these letters, at the start, at the end,
anywhere;
  case-sensitive if there is a capital letter
- ``kind:class``, ``path:src/``, ``lang:py``: filters
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct

from winnow.symbols.file_symbols import Kind

# Longer queries are not typed by hand, and cost time.
QUERY_CHARACTERS = 500
WORDS = 8

_WORD = re.compile(r'"([^"]*)"?|\S+')
_FIELD = re.compile(r"(kind|path|file|lang|language):(?!:)(.*)", re.S)
SEPARATOR = re.compile(r"::|->|[.#/\\:]")
# The surroundings of names in code and messages: `foo(a, b)`; `get(`, `Vec<T>`, `(*Client).Do`.
_ARGUMENTS = re.compile(r"(?<=\w)\([^()]*\)")
_AROUND = re.compile(r"(?<=\w)(?:\(.*$|<[^<>]*>)|^[(*&]+(?=\w)|[()*&]+(?=[.:])", re.S)

# The kinds that a word selects. Callers do not know a language's terms: "function" also finds
# methods, "class" also finds structs; a more precise word is more precise.
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
# Synonyms, as typed after `kind:`.
_KIND_WORDS = {
    "constant": "const", "fn": "function", "func": "function", "def": "function", "cls": "class",
    "var": "variable", "let": "variable", "protocol": "interface", "mod": "module",
    "package": "module", "typedef": "type", "alias": "type", "heading": "section",
    "variant": "enum_member", "define": "macro", "attr": "field",
}  # fmt: skip


class Term(Struct, frozen=True):
    """A word of a query.

    ``text`` matches the name; if it is empty, every member matches. ``qualifiers`` precede it, the
    outermost first; each is followed by the corresponding entry of ``separators``. ``start``,
    ``end`` and ``together`` stand for ``^``, ``$`` and ``'``. ``whole`` is the word without these
    signs, because a name can contain dots.
    """

    text: str
    qualifiers: tuple[str, ...] = ()
    separators: tuple[str, ...] = ()
    start: bool = False
    end: bool = False
    together: bool = False
    whole: str = ""


class SymbolQuery(Struct, frozen=True):
    """A parsed query. ``kinds`` is None for all kinds; empty paths or languages mean all.
    ``unknown`` are words after ``kind:`` that name no kind; they are ignored."""

    terms: tuple[Term, ...] = ()
    kinds: frozenset[str] | None = None
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def parts(self) -> list[str]:
        """The names and the qualifiers that the query has."""
        found = (part for term in self.terms for part in (term.text, *term.qualifiers))
        return list(dict.fromkeys(filter(None, found)))


def without_packages(term: Term) -> Iterator[Term]:
    """Yield the term without the packages or namespaces before its type: `Post.save` and `Post` of
    `App.Models.Post.save`. Files need not be in folders with their names."""
    if len(term.qualifiers) < 2:
        return
    for kept in (1, 0):
        qualifiers = term.qualifiers[len(term.qualifiers) - kept :]
        first = (*qualifiers, term.text)[0]
        if first[:1].isupper():
            whole = ".".join((*qualifiers, term.text))
            separators = term.separators[len(term.separators) - kept :]
            yield msgspec.structs.replace(
                term, qualifiers=qualifiers, separators=separators, whole=whole
            )


def kinds_of(word: str) -> frozenset[str] | None:
    """Return the kinds that a word selects, or None if it names no kind."""
    word = word.lower().replace("-", "_")
    for name in (word, word.rstrip("s"), word.removesuffix("es")):
        if found := KINDS.get(_KIND_WORDS.get(name, name)):
            return found
    return None


def parse(text: str) -> SymbolQuery:
    """Parse a query."""
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
            continue  # the user is still typing
        elif field[1] == "kind":
            for kind in value.split(","):
                named = kinds_of(kind)
                kinds |= named or frozenset()
                unknown += [kind] * (named is None and bool(kind))
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
    if not inner:  # a sign alone is the name of an operator
        return Term(bare, whole=bare) if bare and bare != "'" else None
    inner = _AROUND.sub("", inner) or inner
    parts = [part.strip("()*&'\"`") for part in SEPARATOR.split(inner)]
    *qualifiers, name = parts
    typed = zip(qualifiers, SEPARATOR.findall(inner), strict=True)
    pairs = [(part, separator) for part, separator in typed if part]
    return Term(
        # Without qualifiers, the name may consist of separators only.
        name or ("" if pairs else inner),
        tuple(part for part, _ in pairs),
        tuple(separator for _, separator in pairs),
        start=start,
        end=end,
        together=together,
        whole=inner,
    )
