"""Resolve names of C and C++: names of the whole program, or of a file and its includers.

The meaning of a name depends first on its scope, then on its file, then on the included files,
nearest first. Two declarations with linkage declare one symbol, so a meaning is the list of all of
them. Members are found by declared types. Macros count as their text: a use of a macro uses every
name in it, as it does for a compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from winnow.symbols.expressions import (
    CALL,
    INITIALIZED,
    AssignedValue,
    CastStep,
    DeclaredType,
    Expression,
    FieldsStep,
    ItemStep,
    NameStep,
    Step,
    TypeSource,
    leading_names,
    macro_key,
    unnamed_scope,
)
from winnow.symbols.file_symbols import (
    ATTRIBUTE,
    BINDS,
    DEFINES,
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
    unpack_numbers,
)
from winnow.symbols.resolve import signatures
from winnow.symbols.resolve.names import Name, ResolvedReference, Target
from winnow.symbols.resolve.rules import shared_folders
from winnow.symbols.resolve.session import Evaluations, ResolverFile, Session, cached_method
from winnow.symbols.resolve.types import Class

LOCAL = frozenset(("function", "block", "prototype", "macro", "initializer", "template"))
# Extensions of files that are usually not included.
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".m", ".mm")
ELSEWHERE = "std"  # a namespace that macros do not open
UNNAMED = "{}"  # an unnamed enumeration
LISTED = 3  # the maximum number of unnamed braces around a named field
DEPTH = 12  # the maximum number of declarations in a chain
INCLUDED = 3_000  # the maximum number of files that a file includes, directly or not


class Bound(Struct, frozen=True, gc=False):
    """A binding of a name that other files may see. Only includers see ``private`` ones. ``enum``
    is the enumeration that it belongs to, ``owner`` the namespace."""

    target: Name
    private: bool
    enum: str = ""
    owner: str = ""


class Template(Class, frozen=True, gc=False):
    """An instance of a template, and the classes among its arguments: those of its items, or the
    target of a smart pointer."""

    items: tuple[Class, ...] = ()


# The result of a function that the workspace doesn't define. It can depend on the arguments.
RESULT = Template("", 0, "")
_TYPE = re.compile(
    r"(?:(?:const|struct|class|typename|volatile)\s+)*((?:::)?\w+(?:::\w+)*)\s*(?:<(.*)>)?"
)


class Linker:
    """Resolves names in one view, for one request."""

    def __init__(self, session: Session) -> None:
        self.session = session
        # Uses that may be of the symbol, or of another one with the same name.
        self.undecided = 0
        self._bound: dict[str, list[Bound]] = {}
        self._members: dict[str, list[Class]] = {}
        # Namespaces that macros open: names in them appear to be outside.
        self._opened: set[str] = set()
        self._above: dict[Class, list[Class]] = {}
        self._levels: dict[str, list[list[str]]] = {}
        # The classes that an expression can have. Pointers and arrays count as their targets.
        self.of = Evaluations[tuple[Class, ...]](self._evaluate, DEPTH, ()).of
        self._resolving: set[Name] = set()  # aliases, which may be circular

    # --- uses ------------------------------------------------------------------------------

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
        for file, numbers in self.session.uses(name):
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

    # --- what an occurrence means ----------------------------------------------------------

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
        if flags & BINDS and _classes_hold(file):
            around = _beyond_templates(file, scope)
            one = file.scopes[around]
            if one.kind == "class" and not flags & PARAMETER:
                if one.name != name:
                    return self._own_member(file, around, name)
                scope = one.parent  # a constructor
        elif role == TAG:
            return self.tag(file, name)
        found = self.ordinary(file, scope, name, typed=bool(flags & IN_TYPE))
        if flags & BINDS:
            return [one for one in found if one.space != "macro"] or self._enumerator(file, name)
        if flags & SHORTHAND and found and found[0].path == "" and self.definers(name):
            return None  # the argument of a macro, `container_of(a, struct b, c)`
        return found

    def _attribute(
        self, file: ResolverFile, scope: int, name: str, receiver: Expression
    ) -> list[Name] | None:
        if not receiver.steps:
            return self._key(file, scope, name) if _initializes(file, scope) else None
        if _classes_hold(file) and receiver.names:
            found = self._in_namespace(file, "::".join(receiver.names), name)
            if found:
                return found
        owners = self.of(file, scope, receiver)
        if not _known(owners) and self.guess(file, name, receiver):
            return None
        if not owners:
            last = receiver.steps[-1]
            is_namespace = isinstance(last, NameStep) and self._is_namespace(last.name)
            return [] if _classes_hold(file) and is_namespace else None
        if any(owner.name == name for owner in owners) and _classes_hold(file):
            return self._of_owner(owners, name) or [Name("", 0, name)]
        found = self.member(owners, name)
        if found:
            return found
        # An unknown base may define it, or what a smart pointer of the workspace points to.
        items = [it for one in _known(owners) if isinstance(one, Template) for it in one.items]
        return None if any(map(self._derived, owners)) or self.member(items, name) else []

    def guess(self, file: ResolverFile, name: str, receiver: Expression) -> list[Name]:
        """Return the meanings of a qualified name whose first namespace may be opened by a macro.

        If no declaration opens the first namespace, the name is looked up in the rest of the path.
        """
        if not _classes_hold(file) or not receiver.names:
            return []
        first, *rest = receiver.names
        while rest:
            namespace = "::".join(rest)
            found = [binding for binding in self.bound(name) if binding.owner == namespace]
            if found:
                is_known = first == ELSEWHERE or self._is_namespace(first)
                return [] if is_known else self._linked(found, self._seen(file, found))
            rest = rest[1:]
        return []

    def _derived(self, owner: Class) -> bool:
        """Return True if a class has an unknown base."""
        for ancestor in self.above(owner):
            file = self.session.file(ancestor.path)
            for base in file.scope_table.bases.get(ancestor.scope, ()) if file else ():
                if file and not _known(self.declared(file, ancestor.scope, base)):
                    return True
        return False

    def _is_namespace(self, name: str) -> bool:
        return any(
            scope.kind == "namespace" and scope.name.rpartition("::")[2] == name
            for binding in self.bound(name)
            if (file := self.session.file(binding.target.path)) is not None
            for scope in file.scopes
        )

    def _of_owner(self, owners: Iterable[Class], name: str) -> list[Name]:
        """Return the class that its constructor `A::A` names."""
        return [
            target
            for owner in owners
            if owner.name == name and (file := self.session.file(owner.path)) is not None
            for target in self.ordinary(file, file.scopes[owner.scope].parent, name, typed=True)
        ]

    def _key(self, file: ResolverFile, scope: int, name: str) -> list[Name] | None:
        """Return the meanings of a named field in an initializer."""
        if _initializes(file, scope):
            return self._initialized(file, scope, name) or None
        found = self.member(self._this(file, scope), name)
        return found or self.ordinary(file, scope, name)

    def _initialized(self, file: ResolverFile, scope: int, name: str) -> list[Name]:
        """Return the fields of this name that the enclosing braces can initialize.

        Braces in a list without names initialize a field of the enclosing object.
        """
        sources = file.type_sources(scope, INITIALIZED)
        owners = self._from(file, file.scopes[scope].parent, sources)
        for _ in range(LISTED):
            found = self.member(owners, name)
            if found:
                return found
            owners = self._fields(owners)
        return []

    def _fields(self, owners: Iterable[Class]) -> tuple[Class, ...]:
        """Return the classes of the fields of some classes."""
        found: dict[Class, None] = {}
        for owner in owners:
            file = self.session.file(owner.path)
            for field in file.scope_table.types.get(owner.scope, {}) if file else ():
                for source in file.type_sources(owner.scope, field) if file else ():
                    if file is not None and isinstance(source, DeclaredType):
                        found.update(dict.fromkeys(self.declared(file, owner.scope, source.type)))
        return tuple(found)

    def _this(self, file: ResolverFile, scope: int) -> tuple[Class, ...]:
        """Return the class that the function around a scope is a member of."""
        while scope > 0:
            here = file.scopes[scope]
            if here.kind == "class":
                return (Class(file.path, scope, here.name),)
            if here.kind == "function" and "::" in here.name:
                return self.declared(file, here.parent, here.name.rpartition("::")[0])
            scope = here.parent
        return ()

    def _enumerator(self, file: ResolverFile, name: str) -> list[Name]:
        """Return the definitions that a macro of the same name hides."""
        candidates = [candidate for candidate in self.bound(name) if candidate.target.space == ""]
        return self._linked(candidates, self._seen(file, candidates))

    def _own_member(self, file: ResolverFile, scope: int, name: str) -> list[Name]:
        """Return the declarations of a member: its own, and those in copies of its class."""
        label = file.scopes[scope].name
        if _classes_hold(file):
            if label == name:  # a constructor
                return self.ordinary(file, file.scopes[scope].parent, name, typed=True)
            return self.member((Class(file.path, scope, label),), name)
        found = [Name(file.path, scope, name)]
        for definer in self.definers(name) if label else ():
            copy = Name(definer.path, definer.scope, name)
            if definer.name == label and _twins(copy, found[0]):
                found.append(copy)
        return found

    def ordinary(
        self, file: ResolverFile, scope: int, name: str, *, typed: bool = False
    ) -> list[Name]:
        """Return the meanings of a name without a receiver: scope by scope, then globally.
        ``typed`` names are types."""
        bound = self._local(file, name, typed)
        in_classes = _classes_hold(file)
        owner = self._namespace(file, scope) if in_classes else ""
        while scope > 0:
            here = file.scopes[scope]
            if scope in bound and here.kind in LOCAL:
                return [Name(file.path, scope, name)]
            holds = here.kind == "class" or (here.kind == "function" and "::" in here.name)
            if in_classes and holds and here.name != name:
                found = self.member(self._this(file, scope), name)
                if found:
                    return found
            scope = here.parent
        return self.globally(file, name, owner)

    @cached_method
    def _local(self, file: ResolverFile, name: str, typed: bool) -> frozenset[int]:
        """Return the scopes of a file that bind a name."""
        found = (
            (file.scope_at(at), flags)
            for at, flags, _ in self.session.unpacked(file, name)
            if flags & BINDS
            and flags & ROLE not in (TAG, MACRO, MEMBER, ATTRIBUTE, LABEL)
            and (not typed or flags & IN_TYPE)
        )
        return frozenset(
            scope
            for scope, flags in found
            if flags & PARAMETER or file.scopes[scope].kind not in ("template", "macro")
        )

    def _namespace(self, file: ResolverFile, scope: int) -> str:
        """Return the namespace around a scope."""
        names = []
        while scope > 0:
            here = file.scopes[scope]
            if here.kind == "namespace" and here.name:
                names.append(here.name)
            elif here.kind == "function" and "::" in here.name:
                names.append(here.name.rpartition("::")[0])
            scope = here.parent
        return "::".join(reversed(names))

    # --- names of the program --------------------------------------------------------------

    def bound(self, name: str) -> list[Bound]:
        """Return all bindings of a name outside of functions."""
        if name not in self._bound:
            self._read(name)
        return self._bound[name]

    def definers(self, name: str) -> list[Class]:
        """Return all classes that have a member of this name."""
        if name not in self._members:
            self._read(name)
        return self._members[name]

    def _read(self, name: str) -> None:
        bound: dict[Bound, None] = {}
        members: dict[Class, None] = {}
        outside: list[tuple[ResolverFile, int, int]] = []
        for found_in, packed in self.session.view.occurrences(name):
            numbers = [each for each in unpack_numbers(packed) if each[1] & (BINDS | DEFINES)]
            file = self.session.file(found_in.path) if numbers else None
            if file is not None and file.rules.linkage:
                for at, flags, receiver in numbers:
                    if flags & BINDS:
                        self._read_one(file, name, at, flags, bound, members)
                    elif flags & ROLE == ATTRIBUTE:
                        outside.append((file, at, receiver))
        self._bound[name] = list(bound)
        self._members[name] = list(members)  # finding the classes below may need them
        self._members[name] += self._undeclared(name, outside)

    def _undeclared(
        self, name: str, places: Iterable[tuple[ResolverFile, int, int]]
    ) -> Iterable[Class]:
        """Return the classes that don't declare a member defined as `A::member` in some places."""
        found: dict[Class, None] = {}
        for file, at, receiver in places:
            owners = self.of(file, file.scope_at(at), file.receiver(receiver))
            if not self.member(owners, name):
                found.update((one, None) for one in owners[:1] if one.name not in ("", name))
        return found

    def _read_one(
        self,
        file: ResolverFile,
        name: str,
        at: int,
        flags: int,
        bound: dict[Bound, None],
        members: dict[Class, None],
    ) -> None:
        role = flags & ROLE
        if role == MACRO:
            bound[Bound(Name(file.path, 0, name, space="macro"), True)] = None
            return
        scope = file.scope_at(at)
        in_classes = _classes_hold(file)
        around = file.scopes[scope]
        if around.kind == "macro" and not flags & PARAMETER:
            self._opened.add(name)
            bound[Bound(Name(file.path, 0, name), False)] = None
            return
        if in_classes and not flags & PARAMETER:
            scope = _beyond_templates(file, scope)
        enum = around.name or UNNAMED if around.kind == "enum" else ""
        if enum:
            scope = around.parent
        if role == MEMBER or (in_classes and file.scopes[scope].kind == "class"):
            if file.scopes[scope].name != name:
                members[Class(file.path, scope, file.scopes[scope].name)] = None
            return
        if role == TAG:
            scope = scope if in_classes else 0
            if file.scopes[scope].kind not in LOCAL:
                owner = self._namespace(file, scope) if in_classes else ""
                bound[Bound(Name(file.path, scope, name, space="tag"), False, "", owner)] = None
            return
        # In C, an enumeration inside a struct is visible outside of it.
        while file.scopes[scope].kind == "class":
            scope = file.scopes[scope].parent
        if file.scopes[scope].kind not in LOCAL:
            scope_found = file.scopes[scope]
            private = name in file.scope_table.private or (
                scope_found.kind == "namespace" and not scope_found.name
            )
            owner = self._namespace(file, scope) if in_classes else ""
            bound[Bound(Name(file.path, scope, name), private, enum, owner)] = None

    @cached_method
    def globally(self, file: ResolverFile, name: str, owner: str = "") -> list[Name]:
        """Return the meanings of a name outside of functions, seen from a file and a namespace."""
        candidates = self.bound(name)
        if _classes_hold(file):
            candidates = self._around(file, candidates, owner)
        else:
            candidates = [binding for binding in candidates if binding.target.space != "tag"]
        if candidates:
            return self._linked(candidates, self._seen(file, candidates))
        # Declared outside the workspace, unless it is a member.
        is_external = not self.definers(name) or not _classes_hold(file)
        return [Name("", 0, name)] if is_external else []

    def _around(self, file: ResolverFile, candidates: list[Bound], owner: str) -> list[Bound]:
        """Return the candidates visible in a namespace.

        Those of the innermost enclosing namespace come first, then those of namespaces that the
        file uses, then any if all are of one namespace (argument-dependent lookup in a call).
        """
        macros = [binding for binding in candidates if binding.target.space == "macro"]
        place = owner
        while True:
            found = [
                binding
                for binding in candidates
                if binding.owner == place and binding not in macros
            ]
            if found or not place:
                break
            place = place.rpartition("::")[0]
        if not found:
            used = [binding.module for binding in file.scope_table.imports if binding.module]
            found = [
                binding for binding in candidates if any(_within(binding.owner, it) for it in used)
            ]
        if (
            not found
            and len({binding.owner for binding in candidates if binding not in macros}) == 1
        ):
            found = [binding for binding in candidates if binding not in macros]
        return found + macros

    def _in_namespace(self, file: ResolverFile, namespace: str, name: str) -> list[Name]:
        """Return the meanings of `namespace::name`; the namespace may be an enumeration."""
        first, sign, rest = namespace.partition("::")
        for binding in file.imports.get(first, ()):
            if not binding.name:
                namespace = binding.module + sign + rest
        self.bound(first)
        while first in self._opened and namespace:
            namespace = namespace.partition("::")[2]
            first = namespace.partition("::")[0]
        last = namespace.rpartition("::")[2]
        candidates = [
            binding
            for binding in self.bound(name)
            if binding.target.space != "macro"
            and (
                _within(binding.owner, namespace)
                or (binding.enum == last if last else binding.owner == namespace)
            )
        ]
        exact = [binding for binding in candidates if binding.owner == namespace] or candidates
        return self._linked(exact, self._seen(file, exact))

    def _linked(self, candidates: list[Bound], seen: list[Bound]) -> list[Name]:
        """Return the declarations of visible bindings; with linkage, those in all files."""
        macros = [binding.target for binding in seen if binding.target.space == "macro"]
        if macros:
            # `#define A A` means the name that it hides. Otherwise, conditions select the macro or
            # the name.
            places = {binding.path for binding in macros}
            own = any(self._names_itself(binding) for binding in macros)
            seen = [
                binding
                for binding in seen
                if binding.target.path in places
                and (own or not binding.enum or binding.target.space == "macro")
            ]
        found = dict.fromkeys(binding.target for binding in seen)
        for binding in seen:
            if binding.enum not in ("", UNNAMED):
                twins = (it for it in candidates if it.enum == binding.enum)
                found.update((it.target, None) for it in twins if _twins(it.target, binding.target))
        if any(not binding.private for binding in seen):
            found.update((binding.target, None) for binding in candidates if not binding.private)
        return list(found)

    def _names_itself(self, macro: Name) -> bool:
        file = self.session.file(macro.path)
        itself = AssignedValue(Expression((NameStep(macro.name),)))
        return file is not None and file.type_sources(0, macro_key(macro.name)) == (itself,)

    def _seen(self, file: ResolverFile, candidates: list[Bound]) -> list[Bound]:
        """Return the candidates visible in a file."""
        if not candidates:
            return []
        here = [binding for binding in candidates if binding.target.path == file.path]
        if here:
            return here
        paths = {binding.target.path for binding in candidates}
        if not all(binding.private for binding in candidates) and all(
            not binding.private or binding.target.path.endswith(SOURCES) for binding in candidates
        ):
            return [binding for binding in candidates if not binding.private]
        if len(paths) == 1:
            [path] = paths
            if path.endswith(SOURCES) and path not in self._included(file.path):
                return []
            return candidates
        near = self._nearest(file.path, paths)
        if near:
            return [binding for binding in candidates if binding.target.path in near]
        # A header may rely on headers included before it.
        headers = [
            binding
            for binding in candidates
            if not binding.private or not binding.target.path.endswith(SOURCES)
        ]
        if not headers:
            return []
        share = max(shared_folders(binding.target.path, file.path) for binding in headers)
        return [
            binding
            for binding in headers
            if shared_folders(binding.target.path, file.path) == share
        ]

    def _nearest(self, path: str, paths: set[str]) -> set[str]:
        """Return those files that a file includes by the shortest path."""
        for level in self._reached(path):
            near = paths.intersection(level)
            if near:
                return near
        return set()

    def _reached(self, path: str) -> Iterator[list[str]]:
        """Yield the files that a file includes, level by level."""
        levels = self._levels.setdefault(path, [[path]])
        depth, count = 0, 0
        while count < INCLUDED:
            if depth == len(levels):
                reached = {each for level in levels for each in level}
                following = dict.fromkeys(
                    found for each in levels[-1] for found in self._included(each)
                )
                levels.append([each for each in following if each not in reached])
            if not levels[depth]:
                return
            yield levels[depth]
            count += len(levels[depth])
            depth += 1

    def _included(self, path: str) -> list[str]:
        file = self.session.file(path)
        if file is None:
            return []
        found = (self.session.module(file, name) for name in file.scope_table.stars)
        return [included for included in found if included is not None]

    @cached_method
    def tag(self, file: ResolverFile, name: str) -> list[Name]:
        """Return the meanings of `struct name`: the nearest definitions."""
        candidates = [
            binding.target for binding in self.bound(name) if binding.target.space == "tag"
        ]
        paths = {target.path for target in candidates}
        near = self._nearest(file.path, paths) if len(paths) > 1 else paths
        found = [target for target in candidates if not near or target.path in near]
        for target in candidates:
            if target not in found and any(_twins(target, each) for each in found):
                found.append(target)
        return found or [Name("", 0, name, space="tag")]

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
            places = [it.target for it in self.bound(target.name) if it.target.space == ""]
        for typedef in places:
            file = self.session.file(typedef.path)
            if file is None or _classes_hold(file):
                continue
            if file.scope_table.aliases.get(target.name) == f"struct {target.name}":
                tags = self.tag(file, target.name)
                if target == typedef:
                    yield from tags
                elif target in tags:
                    yield typedef

    # --- types -----------------------------------------------------------------------------

    def _evaluate(
        self, file: ResolverFile, scope: int, expression: Expression
    ) -> tuple[Class, ...]:
        if not expression.steps:
            return ()
        first, rest = expression.steps[0], expression.steps[1:]
        value: tuple[Class, ...] = ()
        if isinstance(first, CastStep):
            value = self.declared(file, scope, first.type)
            if not _known(value) and rest[1:2] == (CALL,):
                rest = rest[2:]  # `QSharedPointer<A>::create()` returns such a pointer
        elif isinstance(first, FieldsStep):  # `{.a.b = 1}`
            value = self._of_names(self._initialized(file, scope, leading_names(rest)[0]))
            rest = rest[1:]
        elif isinstance(first, NameStep):
            value, rest = self._first(file, scope, first.name, rest)
            if not _known(value) and file.scopes[scope].kind == "macro":
                return ()  # a name that is declared where the macro is used
        for step in rest:
            if isinstance(step, NameStep):
                value = self._of_member(value, step.name)
            elif isinstance(step, ItemStep):
                value = tuple(item for each in value for item in _items(each))
        return value

    def _of_member(self, owners: tuple[Class, ...], name: str) -> tuple[Class, ...]:
        """Return the classes of a member. Those of external classes are external, unless they are
        templates."""
        if _known(owners):
            return self._of_names(self.member(owners, name))
        return () if any(isinstance(owner, Template) for owner in owners) else owners

    def _first(
        self, file: ResolverFile, scope: int, name: str, rest: tuple[Step, ...]
    ) -> tuple[tuple[Class, ...], tuple[Step, ...]]:
        """Return the classes of the start of an expression, and the remaining steps."""
        if _classes_hold(file):
            if name == "this":
                return self._this(file, scope), rest
            namespace = name
            for place, step in enumerate(rest):
                if isinstance(step, ItemStep):
                    break
                if not isinstance(step, NameStep):
                    continue
                names = self._in_namespace(file, namespace, step.name)
                if names:
                    return self._of_names(names), rest[place + 1 :]
                if not all(isinstance(after, NameStep) for after in rest[place + 1 : place + 2]):
                    break
                namespace = f"{namespace}::{step.name}"
            if namespace != name and self._is_namespace(name):
                return (_external(namespace),), ()
        names = self.ordinary(file, scope, name)
        if _classes_hold(file) and names and names[0].path == "" and _is_library_call(name, rest):
            return (RESULT,), rest[rest.index(CALL) + 1 :]
        return self._of_names(names) or self._of_macros(file, scope, names), rest

    def _from(
        self, file: ResolverFile, scope: int, sources: tuple[TypeSource, ...]
    ) -> tuple[Class, ...]:
        """Return the classes that the first source of a name in a scope gives."""
        for source in sources[:1]:
            if isinstance(source, DeclaredType):
                return self.declared(file, scope, source.type)
            return self.of(file, scope, source.value)
        return ()

    def _of_names(self, names: Iterable[Name]) -> tuple[Class, ...]:
        """Return the classes of the first name that has a known type."""
        for name in names:
            if name.path == "":
                return () if name.space.endswith("::") else (_external(name.name),)
            file = self.session.file(name.path)
            classes = self._of_class(file, name) if file else ()
            if classes:
                return classes
            sources = file.type_sources(name.scope, name.name) if file else ()
            found = self._from(file, name.scope, sources) if file else ()
            if found:
                return found
        return ()

    def _of_macros(
        self, file: ResolverFile, scope: int, names: Iterable[Name]
    ) -> tuple[Class, ...]:
        """Return the classes of a macro's text, evaluated where it is used."""
        for macro in names:
            home = self.session.file(macro.path) if macro.space == "macro" else None
            sources = home.type_sources(0, macro_key(macro.name)) if home else ()
            if sources:
                return self._from(file, scope, sources)
        return ()

    def declared(self, file: ResolverFile, scope: int, text: str) -> tuple[Class, ...]:
        """Return the classes that a type names."""
        if (start := unnamed_scope(text)) is not None:  # the offset of a scope
            return tuple(
                Class(file.path, number, "")
                for number, one in enumerate(file.scopes)
                if one.start == start
            )
        if text.startswith("struct ") and not _classes_hold(file):
            tags = self.tag(file, text[7:])
            return (_external(text),) if tags[0].path == "" else self._of_tags(tags)
        parts = _TYPE.match(text)
        if parts is None:
            return ()
        qualifier, _, name = parts[1].strip(":").rpartition("::")
        if qualifier:
            names = self._in_namespace(file, qualifier, name)
            if not names:
                names = self.member(self.declared(file, scope, qualifier), name)
        else:
            names = self.ordinary(file, scope, name, typed=True)
        found: dict[Class, None] = {}
        if all(one.path == "" for one in names) and (names or parts[2]):
            found[_external(name)] = None
        for one in names:
            home = self.session.file(one.path)
            if home is not None:
                found.update(dict.fromkeys(self._of_class(home, one)))
        if parts[2]:
            return self._of_template(file, scope, found, parts[2])
        return tuple(found) or self._of_macros(file, scope, names)

    def _of_template(
        self, file: ResolverFile, scope: int, templates: Iterable[Class], arguments: str
    ) -> tuple[Class, ...]:
        """Return the classes of templates with arguments."""
        parts = signatures.split(arguments, ",")
        found = [self.declared(file, scope, text.strip()) for text in parts]
        items: tuple[Class, ...] = ()
        if all(found) or any(map(_known, found)):
            items = tuple(dict.fromkeys(one for each in found for one in each))
        return tuple(Template(each.path, each.scope, each.name, items) for each in templates)

    def _of_class(self, home: ResolverFile, name: Name) -> tuple[Class, ...]:
        """Return the classes that a name denotes, directly or as an alias."""
        if name.space == "tag":
            return self._of_tags((name,))
        if _classes_hold(home) and home.scopes[name.scope].kind == "class":
            inner = self._classes(name.path).get(name.name, ())
            classes = tuple(
                Class(name.path, scope, name.name)
                for scope in inner
                if _beyond_templates(home, home.scopes[scope].parent) == name.scope
            )
            if classes:
                return classes
        alias = home.scope_table.aliases.get(name.name)
        if not alias or alias == name.name or name in self._resolving:
            return ()
        self._resolving.add(name)
        try:
            return self.declared(home, name.scope, alias)
        finally:
            self._resolving.discard(name)

    def _of_tags(self, tags: Iterable[Name]) -> tuple[Class, ...]:
        return tuple(
            Class(tag.path, scope, tag.name)
            for tag in tags
            for scope in self._classes(tag.path).get(tag.name, ())
        )

    @cached_method
    def _classes(self, path: str) -> dict[str, list[int]]:
        """Return the class scopes of a file, by name."""
        found: dict[str, list[int]] = {}
        file = self.session.file(path)
        for number, scope in enumerate(file.scopes if file else ()):
            if scope.kind == "class" and scope.name:
                found.setdefault(scope.name, []).append(number)
        return found

    def member(self, owners: Iterable[Class], name: str) -> list[Name]:
        """Return the members of this name that some classes have."""
        found: dict[Name, None] = {}
        definers = self.definers(name)
        for owner in owners:
            for base in self.above(owner):
                target = _member_of(base, name)
                if any(target == _member_of(each, name) for each in definers):
                    found[target] = None
        return list(found)

    def above(self, owner: Class) -> list[Class]:
        """Return a class, its bases, and its unnamed members, whose members are also its own."""
        cached = self._above.get(owner)
        if cached is not None:
            return cached
        found, todo = [owner], [owner]
        self._above[owner] = found  # code being edited may contain circular inheritance
        while todo and len(found) < 60:
            each = todo.pop()
            file = self.session.file(each.path)
            if file is None:
                continue
            for base in file.scope_table.bases.get(each.scope, ()):
                for base_class in self.declared(file, each.scope, base):
                    if base_class not in found:
                        found.append(base_class)
                        todo.append(base_class)
        return found

    def possible(self, file: ResolverFile, name: str, targets: frozenset[Name]) -> bool:
        """Return True if a member of something unknown can only be one of the targets."""
        definers = self.definers(name)
        ours = [definer for definer in definers if _member_of(definer, name) in targets]
        if not ours:
            return False
        if len(ours) < len(definers):
            near = {"", *(path for level in self._reached(file.path) for path in level)}
            definers = [definer for definer in definers if definer.path in near]
            ours = [definer for definer in ours if definer.path in near]
        names = {
            (definer.path, definer.name) if not definer.name else definer.name for definer in ours
        }
        return bool(ours) and all(
            definer in ours or (definer.name and definer.name in names) for definer in definers
        )


def _external(name: str) -> Class:
    """Return a class that no file of the workspace declares; its members are external."""
    return Class("", 0, name)


def _known(owners: Iterable[Class]) -> list[Class]:
    """Return the classes that the workspace declares."""
    return [owner for owner in owners if owner.path]


def _items(owner: Class) -> tuple[Class, ...]:
    """Return the classes of an item, or of what a pointer points to."""
    return owner.items if isinstance(owner, Template) and not owner.path else (owner,)


def _is_library_call(name: str, rest: tuple[Step, ...]) -> bool:
    """Return True for the call of a function in a namespace, such as `std::find(…)`."""
    names = (name, *leading_names(rest))
    return len(names) > 1 and rest[len(names) - 1 :][:1] == (CALL,) and "".join(names).islower()


def _member_of(owner: Class, name: str) -> Name:
    space = "" if owner.path else f"{owner.name}::"
    return Name(owner.path, owner.scope, name, space=space)


def _classes_hold(file: ResolverFile) -> bool:
    """Return True if classes and namespaces bind names, as in C++."""
    return file.rules.members_bare == "always"


def _names_macro(flags: int) -> bool:
    """Return True if a macro is defined or undefined here, so that its text is not used."""
    return flags & ROLE == MACRO or bool(flags & MENTIONED)


def _initializes(file: ResolverFile, scope: int) -> bool:
    return file.scopes[scope].kind == "initializer"


def _beyond_templates(file: ResolverFile, scope: int) -> int:
    """Return the scope that contains a template."""
    while file.scopes[scope].kind == "template":
        scope = file.scopes[scope].parent
    return scope


def _within(owner: str, namespace: str) -> bool:
    """Return True if `namespace::` can name members of ``owner``, also through inline
    namespaces."""
    return bool(owner) and f"::{namespace}::" in f"::{owner}::"


def _twins(first: Name, second: Name) -> bool:
    """Return True if two names can be copies of each other in a header and its source.

    Parser generators write the declarations into both instead of including the header.
    """
    a, b = first.path.rpartition("."), second.path.rpartition(".")
    return a[0] == b[0] and a[2] != b[2]
