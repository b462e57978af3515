"""Names without a receiver: from scope to scope outwards, then through imports."""

from __future__ import annotations

from msgspec import Struct

from winnow.symbols.facts import BINDS, Import
from winnow.symbols.resolve.session import FileFacts, Session


class Name(Struct, frozen=True, gc=False):
    """A name bound in a scope of a file; scope 0 is what others can import. ``spaces`` leaves only
    some of what is declared under this name, see `references.space`; 0 leaves all. ``static`` are
    members of a class itself, where objects can have others of this name. ``space`` is for names of
    C that do not meet others: "tag", "macro", "label"."""

    path: str
    scope: int
    name: str
    spaces: int = 0
    static: bool = False
    space: str = ""


class Module(Struct, frozen=True, gc=False):
    """A file as a whole, as an import gives it."""

    path: str


class External(Struct, frozen=True, gc=False):
    """Something from a module that is not in the workspace; ``capital`` if its name begins with a
    capital, as those of classes do."""

    module: str
    capital: bool = False


# What a module is as a whole where it says so: `export =`, `module.exports =`.
WHOLE = "export="

Target = Name | Module | External


def resolve(session: Session, file: FileFacts, scope: int, name: str) -> list[Target]:
    """What a name means that stands in a scope of a file; nothing if it is bound nowhere.

    Where both an import and a definition bind it (`try: import x`), it means both.
    """
    bound = session.bound(file, name)
    rules = file.rules
    place, first = scope, True
    while place >= 0:
        if place in bound or _in_other_part(file, place, bound):
            hidden = file.scopes[place].kind == "class" and (
                rules.members_bare == "never" or (rules.members_bare == "direct" and not first)
            )
            if not hidden:
                return bindings(session, file, place, name)
        first = False
        place = file.scopes[place].parent
    return from_stars(session, file, name, set())


def _in_other_part(file: FileFacts, scope: int, bound: frozenset[int]) -> bool:
    """Whether another part of a namespace binds a name."""
    return file.scopes[scope].kind == "namespace" and any(
        file.scopes[other].kind == "namespace" and file.canonical[other] == file.canonical[scope]
        for other in bound
    )


def bindings(session: Session, file: FileFacts, scope: int, name: str) -> list[Target]:
    """What a name means that is bound in this scope."""
    imports = [one for one in file.imports.get(name, ()) if one.scope == scope]
    found: list[Target] = []
    for one in imports:
        found += imported(session, file, one, name, set())
    if not imports or defined(session, file, scope, name):
        found.append(Name(file.path, file.canonical[scope], name))
    return found


def defined(session: Session, file: FileFacts, scope: int, name: str) -> bool:
    """Whether a scope binds a name by something else than an import."""
    numbers = session.unpacked(file, name)
    if any(file.scope_at(at) == scope for at, flags, _ in numbers if flags & BINDS):
        return True
    return scope == 0 and any(name in names for names in file.skeleton.outer.values())


def imported(
    session: Session, file: FileFacts, one: Import, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """What an import gives."""
    if one.name:
        return from_module(session, file, one.module, one.name, seen)
    # `import a.b` binds `a`.
    module = one.module.partition(".")[0] if name != one.local else one.module
    path = session.module(file, module)
    if path is None:
        return [External(module)]
    whole = exported(session, path, WHOLE, seen) if file.rules.merging else []
    return whole or [Module(path)]


def from_module(
    session: Session, file: FileFacts, module: str, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """What `from module import name` gives in this file."""
    path = session.module(file, module)
    if path is None:
        # A folder without a file of its own.
        below = _submodule(session, file, module, name)
        return [Module(below)] if below else [External(module, name[:1].isupper())]
    found = exported(session, path, name, seen, inside=path == file.path)
    if not found:
        below = _submodule(session, file, module, name)
        return [Module(below)] if below else []
    return found


def _submodule(session: Session, file: FileFacts, module: str, name: str) -> str | None:
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
    file = session.file(path)
    if file is None:
        return []
    if not inside and name in file.private:
        return []
    imports = [
        one for one in file.imports.get(name, ()) if one.scope == 0 and (one.exported or inside)
    ]
    found: list[Target] = []
    for one in imports:
        found += imported(session, file, one, name, seen)
    if defined(session, file, 0, name):
        found.append(Name(path, 0, name))
    return found or from_stars(session, file, name, seen)


def from_stars(
    session: Session, file: FileFacts, name: str, seen: set[tuple[str, str]]
) -> list[Target]:
    """What `from module import *` gives for a name that is bound nowhere else."""
    for module in file.skeleton.stars:
        path = session.module(file, module)
        found = exported(session, path, name, seen) if path else []
        if found:
            return found
    return []
