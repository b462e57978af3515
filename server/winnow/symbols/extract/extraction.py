"""A file while its facts are gathered."""

from __future__ import annotations

import tree_sitter

from winnow.symbols.extract.chains import Chains
from winnow.symbols.file_symbols import Definition, Import, LexicalScope, ScopeTable, scope_at


class Extraction:
    """A file while its facts are gathered: what a language's `collect` reads and adds to.

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

    def scope_table(self) -> ScopeTable:
        return ScopeTable(
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
