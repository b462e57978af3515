"""Collect the type sources of a file's names: declarations, values and expected types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from winnow.symbols import expressions
from winnow.symbols.extract.chains import UNKNOWN
from winnow.symbols.file_symbols import (
    ATTRIBUTE,
    IN_TYPE,
    MENTIONED,
    PARAMETER,
    SHORTHAND,
    merge_scopes,
)
from winnow.symbols.resolve.rules import SIGNATURE
from winnow.symbols.scopes.nodes import field
from winnow.symbols.scopes.typescript.imports import string_text
from winnow.symbols.scopes.typescript.rules import WRAPPERS

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

# The maximum length of a declared type: longer ones say too little.
TYPE_CHARACTERS = 400
_SPACE = re.compile(r"\s+")


def type_text(extraction: Extraction, node: tree_sitter.Node | None) -> str:
    """Return a declared type on one line, without the colon, or ""."""
    if node is None:
        return ""
    if node.type == "type_annotation":
        if not node.named_children:
            return ""
        node = node.named_children[0]
    if node.type == "object_type":
        return expressions.unnamed(extraction.scope_at(node.start_byte))
    if node.end_byte - node.start_byte > TYPE_CHARACTERS:
        return ""
    text = _SPACE.sub(" ", extraction.text(node)).strip()
    return "" if text == "const" else text


def cast_type(extraction: Extraction, node: tree_sitter.Node) -> str:
    """Return the type in `x as T`, `x satisfies T` or `<T>x`."""
    children = node.named_children
    declared = children[0] if node.type == "type_assertion" else children[-1]
    if declared.type == "type_arguments" and declared.named_children:
        declared = declared.named_children[0]
    return as_step(type_text(extraction, declared)) if len(children) > 1 else ""


def as_step(declared: str) -> str:
    """Return a type in a form that an expression can contain, or ""."""
    return "" if "=>" in declared or declared.count("<") > 4 else declared


# --- expected types ------------------------------------------------------------------------------

FUNCTIONS = frozenset(
    (
        "arrow_function", "function_expression", "function_declaration", "method_definition",
        "generator_function_declaration",
    )
)  # fmt: skip
# List methods that call a function with each item, and the parameter that receives it.
_EACH = {
    "forEach": 0, "map": 0, "filter": 0, "find": 0, "findIndex": 0, "findLast": 0, "some": 0,
    "every": 0, "flatMap": 0, "sort": 0, "reduce": 1, "reduceRight": 1,
}  # fmt: skip
Context = tuple[int, int, str]
NO_CONTEXT: Context = (0, 0, "")


def expected(extraction: Extraction, node: tree_sitter.Node, depth: int = 0) -> Context:
    """Return the type that is expected of an object, a pattern or a function at its position."""
    if node.type.startswith("jsx_"):
        return context_of(extraction, field(node, "name"), expressions.argument("", 0))
    parent = node.parent
    if parent is None or depth > 12:
        return NO_CONTEXT
    kind = parent.type
    if kind in ("parenthesized_expression", "ternary_expression", "assignment_pattern"):
        return expected(extraction, parent, depth + 1)
    if kind in ("variable_declarator", "public_field_definition"):
        declared, value = field(parent, "type"), field(parent, "value")
        if declared is not None:
            return _declared(extraction, declared)
        return context_of(extraction, None if value == node else value, "")
    if kind in ("required_parameter", "optional_parameter"):
        declared = field(parent, "type")
        if declared is not None:
            return _declared(extraction, declared)
        return _parameter_expected(extraction, parent, depth)
    if kind == "formal_parameters":
        return _parameter_expected(extraction, node, depth)
    if kind in ("as_expression", "satisfies_expression"):
        return _cast_to(cast_type(extraction, parent))
    if kind == "assignment_expression":
        left, right = field(parent, "left"), field(parent, "right")
        assigned_from = left if right is not None and right.id == node.id else right
        return context_of(extraction, assigned_from, "")
    if kind == "arguments":
        called = field(parent.parent, "function") or field(parent.parent, "constructor")
        return context_of(extraction, called, expressions.argument("", _index(node)))
    if kind in ("pair", "pair_pattern") and parent.parent is not None:
        key = field(parent, "key")
        start, end, rest = extraction.contexts.get(parent.parent.start_byte, NO_CONTEXT)
        if key is None or key.type != "property_identifier" or not (end or rest):
            return NO_CONTEXT
        return start, end, expressions.member(rest, extraction.text(key))
    if kind == "array":
        start, end, rest = expected(extraction, parent, depth + 1)
        return (start, end, expressions.item(rest)) if end or rest else NO_CONTEXT
    if kind == "for_in_statement":
        return context_of(extraction, field(parent, "right"), expressions.item(""))
    if kind in ("return_statement", "arrow_function"):
        return _return_expected(extraction, parent)
    return NO_CONTEXT


def _cast_to(declared: str) -> Context:
    return (0, 0, expressions.cast(declared)) if declared else NO_CONTEXT


def _declared(extraction: Extraction, node: tree_sitter.Node | None) -> Context:
    return _cast_to(as_step(type_text(extraction, node)))


def _index(node: tree_sitter.Node) -> int:
    """Return the index of a node among the named children of its parent."""
    siblings = node.parent.named_children if node.parent is not None else ()
    return next((index for index, sibling in enumerate(siblings) if sibling.id == node.id), 0)


def context_of(extraction: Extraction, node: tree_sitter.Node | None, rest: str) -> Context:
    """Return the context for the type of an expression, with a suffix."""
    if node is not None and node.type in ("as_expression", "satisfies_expression"):
        if declared := cast_type(extraction, node):
            return _cast_to(declared)
        node = node.named_children[0]
    return (node.start_byte, node.end_byte, rest) if node is not None else NO_CONTEXT


def _return_expected(extraction: Extraction, node: tree_sitter.Node) -> Context:
    function: tree_sitter.Node | None = node
    while function is not None and function.type not in FUNCTIONS:
        function = function.parent
    return _declared(extraction, field(function, "return_type"))


def _parameter_expected(extraction: Extraction, parameter: tree_sitter.Node, depth: int) -> Context:
    """Return the context of a parameter without a type: what its function is expected to accept."""
    function = parameter.parent.parent if parameter.parent is not None else None
    if function is None:
        return NO_CONTEXT
    return passed(extraction, function, _index(parameter), depth)


def passed(extraction: Extraction, function: tree_sitter.Node, index: int, depth: int) -> Context:
    """Return the context of the argument at an index that a function value receives."""
    if function.type not in ("arrow_function", "function_expression"):
        return NO_CONTEXT
    around = function.parent
    call = around.parent if around is not None and around.type == "arguments" else None
    called = field(call, "function")
    if called is not None and called.type == "member_expression":
        method, owner = field(called, "property"), field(called, "object")
        name = extraction.text(method) if method is not None else ""
        if name in _EACH and (index == _EACH[name] or name == "sort"):
            return context_of(extraction, owner, expressions.item(""))
        if name == "then" and index == 0:
            return context_of(extraction, owner, "")
    start, end, rest = expected(extraction, function, depth + 1)
    return (start, end, expressions.argument(rest, index)) if end or rest else NO_CONTEXT


# --- collection ----------------------------------------------------------------------------------

_DOC = re.compile(
    rb"\{@link(?:code|plain)?\s+(?P<link>[A-Za-z_$][\w$]*)"
    rb"|@(?:param|returns?|type|throws|typedef|property|prop|extends|implements|template|this|see"
    rb"|satisfies|enum)\s+\{(?!@)(?P<type>[^}\n]*)\}"
)
_WORD = re.compile(rb"(?<![\w$'\"])(?<![\w$)\]]\.)[A-Za-z_$][\w$]*")


def collect(extraction: Extraction) -> None:
    """Add bases, types of names and functions, and names in doc comments."""
    types = TypeCollector(extraction)
    for capture, collect_from in (
        ("class", types.bases),
        ("alias", types.alias),
        ("constrained", types.constraint),
        ("function", types.function),
        ("signature", types.signature),
        ("declarator", types.variable),
        ("field", types.variable),
        ("loop", types.loop),
        ("alias.import", types.import_alias),
        ("this", types.this),
        ("static", types.static),
        ("assignment.this", types.assignment),
        ("return", types.returned),
        ("object", types.pattern),
        ("export", types.default),
    ):
        for node in extraction.captured.get(capture, ()):
            collect_from(node)
    extraction.each("quoted", _quoted)
    _documented(extraction)


def _quoted(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add a quoted member: `x["a"]`, or `T["a"]` in a type."""
    string = node.parent
    owner = string.parent if string is not None else None
    if owner is not None and owner.type == "literal_type":
        owner = owner.parent
    inner = owner.named_children[0] if owner is not None else None
    if inner is None:
        return
    if owner is not None and owner.type == "lookup_type":
        receiver = _lookup(extraction, inner)
    else:
        receiver = extraction.chains.describe(inner.start_byte, inner.end_byte)
    number = extraction.chains.number(receiver.encode() if receiver else UNKNOWN)
    flags = ATTRIBUTE | (IN_TYPE if owner is not None and owner.type == "lookup_type" else 0)
    extraction.members.append((extraction.text(node), node.start_byte, flags, number))


def _lookup(extraction: Extraction, node: tree_sitter.Node) -> str:
    """Return the expression before a lookup in a type: `T["a"]["b"]` becomes `<T>.a.b`."""
    if node.type == "lookup_type" and len(node.named_children) == 2:
        owner = _lookup(extraction, node.named_children[0])
        key = string_text(extraction, node.named_children[1])
        return expressions.member(owner, key) if owner and key.isidentifier() else ""
    declared = as_step(type_text(extraction, node))
    return expressions.cast(declared) if declared else ""


def _documented(extraction: Extraction) -> None:
    """Add names in doc comments: `{@link X}` and `@param {X}`."""
    for node in extraction.captured.get("comment", ()):
        start, end = node.start_byte, node.end_byte
        if not extraction.source.startswith(b"/**", start):
            continue
        for match in _DOC.finditer(extraction.source, start, end):
            span = match.span("link") if match["link"] else match.span("type")
            flag = MENTIONED if match["link"] else IN_TYPE
            for word in _WORD.finditer(extraction.source, *span):
                extraction.more.append((word.group().decode(), word.start(), flag))


_PRIMITIVES = frozenset(
    ("string", "number", "boolean", "any", "unknown", "void", "never", "object", "null",
     "undefined", "bigint", "symbol")
)  # fmt: skip


class TypeCollector:
    """Collects the type sources of a file's names."""

    def __init__(self, extraction: Extraction) -> None:
        self._extraction = extraction
        self.text = extraction.text
        self._number = merge_scopes(extraction.scopes)

    def scope(self, node: tree_sitter.Node) -> int:
        return self._number[self._extraction.scope_at(node.start_byte)]

    def learn(self, scope: int, name: str, source: str) -> None:
        """Add a type source. A declared type replaces an assigned value; otherwise the first one
        wins."""
        if expressions.is_empty(source):
            return
        types = self._extraction.types.setdefault(scope, {})
        earlier = types.get(name)
        if earlier is None or (
            expressions.is_declared(source) and not expressions.is_declared(earlier)
        ):
            types[name] = source

    def bind(self, name: tree_sitter.Node, source: str) -> None:
        """Add a type source for the name at a node, in its scope."""
        self.learn(self.scope(name), self.text(name), source)

    def constraint(self, node: tree_sitter.Node) -> None:
        """Add the constraint of a type parameter as its type."""
        name = field(node, "name")
        constraint = type_text(self._extraction, field(node, "constraint"))
        if name is not None:
            self.bind(name, expressions.declared(constraint))

    def this(self, node: tree_sitter.Node) -> None:
        """Add the declared type of `this`."""
        declared = type_text(self._extraction, field(node, "type"))
        scope = self._extraction.scope_at(node.start_byte)
        self.learn(scope, "this", expressions.declared(declared))

    def default(self, node: tree_sitter.Node) -> None:
        """Add the value of `export default x` or `export = x`."""
        value = field(node, "value")
        if value is not None and value.type != "identifier":
            self.learn(0, "default", expressions.assigned(self.value(value)))

    def value(self, node: tree_sitter.Node | None) -> str:
        """Return the expression of a value; of alternatives, the first that has an expression."""
        if node is None:
            return ""
        kind = node.type
        if kind in ("as_expression", "satisfies_expression", "type_assertion"):
            declared = cast_type(self._extraction, node)
            if declared:
                return expressions.cast(declared)
            return self.value(node.named_children[0]) if kind != "type_assertion" else ""
        if kind in ("parenthesized_expression", "await_expression", "non_null_expression"):
            return self.value(node.named_children[0]) if node.named_children else ""
        if kind in ("ternary_expression", "binary_expression"):
            sides = ("consequence", "alternative") if kind[0] == "t" else ("left", "right")
            if kind[0] == "b":
                operator = field(node, "operator")
                if operator is None or operator.type not in ("||", "??", "&&"):
                    return ""
            parts = (self.value(field(node, side)) for side in sides)
            return next((part for part in parts if part), "")
        if kind == "assignment_expression":
            return self.value(field(node, "right"))
        if kind == "new_expression" and field(node, "arguments") is None:
            constructor = self.value(field(node, "constructor"))
            return expressions.call(constructor) if constructor else ""
        if kind == "array":
            items = (self.value(child) for child in node.named_children)
            lists = (item for item in items if item and not expressions.is_list(item))
            return next(map(expressions.list_of, lists), "")
        return self._extraction.chains.describe(node.start_byte, node.end_byte)

    def context(self, context: Context) -> str:
        """Return the expression of a context."""
        start, end, rest = context
        if not end:
            return rest
        described = self._extraction.chains.describe(start, end)
        return described + rest if described else ""

    def bases(self, node: tree_sitter.Node) -> None:
        body = field(node, "body")
        if body is None:
            return
        found = [base for part in node.named_children for base in self.bases_in(part)]
        if found:
            self._extraction.bases.setdefault(self.scope(body), []).extend(found)

    def bases_in(self, clause: tree_sitter.Node) -> list[str]:
        """Return the bases that a part of a declaration names."""
        if clause.type == "class_heritage":
            of_typescript = ("extends_clause", "implements_clause")
            return [
                base
                for child in clause.named_children
                for base in (
                    self.bases_in(child) if child.type in of_typescript else [self.value(child)]
                )
                if base
            ]
        if clause.type == "extends_clause":
            return [self.value(field(clause, "value"))]
        if clause.type in ("implements_clause", "extends_type_clause"):
            return [name for child in clause.named_children for name in self.named_types(child)]
        return []

    def named_types(self, node: tree_sitter.Node) -> list[str]:
        """Return the types whose members a type has."""
        kind = node.type
        if kind in ("type_identifier", "nested_type_identifier"):
            return [self.text(node)]
        if kind == "generic_type":
            name = field(node, "name")
            text = self.text(name) if name is not None else ""
            arguments = field(node, "type_arguments")
            if text in WRAPPERS and arguments is not None and arguments.named_children:
                return self.named_types(arguments.named_children[0])
            return [text] if text else []
        if kind == "object_type":
            return [type_text(self._extraction, node)]
        if kind in ("union_type", "intersection_type", "parenthesized_type", "readonly_type"):
            return [name for child in node.named_children for name in self.named_types(child)]
        return []

    def alias(self, node: tree_sitter.Node) -> None:
        """Add `type A = …`: its bases, or else its text for later lookup."""
        name, value = field(node, "name"), field(node, "value")
        if name is None or value is None:
            return
        names = self.named_types(value)
        scope = self._number[self._extraction.scope_at(value.start_byte - 1)]
        if names:
            self._extraction.bases.setdefault(scope, []).extend(names)
        else:
            text = type_text(self._extraction, value)
            if text:
                self._extraction.aliases[self.text(name)] = text

    def import_alias(self, node: tree_sitter.Node) -> None:
        """Add the value of `import A = B.C`."""
        if node.type == "import_alias" and len(node.named_children) > 1:
            name, value = node.named_children[0], node.named_children[-1]
            text = self.text(name)
            self.learn(self.scope(name), text, expressions.assigned(self.text(value)))

    def function(self, node: tree_sitter.Node) -> None:
        """Add the types of parameters and of the result."""
        extraction = self._extraction
        name = field(node, "name")
        parameters = field(node, "parameters")
        declared = type_text(extraction, field(node, "return_type"))
        if name is not None and name.type != "computed_property_name":
            source = expressions.declared(declared)
            body = field(node, "body")
            text = extraction.text(name)
            if any(child.type in ("get", "set") for child in node.children[:4]):
                if declared:
                    self.learn(self.scope(name), text, source)
            elif declared or body is None:
                self.returns(self.scope(name), text, source)
        self.parameters(node, parameters)

    def signature(self, node: tree_sitter.Node) -> None:
        """Add the call or `new` signature of an interface."""
        declared = type_text(self._extraction, field(node, "return_type"))
        scope = self._extraction.scope_at(node.start_byte)
        if node.type == "call_signature":
            around = self._extraction.class_around(scope)
            if declared and around is not None:
                self.returns(self._number[around], SIGNATURE, expressions.declared(declared))
        self.parameters(node, field(node, "parameters"))

    def parameters(self, node: tree_sitter.Node, parameters: tree_sitter.Node | None) -> None:
        extraction = self._extraction
        if parameters is None:
            single = field(node, "parameter")
            if single is not None:
                self.parameter(single, passed(extraction, node, 0, 0))
            return
        declared = [
            (parameter, field(parameter, "pattern"))
            for parameter in parameters.named_children
            if parameter.type != "comment"
        ]
        named = [each for each in declared if each[1] is None or each[1].type != "this"]
        for index, (parameter, pattern) in enumerate(named):
            typed, value = field(parameter, "type"), self.value(field(parameter, "value"))
            if typed is not None:
                text = type_text(extraction, typed)
                if text and pattern is not None:
                    self.declared_parameter(pattern, text, index)
            elif value:
                self.learn_parameter(pattern or parameter, expressions.assigned(value), index)
            else:
                self.parameter(pattern or parameter, passed(extraction, node, index, 0))

    def returns(self, scope: int, name: str, source: str) -> None:
        if not expressions.is_empty(source):
            self._extraction.returns.setdefault(scope, {}).setdefault(name, source)

    def declared_parameter(self, pattern: tree_sitter.Node, declared: str, index: int) -> None:
        if pattern.type == "rest_pattern" and pattern.named_children:
            pattern = pattern.named_children[0]
        self.learn_parameter(pattern, expressions.declared(declared), index)
        flag = self._extraction.flags.get(pattern.start_byte, 0)
        if flag & SHORTHAND and flag & PARAMETER:
            around = self._extraction.class_around(self._extraction.scope_at(pattern.start_byte))
            if around is not None:
                text = self.text(pattern)
                self.learn(self._number[around], text, expressions.declared(declared))

    def learn_parameter(self, pattern: tree_sitter.Node, source: str, index: int) -> None:
        scope, key = self.scope(pattern), expressions.parameter_key(index)
        if pattern.type == "identifier":
            name = self.text(pattern)
            self.learn(scope, name, source)
            if source[1:] not in _PRIMITIVES:
                self.learn(scope, key, expressions.assigned(name))
        elif expressions.is_declared(source):
            self.learn(scope, key, source)

    def parameter(self, pattern: tree_sitter.Node, context: Context) -> None:
        """Add the expected type of a parameter without a type."""
        described = self.context(context)
        if described and pattern.type == "identifier":
            around = self._extraction.scopes[self.scope(pattern)].parent
            self.bind(pattern, expressions.assigned(described, around))

    def variable(self, node: tree_sitter.Node) -> None:
        """Add the type of `const x: T = y`, and of fields."""
        name = field(node, "name") or field(node, "property")
        value = field(node, "value")
        if name is None or name.type in ("object_pattern", "computed_property_name"):
            return
        scope, text = self.scope(name), self.text(name)
        declared = type_text(self._extraction, field(node, "type"))
        if declared:
            self.learn(scope, text, expressions.declared(declared))
            return
        if value is None:
            return
        if name.type == "array_pattern":
            described = self.value(value)
            for child in name.named_children if described else ():
                if child.type == "identifier":
                    item = expressions.item(described)
                    self.learn(scope, self.text(child), expressions.assigned(item))
            return
        if value.type in FUNCTIONS:
            self.returns(scope, text, self.result(value))
        elif described := self.value(value):
            self.learn(scope, text, expressions.assigned(described))

    def result(self, function: tree_sitter.Node) -> str:
        """Return the type source of the result of `(…): T => …` or `(…) => x`."""
        if returned := type_text(self._extraction, field(function, "return_type")):
            return expressions.declared(returned)
        body = field(function, "body")
        described = self.value(body) if body and body.type != "statement_block" else ""
        return expressions.assigned(described, self.scope(body)) if body and described else ""

    def static(self, node: tree_sitter.Node) -> None:
        """Make `this` in static members the class."""
        extraction = self._extraction
        around = extraction.class_around(extraction.scope_at(node.start_byte))
        body = field(node, "body") or field(node, "value")
        name = extraction.scopes[around].name if around is not None else ""
        if body is not None and name:
            scope = extraction.function_around(extraction.scope_at(body.start_byte))
            if scope is not None and scope > (around or 0):
                self.learn(scope, "this", expressions.assigned(name))

    def loop(self, node: tree_sitter.Node) -> None:
        """Make x an item of y in `for (const x of y)`."""
        left, right = field(node, "left"), field(node, "right")
        operator = field(node, "operator")
        if left is None or operator is None or operator.type != "of" or left.type != "identifier":
            return
        described = self.value(right)
        if described:
            self.bind(left, expressions.assigned(expressions.item(described)))

    def assignment(self, node: tree_sitter.Node) -> None:
        """Add the value of `this.x = y` in a class."""
        name = field(node, "left", "property")
        described = self.value(field(node, "right"))
        scope = self._extraction.scope_at(node.start_byte)
        around = self._extraction.class_around(scope)
        if name is not None and described and around is not None:
            self.learn(
                self._number[around], self.text(name), expressions.assigned(described, scope)
            )

    def returned(self, node: tree_sitter.Node) -> None:
        """Add the first return value of a function without a declared type."""
        scope = self._extraction.scope_at(node.start_byte)
        around = self._extraction.function_around(scope)
        if around is None:
            return
        function = self._extraction.scopes[around]
        parent = self._number[function.parent]
        if not function.name or function.name in self._extraction.returns.get(parent, {}):
            return
        described = self.value(node.named_children[0])
        if described and function.name not in self._extraction.types.get(parent, {}):
            self.returns(parent, function.name, expressions.assigned(described, scope))

    def pattern(self, node: tree_sitter.Node) -> None:
        """Add the types of a and c in `const {a, b: c} = x`."""
        described = self.context(self._extraction.contexts.get(node.start_byte, NO_CONTEXT))
        if node.type != "object_pattern" or not described:
            return
        for child in node.named_children:
            name = child.named_children[0] if child.type == "object_assignment_pattern" else child
            key: tree_sitter.Node | None = name
            if child.type == "pair_pattern":
                key, name = field(child, "key"), field(child, "value") or child
            if key and name.type in ("identifier", "shorthand_property_identifier_pattern"):
                scope = self._extraction.scope_at(name.start_byte)
                text = expressions.assigned(expressions.member(described, self.text(key)))
                self.learn(scope, self.text(name), text)
