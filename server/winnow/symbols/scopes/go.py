"""Bind names in Go: packages, imports, types and methods."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.symbols import expressions
from winnow.symbols.file_symbols import IMPORTED, KEY, LABEL, ROLE, Import
from winnow.symbols.resolve.rules import Rules
from winnow.symbols.scopes.nodes import field, with_fields
from winnow.symbols.view import SymbolView

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

TOKENS = """
(identifier) @identifier
(type_identifier) @identifier @in_type
(field_identifier) @identifier
(package_identifier) @identifier
(package_clause (package_identifier) @package)
(import_spec) @import
(function_declaration name: (identifier) @bind)
(type_spec name: (type_identifier) @bind)
(type_alias name: (type_identifier) @bind)
(const_spec name: (identifier) @bind)
(var_spec name: (identifier) @bind)
(short_var_declaration left: (expression_list (identifier) @bind))
(range_clause left: (expression_list (identifier) @bind))
(receive_statement left: (expression_list (identifier) @bind))
(type_switch_statement alias: (expression_list (identifier) @bind))
(parameter_declaration name: (identifier) @parameter)
(variadic_parameter_declaration name: (identifier) @parameter)
(type_parameter_declaration name: (identifier) @bind)
(method_declaration name: (field_identifier) @inner)
(method_elem name: (field_identifier) @inner)
(field_declaration name: (field_identifier) @inner)
(function_declaration) @scope.function @function
(func_literal) @scope.function
(method_declaration) @scope.part @scope.function @function
(method_elem) @scope.function @function
(function_type) @scope.block
(type_spec) @scope.class
(block) @scope.block
(if_statement) @scope.block
(for_statement) @scope.block
(expression_switch_statement) @scope.block
(type_switch_statement) @scope.block @narrowed
(expression_case) @scope.block
(default_case) @scope.block
(type_case) @scope.block
(communication_case) @scope.block
(argument_list) @arguments
(index_expression) @subscript
(type_arguments) @typearguments
(parenthesized_expression) @parenthesis
(type_assertion_expression) @cast
(composite_literal) @literal
(parameter_declaration name: (identifier)) @declared
(variadic_parameter_declaration) @declared
(type_parameter_declaration) @declared
(var_spec) @declared
(const_spec type: (_)) @declared
(field_declaration) @declared
(short_var_declaration) @assigned
(range_clause) @loop
(type_alias) @alias
(interface_type (type_elem) @embedded)
"""

_HEAD = re.compile(r"[\w.]+")
_VERSION = re.compile(r"v\d+")
_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)


def prepare(extraction: Extraction) -> None:
    """Add the package and the imports, and mark keys of literals as fields."""
    for node in extraction.captured.get("package", ()):
        extraction.package = extraction.text(node)
        extraction.flags[node.start_byte] = LABEL
    extraction.each("import", _import)
    extraction.each("literal", _literal)


def _import(extraction: Extraction, node: tree_sitter.Node) -> None:
    path, name = field(node, "path"), field(node, "name")
    if path is None:
        return
    module = extraction.text(path).strip('"`')
    if name is None:
        for local in _locals(module):
            extraction.imports.append(Import(local, module, "", 0, path.start_byte, False))
    elif name.type == "dot":
        extraction.stars.append(module)
    elif name.type == "package_identifier":
        extraction.flags[name.start_byte] = IMPORTED
        local = extraction.text(name)
        extraction.imports.append(Import(local, module, "", 0, path.start_byte, False))


def _locals(module: str) -> Iterator[str]:
    """Yield the probable names of a package; only its own files declare it."""
    parts = module.split("/")
    last = parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1]
    last = re.sub(r"\.v\d+$", "", last)
    yield last
    if "-" in last or "." in last:
        yield re.sub(r"^go[-.]|[-.]go$", "", last).rpartition("-")[2]


def _literal(extraction: Extraction, node: tree_sitter.Node) -> None:
    for declared, body in with_fields((node,), "type", "body"):
        if name := type_name(extraction.text(declared)):
            described = expressions.cast(name).encode()
            extraction.chains.ends[node.end_byte] = (node.start_byte, described)
            _keys(extraction, body, name)


def _keys(extraction: Extraction, body: tree_sitter.Node, name: str) -> None:
    """Mark the keys of `T{…}`, also in nested literals without a type."""
    is_list = name.endswith("[]")
    for element in body.named_children:
        value = element
        if element.type == "keyed_element":
            key, inner = element.named_children[0], element.named_children[-1]
            identifier = key.named_children[0] if key.named_children else None
            if not is_list and identifier is not None and identifier.type == "identifier":
                at = identifier.start_byte
                extraction.flags[at] = extraction.flags[at] & ~ROLE | KEY
                extraction.owners[at] = name.encode()
            value = inner
        inside = value.named_children[0] if value.named_children else None
        if is_list and inside is not None and inside.type == "literal_value":
            _keys(extraction, inside, name[:-2])


def collect(extraction: Extraction) -> None:
    """Add types of names, fields and functions, and embedded types."""
    extraction.each("declared", _declared)
    for left, right in with_fields(extraction.captured.get("assigned", ()), "left", "right"):
        _assigned(extraction, left.named_children, right.named_children)
    extraction.each("loop", _loop)
    extraction.each("function", _returns)
    extraction.each("narrowed", _narrowed)
    for name, declared in with_fields(extraction.captured.get("alias", ()), "name", "type"):
        extraction.aliases[extraction.text(name)] = type_name(extraction.text(declared))
    for node in extraction.captured.get("embedded", ()):
        _base(extraction, node.start_byte, extraction.text(node))


def _declared(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the types of `a, b T` in any kind of declaration."""
    names = node.children_by_field_name("name")
    declared = field(node, "type")
    if declared is None:
        value = field(node, "value")
        if value is not None:
            _assigned(extraction, names, value.named_children)
        return
    text = extraction.text(declared)
    if node.type == "field_declaration" and not names:
        _base(extraction, declared.start_byte, text)
        return
    type_text = type_name(text)
    if node.type == "variadic_parameter_declaration" and type_text:
        type_text += "[]"
    for name in names:
        _learn(extraction, name, expressions.declared(type_text))


def _base(extraction: Extraction, at: int, text: str) -> None:
    """Add an embedded type: its members are promoted, and it is a field itself."""
    name = type_name(text)
    scope = extraction.class_around(extraction.scope_at(at))
    if scope is not None and name and not name.endswith("[]"):
        extraction.bases.setdefault(scope, []).append(name)
        types = extraction.types.setdefault(scope, {})
        types.setdefault(name.rpartition(".")[2], expressions.declared(name))


def _assigned(
    extraction: Extraction, names: list[tree_sitter.Node], values: list[tree_sitter.Node]
) -> None:
    """Add the values of `a, b := x, y` or `a, b := f()`."""
    names = [child for child in names if child.is_named]
    if len(names) == len(values):
        for name, value in zip(names, values, strict=True):
            _learn(extraction, name, expressions.assigned(_value(extraction, value)))
    elif len(values) == 1:
        described = _value(extraction, values[0])
        for place, name in enumerate(names if described.endswith("()") else names[:1]):
            result = expressions.result(described, place) if place else described
            _learn(extraction, name, expressions.assigned(result))


def _value(extraction: Extraction, value: tree_sitter.Node) -> str:
    """Return the expression of a value."""
    text = extraction.source[value.start_byte : value.end_byte]
    made = re.match(rb"(?:new|make)\(([^(){}]+)\)$", text)
    if made:
        name = type_name(made[1].decode("utf-8", "replace").partition(",")[0])
        return expressions.cast(name) if name else ""
    return extraction.chains.describe(value.start_byte, value.end_byte)


def _learn(extraction: Extraction, name: tree_sitter.Node, source: str) -> None:
    if name.type in ("identifier", "field_identifier"):
        extraction.learn(name, source)


def _loop(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Make x an item of xs in `for _, x := range xs`."""
    for left, right in with_fields((node,), "left", "right"):
        described, names = _value(extraction, right), left.named_children
        if described and len(names) == 2:
            _learn(extraction, names[1], expressions.assigned(expressions.item(described)))


def _returns(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the types of a function's results: the first under its name, the second under
    `name$1`."""
    name, result = field(node, "name"), field(node, "result")
    if name is None:
        return
    returns = extraction.returns.setdefault(extraction.scope_at(name.start_byte), {})
    called = extraction.text(name)
    if result is None:
        returns[called] = expressions.declared("")
        return
    found = []
    if result.type == "parameter_list":
        for parameter in result.named_children:
            if (declared := field(parameter, "type")) is not None:
                count = max(1, len(parameter.children_by_field_name("name")))
                found += [type_name(extraction.text(declared))] * count
    else:
        found.append(type_name(extraction.text(result)))
    for place, type_text in enumerate(found):
        returns[expressions.result(called, place or None)] = expressions.declared(type_text)


def _narrowed(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Set the type of x in each single-type case of `switch x := y.(type)`."""
    alias = field(node, "alias")
    if alias is None or not alias.named_children:
        return
    name = extraction.text(alias.named_children[0])
    for case in node.named_children:
        declared = case.children_by_field_name("type") if case.type == "type_case" else []
        if len(declared) == 1:
            type_text = type_name(extraction.text(declared[0]))
            scope = extraction.scope_at(case.start_byte)
            extraction.types.setdefault(scope, {})[name] = expressions.declared(type_text)


def type_name(text: str) -> str:
    """Return a type without pointers and arguments; `[]T`, `map[K]T` and `chan T` become `T[]`."""
    items = 0
    text = text.strip()
    while text:
        if text[0] in "*~(":
            text = text[1:].lstrip()
        elif text.startswith("..."):
            text = text[3:]
            items += 1
        elif text.startswith("map[") or text[0] == "[":
            text = text[_closed(text, text.index("[")) :].lstrip()
            items += 1
        elif channel := re.match(r"(?:<-\s*)?chan\b(?:\s*<-)?\s*", text):
            text = text[channel.end() :]
            items += 1
        else:
            break
    head = _HEAD.match(text)
    if head is None or head.group() in ("func", "struct", "interface"):
        return ""
    return head.group() + "[]" * items


def _closed(text: str, start: int) -> int:
    """Return the position after the bracket that closes the one at ``start``."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] in "[(":
            depth += 1
        elif text[place] in "])":
            depth -= 1
            if depth == 0:
                return place + 1
    return len(text)


# --- resolving -----------------------------------------------------------------------------


def package(path: str, name: str) -> str:
    """Return the folder of a file; external tests form a separate package."""
    folder = path.rpartition("/")[0] + "/"
    return f"{folder}{name}/" if name.endswith("_test") else folder


def module(view: SymbolView, importer: str, name: str) -> str | None:
    """Return the folder of a package in the workspace."""
    folder = Path(importer).parent
    for above in (folder, *folder.parents):
        found = _module_name(view, above)
        if found is None:
            continue
        if name == found or name.startswith(f"{found}/"):
            below = Path(above, name[len(found) + 1 :])
            return f"{below.as_posix()}/" if below.is_dir() else None
        if os.path.isfile(above / "go.work"):
            break
    return _beside(view, name)


def _module_name(view: SymbolView, folder: Path) -> str | None:
    """Return the module name in a folder's go.mod."""
    raw = view.manifest(str(folder / "go.mod"))
    found = _MODULE.search(raw.decode("utf-8", "replace")) if raw else None
    return found[1] if found else None


def _beside(view: SymbolView, name: str) -> str | None:
    """Return the folder of a package in another module of the workspace."""
    for root in view.roots():
        for folder in (Path(root), *_folders(Path(root))):
            found = _module_name(view, folder)
            if found and (name == found or name.startswith(f"{found}/")):
                below = folder / name[len(found) + 1 :]
                if below.is_dir():
                    return f"{below.as_posix()}/"
    return None


def _folders(root: Path) -> list[Path]:
    try:
        return sorted(folder for folder in root.iterdir() if folder.is_dir())
    except OSError:
        return []


_COMMON = (
    "Error String Close Read Write Lock Unlock RLock RUnlock Done Err Value Deadline Unwrap Is As"
    " Len Less Swap Add Wait Set Get Reset Bytes Name Size Format Seek Flush Scan Next Marshal"
    " Unmarshal MarshalJSON UnmarshalJSON Run Errorf Fatalf Fatal Helper Logf Printf Println"
    " ServeHTTP Header Context Type Kind Do Load Store"
)
RULES = Rules(
    module=module,
    package=package,
    super_name="",
    closed=True,
    structural=True,
    typed_parameters=True,
    common=frozenset(_COMMON.split()),
)
