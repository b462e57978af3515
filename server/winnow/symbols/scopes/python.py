"""Bind names in Python: scopes, imports, types, modules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from winnow.symbols import expressions
from winnow.symbols.file_symbols import (
    ATTRIBUTE,
    IMPORTED,
    IN_TYPE,
    STRING,
    Import,
    LexicalScope,
)
from winnow.symbols.resolve.rules import Rules, shared_folders
from winnow.symbols.view import SymbolView

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

TOKENS = """
(identifier) @identifier
(function_definition name: (identifier) @bind)
(class_definition name: (identifier) @bind)
(parameters (identifier) @parameter)
(lambda_parameters (identifier) @parameter)
(default_parameter name: (identifier) @parameter)
(typed_parameter . (identifier) @parameter)
(typed_default_parameter name: (identifier) @parameter)
(list_splat_pattern (identifier) @parameter)
(dictionary_splat_pattern (identifier) @parameter)
(assignment left: (identifier) @bind)
(augmented_assignment left: (identifier) @bind)
(for_statement left: (identifier) @bind)
(for_in_clause left: (identifier) @bind)
(pattern_list (identifier) @bind)
(tuple_pattern (identifier) @bind)
(list_pattern (identifier) @bind)
(as_pattern_target (identifier) @bind)
(named_expression name: (identifier) @bind)
(case_pattern (dotted_name . (identifier) @bind .))
(case_pattern (as_pattern (case_pattern) (identifier) @bind))
(splat_pattern (identifier) @bind)
(keyword_pattern (dotted_name . (identifier) @bind .))
(class_pattern) @pattern
(function_definition type_parameters: (type_parameter (type (identifier) @bind)))
(class_definition type_parameters: (type_parameter (type (identifier) @bind)))
(keyword_argument name: (identifier) @keyword)
(type) @typed
(function_definition) @scope.function
(lambda) @scope.function
(class_definition) @scope.class
(list_comprehension) @scope.function
(set_comprehension) @scope.function
(dictionary_comprehension) @scope.function
(generator_expression) @scope.function
(default_parameter value: (_) @outside)
(typed_default_parameter value: (_) @outside)
(list_comprehension . (_) . (for_in_clause right: (_) @outside))
(set_comprehension . (_) . (for_in_clause right: (_) @outside))
(dictionary_comprehension . (_) . (for_in_clause right: (_) @outside))
(generator_expression . (_) . (for_in_clause right: (_) @outside))
(typed_parameter type: (_) @annotation)
(typed_default_parameter type: (_) @annotation)
(function_definition return_type: (_) @annotation)
(function_definition type_parameters: (_) @generic)
(argument_list) @arguments
(subscript) @subscript
(parenthesized_expression) @parenthesis
(import_statement) @import
(import_from_statement) @import.from
(future_import_statement) @import.from
(global_statement) @outer
(nonlocal_statement) @outer
(assignment) @assignment
(typed_parameter) @assignment
(typed_default_parameter) @assignment
(as_pattern) @assignment
(named_expression) @assignment
(for_statement left: (identifier)) @loop
(for_in_clause left: (identifier)) @loop
(function_definition return_type: (_)) @function
(return_statement (_)) @return
(class_definition superclasses: (_)) @derived
"""

_WORD = re.compile(rb"[A-Za-z_]\w*")
_QUOTED = re.compile(rb"(['\"])([^'\"\n]*)\1")
# Quoted types outside of annotations: `cast("Foo", x)`, `TypeVar("T", bound="Foo")`.
_QUOTED_TYPE = re.compile(rb"\b(?:cast\(|bound\s*=)\s*(['\"])([^'\"\n]+)\1")
_EXPORTS = re.compile(rb"^__all__\b[^=\n]*=|^__all__\.(?:extend|append)\(", re.MULTILINE)
_EXPORTED = re.compile(rb"[\s(\[+]*(?:#[^\n]*\n\s*)*(['\"])(\w+)\1\s*,?")
ASSIGNED = 8  # the maximum number of different values per name
_BASE = re.compile(r"[\w.]+")


def prepare(extraction: Extraction) -> None:
    """Add nested scopes, imports, and names taken from enclosing scopes."""
    _add_outside_scopes(extraction)
    extraction.each("pattern", _pattern)
    extraction.each("import", _import)
    extraction.each("import.from", _import_from)
    for node in extraction.captured.get("outer", ()):
        scope = extraction.scope_at(node.start_byte)
        names = [extraction.text(child) for child in node.named_children]
        extraction.outer.setdefault(scope, []).extend(names)


def _add_outside_scopes(extraction: Extraction) -> None:
    """Add "outside" scopes: default values, annotations and the first iterable of a comprehension.

    Names in them have the meaning they have around the function. They become scopes if the function
    binds one of their names.
    """
    source = extraction.source
    generic = {node.start_byte for node in extraction.captured.get("generic", ())}
    found: dict[int, list[tree_sitter.Node]] = {}
    for capture in ("outside", "annotation"):
        for node in extraction.captured.get(capture, ()):
            # A scope can start at the same offset as the node.
            scope = extraction.scope_at(node.start_byte - 1)
            # Type parameters are visible in annotations.
            if capture == "outside" or extraction.scopes[scope].start not in generic:
                found.setdefault(scope, []).append(node)
    bound: dict[int, set[bytes]] = {}
    for capture in ("bind", "parameter") if found else ():
        for node in extraction.captured.get(capture, ()):
            scope = extraction.scope_at(node.start_byte)
            if scope in found:
                bound.setdefault(scope, set()).add(source[node.start_byte : node.end_byte])
    outside = [
        LexicalScope(node.start_byte, node.end_byte, 0, "outside")
        for scope, nodes in found.items()
        for node in nodes
        if not bound.get(scope, set()).isdisjoint(
            _WORD.findall(source, node.start_byte, node.end_byte)
        )
    ]
    if outside:
        # Before a lambda, which can be a complete default value.
        extraction.scopes = sorted(
            [*outside, *extraction.scopes], key=lambda scope: (scope.start, -scope.end)
        )
        extraction.link_scopes()


def _pattern(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Make `b` of `case A(b=c)` an attribute of an A."""
    named = node.named_children[0]
    for child in node.named_children[1:]:
        if child.named_children and (keyword := child.named_children[0]).type == "keyword_pattern":
            start = keyword.named_children[0].start_byte
            extraction.flags[start] = ATTRIBUTE
            extraction.owners[start] = extraction.text(named).encode() + b"()"


def _import(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the imports of `import a.b, c as d`. The first binds `a` and is used as `a.b`."""
    scope = extraction.scope_at(node.start_byte)
    for child in node.children_by_field_name("name"):
        name, alias = _aliased(child)
        _mark_module(extraction, name)
        module = extraction.text(name)
        local = extraction.text(alias) if alias is not None else module
        if alias is not None:
            extraction.flags[alias.start_byte] = IMPORTED
        extraction.imports.append(Import(local, module, "", scope, name.start_byte))


def _import_from(extraction: Extraction, node: tree_sitter.Node) -> None:
    scope = extraction.scope_at(node.start_byte)
    module_node = node.child_by_field_name("module_name")
    module = extraction.text(module_node) if module_node is not None else "__future__"
    if module_node is not None:
        _mark_module(extraction, module_node)
    for child in node.children_by_field_name("name"):
        name, alias = _aliased(child)
        _mark(extraction, name)
        local = extraction.text(alias if alias is not None else name)
        if alias is not None:
            extraction.flags[alias.start_byte] = IMPORTED
        extraction.imports.append(
            Import(local, module, extraction.text(name), scope, name.start_byte)
        )
    if any(child.type == "wildcard_import" for child in node.children):
        extraction.stars.append(module)


def _aliased(node: tree_sitter.Node) -> tuple[tree_sitter.Node, tree_sitter.Node | None]:
    if node.type == "aliased_import":
        name = node.child_by_field_name("name")
        assert name is not None
        return name, node.child_by_field_name("alias")
    return node, None


def _mark_module(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Mark the parts of a module name as modules, whatever else has their names."""
    start = node.start_byte
    if node.type == "relative_import":
        node = node.named_children[-1]
    for part in node.named_children if node.type == "dotted_name" else ():
        module = extraction.source[start : part.end_byte].decode("utf-8", "replace")
        extraction.flags[part.start_byte] = IMPORTED
        extraction.modules[part.start_byte] = module


def _mark(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Mark the names of a dotted name as imported, not as attributes."""
    if node.type == "identifier":
        extraction.flags[node.start_byte] = IMPORTED
    for child in node.named_children:
        _mark(extraction, child)


def collect(extraction: Extraction) -> None:
    """Add bases, types of names and functions, and names in strings."""
    extraction.each("derived", _bases)
    extraction.each("assignment", _assignment)
    extraction.each("loop", _loop)
    for node in extraction.captured.get("function", ()):
        name, declared = node.child_by_field_name("name"), node.child_by_field_name("return_type")
        assert name is not None
        assert declared is not None
        scope = extraction.scope_at(name.start_byte)
        returns = extraction.returns.setdefault(scope, {})
        returns[extraction.text(name)] = expressions.declared(extraction.text(declared))
    extraction.each("return", _returned)
    _quoted(extraction)


def _bases(extraction: Extraction, node: tree_sitter.Node) -> None:
    bases = node.child_by_field_name("superclasses")
    body = node.child_by_field_name("body")
    assert bases is not None
    if body is None:
        return
    found = [
        match.group()
        for child in bases.named_children
        if child.type != "keyword_argument" and (match := _BASE.match(extraction.text(child)))
    ]
    extraction.bases[extraction.scope_at(body.start_byte)] = found


def _assignment(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add type sources of x from `x: T`, `x = y`, `with y as x` and `(x := y)`."""
    declared, value = node.child_by_field_name("type"), node.child_by_field_name("right")
    target = node.child_by_field_name("left")
    if node.type == "as_pattern":
        alias = node.child_by_field_name("alias")
        target = alias.named_children[0] if alias is not None and alias.named_children else None
        value = node.named_children[0]
        if value.type == "case_pattern":
            _learn_pattern(extraction, node.named_children[-1], value)
            return
    elif node.type == "named_expression":
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    elif target is None:
        target = node.child_by_field_name("name") or node.named_children[0]
    if target is None or target.type not in ("identifier", "attribute"):
        return
    values: list[str] = []
    if declared is not None:
        place = extraction.scope_at(declared.start_byte)
        elsewhere = place if extraction.scopes[place].kind == "outside" else None
        sources = [expressions.declared(extraction.text(declared), elsewhere)]
    else:
        # `with` binds the result of __enter__, usually the same object.
        values = [*_values(extraction, value)]
        sources = [*map(expressions.assigned, values)]
    scope = extraction.scope_at(target.start_byte)
    if target.type == "identifier":
        for source in sources:
            _learn(extraction, scope, extraction.text(target), source)
        return
    owner, attribute = target.child_by_field_name("object"), target.child_by_field_name("attribute")
    around = extraction.class_around(scope)
    if owner is None or attribute is None or around is None or extraction.text(owner) != "self":
        return
    if declared is None:
        sources = [expressions.assigned(described, scope) for described in values]
    for source in sources:
        _learn(extraction, around, extraction.text(attribute), source)


def _learn_pattern(
    extraction: Extraction, target: tree_sitter.Node, pattern: tree_sitter.Node
) -> None:
    """Add the type of x in `case A() as x`."""
    matched = pattern.named_children[0] if pattern.named_children else None
    if matched is None or matched.type != "class_pattern" or target.type != "identifier":
        return
    scope = extraction.scope_at(target.start_byte)
    made = expressions.call(extraction.text(matched.named_children[0]))
    _learn(extraction, scope, extraction.text(target), expressions.assigned(made))


def _values(extraction: Extraction, value: tree_sitter.Node | None) -> Iterator[str]:
    """Yield the expression of a value; for `a or b` and `b if c else a`, those of both."""
    if value is None:
        return
    if value.type in ("boolean_operator", "conditional_expression"):
        children = value.named_children
        for side in (children[0], children[-1]):
            yield from _values(extraction, side)
    elif described := extraction.chains.describe(value.start_byte, value.end_byte):
        yield described


def _learn(extraction: Extraction, scope: int, name: str, source: str) -> None:
    """Add a type source. A declared type replaces assigned values, the first declaration wins, and
    all assigned values are kept."""
    types = extraction.types.setdefault(scope, {})
    earlier = types.get(name)
    if earlier is None:
        types[name] = source
    elif not expressions.is_declared(earlier):
        if expressions.is_declared(source):
            types[name] = source
        else:
            types[name] = expressions.add_source(earlier, source, ASSIGNED)


def _loop(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Make x an item of y in `for x in y`."""
    target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    if target is None or value is None:
        return
    described = extraction.chains.describe(value.start_byte, value.end_byte)
    if described:
        scope = extraction.scope_at(target.start_byte)
        item = expressions.assigned(expressions.item(described))
        _learn(extraction, scope, extraction.text(target), item)


def _returned(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the first return value of a function without a declared type."""
    scope = extraction.scope_at(node.start_byte)
    function = extraction.scopes[scope]
    value = node.named_children[0]
    if function.kind != "function" or not function.name:
        return
    described = extraction.chains.describe(value.start_byte, value.end_byte)
    if described:
        returns = extraction.returns.setdefault(function.parent, {})
        returns.setdefault(function.name, expressions.assigned(described))


def _quoted(extraction: Extraction) -> None:
    """Add quoted names in annotations, as types, and in `__all__`."""
    source = extraction.source
    places: dict[int, tuple[str, int]] = {}
    for node in extraction.captured.get("typed", ()):
        for quoted in _QUOTED.finditer(source, node.start_byte, node.end_byte):
            for word in _WORD.finditer(source, *quoted.span(2)):
                places[word.start()] = (word.group().decode(), IN_TYPE)
    # Searching for a few letters first is ten times as fast as searching for the pattern.
    if b"cast(" in source or b"bound" in source:
        for quoted in _QUOTED_TYPE.finditer(source):
            for word in _WORD.finditer(source, *quoted.span(2)):
                places[word.start()] = (word.group().decode(), IN_TYPE)
    for start in _EXPORTS.finditer(source) if b"__all__" in source else ():
        place = start.end()
        while exported := _EXPORTED.match(source, place):
            places[exported.start(2)] = (exported.group(2).decode(), STRING)
            place = exported.end()
    extraction.more += [(name, at, flags) for at, (name, flags) in places.items()]


# --- resolving -----------------------------------------------------------------------------


def module(view: SymbolView, importer: str, name: str) -> str | None:
    """Return the file that `import name` or `from name import` resolves to."""
    dots = len(name) - len(name.lstrip("."))
    rest = name[dots:].replace(".", "/")
    if dots:
        folder = importer.rsplit("/", dots)[0]
        stem = f"{folder}/{rest}" if rest else folder
        return next(
            (candidate for candidate in _files(stem, bool(rest)) if view.file(candidate)), None
        )
    found = [
        file.path
        for ending in _files(rest, True)
        for file in view.files_ending(ending)
        # A file has this module name only if its folder is not a package.
        if not view.file(f"{file.path[: -len(ending)]}__init__.py")
    ]
    if len(found) <= 1:
        return found[0] if found else None
    # The nearest to the importing file, then the nearest to the root.
    return min(found, key=lambda path: (-shared_folders(path, importer), len(path), path))


def _files(stem: str, plain: bool) -> list[str]:
    package = [f"{stem}/__init__.py", f"{stem}/__init__.pyi"]
    return [f"{stem}.py", *package, f"{stem}.pyi"] if plain else package


_BUILT_IN = (str, bytes, list, dict, set, tuple, int, float, type(iter(())), BaseException)
RULES = Rules(
    module=module,
    submodules=True,
    instance=frozenset(("self", "cls")),
    members_bare="direct",
    wrappers=frozenset(
        "Optional Union Annotated Final ClassVar Required NotRequired ReadOnly Awaitable Coroutine"
        " ContextManager AsyncContextManager AbstractContextManager".split()
    ),
    containers=frozenset(
        "list List set Set frozenset FrozenSet tuple Tuple Sequence MutableSequence Iterable"
        " Iterator Collection AsyncIterator AsyncIterable Generator deque Deque".split()
    ),
    common=frozenset(name for kind in _BUILT_IN for name in dir(kind) if name[0] != "_"),
    self_types=frozenset(("Self",)),
    class_types=frozenset(("type", "Type")),
)
