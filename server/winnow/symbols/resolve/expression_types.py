"""Find the types of expressions from declarations, assignments and imports.

There is no type inference: types come from declarations, assigned values and return types.
:mod:`winnow.symbols.expressions` defines the expressions.
"""

from __future__ import annotations

from itertools import takewhile

from winnow.symbols.expressions import (
    CALL,
    ArgumentStep,
    CallStep,
    CastStep,
    DeclaredType,
    Expression,
    ItemStep,
    ListStep,
    NameStep,
    ScopeStep,
    Step,
    TypeSource,
    leading_names,
    parameter_key,
    parse_expression,
    unnamed_scope,
)
from winnow.symbols.file_symbols import PARAMETER
from winnow.symbols.resolve import signatures
from winnow.symbols.resolve.classes import Classes
from winnow.symbols.resolve.names import (
    External,
    Module,
    Name,
    Target,
    along,
    bindings,
    exported,
    outside,
    resolve,
)
from winnow.symbols.resolve.rules import SIGNATURE, Rules
from winnow.symbols.resolve.session import MEMBERS, Evaluations, ResolverFile, Session
from winnow.symbols.resolve.types import (
    UNTYPED,
    Class,
    Either,
    Function,
    Instance,
    Items,
    Returning,
    Signature,
    Taking,
    Type,
    Untyped,
    either,
)

DEPTH = 8  # the maximum number of declarations in a chain


class ExpressionTypes:
    """Finds types of expressions in one view."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.classes = Classes(session, self.each)
        self._evaluations = Evaluations[Type](self._evaluate, DEPTH, None)
        self._of = self._evaluations.of

    def forget_unfinished(self) -> None:
        """Forget the types that depend on the order of requests."""
        self._evaluations.forget_unfinished()

    def of(self, file: ResolverFile, scope: int, expression: Expression) -> Type:
        """Return the type of an expression in a scope of a file (the first of several), or None."""
        return self.each(file, scope, expression)[0]

    def each(self, file: ResolverFile, scope: int, expression: Expression) -> tuple[Type, ...]:
        """Return all types that an expression can have, depending on assignments."""
        found = self._of(file, scope, expression)
        return found.types if isinstance(found, Either) else (found,)

    def _evaluate(self, file: ResolverFile, scope: int, expression: Expression) -> Type:
        steps = expression.steps
        if not steps:
            return None
        if isinstance(steps[0], ListStep):
            item = self.of(file, scope, steps[0].item)
            return Items(item) if item is not None else None
        value, rest = self._first(file, scope, steps)
        return self._follow(file, scope, value, rest)

    def _follow(self, file: ResolverFile, scope: int, value: Type, steps: tuple[Step, ...]) -> Type:
        """Return the type after some steps from a value."""
        is_followed = False
        for place, step in enumerate(steps):
            if is_followed:
                is_followed = False
                continue
            if value is None:
                return None
            if isinstance(value, Either):
                return either(
                    self._follow(file, scope, alternative, steps[place:])
                    for alternative in value.types
                )
            called = steps[place + 1 : place + 2] == (CALL,)
            if isinstance(step, CallStep):
                value = self._called(value, step.result)
            elif isinstance(step, ItemStep):
                if isinstance(value, Items):
                    value = value.of
                elif not isinstance(value, (Class, Untyped)):
                    value = None
            elif isinstance(step, ArgumentStep):
                value = self._passed(value, step.index)
            elif isinstance(step, CastStep):
                value = self.declared(file, scope, step.type)
            elif not isinstance(step, NameStep):
                value = None
            elif called and (same := self._kept(file, value, step.name)) is not None:
                value, is_followed = same, True
            elif isinstance(value, Items):
                value = _of_items(value, step.name, file.rules)
            else:
                value = self._member(value, step.name, called)
        return value

    def _kept(self, file: ResolverFile, value: Type, method: str) -> Type:
        """Return the result of a method of an external class that wraps an object of the
        workspace."""
        rules = file.rules
        if isinstance(value, Items):
            if method in rules.taking:
                return value.of
            return value if method in rules.keeping else None
        if isinstance(value, Instance) and method in rules.keeping:
            return None if self.classes.definer(value.of, method, file=file) else value
        return None

    def _first(
        self, file: ResolverFile, scope: int, steps: tuple[Step, ...]
    ) -> tuple[Type, tuple[Step, ...]]:
        """Return the type of the start of an expression, and the remaining steps."""
        first, rest, rules = steps[0], steps[1:], file.rules
        if isinstance(first, CastStep):
            return self.declared(file, scope, first.type), rest
        if isinstance(first, ScopeStep):
            return Class(file.path, first.scope, ""), rest
        if not isinstance(first, NameStep):
            return None, ()
        name = first.name
        if name in rules.instance and (rules.marked or file.class_around(scope) is not None):
            return self._receiver(file, scope, name), rest
        if name in rules.self_types and not rules.marked:
            itself = self._self(file, scope)
            return (itself.of if isinstance(itself, Instance) else None), rest
        if name == rules.super_name and name not in rules.roots:
            owner = self._self(file, scope)
            if isinstance(owner, Instance):
                return Instance(owner.of, above=True), rest[1:] if rest[:1] == (CALL,) else rest
            return None, ()
        names = leading_names(steps)
        if name in rules.roots:
            count = 1
            while names[count : count + 1] == ("super",):
                count += 1
            meanings = along(self.session, file, scope, ".".join(names[:count]), set())
            return self.of_targets(meanings), steps[count:]
        # `import a.b` is used as `a.b`: the longest import wins.
        for count in range(len(names), 1, -1):
            for imported in file.imports.get(".".join(names[:count]), ()):
                path = self.session.module(file, imported.module)
                return (Module(path) if path else External(imported.module)), steps[count:]
        called = bool(rules.apart) and rest[:1] == (CALL,)
        if rules.closed and rules.package and not called and name[:1].islower():
            package, count = self._package(file, scope, names)
            if package is not None:
                return package, steps[count:]
        narrowed = self._narrowed(file, scope, name)
        if narrowed is not None:
            return narrowed, rest
        meanings = self.named(file, scope, name, called)
        if called and not any(isinstance(meaning, Name) for meaning in meanings):
            meanings = self.named(file, scope, name, called=False)  # a class that is created
        if not meanings and rules.closed:
            return External("", name[:1].isupper()), rest
        return self.of_targets(meanings, called), rest

    def _narrowed(self, file: ResolverFile, scope: int, name: str) -> Type:
        """Return the type that a block gives to a name bound outside of it."""
        if name not in file.narrowed:
            return None
        bound = self.session.bound(file, name)
        while scope > 0 and scope not in bound:
            sources = file.type_sources(scope, name)
            if sources and file.scopes[scope].kind == "block":
                return self._from(file, scope, sources)
            scope = file.scopes[scope].parent
        return None

    def _package(
        self, file: ResolverFile, scope: int, names: tuple[str, ...]
    ) -> tuple[Module | None, int]:
        """Return the package at the start of `org.example.net.Client`, and its length."""
        found = self.named(file, scope, names[0], called=False)
        if any(not isinstance(target, External) or target.module for target in found):
            return None, 0
        count = len([*takewhile(lambda name: name[:1].islower(), names)])
        path = self.session.module(file, ".".join(names[:count]))
        return (Module(path) if path else None), count

    def named(self, file: ResolverFile, scope: int, name: str, called: bool) -> list[Target]:
        """Return the meanings of a name without a receiver, including members of enclosing
        classes."""
        apart = called and "method" in file.rules.apart
        if file.rules.members_bare != "always":
            return resolve(self.session, file, scope, name)
        bound, place = self.session.bound(file, name, apart), scope
        imported = self.session.bound(file, name) if apart else bound
        while place >= 0:
            if place in bound:
                return bindings(self.session, file, place, name)
            if file.scopes[place].kind in MEMBERS:
                definer = self.classes.definer(
                    self.classes.class_at(file, place), name, apart=apart, file=file
                )
                if definer is not None:
                    return [Name(definer.path, definer.scope, name, apart)]
            if place == 0 and place in imported and name in file.imports:
                found = bindings(self.session, file, place, name)
                return [
                    target
                    for target in found
                    if not isinstance(target, Name) or target.apart == apart
                ]
            place = file.scopes[place].parent
        found = outside(self.session, file, scope, name)
        return [target for target in found if not isinstance(target, Name) or target.apart == apart]

    def _receiver(self, file: ResolverFile, scope: int, name: str) -> Type:
        """Return the type of `self` or `this`: an instance of the enclosing class, or as
        declared."""
        place = scope
        while place >= 0 and file.scopes[place].kind not in MEMBERS:
            if sources := file.type_sources(place, name):
                return self._from(file, place, sources)
            place = file.scopes[place].parent
        return self._self(file, scope)

    def _self(self, file: ResolverFile, scope: int) -> Type:
        around = file.class_around(scope)
        if around is None:
            return None
        return Instance(self.classes.class_at(file, around))

    def of_targets(self, targets: list[Target], called: bool = False) -> Type:
        """Return the type of the first target that has one."""
        for target in targets:
            found = self._of_target(target, called)
            if found is not None:
                return found
        return None

    def _of_target(self, target: Target, called: bool) -> Type:
        if not isinstance(target, Name):
            return target
        file = self.session.file(target.path)
        return self._bound(file, target.scope, target.name, None, called) if file else None

    def _bound(
        self, file: ResolverFile, scope: int, name: str, owner: Class | None, called: bool
    ) -> Type:
        """Return the type of a name bound in this scope: a class, a function, or by its type
        sources."""
        if called and file.rules.apart and name in file.scope_table.returns.get(scope, {}):
            return Function(file.path, scope, name, owner)
        alias = file.scope_table.aliases.get(name)
        if alias and file.rules.merging:
            return self.declared(file, scope, alias)
        if file.rules.merging:
            inner = file.inner.get((scope, name))
        else:
            inner = file.classes.get(f"{file.qualified(scope)}.{name}" if scope else name)
        if inner is not None:
            return Class(file.path, inner, file.qualified(inner))
        if sources := file.type_sources(scope, name):
            return self._from(file, scope, sources)
        if (scope, name) in file.functions or name in file.scope_table.returns.get(scope, {}):
            return Function(file.path, scope, name, owner)
        if alias:
            return self.declared(file, scope, alias)
        if file.rules.typed_parameters or not self._is_parameter(file, scope, name):
            return None
        return UNTYPED

    def _is_parameter(self, file: ResolverFile, scope: int, name: str) -> bool:
        return file.scopes[scope].kind == "function" and any(
            flags & PARAMETER and file.scope_at(at) == scope
            for at, flags, _ in self.session.unpacked(file, name)
        )

    def _from(self, file: ResolverFile, scope: int, sources: tuple[TypeSource, ...]) -> Type:
        """Return the type that these sources of a name in a scope give."""
        if len(sources) > 1:
            return either(self._from(file, scope, (source,)) for source in sources)
        [source] = sources
        scope = scope if source.scope is None else source.scope
        if isinstance(source, DeclaredType):
            return self.declared(file, scope, source.type)
        return self._of(file, scope, source.value)

    def _called(self, value: Type, result: int | None = None) -> Type:
        """Return the type of the result of a call, or of one of several results."""
        if isinstance(value, Class):
            file = self.session.file(value.path)
            around, _, last = value.name.rpartition(".")
            scope = file.classes.get(around, 0) if file and around else 0
            if file is None or last not in file.scope_table.returns.get(scope, {}):
                return Instance(value)
            value = Function(
                value.path, scope, last
            )  # a function that shares its name with a namespace
        if isinstance(value, Instance):
            value = self._attribute(value.of, SIGNATURE, False, value.above, instance=True)
        if isinstance(value, Returning):
            return value.of
        if isinstance(value, Signature):
            file = self.session.file(value.path)
            return self.declared(file, value.scope, value.returns) if file else None
        if isinstance(value, (External, Untyped)):
            # An instance of an external class. The result of an external function may be of the
            # workspace.
            return value if isinstance(value, Untyped) or value.capital else None
        if not isinstance(value, Function):
            return None
        file = self.session.file(value.path)
        sources = file.return_sources(value.scope, value.name, result) if file else ()
        if file is None or not sources:
            return None
        source = sources[0]
        if source.scope is not None:
            return self._from(file, value.scope, sources)
        inside = file.functions.get((value.scope, value.name), value.scope)
        if isinstance(source, DeclaredType):
            last = source.type.strip("'\" ").rpartition(".")[2]
            if last in file.rules.self_types and value.owner:
                return Instance(value.owner)
            # Type parameters are bound inside the function.
            within = inside if file.rules.merging else value.scope
            return self.declared(file, within, source.type)
        return self._of(file, inside, source.value)

    def _passed(self, value: Type, index: int) -> Type:
        """Return the type of the argument that a function gets for the parameter at an index."""
        if isinstance(value, Class):
            definer = self.classes.definer(value, "constructor")
            value = Function(definer.path, definer.scope, "constructor") if definer else None
        if isinstance(value, Taking):
            return value.of
        if isinstance(value, External):
            return value
        if isinstance(value, Instance):
            value = self._attribute(value.of, SIGNATURE, False, value.above, instance=True)
        if isinstance(value, Signature):
            file = self.session.file(value.path)
            if file is None or index >= len(value.parameters):
                return None
            return self.declared(file, value.scope, value.parameters[index])
        if not isinstance(value, Function):
            return None
        file = self.session.file(value.path)
        for scope in file.overloads.get((value.scope, value.name), ()) if file else ():
            sources = file.type_sources(scope, parameter_key(index)) if file else ()
            found = self._from(file, scope, sources) if file and sources else None
            if found is not None and not isinstance(found, External):
                return found
        return None

    def _member(self, value: Type, name: str, called: bool) -> Type:
        if isinstance(value, Module):
            return self._in_module(value, name, called)
        if isinstance(value, External):
            return External(value.module, name[:1].isupper())
        if isinstance(value, Untyped):
            return value
        if isinstance(value, Instance):
            return self._attribute(value.of, name, called, value.above, instance=True)
        if isinstance(value, Class):
            return self._attribute(value, name, called, above=False, instance=False)
        return None

    def _in_module(self, value: Module, name: str, called: bool) -> Type:
        found = exported(self.session, value.path, name)
        if found:
            return self.of_targets(found, called)
        file = self.session.file(value.path)
        below = self.session.module(file, f".{name}") if file and file.rules.submodules else None
        return Module(below) if below else None

    def _attribute(
        self, owner: Class, name: str, called: bool, above: bool, *, instance: bool
    ) -> Type:
        for ancestor in self.classes.mro(owner)[1 if above else 0 :]:
            for path, scope in self._places(ancestor, name, called):
                file = self.session.file(path)
                if file is None:
                    continue
                found = self._bound(file, scope, name, owner, called)
                if (
                    isinstance(found, Function)
                    and instance
                    and self.classes.is_property(ancestor, name)
                ):
                    return self._called(found)
                if found is not None:
                    return found
        file = self.session.file(owner.path)
        if file is not None and not instance and name in file.imports:
            # A name that an inline module imports.
            return self.of_targets(exported(self.session, f"{owner.path}::{owner.name}", name))
        definer = self.classes.definer(owner, name, above=above, file=file) if file else None
        if definer is not None and definer not in self.classes.mro(owner):
            return self._attribute(definer, name, called, above=False, instance=instance)
        return None

    def _places(self, owner: Class, name: str, called: bool) -> list[tuple[str, int]]:
        """Return the scopes that can bind a member of a class."""
        own = [(owner.path, owner.scope)]
        file = self.session.file(owner.path)
        if file is None or (not file.rules.apart and file.rules.package is None):
            return own
        found = self.classes.standing(name, file.language, called == ("method" in file.rules.apart))
        return [*own, *(place for place in found.get(owner, ()) if place not in own)]

    def declared(self, file: ResolverFile, scope: int, text: str) -> Type:
        """Return the type that a declaration names: an instance of the first known class in it."""
        external: Type = None
        for part in signatures.split(text.strip().strip("'\""), "|&"):
            found = self._declared_one(file, scope, part.strip().strip("'\""))
            if found is not None and (not file.rules.closed or not isinstance(found, External)):
                return found
            external = external or found
        return external

    def _declared_one(self, file: ResolverFile, scope: int, text: str) -> Type:
        if not text:
            return None
        if file.rules.closed:
            found, text = self._written(file, scope, text)
            if found is not None or not text:
                return found
        head, arguments = signatures.generic(text)
        last = head.rpartition(".")[2]
        rules = file.rules
        if last in rules.self_types:
            return self._self(file, scope)
        if last in rules.class_types and arguments:
            inner = self.declared(file, scope, arguments[0])
            return inner.of if isinstance(inner, Instance) else None
        own = None
        if rules.closed and arguments and last in rules.wrappers | rules.containers:
            # A class of the workspace may share its name with a wrapper or container.
            own = self._class_named(file, scope, head)
            if isinstance(own, Instance) and last in rules.containers:
                return own
        if last in rules.wrappers and arguments:
            inner = next(
                (
                    found
                    for argument in arguments
                    if (found := self.declared(file, scope, argument))
                ),
                None,
            )
            return inner if isinstance(inner, Instance) or own is None else own
        if last in rules.containers and arguments:
            items = [argument for argument in arguments if argument.strip(" .")]
            inner = self.declared(file, scope, items[-1]) if items else None
            return Items(inner) if inner is not None else None
        if text.endswith("[]"):
            inner = self.declared(file, scope, text[:-2])
            return Items(inner) if inner is not None else None
        return self._class_named(file, scope, head)

    def _written(self, file: ResolverFile, scope: int, text: str) -> tuple[Type, str]:
        """Return the type for TypeScript's type syntax, or else the text that remains to be
        resolved."""
        if text.startswith("readonly "):
            text = text[9:].lstrip()
        if text.startswith("("):
            inner = signatures.unwrapped(text)
            if inner != text:
                return self.declared(file, scope, inner), ""
        function = signatures.function(text) if "=>" in text else None
        if function is not None:
            return Signature(file.path, scope, *function), ""
        if text.startswith("typeof "):
            return self.of(file, scope, parse_expression(text[7:])), ""
        if text in file.rules.any_types:
            return UNTYPED, ""
        if (inner_scope := unnamed_scope(text)) is not None:
            return Instance(Class(file.path, inner_scope, "")), ""
        if text[0] in "{[`-0123456789" or text.startswith(("keyof ", "asserts ", "infer ")):
            return None, ""
        if " is " in text or " extends " in text:
            return None, ""
        return None, text

    def _class_named(self, file: ResolverFile, scope: int, name: str) -> Type:
        found = self.of(file, scope, parse_expression(name))
        if isinstance(found, Class):
            return Instance(found)
        if file.rules.merging and not isinstance(found, (Function, Module)):
            return found  # an alias, or a type parameter with bounds
        return found if isinstance(found, (External, Instance)) else None


def _of_items(value: Items, name: str, rules: Rules) -> Type:
    """Return the type of a member of a container: a function that returns a container or an
    item."""
    if name in rules.takes:
        return Taking(value.of)
    if name in rules.same:
        return Returning(value)
    return Returning(value.of) if name in rules.item else None
