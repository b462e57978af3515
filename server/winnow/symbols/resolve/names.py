"""Resolve names without a receiver: from scope to scope outwards, then through imports."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from winnow.symbols.file_symbols import BINDS, Import
from winnow.symbols.resolve.rules import world
from winnow.symbols.resolve.session import ResolverFile, Session

STEPS = 100  # the maximum number of re-exports to follow


class Name(Struct, frozen=True, gc=False):
    """A name bound in a scope of a file. Other files can import names of scope 0.

    ``apart`` names are in the second name space, see `Rules.apart`. ``spaces`` selects declarations
    of the name, see `references.space`; 0 selects all. ``static`` members belong to the class
    itself. ``space`` separates names of C: "tag", "macro", "label", and
    "A::" for members of a class A of C++ that the workspace does not declare.
    """

    path: str
    scope: int
    name: str
    apart: bool = False
    spaces: int = 0
    static: bool = False
    space: str = ""


class Module(Struct, frozen=True, gc=False):
    """An imported file or package."""

    path: str


class External(Struct, frozen=True, gc=False):
    """Something from a module outside the workspace. ``capital`` if its name is capitalized, like a
    class."""

    module: str
    capital: bool = False


Tier = Literal["certain", "likely", "possible"]
TIERS: tuple[Tier, ...] = ("certain", "likely", "possible")


class ResolvedReference(Struct, frozen=True, gc=False):
    """A use of a symbol at a byte offset. ``name`` is the text there if it is not the symbol's own
    name: an alias, or the macro that uses the symbol."""

    path: str
    at: int
    flags: int
    tier: Tier
    name: str = ""


# The name of a complete module's value: `export =`, `module.exports =`.
WHOLE = "export="

Target = Name | Module | External


def resolve(
    session: Session, file: ResolverFile, scope: int, name: str, apart: bool = False
) -> list[Target]:
    """Return the meanings of a name in a scope, or nothing if no scope binds it.

    If both an import and a definition bind it (`try: import x`), it means both.
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
    """Return the meanings of a name that its file does not bind."""
    if name in file.rules.roots:
        path = session.module(file, name)
        return [Module(path)] if path else []
    found: list[Target] = []
    if place := session.package(file):
        found += [
            Name(other.path, 0, name) for other, _ in session.in_package(place, name, file.language)
        ]
    found = found or from_stars(session, file, name, set()) or _everywhere(session, file, name)
    if not found and file.rules.scripts != "never":
        found = [
            Name(script.path, scope, name)
            for script, scope in session.global_names(name, world(file.language))
        ]
    if not found and file.rules.roots:  # the name of a workspace member
        path = session.module(file, name)
        found = [Module(path)] if path else []
    if not found and file.rules.closed and not file.rules.merging:
        found = [External("", name[:1].isupper())]
    return found


def _everywhere(session: Session, file: ResolverFile, name: str) -> list[Target]:
    """Return definitions that are visible without an import."""
    kinds = file.rules.everywhere
    if not kinds:
        return []
    return [
        Name(defined_in.path, defined_in.scope_at(definition.at), name)
        for defining, definition in session.definitions(name, file.language)
        if definition.kind in kinds and (defined_in := session.file(defining.path))
    ]


def _in_other_part(file: ResolverFile, scope: int, bound: frozenset[int]) -> bool:
    """Return True if another part of the namespace binds the name."""
    return file.scopes[scope].kind == "namespace" and any(
        file.scopes[part].kind == "namespace" and file.canonical[part] == file.canonical[scope]
        for part in bound
    )


def bindings(session: Session, file: ResolverFile, scope: int, name: str) -> list[Target]:
    """Return the meanings of a name in the scope that binds it."""
    imports = [each for each in file.imports.get(name, ()) if each.scope == scope]
    found: list[Target] = []
    for each in imports:
        found += imported(session, file, each, name, set())
    if not imports or defined(session, file, scope, name):
        found.append(Name(file.path, file.canonical[scope], name))
    return found


def defined(session: Session, file: ResolverFile, scope: int, name: str) -> bool:
    """Return True if a scope binds a name other than by an import."""
    numbers = session.unpacked(file, name)
    if any(file.scope_at(at) == scope for at, flags, _ in numbers if flags & BINDS):
        return True
    return scope == 0 and any(name in names for names in file.scope_table.outer.values())


def imported(
    session: Session, file: ResolverFile, binding: Import, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """Return the targets of an import."""
    if binding.name:
        return from_module(session, file, binding.module, binding.name, seen)
    if file.rules.roots:
        if "." not in binding.module:
            return along(session, file, binding.scope, binding.module, seen)
        path = session.module(file, binding.module)  # a module declared in this file
        return [Module(path)] if path else []
    # `import a.b` binds `a`.
    module = binding.module.partition(".")[0] if name != binding.local else binding.module
    path = session.module(file, module)
    if path is None:
        return [External(module)]
    module_value = exported(session, path, WHOLE, seen) if file.rules.merging else []
    return module_value or [Module(path)]


def from_module(
    session: Session, file: ResolverFile, module: str, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """Return the targets of `from module import name` in this file."""
    if file.rules.roots:
        found = along(session, file, 0, module, seen)
        return [target for place in found for target in within(session, place, name, seen)]
    path = session.module(file, module)
    if path is None:
        # A folder without an `__init__` file.
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
    """Return the targets of a path like `crate.net.Client`, evaluated in a scope of a file."""
    first, *rest = path.split(".")
    step = (f"{file.path} {scope}", path)
    if step in seen or len(seen) > STEPS:
        return []
    seen = {*seen, step}
    if first in file.rules.roots:
        inside = file.around(scope, "module")
        found = _root(session, file, first, inside)
    else:
        found = _first(session, file, scope, first, set(seen))
    for name in rest:
        if name == "super":
            found = [
                Module(parent)
                for target in found
                if isinstance(target, Module)
                and (module := session.file(target.path))
                and (parent := session.module(module, "super"))
            ]
            continue
        found = [target for place in found for target in within(session, place, name, set(seen))]
    return found


def _root(session: Session, file: ResolverFile, first: str, inside: int) -> list[Target]:
    """Return the module that `crate`, `self` or `super` means in a scope of a file."""
    if inside and first == "self":
        return [Name(file.path, file.scopes[inside].parent, file.scopes[inside].name)]
    if inside and first == "super":
        outer = file.around(file.scopes[inside].parent, "module")
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
            imports = [each for each in file.imports.get(name, ()) if each.scope == place]
            # `use tokio;`, and `use a::b` while `a` is being resolved.
            found: list[Target] = []
            for each in imports:
                found += imported(session, file, each, name, seen)
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
    """Return the meanings of a name in a module, a class or something external."""
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
    """Return the meanings of a name of a module, following re-exports. ``inside`` includes private
    names."""
    seen = set() if seen is None else seen
    if (path, name) in seen:
        return []
    seen.add((path, name))
    if path.endswith("/"):
        return [
            Name(member_file.path, 0, name) for member_file, _ in session.in_package(path, name, "")
        ]
    path, _, part = path.partition("::")
    file = session.file(path)
    scope = file.classes.get(part) if file and part else 0
    if file is None or scope is None:
        return []
    if not inside and name in file.private:
        return []
    imports = [
        each
        for each in file.imports.get(name, ())
        if each.scope == scope and (each.exported or inside)
    ]
    found: list[Target] = []
    for each in imports:
        found += imported(session, file, each, name, seen)
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
    """Return the meanings of a name through `from module import *`."""
    for module in file.scope_table.stars:
        if file.rules.roots:
            targets = along(session, file, 0, module, set(seen))
            found = [target for place in targets for target in within(session, place, name, seen)]
            found = [target for target in found if not isinstance(target, External)]
            if found:
                return found
            continue
        path = session.module(file, module)
        found = exported(session, path, name, seen) if path else []
        if found:
            return found
    return []
