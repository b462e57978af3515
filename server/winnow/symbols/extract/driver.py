"""Extract the facts of a text: one parse, two queries, and what the language adds.

Runs in a worker process only: parsing holds the interpreter's lock, and a grammar may hang.
"""

from __future__ import annotations

import functools
import re

import msgspec
import tree_sitter
import tree_sitter_language_pack

from winnow.symbols.extract.definitions import find_definitions
from winnow.symbols.extract.extraction import Extraction
from winnow.symbols.extract.generic import generic_definitions
from winnow.symbols.extract.occurrences import find_occurrences
from winnow.symbols.file_symbols import FileSymbols
from winnow.symbols.language import Language, languages
from winnow.symbols.scopes import plain

EMBEDDED = 3  # times that parts of a text are parsed on their own


@functools.cache
def parser(grammar: str) -> tree_sitter.Parser:
    """The parser of a grammar, loaded once."""
    return tree_sitter_language_pack.get_parser(grammar)  # type: ignore[arg-type]


@functools.cache
def query(grammar: str, text: str) -> tree_sitter.Query:
    language = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    compiled: tree_sitter.Query = tree_sitter.Query(language, text)
    return compiled


def extract(language: Language, source: bytes) -> FileSymbols:
    """The facts of a text in UTF-8; a language without a query is known by its tree alone."""
    if language.instead is not None and (other := language.instead(source)):
        language = languages()[other]
    if language.scripts:
        facts = extract(languages()["typescript"], _scripts(language, source))
        return msgspec.structs.replace(facts, language=language.name)
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
        occurrences = plain.find_occurrences(language, extraction, plain.tokens(grammar))
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
    """The tree of some parts of a text, as if nothing else was there; offsets are the text's."""
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
    """The text with blanks for all that is no script, so that every place stays where it is."""
    grammar = language.grammar or language.name
    cursor = tree_sitter.QueryCursor(query(grammar, language.scripts))
    blank = bytearray(re.sub(rb"[^\r\n]", b" ", source))
    for _, captures in cursor.matches(parser(grammar).parse(source).root_node):
        for script in captures["script"]:
            blank[script.start_byte : script.end_byte] = source[script.start_byte : script.end_byte]
    return bytes(blank)


@functools.cache
def definitions_query(language: Language) -> str:
    """The language's query, and one for comments, which may be docs."""
    return language.definitions + "".join(f"\n({kind}) @comment" for kind in language.comments)
