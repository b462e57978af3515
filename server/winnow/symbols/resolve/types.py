"""What an expression is, as far as declarations, assignments and imports say it.

No type inference: what is declared, what a name was assigned first, what a function says it
returns. Expressions are in the short form of :class:`~winnow.symbols.facts.Skeleton`.
"""

from __future__ import annotations

import re
from array import array

from msgspec import Struct

from winnow.symbols.facts import PARAMETER
from winnow.symbols.resolve import signatures
from winnow.symbols.resolve.names import External, Module, Name, Target, exported, resolve
from winnow.symbols.resolve.rules import SIGNATURE, Rules
from winnow.symbols.resolve.session import FileFacts, Session

DEPTH = 8  # of declarations that lead to others
OF_OBJECTS, OF_CLASS = 1, 2  # what members are for
MRO = 60  # classes above a class


class Class(Struct, frozen=True, gc=False):
    """A class itself; ``scope`` is that of its members, ``name`` is qualified."""

    path: str
    scope: int
    name: str


class Instance(Struct, frozen=True, gc=False):
    """An object of a class; ``above`` leaves out what the class itself defines (`super()`)."""

    of: Class
    above: bool = False


class Function(Struct, frozen=True, gc=False):
    """A function or method, bound in a scope of a file; ``owner`` is the class it was found by."""

    path: str
    scope: int
    name: str
    owner: Class | None = None


class Items(Struct, frozen=True, gc=False):
    """Something that has items of a type."""

    of: Type


class Untyped(Struct, frozen=True, gc=False):
    """Whatever is passed for a parameter without a declared type, or comes from that."""


class Signature(Struct, frozen=True, gc=False):
    """What a function type says, written down in a scope of a file."""

    path: str
    scope: int
    parameters: tuple[str, ...]
    returns: str


class Returning(Struct, frozen=True, gc=False):
    """A function that gives this when it is called."""

    of: Type


class Taking(Struct, frozen=True, gc=False):
    """A function that takes this."""

    of: Type


Callable = Function | Signature | Returning | Taking
Type = Class | Instance | Callable | Items | Untyped | Module | External | None
UNTYPED = Untyped()

# A call, an item, what is passed for a parameter, a cast (to a generic type, too), a name.
_STEP = re.compile(
    r"\(\)|\[\]|\(#\d+\)|<(?:[^<>]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)*>|\{\d+\}|[\w$#]+"
)

_LITERAL = re.compile(r"\{\d+\}")  # a type without a name, by the number of its scope


class Types:
    """Types of expressions, for one request."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._definers: dict[str, dict[Class, int]] = {}
        self._mro: dict[Class, list[Class]] = {}
        self._busy: set[tuple[str, int, str]] = set()
        self._known: dict[tuple[str, int, str], Type] = {}

    # --- expressions -----------------------------------------------------------------------

    def of(self, file: FileFacts, scope: int, expression: str) -> Type:
        """The type of an expression that stands in a scope of a file; None if nothing says it."""
        key = (file.path, scope, expression)
        if key in self._known:
            return self._known[key]
        if key in self._busy or len(self._busy) > DEPTH:
            return None
        self._busy.add(key)
        try:
            found = self._known[key] = self._evaluate(file, scope, expression)
        finally:
            self._busy.discard(key)
        return found

    def _evaluate(self, file: FileFacts, scope: int, expression: str) -> Type:
        steps = _STEP.findall(expression)
        if not steps:
            return None
        if steps[0] == "[]":
            inner = self.of(file, scope, expression[2:])
            return Items(inner) if inner is not None else None
        value, rest = self._first(file, scope, steps)
        rules = file.rules
        for step in rest:
            if value is None:
                return None
            if step == "()":
                value = self._called(value)
            elif step == "[]":
                value = self._item(value)
            elif step[0] == "(":
                value = self._passed(value, int(step[2:-1]))
            elif step[0] == "<":
                value = self.declared(file, scope, step[1:-1])
            elif isinstance(value, Items):
                value = _of_items(value, step, rules)
            else:
                value = self._member(value, step)
        return value

    def _first(self, file: FileFacts, scope: int, steps: list[str]) -> tuple[Type, list[str]]:
        """What the expression begins with, and the steps behind it."""
        first, rules = steps[0], file.rules
        if first[0] == "<":
            return self.declared(file, scope, first[1:-1]), steps[1:]
        if first[0] == "{":
            return Class(file.path, int(first[1:-1]), ""), steps[1:]
        if first in rules.instance:
            return self._receiver(file, scope, first), steps[1:]
        if first == rules.super_name:
            owner = self._self(file, scope)
            rest = steps[1:]
            if isinstance(owner, Instance):
                return Instance(owner.of, above=True), rest[1:] if rest[:1] == ["()"] else rest
            return None, []
        # `import a.b` is used as `a.b`: the longest import wins.
        for count in range(len(steps), 1, -1):
            dotted = ".".join(steps[:count])
            for one in file.imports.get(dotted, ()):
                path = self.session.module(file, one.module)
                return (Module(path) if path else External(one.module)), steps[count:]
        targets = resolve(self.session, file, scope, first)
        if not targets and rules.closed:
            return External("", first[:1].isupper()), steps[1:]
        return self.of_targets(targets), steps[1:]

    def _receiver(self, file: FileFacts, scope: int, name: str) -> Type:
        """`self` or `this`: an object of the class around, or what a function declares for it."""
        place = scope
        while place >= 0 and file.scopes[place].kind != "class":
            said = file.skeleton.types.get(place, {}).get(name)
            if said is not None:
                return self._said(file, place, said)
            place = file.scopes[place].parent
        return self._self(file, scope)

    def _self(self, file: FileFacts, scope: int) -> Type:
        around = file.class_around(scope)
        if around is None:
            return None
        return Instance(Class(file.path, file.canonical[around], file.qualified(around)))

    def of_targets(self, targets: list[Target]) -> Type:
        """The type of the first of some bindings that has one."""
        for target in targets:
            found = self._of_target(target)
            if found is not None:
                return found
        return None

    def _of_target(self, target: Target) -> Type:
        if not isinstance(target, Name):
            return target
        file = self.session.file(target.path)
        return self._bound(file, target.scope, target.name, None) if file else None

    def _bound(self, file: FileFacts, scope: int, name: str, owner: Class | None) -> Type:
        """What a name is that this scope binds: a class, a function, or what was said of it."""
        alias = file.skeleton.aliases.get(name)
        if alias and file.rules.merging:
            return self.declared(file, scope, alias)
        if file.rules.merging:
            inner = file.inner.get((scope, name))
        else:
            inner = file.classes.get(f"{file.qualified(scope)}.{name}" if scope else name)
        if inner is not None:
            return Class(file.path, inner, file.qualified(inner))
        said = file.skeleton.types.get(scope, {}).get(name)
        if said is not None:
            return self._said(file, scope, said)
        if (scope, name) in file.functions or name in file.skeleton.returns.get(scope, {}):
            return Function(file.path, scope, name, owner)
        if alias:
            return self._class_named(file, scope, alias)
        if file.rules.typed_parameters:
            return None
        return UNTYPED if self._is_parameter(file, scope, name) else None

    def _is_parameter(self, file: FileFacts, scope: int, name: str) -> bool:
        return file.scopes[scope].kind == "function" and any(
            flags & PARAMETER and file.scope_at(at) == scope
            for at, flags, _ in self.session.unpacked(file, name)
        )

    def _said(self, file: FileFacts, scope: int, said: str) -> Type:
        if said[0] == ":":
            return self.declared(file, scope, said[1:])
        if said[0] == "@":
            place, _, said = said[1:].partition("=")
            return self.of(file, int(place), said)
        return self.of(file, scope, said[1:])

    def _called(self, value: Type) -> Type:
        if isinstance(value, Class):
            file = self.session.file(value.path)
            around, _, last = value.name.rpartition(".")
            scope = file.classes.get(around, 0) if file and around else 0
            if file is None or last not in file.skeleton.returns.get(scope, {}):
                return Instance(value)
            value = Function(value.path, scope, last)  # with a namespace of the same name
        if isinstance(value, Instance):
            value = self._attribute(value.of, SIGNATURE, value.above, instance=True)
        if isinstance(value, Returning):
            return value.of
        if isinstance(value, Signature):
            file = self.session.file(value.path)
            return self.declared(file, value.scope, value.returns) if file else None
        if isinstance(value, (External, Untyped)):
            # An object of a foreign class; what a foreign function returns may be ours.
            return value if isinstance(value, Untyped) or value.capital else None
        if not isinstance(value, Function):
            return None
        file = self.session.file(value.path)
        said = file.skeleton.returns.get(value.scope, {}).get(value.name) if file else None
        if file is None or said is None:
            return None
        inside = file.functions.get((value.scope, value.name), value.scope)
        if said[0] == "@":
            return self._said(file, value.scope, said)
        if said[0] == ":":
            if said[1:].strip("'\" ").rpartition(".")[2] in file.rules.self_types and value.owner:
                return Instance(value.owner)
            # Type parameters are bound inside of a function.
            within = inside if file.rules.merging else value.scope
            return self.declared(file, within, said[1:])
        return self.of(file, inside, said[1:])

    def _passed(self, value: Type, index: int) -> Type:
        """What a function gets for the parameter with this number."""
        if isinstance(value, Class):
            definer = self.definer(value, "constructor")
            value = Function(definer.path, definer.scope, "constructor") if definer else None
        if isinstance(value, Taking):
            return value.of
        if isinstance(value, External):
            return value
        if isinstance(value, Instance):
            value = self._attribute(value.of, SIGNATURE, value.above, instance=True)
        if isinstance(value, Signature):
            file = self.session.file(value.path)
            if file is None or index >= len(value.parameters):
                return None
            return self.declared(file, value.scope, value.parameters[index])
        if not isinstance(value, Function):
            return None
        file = self.session.file(value.path)
        for scope in file.overloads.get((value.scope, value.name), ()) if file else ():
            said = file.skeleton.types.get(scope, {}).get(f"#{index}") if file else None
            found = self._said(file, scope, said) if file and said else None
            if found is not None and not isinstance(found, External):
                return found
        return None

    def _item(self, value: Type) -> Type:
        if isinstance(value, Items):
            return value.of
        return value if isinstance(value, (Class, Untyped)) else None

    def _member(self, value: Type, name: str) -> Type:
        if isinstance(value, Module):
            return self._in_module(value, name)
        if isinstance(value, External):
            return External(value.module, name[:1].isupper())
        if isinstance(value, Untyped):
            return value
        if isinstance(value, Instance):
            return self._attribute(value.of, name, value.above, instance=True)
        if isinstance(value, Class):
            return self._attribute(value, name, above=False, instance=False)
        return None

    def _in_module(self, value: Module, name: str) -> Type:
        found = exported(self.session, value.path, name)
        if found:
            return self.of_targets(found)
        file = self.session.file(value.path)
        below = self.session.module(file, f".{name}") if file and file.rules.submodules else None
        return Module(below) if below else None

    def _attribute(self, owner: Class, name: str, above: bool, *, instance: bool) -> Type:
        for one in self.mro(owner)[1 if above else 0 :]:
            file = self.session.file(one.path)
            if file is None:
                continue
            found = self._bound(file, one.scope, name, owner)
            if isinstance(found, Function) and instance and self.is_property(one, name):
                return self._called(found)
            if found is not None:
                return found
        return None

    def is_property(self, owner: Class, name: str) -> bool:
        return any(
            file.path == owner.path
            and definition.container == owner.name
            and definition.kind == "property"
            for file, definition in self.session.definitions(name)
        )

    # --- declared types --------------------------------------------------------------------

    def declared(self, file: FileFacts, scope: int, text: str) -> Type:
        """The type that a declaration names: an object of the first class in it that is known."""
        foreign: Type = None
        for part in signatures.split(text.strip().strip("'\""), "|&"):
            found = self._declared_one(file, scope, part.strip().strip("'\""))
            if found is not None and (not file.rules.closed or not isinstance(found, External)):
                return found
            foreign = foreign or found
        return foreign

    def _declared_one(self, file: FileFacts, scope: int, text: str) -> Type:
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
        if last in rules.wrappers and arguments:
            return next(
                (found for one in arguments if (found := self.declared(file, scope, one))), None
            )
        if last in rules.containers and arguments:
            items = [one for one in arguments if one.strip(" .")]
            inner = self.declared(file, scope, items[-1]) if items else None
            return Items(inner) if inner is not None else None
        if text.endswith("[]"):
            inner = self.declared(file, scope, text[:-2])
            return Items(inner) if inner is not None else None
        return self._class_named(file, scope, head)

    def _written(self, file: FileFacts, scope: int, text: str) -> tuple[Type, str]:
        """What a type of TypeScript's grammar says, or else the text that is left to look at."""
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
            return self.of(file, scope, text[7:]), ""
        if text in file.rules.any_types:
            return UNTYPED, ""
        if _LITERAL.fullmatch(text):
            return Instance(Class(file.path, int(text[1:-1]), "")), ""
        if text[0] in "{[`-0123456789" or text.startswith(("keyof ", "asserts ", "infer ")):
            return None, ""
        if " is " in text or " extends " in text:
            return None, ""
        return None, text

    def _class_named(self, file: FileFacts, scope: int, name: str) -> Type:
        found = self.of(file, scope, name) if name else None
        if isinstance(found, Class):
            return Instance(found)
        if file.rules.merging and not isinstance(found, (Function, Module)):
            return found  # an alias, or a parameter of a type with bounds
        return found if isinstance(found, External) else None

    # --- classes ---------------------------------------------------------------------------

    def mro(self, owner: Class) -> list[Class]:
        """A class and those above it that are known, nearest first."""
        if owner in self._mro:
            return self._mro[owner]
        self._mro[owner] = [owner]  # a class above itself, in code that is being written
        found = [owner]
        level = [owner]
        while level and len(found) < MRO:
            above = [base for one in level for base in self._bases(one)]
            level = [base for base in dict.fromkeys(above) if base not in found]
            found += level
        self._mro[owner] = found
        return found

    def _bases(self, owner: Class) -> list[Class]:
        file = self.session.file(owner.path)
        if file is None:
            return []
        around = file.scopes[owner.scope].parent
        found = (self.of(file, around, base) for base in file.skeleton.bases.get(owner.scope, ()))
        return [base for base in found if isinstance(base, Class)]

    def definer(self, owner: Class, name: str, *, above: bool = False) -> Class | None:
        """The nearest class from this one upwards that defines a member."""
        definers = self.definers(name)
        classes = self.mro(owner)[1 if above else 0 :]
        return next((one for one in classes if one in definers), None)

    def members(
        self, owner: Class, name: str, *, above: bool = False, static: bool = False
    ) -> list[Name]:
        """What a member of a class means: those of the nearest classes that define it, on all ways
        upwards; of objects, or of the class itself as far as it has one."""
        definers = self.definers(name)
        if not definers:
            return []
        kind = OF_CLASS if static else OF_OBJECTS
        for wanted in (kind, OF_OBJECTS | OF_CLASS):
            found = self._nearest(self._bases(owner) if above else [owner], definers, wanted)
            if found:
                return [
                    Name(one.path, one.scope, name, static=not definers[one] & ~OF_CLASS & wanted)
                    for one in found
                ]
        return []

    def _nearest(self, level: list[Class], definers: dict[Class, int], kind: int) -> list[Class]:
        found: dict[Class, None] = {}
        seen: set[Class] = set()
        while level and len(seen) < MRO:
            seen.update(level)
            found.update((one, None) for one in level if definers.get(one, 0) & kind)
            above = [base for one in level if one not in found for base in self._bases(one)]
            level = [base for base in dict.fromkeys(above) if base not in seen]
        return list(found)

    def definers(self, name: str) -> dict[Class, int]:
        """All classes that define a member of this name, with whether they have it for their
        objects, for themselves, or both: OF_OBJECTS, OF_CLASS."""
        known = self._definers.get(name)
        if known is None:
            known = self._marked(name)
            for file, definition in self.session.definitions(name):
                facts = self.session.file(file.path) if definition.container else None
                if facts is None or facts.rules.marked:
                    continue
                scope = facts.classes.get(definition.container)
                if scope is not None:
                    known[Class(file.path, scope, definition.container)] = OF_OBJECTS
            self._definers[name] = known
        return known

    def _marked(self, name: str) -> dict[Class, int]:
        """The same in files where members are marked."""
        found: dict[Class, int] = {}
        for file, packed in self.session.view.occurrences(name):
            facts = self.session.file(file.path)
            if facts is None or not facts.rules.marked:
                continue
            numbers = iter(array("I", packed))
            for scope, static in facts.members(zip(numbers, numbers, numbers, strict=True)):
                named = facts.scopes[scope].name
                one = Class(file.path, scope, facts.qualified(scope) if named else "")
                found[one] = found.get(one, 0) | (OF_CLASS if static else OF_OBJECTS)
        return found


def _of_items(value: Items, name: str, rules: Rules) -> Type:
    """A member of a container: a function that gives one like it, or one of its items."""
    if name in rules.takes:
        return Taking(value.of)
    if name in rules.same:
        return Returning(value)
    return Returning(value.of) if name in rules.item else None
