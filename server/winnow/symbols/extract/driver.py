"""Extract the symbols of a text: one parse, two queries, and the language's hooks.

Runs in worker processes only: parsing holds the GIL, and a grammar may hang.
"""

from __future__ import annotations

import functools
import re

import msgspec
import tree_sitter
import tree_sitter_language_pack

from winnow.symbols.extract.components import with_component
from winnow.symbols.extract.definitions import find_definitions
from winnow.symbols.extract.extraction import Extraction
from winnow.symbols.extract.generic import generic_definitions
from winnow.symbols.extract.occurrences import find_occurrences
from winnow.symbols.file_symbols import FileSymbols
from winnow.symbols.language import Language, languages
from winnow.symbols.scopes import plain

EMBEDDED = 3  # how often parts of a text are parsed separately


@functools.cache
def parser(grammar: str) -> tree_sitter.Parser:
    """Return the parser of a grammar, loaded once."""
    return tree_sitter_language_pack.get_parser(grammar)  # type: ignore[arg-type]


@functools.cache
def query(grammar: str, text: str) -> tree_sitter.Query:
    language = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    compiled: tree_sitter.Query = tree_sitter.Query(language, text)
    return compiled


def extract(language: Language, source: bytes, path: str = "") -> FileSymbols:
    """Return the symbols of a UTF-8 text. Without a query, the shape of the tree decides. The
    ``path`` names what a file of components defines."""
    if language.instead is not None and (name := language.instead(source)):
        language = languages()[name]
    if language.scripts:
        scripts = _scripts(language, source)
        symbols = extract(languages()["typescript"], scripts)
        # A component is a module: other files see no names of its scripts.
        scope_table = msgspec.structs.replace(symbols.scope_table, package="")
        symbols = msgspec.structs.replace(symbols, language=language.name, scope_table=scope_table)
        return with_component(symbols, source, scripts, path)
    grammar = language.grammar or language.name
    tree = parser(grammar).parse(language.clean(source) if language.clean else source)
    roots = [tree.root_node]
    while language.embedded is not None and len(roots) <= EMBEDDED:
        parts = language.embedded(roots[-1], source)
        if not parts:
            break
        roots.append(_parse_parts(parser(grammar), source, parts))
    extraction = Extraction(source, roots)
    if language.definitions:
        extraction.definitions = find_definitions(
            language,
            query(grammar, definitions_query(language)),
            query(grammar, language.nested) if language.nested else None,
            source,
            *roots,
        )
    else:
        extraction.definitions = generic_definitions(grammar, source, tree.root_node)
    if language.tokens:
        occurrences = find_occurrences(language, extraction, query(grammar, language.tokens))
    else:
        occurrences = plain.find_occurrences(
            language, extraction, plain.tokens(grammar, language.uses)
        )
    return FileSymbols(
        language=language.name,
        definitions=extraction.definitions,
        scope_table=extraction.scope_table(),
        occurrences=occurrences,
        generic=not language.definitions,
        broken=int(tree.root_node.has_error),
    )


def _parse_parts(
    parser: tree_sitter.Parser, source: bytes, parts: list[tuple[int, int]]
) -> tree_sitter.Node:
    """Parse only some parts of a text. Offsets are those of the complete text."""
    parser.included_ranges = [
        tree_sitter.Range(_point(source, start), _point(source, end), start, end)
        for start, end in parts
    ]
    try:
        return parser.parse(source).root_node
    finally:
        parser.included_ranges = []


def _point(source: bytes, at: int) -> tuple[int, int]:
    return source.count(b"\n", 0, at), at - source.rfind(b"\n", 0, at) - 1


def _scripts(language: Language, source: bytes) -> bytes:
    """Return the text with everything but the scripts blanked out. Offsets stay the same."""
    grammar = language.grammar or language.name
    cursor = tree_sitter.QueryCursor(query(grammar, language.scripts))
    blank = bytearray(re.sub(rb"[^\r\n]", b" ", source))
    for _, captures in cursor.matches(parser(grammar).parse(source).root_node):
        for script in captures["script"]:
            blank[script.start_byte : script.end_byte] = source[script.start_byte : script.end_byte]
    return bytes(blank)


@functools.cache
def definitions_query(language: Language) -> str:
    """Return the language's query, extended by one for comments, which may be docs."""
    return language.definitions + "".join(f"\n({kind}) @comment" for kind in language.comments)
