"""Read what a name binds in all files: globals, macros, tags and members."""

from __future__ import annotations

from msgspec import Struct

from winnow.symbols.file_symbols import (
    ATTRIBUTE,
    BINDS,
    DEFINES,
    MACRO,
    MEMBER,
    PARAMETER,
    ROLE,
    TAG,
    unpack_numbers,
)
from winnow.symbols.resolve.names import Name
from winnow.symbols.resolve.session import ResolverFile, Session
from winnow.symbols.resolve.types import Class

LOCAL = frozenset(("function", "block", "prototype", "macro", "initializer", "template"))
UNNAMED = "{}"  # an unnamed enumeration


class Bound(Struct, frozen=True, gc=False):
    """A binding of a name that other files may see. Only includers see ``private`` ones. ``enum``
    is the enumeration that it belongs to, ``owner`` the namespace."""

    target: Name
    private: bool
    enum: str = ""
    owner: str = ""


class NameBindings(Struct):
    """The bindings of one name outside of functions, and the classes that have a member of it.

    ``outside`` are definitions of members outside of their class, `A::member`: the file, offset and
    receiver. ``opened`` is True for a macro that opens a namespace.
    """

    bound: dict[Bound, None] = {}
    members: dict[Class, None] = {}
    outside: list[tuple[ResolverFile, int, int]] = []
    opened: bool = False


def read_bindings(session: Session, name: str) -> NameBindings:
    """Return the bindings of a name in all files."""
    found = NameBindings()
    for found_in, packed in session.view.occurrences(name):
        numbers = [each for each in unpack_numbers(packed) if each[1] & (BINDS | DEFINES)]
        file = session.file(found_in.path) if numbers else None
        if file is not None and file.rules.linkage:
            for at, flags, receiver in numbers:
                if flags & BINDS:
                    _add_binding(found, file, name, at, flags)
                elif flags & ROLE == ATTRIBUTE:
                    found.outside.append((file, at, receiver))
    return found


def _add_binding(found: NameBindings, file: ResolverFile, name: str, at: int, flags: int) -> None:
    role = flags & ROLE
    if role == MACRO:
        found.bound[Bound(Name(file.path, 0, name, space="macro"), True)] = None
        return
    scope = file.scope_at(at)
    in_classes = classes_hold(file)
    around = file.scopes[scope]
    if around.kind == "macro" and not flags & PARAMETER:
        found.opened = True
        found.bound[Bound(Name(file.path, 0, name), False)] = None
        return
    if in_classes and not flags & PARAMETER:
        scope = beyond_templates(file, scope)
    enum = around.name or UNNAMED if around.kind == "enum" else ""
    if enum:
        scope = around.parent
    if role == MEMBER or (in_classes and file.scopes[scope].kind == "class"):
        if file.scopes[scope].name != name:
            found.members[Class(file.path, scope, file.scopes[scope].name)] = None
        return
    if role == TAG:
        scope = scope if in_classes else 0
        if file.scopes[scope].kind not in LOCAL:
            owner = namespace_around(file, scope) if in_classes else ""
            found.bound[Bound(Name(file.path, scope, name, space="tag"), False, "", owner)] = None
        return
    # In C, an enumeration inside a struct is visible outside of it.
    while file.scopes[scope].kind == "class":
        scope = file.scopes[scope].parent
    if file.scopes[scope].kind not in LOCAL:
        scope_found = file.scopes[scope]
        private = name in file.scope_table.private or (
            scope_found.kind == "namespace" and not scope_found.name
        )
        owner = namespace_around(file, scope) if in_classes else ""
        found.bound[Bound(Name(file.path, scope, name), private, enum, owner)] = None


def namespace_around(file: ResolverFile, scope: int) -> str:
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


def classes_hold(file: ResolverFile) -> bool:
    """Return True if classes and namespaces bind names, as in C++."""
    return file.rules.members_bare == "always"


def beyond_templates(file: ResolverFile, scope: int) -> int:
    """Return the scope that contains a template."""
    while file.scopes[scope].kind == "template":
        scope = file.scopes[scope].parent
    return scope
