"""The state of a file while its symbols are extracted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import tree_sitter

from winnow.symbols import expressions
from winnow.symbols.extract.chains import Chains
from winnow.symbols.file_symbols import Definition, Import, LexicalScope, ScopeTable, scope_at


class Extraction:
    """A file during extraction. A language's `prepare` and `collect` read and fill it.

    The tables are those of :class:`~winnow.symbols.file_symbols.ScopeTable`.
    """

    def __init__(self, source: bytes, roots: list[tree_sitter.Node]) -> None:
        self.source = source
        self.roots = roots
        self.definitions: list[Definition] = []
        self.scopes: list[LexicalScope] = [LexicalScope(0, len(source), -1, "module")]
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
        # Captures of the language's query `tokens`, by name, in text order.
        self.captured: dict[str, list[tree_sitter.Node]] = {}
        # Flags set by hand for identifiers, by offset.
        self.flags: defaultdict[int, int] = defaultdict(int)
        # Identifiers in text that the grammar does not parse: start and end.
        self.tokens: list[tuple[int, int]] = []
        # The owner of a member if it does not precede the member (`Foo` for the `a` of `Foo{a:
        # 1}`), by the member's offset, in the short form of receivers.
        self.owners: dict[int, bytes] = {}
        # Occurrences that are not identifiers to the grammar: name, offset, flags.
        self.more: list[tuple[str, int, int]] = []
        # Members that are not identifiers: name, offset, flags, receiver number.
        self.members: list[tuple[str, int, int, int]] = []
        # What an object with keys is, by the object's offset: the expression from one offset to
        # another (none if both are 0), and a suffix in short form.
        self.contexts: dict[int, tuple[int, int, str]] = {}
        self.chains = Chains(source)
        self._starts = [0]

    def text(self, node: tree_sitter.Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def each(self, capture: str, handle: Callable[[Extraction, tree_sitter.Node], None]) -> None:
        """Call a function with each node of a capture."""
        for node in self.captured.get(capture, ()):
            handle(self, node)

    def learn(self, name: tree_sitter.Node, source: str) -> None:
        """Add the type source of the name at a node, unless the name has one there."""
        if not expressions.is_empty(source):
            types = self.types.setdefault(self.scope_at(name.start_byte), {})
            types.setdefault(self.text(name), source)

    def link_scopes(self) -> None:
        """Set the parent of each scope. Scopes are sorted by start."""
        around: list[int] = []
        linked: list[LexicalScope] = []
        for number, scope in enumerate(self.scopes):
            while around and linked[around[-1]].end <= scope.start:
                around.pop()
            parent = around[-1] if around else -1
            linked.append(LexicalScope(scope.start, scope.end, parent, scope.kind, scope.name))
            around.append(number)
        self.scopes = linked
        self._starts = [scope.start for scope in linked]

    def scope_at(self, at: int) -> int:
        """Return the number of the innermost scope that contains an offset."""
        return scope_at(self._starts, self.scopes, at)

    def function_around(self, scope: int) -> int | None:
        """Return the innermost function scope, from this scope outwards."""
        while scope >= 0 and self.scopes[scope].kind != "function":
            scope = self.scopes[scope].parent
        return scope if scope >= 0 else None

    def class_around(self, scope: int) -> int | None:
        """Return the innermost class scope, from this scope outwards."""
        while scope >= 0 and self.scopes[scope].kind not in ("class", "part"):
            scope = self.scopes[scope].parent
        return scope if scope >= 0 else None

    def scope_table(self) -> ScopeTable:
        return ScopeTable(
            scopes=tuple(self.scopes),
            imports=tuple(self.imports),
            stars=tuple(self.stars),
            bases={scope: tuple(bases) for scope, bases in self.bases.items()},
            types=self.types,
            returns=self.returns,
            aliases=self.aliases,
            receivers=tuple(self.chains.receivers),
            outer={scope: tuple(names) for scope, names in self.outer.items()},
            private=tuple(self.private),
            package=self.package,
            modules=self.modules,
        )
