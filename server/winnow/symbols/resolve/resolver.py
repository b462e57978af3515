"""Find what an occurrence of a name means, in any language."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from winnow.symbols.expressions import CALL, DeclaredType, Expression, NameStep, parse_expression
from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BINDS,
    CALLED,
    IMPORTED,
    IN_TYPE,
    KEY,
    KEYWORD,
    LABEL,
    MEMBER,
    MENTIONED,
    PARAMETER,
    QUALIFIES,
    ROLE,
    SHORTHAND,
    STATIC,
    STRING,
    Numbers,
)
from winnow.symbols.resolve import plain
from winnow.symbols.resolve.expression_types import ExpressionTypes
from winnow.symbols.resolve.linkage.linker import Linker
from winnow.symbols.resolve.names import (
    External,
    Module,
    Name,
    Target,
    exported,
    from_module,
    imported,
)
from winnow.symbols.resolve.plain import NameCandidates
from winnow.symbols.resolve.rules import world
from winnow.symbols.resolve.session import MEMBERS, ResolverFile, Session, cached_method
from winnow.symbols.resolve.types import Class, Function, Instance, Type, Untyped
from winnow.symbols.view import SymbolView

# A name that nothing binds: a built-in, or not written yet.
BUILT_IN = External("")
CONSTRUCTOR = "constructor"


class Meaning(Struct, frozen=True):
    """The meaning of an occurrence.

    ``unknown``: it can be a member of anything; ``untyped``: because a parameter has no declared
    type. ``of`` is the class whose member it is, if no definition was found. ``either``: it means
    only one of the targets, and it is not known which.
    """

    targets: list[Target] = []
    unknown: bool = False
    untyped: bool = False
    of: Class | None = None
    either: bool = False


def _either(meanings: list[Meaning]) -> Meaning:
    """Combine alternative meanings."""
    if len(meanings) == 1:
        return meanings[0]
    targets = list(dict.fromkeys(target for meaning in meanings for target in meaning.targets))
    return Meaning(
        targets,
        unknown=any(meaning.unknown for meaning in meanings),
        of=next((meaning.of for meaning in meanings if meaning.of is not None), None),
        either=any(len(meaning.targets) < len(targets) for meaning in meanings),
    )


# Name spaces: one name can be a type, a value and a namespace.
VALUES, TYPES, NAMESPACES = 1, 2, 4


def space(flags: int) -> int:
    """Return the name spaces that an occurrence can refer to."""
    if flags & MENTIONED or flags & ROLE == IMPORTED:
        return VALUES | TYPES | NAMESPACES
    if flags & QUALIFIES:
        return NAMESPACES if flags & IN_TYPE else NAMESPACES | VALUES
    return TYPES if flags & IN_TYPE else VALUES


class Resolver:
    """Resolves names in one view, for one request at a time."""

    def __init__(self, view: SymbolView) -> None:
        self.view = view
        self.session = Session(view, plain.RULES)
        self.types = ExpressionTypes(self.session)
        self.classes = self.types.classes
        self.linker = Linker(self.session)

    def renew(self, view: SymbolView) -> None:
        """Prepare for another request, whose view has the same symbols."""
        self.view = view
        self.session.renew(view)
        self.types.forget_unfinished()
        self.linker = Linker(self.session)

    def meaning(self, file: ResolverFile, name: str, at: int, flags: int, receiver: int) -> Meaning:
        """Return the meaning of the name at an offset."""
        if file.rules.linkage:
            names = self.linker.meaning(file, name, at, flags, receiver)
            if names is None:
                guessed = self.linker.guess(file, name, file.receiver(receiver))
                return Meaning([*guessed], unknown=True)
            return Meaning([*names])
        if file.rules.plain:
            candidates = self.candidates(name, world(file.language))
            return Meaning(list(candidates.near(file, at, flags, receiver)))
        role = flags & ROLE
        scope = file.scope_at(at)
        apart = bool(flags & APART)
        if role == IMPORTED:
            return Meaning(self._imported(file, name, at))
        if role == STRING:
            return Meaning(exported(self.session, file.path, name))
        if role == MEMBER:
            # With marked members, a receiver does not name the complete class.
            owner = self._around(file, scope, 0 if file.rules.marked else receiver)
            static = bool(flags & STATIC)
            return Meaning([Name(owner.path, owner.scope, name, apart, 0, static)] if owner else [])
        if flags & SHORTHAND:
            return self._shorthand(file, scope, name, flags, receiver)
        if role == ATTRIBUTE:
            return self._attribute(file, scope, name, file.receiver(receiver), apart)
        if role == KEYWORD:
            return self._keyword(file, scope, name, file.receiver(receiver))
        if role == KEY:
            return self._key(file, scope, name, file.scope_table.receivers[receiver], apart)
        if role == LABEL:
            return Meaning()
        if name == CONSTRUCTOR and flags & CALLED and file.rules.merging:
            constructor_of = parse_expression(file.rules.super_name)
            return self._attribute(file, scope, name, constructor_of, apart)
        found = self.types.named(file, scope, name, apart)
        around = file.class_around(scope) if flags & MENTIONED and not found else None
        if around is not None:
            itself = parse_expression(next(iter(file.rules.instance)))
            return self._attribute(file, scope, name, itself, apart)
        if file.rules.scripts != "never" and name not in file.imports:
            return self._of_other_files(file, found)
        return Meaning(found or [BUILT_IN])

    def _of_other_files(self, file: ResolverFile, found: list[Target]) -> Meaning:
        """Return the meaning of a name that a file does not import, if other files define it for
        all files. It may be a built-in name, unless a script that is always loaded defines it."""
        others = [it for target in found if (it := self.file(target)) and it.path != file.path]
        if all(other.rules.scripts == "always" and other.globals for other in others):
            return Meaning(found or [BUILT_IN], either=len(others) > 1)
        return Meaning([*found, BUILT_IN], either=True)

    def _around(self, file: ResolverFile, scope: int, receiver: int) -> Class | None:
        """Return the class that a member is declared for."""
        if receiver:
            owner = self.types.of(file, scope, file.receiver(receiver))
            return owner if isinstance(owner, Class) else None
        around = file.class_around(scope)
        return self.classes.class_at(file, around) if around is not None else None

    def _shorthand(
        self, file: ResolverFile, scope: int, name: str, flags: int, receiver: int
    ) -> Meaning:
        """Return the meaning of a name that is both a variable and a member."""
        variable = self.types.named(file, scope, name, False)
        if flags & PARAMETER:
            around = file.class_around(scope)
            member = [] if around is None else [Name(file.path, file.canonical[around], name)]
            return Meaning([*member, *variable])  # the first is the name in answers
        apart = "field" in file.rules.apart
        key = self._key(file, scope, name, file.scope_table.receivers[receiver], apart)
        return replace(key, targets=[*variable, *key.targets])

    def _key(
        self, file: ResolverFile, scope: int, name: str, receiver: str, apart: bool
    ) -> Meaning:
        """Return the meaning of an object key: a member of the expected type."""
        if not receiver:
            return Meaning()
        if file.rules.merging:
            found = self._attribute(file, scope, name, parse_expression(receiver), apart)
            return replace(
                found, targets=[target for target in found.targets if isinstance(target, Name)]
            )
        owner = self.types.declared(file, scope, receiver)
        if isinstance(owner, Instance):
            found = self._member(owner.of, name, above=False, apart=apart)
            if found.targets:
                return found
        if isinstance(owner, External):
            return Meaning([owner])
        # The key of a map can be an ordinary name.
        return Meaning([] if apart else self.types.named(file, scope, name, False))

    @cached_method
    def candidates(self, name: str, language_world: str) -> NameCandidates:
        return NameCandidates(self.session, self.at, name, language_world)

    def _imported(self, file: ResolverFile, name: str, at: int) -> list[Target]:
        if at in file.scope_table.modules:
            module = file.scope_table.modules[at]
            path = self.session.module(file, module)
            return [Module(path) if path else External(module)]
        for imported_name in file.scope_table.imports:
            if imported_name.at == at and imported_name.name == name:
                return from_module(self.session, file, imported_name.module, name, set())
        for imported_name in file.imports.get(name, ()):
            return imported(self.session, file, imported_name, name, set())
        return []

    def _attribute(
        self, file: ResolverFile, scope: int, name: str, receiver: Expression, apart: bool
    ) -> Meaning:
        kinds = self.types.each(file, scope, receiver)
        if kinds == (None,) and file.rules.merging:
            returned = self._returned(file, scope, name, receiver)
            return Meaning(returned, unknown=not returned)
        return _either([self._attribute_of(file, name, kind, apart) for kind in kinds])

    def _returned(
        self, file: ResolverFile, scope: int, name: str, receiver: Expression
    ) -> list[Target]:
        """Return the local name of a function that it returns in an object, `return { name }`, for
        `called().name` and for `value.name` after `value = called()`."""
        first = receiver.steps[0] if len(receiver.steps) == 1 else None
        if isinstance(first, NameStep):
            bound = self.types.named(file, scope, first.name, called=False)
            local = [it for it in bound if isinstance(it, Name) and it.path == file.path]
            sources = file.type_sources(local[0].scope, first.name) if local else ()
            if len(sources) != 1 or isinstance(sources[0], DeclaredType):
                return []
            receiver = sources[0].value
        if receiver.steps[-1:] != (CALL,):
            return []
        called = self.types.of(file, scope, Expression(receiver.steps[:-1]))
        home = self.session.file(called.path) if isinstance(called, Function) else None
        if home is None or not isinstance(called, Function):
            return []
        inner = home.functions.get((called.scope, called.name))
        is_returned = any(
            flags & (SHORTHAND | BINDS) == SHORTHAND and home.scope_at(at) == inner
            for at, flags, _ in self.session.unpacked(home, name)
        )
        return self.types.named(home, inner, name, False) if inner and is_returned else []

    def _attribute_of(self, file: ResolverFile, name: str, kind: Type, apart: bool) -> Meaning:
        """Return the meaning of a name after a receiver of this type."""
        if kind is None or isinstance(kind, Untyped):
            return Meaning(unknown=True, untyped=kind is not None)
        if isinstance(kind, Module):
            found = exported(self.session, kind.path, name)
            return Meaning(found)
        extended = file.rules.extending and not apart and self._extends(file.language, name)
        if isinstance(kind, External):
            return Meaning(unknown=True) if extended else Meaning([kind])
        if isinstance(kind, (Instance, Class)):
            owner = kind.of if isinstance(kind, Instance) else kind
            above = isinstance(kind, Instance) and kind.above
            static = isinstance(kind, Class)
            member = self._member(owner, name, above=above, static=static, apart=apart)
            if isinstance(kind, Class) and not member.targets:
                defining = self.session.file(kind.path)
                if defining is not None and name in defining.imports:
                    return Meaning(exported(self.session, f"{kind.path}::{kind.name}", name))
            return Meaning(unknown=True) if extended and not member.targets else member
        return Meaning()

    @cached_method
    def _extends(self, language: str, name: str) -> bool:
        """Return True if an interface defines the member, so that any class can have it."""
        definers = self.classes.definers(name, language)
        return any(self.classes.kind(definer) in ("trait", "interface") for definer in definers)

    def _member(
        self, owner: Class, name: str, *, above: bool, static: bool = False, apart: bool = False
    ) -> Meaning:
        file = self.session.file(owner.path)
        if file is not None and file.rules.marked:
            if static and self._is_in_namespace(file, owner, name):
                return Meaning([Name(owner.path, owner.scope, name)])
            found = self.classes.members(owner, name, above=above, static=static)
            return Meaning(list(found)) if found or above else Meaning(of=owner)
        definer = self.classes.definer(owner, name, above=above, apart=apart)
        if definer is not None:
            return Meaning([Name(definer.path, definer.scope, name, apart)])
        return Meaning() if above else Meaning(of=owner)

    def _is_in_namespace(self, file: ResolverFile, owner: Class, name: str) -> bool:
        """Return True if a namespace with the name of the class binds a name."""
        return any(
            file.scopes[scope].kind == "namespace" and file.canonical[scope] == owner.scope
            for scope in self.session.bound(file, name)
        )

    def _keyword(self, file: ResolverFile, scope: int, name: str, called: Expression) -> Meaning:
        """Return the parameter of the called function, or the field of a class without a
        constructor."""
        kinds = self.types.each(file, scope, called)
        return _either([self._keyword_of(kind, name) for kind in kinds])

    def _keyword_of(self, kind: Type, name: str) -> Meaning:
        if isinstance(kind, Function):
            return Meaning(self._parameter(kind.path, kind.scope, kind.name, name))
        if isinstance(kind, Class):
            definer = self.classes.definer(kind, "__init__")
            if definer is not None:
                return Meaning(self._parameter(definer.path, definer.scope, "__init__", name))
            return self._member(kind, name, above=False)
        return Meaning()

    def _parameter(self, path: str, scope: int, function: str, name: str) -> list[Target]:
        file = self.session.file(path)
        inner = file.functions.get((scope, function)) if file else None
        return [Name(path, inner, name)] if inner is not None else []

    def select_declarations(
        self, targets: list[Target], file: ResolverFile, at: int, flags: int
    ) -> list[Target]:
        """Restrict targets to the declarations that this occurrence can mean, preferring workspace
        targets."""
        in_workspace = [target for target in targets if not isinstance(target, External)]
        # If a symbol is also defined externally, its workspace definition counts.
        return [
            self._select_declarations(target, file, at, flags) for target in in_workspace or targets
        ]

    def _select_declarations(
        self, target: Target, file: ResolverFile, at: int, flags: int
    ) -> Target:
        """Restrict a target to the declarations that this occurrence can mean."""
        if not isinstance(target, Name) or not file.rules.merging:
            return target
        declared = self._declarations(target)
        spaces = declared.get(at) if target.path == file.path else None
        meant = spaces or space(flags)
        for _ in declared:  # a declaration in two name spaces joins them
            for declaration in declared.values():
                meant |= declaration if declaration & meant else 0
        return (
            target
            if all(declaration & meant for declaration in declared.values())
            else replace(target, spaces=meant)
        )

    def _declarations(self, target: Name) -> dict[int, int]:
        """Return the name spaces of each declaration of a name in its scope, by offset."""
        file = self.session.file(target.path)
        if file is None:
            return {}
        return {
            at: space(flags)
            for at, flags, _ in self.session.unpacked(file, target.name)
            if flags & BINDS and file.canonical[file.scope_at(at)] == target.scope
        }

    def in_space(self, file: ResolverFile, at: int, flags: int, target: Target) -> bool:
        if not isinstance(target, Name) or not target.spaces:
            return True
        here = self._declarations(target).get(at) if file.path == target.path else None
        return bool((here or space(flags)) & target.spaces)

    def at(self, path: str, offset: int, name: str) -> list[Target]:
        """Return the targets of the name at an offset of a file."""
        file = self.session.file(path)
        if file is None:
            return []
        for at, flags, receiver in self.session.unpacked(file, name):
            if at == offset:
                meaning = self.meaning(file, name, at, flags, receiver)
                return self.select_declarations(meaning.targets, file, at, flags)
        return []

    def definers(self, file: ResolverFile, name: str, apart: bool = False) -> Iterable[Class]:
        """Return all classes that define a member of this name, by the rules of a file's
        language."""
        if file.rules.linkage:
            return [owner for owner in self.linker.names.definers(name) if owner.path]
        return self.classes.definers(name, file.language, apart)

    def is_resolved(self, file: ResolverFile, name: str, place: Numbers) -> bool:
        """Return True if the name at a place means something that its own language defines."""
        meaning = self.meaning(file, name, *place)
        return any(
            not isinstance(target, External) and target.path != "" for target in meaning.targets
        )

    def owner(self, target: Target) -> Class | None:
        """Return the class that a target is a member of."""
        file = self.session.file(target.path) if isinstance(target, Name) else None
        if file is None or not isinstance(target, Name):
            return None
        if file.scopes[target.scope].kind not in MEMBERS:
            return None
        if file.rules.merging:
            named = file.scopes[target.scope].name
            return Class(target.path, target.scope, file.qualified(target.scope) if named else "")
        return self.classes.class_at(file, target.scope)

    def file(self, target: Target) -> ResolverFile | None:
        return None if isinstance(target, External) else self.session.file(target.path)
