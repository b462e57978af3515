"""From the text of a file to its facts: one parse, two queries, and what the language adds.

Runs in a worker process only: parsing holds the interpreter's lock, and a grammar may hang.
"""

from __future__ import annotations

import functools
import re

import msgspec
import tree_sitter
import tree_sitter_language_pack

from winnow.symbols.definitions import find_definitions
from winnow.symbols.facts import Definition, Facts, Import, Scope, Skeleton, scope_at
from winnow.symbols.generic import generic_definitions
from winnow.symbols.language import Language, languages
from winnow.symbols.occurrences import Chains, find_occurrences
from winnow.symbols.scoping import plain

EMBEDDED = 3  # times that parts of a text are parsed on their own


class Extraction:
    """A file while its facts are gathered: what a language's `collect` reads and adds to.

    The tables are those of :class:`~winnow.symbols.facts.Skeleton`.
    """

    def __init__(self, language: Language, source: bytes, roots: list[tree_sitter.Node]) -> None:
        self.language = language
        self.source = source
        self.roots = roots
        self.definitions: list[Definition] = []
        self.scopes: list[Scope] = [Scope(0, len(source), -1, "module")]
        self.imports: list[Import] = []
        self.stars: list[str] = []
        self.bases: dict[int, list[str]] = {}
        self.types: dict[int, dict[str, str]] = {}
        self.returns: dict[int, dict[str, str]] = {}
        self.aliases: dict[str, str] = {}
        self.outer: dict[int, list[str]] = {}
        self.private: list[str] = []
        self.package = ""
        self.modules: dict[int, str] = {}
        # What the query of tokens has captured, by name; in the order of the text.
        self.captured: dict[str, list[tree_sitter.Node]] = {}
        # Flags that `collect` sets for identifiers, by their offset.
        self.flags: dict[int, int] = {}
        # Identifiers in text that the grammar does not read: beginning and end.
        self.tokens: list[tuple[int, int]] = []
        # What members are members of where it does not stand before them (`Foo` for the `a` of
        # `Foo{a: 1}`), by their offset, in the short form of receivers.
        self.owners: dict[int, bytes] = {}
        # Occurrences that are no identifiers to the grammar: name, offset, flags.
        self.more: list[tuple[str, int, int]] = []
        # Members that are no identifiers: name, offset, flags, number of the receiver.
        self.members: list[tuple[str, int, int, int]] = []
        # What objects with keys are, by their offset: the expression from one offset to another
        # (none if they are 0), and what follows it in the short form.
        self.contexts: dict[int, tuple[int, int, str]] = {}
        self.chains = Chains(source)
        self._starts = [0]

    def text(self, node: tree_sitter.Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def link_scopes(self) -> None:
        """Give each scope its parent; they stand in the order of their beginnings."""
        around: list[int] = []
        linked: list[Scope] = []
        for number, scope in enumerate(self.scopes):
            while around and linked[around[-1]].end <= scope.start:
                around.pop()
            parent = around[-1] if around else -1
            linked.append(Scope(scope.start, scope.end, parent, scope.kind, scope.name))
            around.append(number)
        self.scopes = linked
        self._starts = [scope.start for scope in linked]

    def scope_at(self, at: int) -> int:
        """The number of the innermost scope around an offset."""
        return scope_at(self._starts, self.scopes, at)

    def function_around(self, scope: int) -> int | None:
        """The number of the innermost function's scope from this one outwards."""
        while scope >= 0 and self.scopes[scope].kind != "function":
            scope = self.scopes[scope].parent
        return scope if scope >= 0 else None

    def class_around(self, scope: int) -> int | None:
        """The number of the innermost class's scope from this one outwards."""
        while scope >= 0 and self.scopes[scope].kind not in ("class", "part"):
            scope = self.scopes[scope].parent
        return scope if scope >= 0 else None

    def skeleton(self) -> Skeleton:
        return Skeleton(
            scopes=self.scopes,
            imports=self.imports,
            stars=self.stars,
            bases=self.bases,
            types=self.types,
            returns=self.returns,
            aliases=self.aliases,
            receivers=self.chains.receivers,
            outer=self.outer,
            private=self.private,
            package=self.package,
            modules=self.modules,
        )


@functools.cache
def parser(grammar: str) -> tree_sitter.Parser:
    """The parser of a grammar, loaded once."""
    return tree_sitter_language_pack.get_parser(grammar)  # type: ignore[arg-type]


@functools.cache
def query(grammar: str, text: str) -> tree_sitter.Query:
    language = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    compiled: tree_sitter.Query = tree_sitter.Query(language, text)
    return compiled


def extract(language: Language, source: bytes) -> Facts:
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
    extraction = Extraction(language, source, roots)
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
        occurrences = find_occurrences(extraction, query(grammar, language.tokens))
    else:
        occurrences = plain.find_occurrences(extraction, plain.tokens(grammar))
    return Facts(
        language=language.name,
        definitions=extraction.definitions,
        skeleton=extraction.skeleton(),
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
