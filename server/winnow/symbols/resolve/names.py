"""Names without a receiver: from scope to scope outwards, then through imports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from winnow.symbols.file_symbols import BINDS, Import
from winnow.symbols.resolve.session import ResolverFile, Session

STEPS = 100  # through re-exports


class Name(Struct, frozen=True, gc=False):
    """A name bound in a scope of a file; scope 0 is what others can import. ``apart`` is for those
    of the language's second kind, see `Rules.apart`. ``spaces`` leaves only some of what is
    declared under this name, see `references.space`; 0 leaves all. ``static`` are members of a
    class itself, where objects can have others of this name. ``space`` is for names of C that do
    not meet others: "tag", "macro", "label"."""

    path: str
    scope: int
    name: str
    apart: bool = False
    spaces: int = 0
    static: bool = False
    space: str = ""


class Module(Struct, frozen=True, gc=False):
    """A file or package as a whole, as an import gives it."""

    path: str


class External(Struct, frozen=True, gc=False):
    """Something from a module that is not in the workspace; ``capital`` if its name begins with a
    capital, as those of classes do."""

    module: str
    capital: bool = False


Tier = Literal["certain", "likely", "possible"]


class ResolvedReference(Struct, frozen=True, gc=False):
    """A use of a symbol at a byte offset. ``name`` is the text there if it is not the symbol's own
    name: an alias, or the macro that uses the symbol."""

    path: str
    at: int
    flags: int
    tier: Tier
    name: str = ""


# What a module is as a whole where it says so: `export =`, `module.exports =`.
WHOLE = "export="

Target = Name | Module | External


def resolve(
    session: Session, file: ResolverFile, scope: int, name: str, apart: bool = False
) -> list[Target]:
    """What a name means that stands in a scope of a file; nothing if it is bound nowhere.

    Where both an import and a definition bind it (`try: import x`), it means both.
    """
    bound = session.bound(file, name, apart)
    rules = file.rules
    place, first = scope, True
    while place >= 0:
        if place in bound or _in_other_part(file, place, bound):
            hidden = file.scopes[place].kind == "class" and (
                rules.members_bare == "never" or (rules.members_bare == "direct" and not first)
            )
            if not hidden:
                return bindings(session, file, place, name)
        first = first and file.scopes[place].kind == "outside"
        place = file.outwards(place)
    return outside(session, file, scope, name)


def outside(session: Session, file: ResolverFile, scope: int, name: str) -> list[Target]:
    """What a name means that its file does not bind."""
    if name in file.rules.roots:
        path = session.module(file, name)
        return [Module(path)] if path else []
    found: list[Target] = list(_beside(session, file, name))
    found = found or from_stars(session, file, name, set()) or _everywhere(session, file, name)
    if not found and file.rules.roots:  # the name of another workspace's member
        path = session.module(file, name)
        found = [Module(path)] if path else []
    if not found and file.rules.closed and not file.rules.merging:
        found = [External("", name[:1].isupper())]
    return found


def _beside(session: Session, file: ResolverFile, name: str) -> Iterator[Name]:
    """What the other files of a package define."""
    place = session.package(file)
    if place:
        for facts, _ in session.in_package(place, name, file.language):
            yield Name(facts.path, 0, name)


def _everywhere(session: Session, file: ResolverFile, name: str) -> list[Target]:
    """What is visible without an import."""
    kinds = file.rules.everywhere
    if not kinds:
        return []
    return [
        Name(facts.path, facts.scope_at(definition.at), name)
        for one, definition in session.definitions(name, file.language)
        if definition.kind in kinds and (facts := session.file(one.path))
    ]


def _in_other_part(file: ResolverFile, scope: int, bound: frozenset[int]) -> bool:
    """Whether another part of a namespace binds a name."""
    return file.scopes[scope].kind == "namespace" and any(
        file.scopes[other].kind == "namespace" and file.canonical[other] == file.canonical[scope]
        for other in bound
    )


def bindings(session: Session, file: ResolverFile, scope: int, name: str) -> list[Target]:
    """What a name means that is bound in this scope."""
    imports = [one for one in file.imports.get(name, ()) if one.scope == scope]
    found: list[Target] = []
    for one in imports:
        found += imported(session, file, one, name, set())
    if not imports or defined(session, file, scope, name):
        found.append(Name(file.path, file.canonical[scope], name))
    return found


def defined(session: Session, file: ResolverFile, scope: int, name: str) -> bool:
    """Whether a scope binds a name by something else than an import."""
    numbers = session.unpacked(file, name)
    if any(file.scope_at(at) == scope for at, flags, _ in numbers if flags & BINDS):
        return True
    return scope == 0 and any(name in names for names in file.scope_table.outer.values())


def imported(
    session: Session, file: ResolverFile, one: Import, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """What an import gives."""
    if one.name:
        return from_module(session, file, one.module, one.name, seen)
    if file.rules.roots:
        if "." not in one.module:
            return along(session, file, one.scope, one.module, seen)
        path = session.module(file, one.module)  # a module that is declared here
        return [Module(path)] if path else []
    # `import a.b` binds `a`.
    module = one.module.partition(".")[0] if name != one.local else one.module
    path = session.module(file, module)
    if path is None:
        return [External(module)]
    whole = exported(session, path, WHOLE, seen) if file.rules.merging else []
    return whole or [Module(path)]


def from_module(
    session: Session, file: ResolverFile, module: str, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """What `from module import name` gives in this file."""
    if file.rules.roots:
        found = along(session, file, 0, module, seen)
        return [one for place in found for one in within(session, place, name, seen)]
    path = session.module(file, module)
    if path is None:
        # A folder without a file of its own.
        below = _submodule(session, file, module, name)
        return [Module(below)] if below else [External(module, name[:1].isupper())]
    found = exported(session, path, name, seen, inside=path == file.path)
    if not found:
        below = _submodule(session, file, module, name)
        if below is None and file.rules.closed:
            return [External(module, name[:1].isupper())]
        return [Module(below)] if below else []
    return found


def along(
    session: Session, file: ResolverFile, scope: int, path: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """What a path such as `crate.net.Client` means, which begins in a scope of a file."""
    first, *rest = path.split(".")
    step = (f"{file.path} {scope}", path)
    if step in seen or len(seen) > STEPS:
        return []
    seen = {*seen, step}
    if first in file.rules.roots:
        inside = file.inline_module(scope)
        found = _root(session, file, first, inside)
    else:
        found = _first(session, file, scope, first, set(seen))
    for name in rest:
        if name == "super":
            found = [
                Module(parent)
                for one in found
                if isinstance(one, Module)
                and (module := session.file(one.path))
                and (parent := session.module(module, "super"))
            ]
            continue
        found = [one for place in found for one in within(session, place, name, set(seen))]
    return found


def _root(session: Session, file: ResolverFile, first: str, inside: int) -> list[Target]:
    """The module that `crate`, `self` or `super` is in a scope of a file."""
    if inside and first == "self":
        return [Name(file.path, file.scopes[inside].parent, file.scopes[inside].name)]
    if inside and first == "super":
        outer = file.inline_module(file.scopes[inside].parent)
        if outer:
            return [Name(file.path, file.scopes[outer].parent, file.scopes[outer].name)]
        return [Module(file.path)]
    path = session.module(file, first)
    return [Module(path)] if path else []


def _first(
    session: Session, file: ResolverFile, scope: int, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    place = scope
    while place >= 0:
        if place in session.bound(file, name):
            imports = [one for one in file.imports.get(name, ()) if one.scope == place]
            # `use tokio;`, and `use a::b` where `a` is what is being looked up.
            found: list[Target] = []
            for one in imports:
                found += imported(session, file, one, name, seen)
            if not imports or defined(session, file, place, name):
                found.append(Name(file.path, place, name))
            if found:
                return found
        place = file.scopes[place].parent
    path = session.module(file, name)
    if path:
        return [Module(path)]
    found = from_stars(session, file, name, seen)
    return found or [External(name, name[:1].isupper())]


def within(
    session: Session, place: Target, name: str, seen: set[tuple[str, str]] | None = None
) -> list[Target]:
    """What a name is in a module, a class or something foreign."""
    if isinstance(place, External):
        return [External(place.module, name[:1].isupper())]
    if isinstance(place, Module):
        return exported(session, place.path, name, seen)
    file = session.file(place.path)
    if file is None:
        return []
    around = file.qualified(place.scope)
    inside = file.classes.get(f"{around}.{place.name}" if around else place.name)
    if not inside:
        return []
    return exported(session, f"{place.path}::{file.qualified(inside)}", name, seen)


def _submodule(session: Session, file: ResolverFile, module: str, name: str) -> str | None:
    if not file.rules.submodules:
        return None
    return session.module(file, module + name if module.endswith(".") else f"{module}.{name}")


def exported(
    session: Session,
    path: str,
    name: str,
    seen: set[tuple[str, str]] | None = None,
    *,
    inside: bool = False,
) -> list[Target]:
    """What a name of a module means, through whatever re-exports; ``inside`` of the module itself
    what others do not see, too."""
    seen = set() if seen is None else seen
    if (path, name) in seen:
        return []
    seen.add((path, name))
    if path.endswith("/"):
        return [Name(facts.path, 0, name) for facts, _ in session.in_package(path, name, "")]
    path, _, part = path.partition("::")
    file = session.file(path)
    scope = file.classes.get(part) if file and part else 0
    if file is None or scope is None:
        return []
    if not inside and name in file.private:
        return []
    imports = [
        one for one in file.imports.get(name, ()) if one.scope == scope and (one.exported or inside)
    ]
    found: list[Target] = []
    for one in imports:
        found += imported(session, file, one, name, seen)
    if defined(session, file, scope, name):
        found.append(Name(path, scope, name))
    elif scope:
        found += [
            Name(path, scope, name, apart)
            for apart in (False, True)
            if session.has_member(file, scope, name, apart)
        ]
    if found or (scope and file.scopes[scope].kind != "module"):
        return found
    return from_stars(session, file, name, seen) or [
        target
        for target in _everywhere(session, file, name)
        if isinstance(target, Name) and file.rules.roots
    ]


def from_stars(
    session: Session, file: ResolverFile, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """What `from module import *` gives for a name that is bound nowhere else."""
    for module in file.scope_table.stars:
        if file.rules.roots:
            targets = along(session, file, 0, module, set(seen))
            found = [one for place in targets for one in within(session, place, name, seen)]
            found = [one for one in found if not isinstance(one, External)]
            if found:
                return found
            continue
        path = session.module(file, module)
        found = exported(session, path, name, seen) if path else []
        if found:
            return found
    return []
