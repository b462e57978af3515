"""Find the meanings of names and the classes of expressions; each needs the other."""

from __future__ import annotations

import re
from collections.abc import Iterable

from winnow.symbols.expressions import (
    CALL,
    INITIALIZED,
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
    IN_TYPE,
    LABEL,
    MACRO,
    MEMBER,
    PARAMETER,
    ROLE,
    TAG,
)
from winnow.symbols.resolve import signatures
from winnow.symbols.resolve.linkage.bindings import (
    LOCAL,
    Bound,
    beyond_templates,
    classes_hold,
    namespace_around,
    read_bindings,
)
from winnow.symbols.resolve.linkage.visibility import (
    Visibility,
    are_copies,
    in_namespace,
    is_within,
)
from winnow.symbols.resolve.names import Name
from winnow.symbols.resolve.session import Evaluations, ResolverFile, Session, cached_method
from winnow.symbols.resolve.types import Class

LISTED = 3  # the maximum number of unnamed braces around a named field
DEPTH = 12  # the maximum number of declarations in a chain


class Template(Class, frozen=True, gc=False):
    """An instance of a template, and the classes among its arguments: those of its items, or the
    target of a smart pointer."""

    items: tuple[Class, ...] = ()


# The result of a function that the workspace doesn't define. It can depend on the arguments.
RESULT = Template("", 0, "")
_TYPE = re.compile(
    r"(?:(?:const|struct|class|typename|volatile)\s+)*((?:::)?\w+(?:::\w+)*)\s*(?:<(.*)>)?"
)


class LinkedNames:
    """Finds the meanings of names and the classes of expressions, for one request."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.visibility = Visibility(session)
        self._bound: dict[str, list[Bound]] = {}
        self._members: dict[str, list[Class]] = {}
        # Namespaces that macros open: names in them appear to be outside.
        self._opened: set[str] = set()
        self._above: dict[Class, list[Class]] = {}
        # The classes that an expression can have. Pointers and arrays count as their targets.
        self.of = Evaluations[tuple[Class, ...]](self._evaluate, DEPTH, ()).of
        self._resolving: set[Name] = set()  # aliases, which may be circular

    def is_namespace(self, name: str) -> bool:
        return any(
            scope.kind == "namespace" and scope.name.rpartition("::")[2] == name
            for binding in self.bound(name)
            if (file := self.session.file(binding.target.path)) is not None
            for scope in file.scopes
        )

    def initialized(self, file: ResolverFile, scope: int, name: str) -> list[Name]:
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

    def this(self, file: ResolverFile, scope: int) -> tuple[Class, ...]:
        """Return the class that the function around a scope is a member of."""
        while scope > 0:
            here = file.scopes[scope]
            if here.kind == "class":
                return (Class(file.path, scope, here.name),)
            if here.kind == "function" and "::" in here.name:
                return self.declared(file, here.parent, here.name.rpartition("::")[0])
            scope = here.parent
        return ()

    def ordinary(
        self, file: ResolverFile, scope: int, name: str, *, typed: bool = False
    ) -> list[Name]:
        """Return the meanings of a name without a receiver: scope by scope, then globally.
        ``typed`` names are types."""
        bound = self._local(file, name, typed)
        in_classes = classes_hold(file)
        owner = namespace_around(file, scope) if in_classes else ""
        while scope > 0:
            here = file.scopes[scope]
            if scope in bound and here.kind in LOCAL:
                return [Name(file.path, scope, name)]
            holds = here.kind == "class" or (here.kind == "function" and "::" in here.name)
            if in_classes and holds and here.name != name:
                found = self.member(self.this(file, scope), name)
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
        found = read_bindings(self.session, name)
        if found.opened:
            self._opened.add(name)
        self._bound[name] = list(found.bound)
        self._members[name] = list(found.members)  # finding the classes below may need them
        self._members[name] += self._undeclared(name, found.outside)

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

    @cached_method
    def globally(self, file: ResolverFile, name: str, owner: str = "") -> list[Name]:
        """Return the meanings of a name outside of functions, seen from a file and a namespace."""
        candidates = self.bound(name)
        if classes_hold(file):
            candidates = in_namespace(file, candidates, owner)
        else:
            candidates = [binding for binding in candidates if binding.target.space != "tag"]
        if candidates:
            return self.visibility.linked(candidates, self.visibility.seen(file, candidates))
        # Declared outside the workspace, unless it is a member.
        is_external = not self.definers(name) or not classes_hold(file)
        return [Name("", 0, name)] if is_external else []

    def named_in(self, file: ResolverFile, namespace: str, name: str) -> list[Name]:
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
                is_within(binding.owner, namespace)
                or (binding.enum == last if last else binding.owner == namespace)
            )
        ]
        exact = [binding for binding in candidates if binding.owner == namespace] or candidates
        return self.visibility.linked(exact, self.visibility.seen(file, exact))

    @cached_method
    def tag(self, file: ResolverFile, name: str) -> list[Name]:
        """Return the meanings of `struct name`: the nearest definitions."""
        candidates = [
            binding.target for binding in self.bound(name) if binding.target.space == "tag"
        ]
        paths = {target.path for target in candidates}
        near = self.visibility.nearest(file.path, paths) if len(paths) > 1 else paths
        found = [target for target in candidates if not near or target.path in near]
        for target in candidates:
            if target not in found and any(are_copies(target, each) for each in found):
                found.append(target)
        return found or [Name("", 0, name, space="tag")]

    def _evaluate(
        self, file: ResolverFile, scope: int, expression: Expression
    ) -> tuple[Class, ...]:
        if not expression.steps:
            return ()
        first, rest = expression.steps[0], expression.steps[1:]
        value: tuple[Class, ...] = ()
        if isinstance(first, CastStep):
            value = self.declared(file, scope, first.type)
            if not known(value) and rest[1:2] == (CALL,):
                rest = rest[2:]  # `QSharedPointer<A>::create()` returns such a pointer
        elif isinstance(first, FieldsStep):  # `{.a.b = 1}`
            value = self._of_names(self.initialized(file, scope, leading_names(rest)[0]))
            rest = rest[1:]
        elif isinstance(first, NameStep):
            value, rest = self._first(file, scope, first.name, rest)
            if not known(value) and file.scopes[scope].kind == "macro":
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
        if known(owners):
            return self._of_names(self.member(owners, name))
        return () if any(isinstance(owner, Template) for owner in owners) else owners

    def _first(
        self, file: ResolverFile, scope: int, name: str, rest: tuple[Step, ...]
    ) -> tuple[tuple[Class, ...], tuple[Step, ...]]:
        """Return the classes of the start of an expression, and the remaining steps."""
        if classes_hold(file):
            if name == "this":
                return self.this(file, scope), rest
            namespace = name
            for place, step in enumerate(rest):
                if isinstance(step, ItemStep):
                    break
                if not isinstance(step, NameStep):
                    continue
                names = self.named_in(file, namespace, step.name)
                if names:
                    return self._of_names(names), rest[place + 1 :]
                if not all(isinstance(after, NameStep) for after in rest[place + 1 : place + 2]):
                    break
                namespace = f"{namespace}::{step.name}"
            if namespace != name and self.is_namespace(name):
                return (_external(namespace),), ()
        names = self.ordinary(file, scope, name)
        if classes_hold(file) and names and names[0].path == "" and _is_library_call(name, rest):
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
        if text.startswith("struct ") and not classes_hold(file):
            tags = self.tag(file, text[7:])
            return (_external(text),) if tags[0].path == "" else self._of_tags(tags)
        parts = _TYPE.match(text)
        if parts is None:
            return ()
        qualifier, _, name = parts[1].strip(":").rpartition("::")
        if qualifier:
            names = self.named_in(file, qualifier, name)
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
        if all(found) or any(map(known, found)):
            items = tuple(dict.fromkeys(one for each in found for one in each))
        return tuple(Template(each.path, each.scope, each.name, items) for each in templates)

    def _of_class(self, home: ResolverFile, name: Name) -> tuple[Class, ...]:
        """Return the classes that a name denotes, directly or as an alias."""
        if name.space == "tag":
            return self._of_tags((name,))
        if classes_hold(home) and home.scopes[name.scope].kind == "class":
            inner = self._classes(name.path).get(name.name, ())
            classes = tuple(
                Class(name.path, scope, name.name)
                for scope in inner
                if beyond_templates(home, home.scopes[scope].parent) == name.scope
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
                target = member_of(base, name)
                if any(target == member_of(each, name) for each in definers):
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


def _external(name: str) -> Class:
    """Return a class that no file of the workspace declares; its members are external."""
    return Class("", 0, name)


def known(owners: Iterable[Class]) -> list[Class]:
    """Return the classes that the workspace declares."""
    return [owner for owner in owners if owner.path]


def _items(owner: Class) -> tuple[Class, ...]:
    """Return the classes of an item, or of what a pointer points to."""
    return owner.items if isinstance(owner, Template) and not owner.path else (owner,)


def _is_library_call(name: str, rest: tuple[Step, ...]) -> bool:
    """Return True for the call of a function in a namespace, such as `std::find(…)`."""
    names = (name, *leading_names(rest))
    return len(names) > 1 and rest[len(names) - 1 :][:1] == (CALL,) and "".join(names).islower()


def member_of(owner: Class, name: str) -> Name:
    space = "" if owner.path else f"{owner.name}::"
    return Name(owner.path, owner.scope, name, space=space)
