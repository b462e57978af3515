"""Find the bases, subclasses and members of classes."""

from __future__ import annotations

from collections.abc import Callable

from winnow.symbols.expressions import Expression, parse_expression
from winnow.symbols.resolve.names import Name
from winnow.symbols.resolve.session import ResolverFile, Session
from winnow.symbols.resolve.types import Class, Instance, Type

OF_OBJECTS, OF_CLASS = 1, 2  # members of instances, of the class itself
MRO = 60  # the maximum number of superclasses
BELOW = 2_000  # the maximum number of subclasses


class Classes:
    """Finds the classes of one request, their bases, subclasses and members."""

    def __init__(
        self, session: Session, types: Callable[[ResolverFile, int, Expression], tuple[Type, ...]]
    ) -> None:
        """``types`` returns the types of an expression in a scope of a file."""
        self.session = session
        self._types = types
        self._below: dict[Class, set[Class]] = {}
        self._mro: dict[Class, list[Class]] = {}
        self._definers: dict[tuple[str, str, bool], dict[Class, int]] = {}
        self._standing: dict[tuple[str, str, bool], dict[Class, list[tuple[str, int]]]] = {}

    def class_at(self, file: ResolverFile, scope: int) -> Class:
        """Return the class whose members a scope binds."""
        found = file.scopes[scope]
        if found.kind == "part":
            named = self._types(file, found.parent, parse_expression(found.name))[0]
            if isinstance(named, Instance):  # an alias
                named = named.of
            if isinstance(named, Class):
                return named
        if file.rules.merging and not found.name:
            return Class(file.path, file.canonical[scope], "")
        return Class(file.path, file.canonical[scope], file.qualified(scope))

    def is_property(self, owner: Class, name: str) -> bool:
        return any(
            file.path == owner.path
            and definition.container == owner.name
            and definition.kind == "property"
            for file, definition in self.session.definitions(name)
        )

    def mro(self, owner: Class) -> list[Class]:
        """Return a class and its known superclasses, nearest first."""
        if owner in self._mro:
            return self._mro[owner]
        self._mro[owner] = [owner]  # code being edited may contain circular inheritance
        found = [owner]
        level = [owner]
        while level and len(found) < MRO:
            above = [base for each in level for base in self._bases(each)]
            level = [base for base in dict.fromkeys(above) if base not in found]
            found += level
        self._mro[owner] = found
        return found

    def _bases(self, owner: Class) -> list[Class]:
        file = self.session.file(owner.path)
        if file is None:
            return []
        found = self._bases_at(file, owner.scope)
        last = owner.name.rpartition(".")[2]
        for part in file.parts:
            if (
                part in file.scope_table.bases
                and file.scopes[part].name.rpartition(".")[2] == last
                and self.class_at(file, part) == owner
            ):
                found += self._bases_at(file, part)
        return found

    def _bases_at(self, file: ResolverFile, scope: int) -> list[Class]:
        """Return the bases that a scope of a class, or of a part, names."""
        around = file.scopes[scope].parent
        found = []
        for written in file.scope_table.bases.get(scope, ()):
            for found_type in self._types(file, around, parse_expression(written)):
                base = (
                    found_type.of if isinstance(found_type, Instance) else found_type
                )  # another name for it
                if isinstance(base, Class):
                    found.append(base)
        return found

    def definer(
        self,
        owner: Class,
        name: str,
        *,
        above: bool = False,
        apart: bool = False,
        file: ResolverFile | None = None,
    ) -> Class | None:
        """Return the nearest class, from this one upwards, that defines a member."""
        file = file or self.session.file(owner.path)
        definers = self.definers(name, file.language if file else "", apart)
        if not definers:
            return None
        classes = self.mro(owner)[1 if above else 0 :]
        found = next((candidate for candidate in classes if candidate in definers), None)
        if found is None and file is not None and file.rules.extending:
            # The base itself may name the class (Rust's `impl Trait for Type`).
            found = next(
                (candidate for candidate in definers if owner in self.below(candidate)), None
            )
        return found

    def members(
        self, owner: Class, name: str, *, above: bool = False, static: bool = False
    ) -> list[Name]:
        """Return the definitions of a member of a class: those of the nearest classes on all paths
        upwards.

        ``static`` prefers members of the class itself to members of instances.
        """
        definers = self.definers(name)
        if not definers:
            return []
        kind = OF_CLASS if static else OF_OBJECTS
        for kinds in (kind, OF_OBJECTS | OF_CLASS):
            found = self._nearest(self._bases(owner) if above else [owner], definers, kinds)
            if found:
                return [
                    Name(
                        definer.path,
                        definer.scope,
                        name,
                        static=not definers[definer] & ~OF_CLASS & kinds,
                    )
                    for definer in found
                ]
        return []

    def _nearest(self, level: list[Class], definers: dict[Class, int], kind: int) -> list[Class]:
        found: dict[Class, None] = {}
        seen: set[Class] = set()
        while level and len(seen) < MRO:
            seen.update(level)
            found.update((each, None) for each in level if definers.get(each, 0) & kind)
            above = [base for each in level if each not in found for base in self._bases(each)]
            level = [base for base in dict.fromkeys(above) if base not in seen]
        return list(found)

    def definers(self, name: str, language: str = "", apart: bool = False) -> dict[Class, int]:
        """Return all classes that define a member of this name: OF_OBJECTS, OF_CLASS, or both."""
        key = (name, language, apart)
        if (cached := self._definers.get(key)) is not None:
            return cached
        found = self._definers[key] = self._marked(name)  # seen by recursive calls
        found.update((owner, OF_OBJECTS) for owner in self.standing(name, language, apart))
        return found

    def standing(self, name: str, language: str, apart: bool) -> dict[Class, list[tuple[str, int]]]:
        """Return classes that define a member, with the scopes that bind it, for files without
        ``marked``."""
        key = (name, language, apart)
        if (cached := self._standing.get(key)) is not None:
            return cached
        found = self._standing[key] = {}  # seen by recursive calls
        for defining, definition in self.session.definitions(name, language):
            file = self.session.file(defining.path)
            scope = file.container_scope(definition) if file else None
            if file is None or scope is None or file.rules.marked:
                continue
            if definition.kind == "constructor" and file.scopes[scope].name == name:
                continue  # it is called by its class name
            if (definition.kind in file.rules.apart) == apart:
                found.setdefault(self.class_at(file, scope), []).append((file.path, scope))
        return found

    def _marked(self, name: str) -> dict[Class, int]:
        """Return classes that define a member, for files with ``marked``."""
        found: dict[Class, int] = {}
        for file, numbers in self.session.occurrences(name):
            for scope, static in file.members(numbers) if file.rules.marked else ():
                owner = self.class_at(file, scope)
                found[owner] = found.get(owner, 0) | (OF_CLASS if static else OF_OBJECTS)
        return found

    def kind(self, owner: Class) -> str:
        """Return the kind of a class from its definition."""
        container, _, name = owner.name.rpartition(".")
        return next(
            (
                definition.kind
                for file, definition in self.session.definitions(name)
                if file.path == owner.path and definition.container == container
            ),
            "",
        )

    def below(self, owner: Class) -> set[Class]:
        """Return a class and all its subclasses."""
        cached = self._below.get(owner)
        if cached is not None:
            return cached
        found = self._below[owner] = {owner}
        todo = [owner]
        while todo and len(found) < BELOW:
            base = todo.pop()
            for found_in, scope in self.session.view.subclasses(base.name.rpartition(".")[2]):
                file = self.session.file(found_in.path)
                if file is None or base not in self._bases_at(file, scope):
                    continue
                derived = self.class_at(file, scope)
                if derived not in found:
                    found.add(derived)
                    todo.append(derived)
        return found

    def satisfying(self, owner: Class, name: str, language: str) -> set[Class]:
        """Return classes related by structural typing: interfaces with this member that the class
        satisfies, or classes that satisfy the interface."""
        is_interface = self.kind(owner) == "interface"
        found = set()
        for definer in self.definers(name, language):
            if definer == owner or (self.kind(definer) == "interface") == is_interface:
                continue
            interface, related = (owner, definer) if is_interface else (definer, owner)
            if all(self.definer(related, member) for member in self._members(interface)):
                found.add(definer)
        return found

    def satisfied_by(self, owner: Class) -> set[Class]:
        """Return the classes that satisfy an interface without naming it."""
        file = self.session.file(owner.path)
        if file is None or not file.rules.structural or self.kind(owner) != "interface":
            return set()
        members = self._members(owner)
        if not members:
            return set()
        # A class also has the members of those that it embeds.
        definers = self.definers(min(members), file.language)
        classes = {each for definer in definers for each in (definer, *self.below(definer))}
        return {
            each
            for each in classes - {owner}
            if self.kind(each) != "interface"
            and all(self.definer(each, member) for member in members)
        }

    def _members(self, owner: Class) -> set[str]:
        return {
            definition.name
            for ancestor in self.mro(owner)
            for definition in self.session.view.definitions_in(ancestor.path)
            if definition.container == ancestor.name
        }
