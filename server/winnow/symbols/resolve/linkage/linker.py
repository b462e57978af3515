"""Find what occurrences of names mean, and the uses of a symbol, also through macros."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from winnow.symbols.expressions import Expression, FieldsStep, NameStep
from winnow.symbols.file_symbols import (
    ATTRIBUTE,
    BINDS,
    IN_TYPE,
    KEY,
    LABEL,
    MACRO,
    MEMBER,
    MENTIONED,
    PARAMETER,
    ROLE,
    SHORTHAND,
    TAG,
)
from winnow.symbols.resolve.linkage.bindings import beyond_templates, classes_hold
from winnow.symbols.resolve.linkage.names import LinkedNames, Template, known, member_of
from winnow.symbols.resolve.linkage.visibility import are_copies
from winnow.symbols.resolve.names import Name, ResolvedReference, Target
from winnow.symbols.resolve.session import ResolverFile, Session
from winnow.symbols.resolve.types import Class

ELSEWHERE = "std"  # a namespace that macros do not open


class Linker:
    """Resolves names in one view, for one request."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.names = LinkedNames(session)
        # Uses that may be of the symbol, or of another one with the same name.
        self.undecided = 0

    def uses(
        self, name: str, targets: Iterable[Target], path: str | None = None
    ) -> Iterator[ResolvedReference]:
        """Yield the uses of a symbol, also through macros; only in one file if ``path`` is
        given."""
        self.undecided = 0
        names = frozenset(target for target in targets if isinstance(target, Name))
        macros: dict[Name, None] = {}
        seen: set[tuple[str, int]] = set()
        for use, macro in self._direct(name, names):
            if macro is not None:
                macros[macro] = None
            seen.add((use.path, use.at))
            if path is None or use.path == path:
                yield use
        done: set[Name] = set()
        while macros:
            using, _ = macros.popitem()
            done.add(using)
            for use, macro in self._direct(using.name, frozenset((using,))):
                if macro is not None:
                    if macro not in done:
                        macros[macro] = None
                elif not _names_macro(use.flags) and (use.path, use.at) not in seen:
                    seen.add((use.path, use.at))
                    if path is None or use.path == path:
                        yield ResolvedReference(use.path, use.at, use.flags, "likely", using.name)

    def _direct(
        self, name: str, names: frozenset[Name]
    ) -> Iterator[tuple[ResolvedReference, Name | None]]:
        """Yield uses with the symbol's own name, each with the macro whose text contains it."""
        for file, numbers in self._session.uses(name):
            for at, flags, receiver in numbers if file.rules.linkage else ():
                found = self.meaning(file, name, at, flags, receiver)
                if found is None:
                    guessed = self.guess(file, name, file.receiver(receiver))
                    if names.isdisjoint(guessed) and not self.possible(file, name, names):
                        self.undecided += 1
                        continue
                elif names.isdisjoint(found):
                    continue
                scope = file.scopes[file.scope_at(at)]
                macro = (
                    Name(file.path, 0, scope.name, space="macro") if scope.kind == "macro" else None
                )
                # Names in a macro may have another meaning where the macro is used.
                sure = found is not None and macro is None
                yield (
                    ResolvedReference(file.path, at, flags, "certain" if sure else "likely"),
                    macro,
                )

    def meaning(
        self, file: ResolverFile, name: str, at: int, flags: int, receiver: int
    ) -> list[Name] | None:
        """Return the meanings of the name at an offset, or None for a member of something
        unknown."""
        role = flags & ROLE
        scope = file.scope_at(at)
        if role == LABEL:
            while file.scopes[scope].kind != "function" and scope > 0:
                scope = file.scopes[scope].parent
            return [Name(file.path, scope, name, space="label")]
        if role == MACRO:
            return [Name(file.path, 0, name, space="macro")]
        if role == MEMBER:
            return self._own_member(file, scope, name)
        if role == ATTRIBUTE:
            return self._attribute(file, scope, name, file.receiver(receiver))
        if role == KEY:
            before = file.receiver(receiver)
            if before.steps[:1] == (FieldsStep(),):
                return self._attribute(file, scope, name, before)
            return self._key(file, scope, name)
        if flags & BINDS and classes_hold(file):
            around = beyond_templates(file, scope)
            one = file.scopes[around]
            if one.kind == "class" and not flags & PARAMETER:
                if one.name != name:
                    return self._own_member(file, around, name)
                scope = one.parent  # a constructor
        elif role == TAG:
            return self.names.tag(file, name)
        found = self.names.ordinary(file, scope, name, typed=bool(flags & IN_TYPE))
        if flags & BINDS:
            return [one for one in found if one.space != "macro"] or self._enumerator(file, name)
        if flags & SHORTHAND and found and found[0].path == "" and self.names.definers(name):
            return None  # the argument of a macro, `container_of(a, struct b, c)`
        return found

    def _attribute(
        self, file: ResolverFile, scope: int, name: str, receiver: Expression
    ) -> list[Name] | None:
        if not receiver.steps:
            return self._key(file, scope, name) if _initializes(file, scope) else None
        if classes_hold(file) and receiver.names:
            found = self.names.named_in(file, "::".join(receiver.names), name)
            if found:
                return found
        owners = self.names.of(file, scope, receiver)
        if not known(owners) and self.guess(file, name, receiver):
            return None
        if not owners:
            last = receiver.steps[-1]
            is_namespace = isinstance(last, NameStep) and self.names.is_namespace(last.name)
            return [] if classes_hold(file) and is_namespace else None
        if any(owner.name == name for owner in owners) and classes_hold(file):
            return self._of_owner(owners, name) or [Name("", 0, name)]
        found = self.names.member(owners, name)
        if found:
            return found
        # An unknown base may define it, or what a smart pointer of the workspace points to.
        items = [it for one in known(owners) if isinstance(one, Template) for it in one.items]
        return None if any(map(self._derived, owners)) or self.names.member(items, name) else []

    def guess(self, file: ResolverFile, name: str, receiver: Expression) -> list[Name]:
        """Return the meanings of a qualified name whose first namespace may be opened by a macro.

        If no declaration opens the first namespace, the name is looked up in the rest of the path.
        """
        if not classes_hold(file) or not receiver.names:
            return []
        first, *rest = receiver.names
        while rest:
            namespace = "::".join(rest)
            found = [binding for binding in self.names.bound(name) if binding.owner == namespace]
            if found:
                is_known = first == ELSEWHERE or self.names.is_namespace(first)
                return (
                    []
                    if is_known
                    else self.names.visibility.linked(
                        found, self.names.visibility.seen(file, found)
                    )
                )
            rest = rest[1:]
        return []

    def _derived(self, owner: Class) -> bool:
        """Return True if a class has an unknown base."""
        for ancestor in self.names.above(owner):
            file = self._session.file(ancestor.path)
            for base in file.scope_table.bases.get(ancestor.scope, ()) if file else ():
                if file and not known(self.names.declared(file, ancestor.scope, base)):
                    return True
        return False

    def _of_owner(self, owners: Iterable[Class], name: str) -> list[Name]:
        """Return the class that its constructor `A::A` names."""
        return [
            target
            for owner in owners
            if owner.name == name and (file := self._session.file(owner.path)) is not None
            for target in self.names.ordinary(
                file, file.scopes[owner.scope].parent, name, typed=True
            )
        ]

    def _key(self, file: ResolverFile, scope: int, name: str) -> list[Name] | None:
        """Return the meanings of a named field in an initializer."""
        if _initializes(file, scope):
            return self.names.initialized(file, scope, name) or None
        found = self.names.member(self.names.this(file, scope), name)
        return found or self.names.ordinary(file, scope, name)

    def _enumerator(self, file: ResolverFile, name: str) -> list[Name]:
        """Return the definitions that a macro of the same name hides."""
        candidates = [
            candidate for candidate in self.names.bound(name) if candidate.target.space == ""
        ]
        return self.names.visibility.linked(
            candidates, self.names.visibility.seen(file, candidates)
        )

    def _own_member(self, file: ResolverFile, scope: int, name: str) -> list[Name]:
        """Return the declarations of a member: its own, and those in copies of its class."""
        label = file.scopes[scope].name
        if classes_hold(file):
            if label == name:  # a constructor
                return self.names.ordinary(file, file.scopes[scope].parent, name, typed=True)
            return self.names.member((Class(file.path, scope, label),), name)
        found = [Name(file.path, scope, name)]
        for definer in self.names.definers(name) if label else ():
            copy = Name(definer.path, definer.scope, name)
            if definer.name == label and are_copies(copy, found[0]):
                found.append(copy)
        return found

    def with_namesakes(self, targets: Iterable[Target]) -> list[Target]:
        """Add the typedef of each tag, and the tag of each typedef, of the same name.

        `typedef struct a {…} a;` declares both.
        """
        found = dict.fromkeys(targets)
        for target in list(found):
            if isinstance(target, Name) and target.space in ("", "tag"):
                found.update(dict.fromkeys(self._namesakes(target)))
        return list(found)

    def _namesakes(self, target: Name) -> Iterator[Name]:
        places = [target]
        if target.space == "tag":
            places = [it.target for it in self.names.bound(target.name) if it.target.space == ""]
        for typedef in places:
            file = self._session.file(typedef.path)
            if file is None or classes_hold(file):
                continue
            if file.scope_table.aliases.get(target.name) == f"struct {target.name}":
                tags = self.names.tag(file, target.name)
                if target == typedef:
                    yield from tags
                elif target in tags:
                    yield typedef

    def possible(self, file: ResolverFile, name: str, targets: frozenset[Name]) -> bool:
        """Return True if a member of something unknown can only be one of the targets."""
        definers = self.names.definers(name)
        ours = [definer for definer in definers if member_of(definer, name) in targets]
        if not ours:
            return False
        if len(ours) < len(definers):
            near = {
                "",
                *(path for level in self.names.visibility.reached(file.path) for path in level),
            }
            definers = [definer for definer in definers if definer.path in near]
            ours = [definer for definer in ours if definer.path in near]
        names = {
            (definer.path, definer.name) if not definer.name else definer.name for definer in ours
        }
        return bool(ours) and all(
            definer in ours or (definer.name and definer.name in names) for definer in definers
        )


def _names_macro(flags: int) -> bool:
    """Return True if a macro is defined or undefined here, so that its text is not used."""
    return flags & ROLE == MACRO or bool(flags & MENTIONED)


def _initializes(file: ResolverFile, scope: int) -> bool:
    return file.scopes[scope].kind == "initializer"
