"""Bind names in Java: packages, imports, classes, methods beside fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from winnow.symbols import expressions
from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BINDS,
    IMPORTED,
    IN_TYPE,
    LABEL,
    MEMBER,
    MENTIONED,
    PARAMETER,
    TYPE,
    Import,
)
from winnow.symbols.resolve.rules import Rules
from winnow.symbols.scopes.nodes import field, with_fields
from winnow.symbols.view import SymbolView

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

TOKENS = """
(identifier) @identifier
(type_identifier) @identifier @in_type
(this) @identifier
(super) @identifier
(package_declaration (_) @package)
(import_declaration) @import
(class_declaration name: (identifier) @bind)
(interface_declaration name: (identifier) @bind)
(enum_declaration name: (identifier) @bind)
(record_declaration name: (identifier) @bind)
(annotation_type_declaration name: (identifier) @bind)
(type_parameter (type_identifier) @bind)
(method_declaration name: (identifier) @inner @apart)
(annotation_type_element_declaration name: (identifier) @inner @apart)
(method_invocation name: (identifier) @apart)
(method_reference (identifier) @apart .)
(field_declaration declarator: (variable_declarator name: (identifier) @inner))
(constant_declaration declarator: (variable_declarator name: (identifier) @inner))
(enum_constant name: (identifier) @inner)
(local_variable_declaration declarator: (variable_declarator name: (identifier) @bind))
(spread_parameter (variable_declarator name: (identifier) @parameter))
(formal_parameter name: (identifier) @parameter)
(lambda_expression parameters: (identifier) @parameter)
(inferred_parameters (identifier) @parameter)
(catch_formal_parameter name: (identifier) @bind)
(resource name: (identifier) @bind)
(enhanced_for_statement name: (identifier) @bind)
(instanceof_expression name: (identifier) @bind)
(type_pattern (identifier) @bind)
(record_pattern_component (identifier) @bind)
(labeled_statement . (identifier) @label)
(break_statement (identifier) @label)
(continue_statement (identifier) @label)
(element_value_pair key: (identifier) @key)
(class_declaration) @scope.class @class
(interface_declaration) @scope.class @class
(enum_declaration) @scope.class @class
(record_declaration) @scope.class @class
(annotation_type_declaration) @scope.class
(object_creation_expression (class_body) @scope.class) @anonymous
(enum_constant (class_body) @scope.class) @constant
(enum_constant) @constant
(method_declaration) @scope.function @method
(constructor_declaration) @scope.function
(compact_constructor_declaration) @scope.function
(lambda_expression) @scope.function
(block) @scope.block
(for_statement) @scope.block
(enhanced_for_statement) @scope.block @loop
(catch_clause) @scope.block
(try_with_resources_statement) @scope.block
(switch_block_statement_group) @scope.block
(switch_rule) @scope.block
(argument_list) @arguments
(array_access) @subscript
(type_arguments) @typearguments
(parenthesized_expression) @parenthesis
(cast_expression) @cast
(field_declaration) @declared
(constant_declaration) @declared
(local_variable_declaration) @declared
(formal_parameter) @declared
(spread_parameter) @spread
(resource) @declared
(catch_formal_parameter) @caught
(instanceof_expression name: (_)) @instance
(type_parameter (type_bound)) @bounded
(annotation) @annotation
(block_comment) @javadoc
"""

_LINK = re.compile(
    rb"(?:\{@link(?:plain)?|@see|\{@value|@throws|@exception)\s+([\w.]*)(?:#(\w+)(\()?)?"
)
_WORD = re.compile(rb"\w+")


def prepare(extraction: Extraction) -> None:
    """Add the package and imports, and mark record components and annotation keys as members."""
    captured = extraction.captured
    for node in captured.get("package", ()):
        if node.type != "annotation" and node.type != "marker_annotation":
            extraction.package = extraction.text(node)
            _mark(extraction, node, LABEL)
    extraction.each("import", _import)
    for node in captured.get("class", ()):
        if node.type == "record_declaration":
            _components(extraction, node)
    for node in captured.get("annotation", ()):
        name, arguments = field(node, "name"), field(node, "arguments")
        for pair in arguments.named_children if arguments is not None else ():
            key = field(pair, "key")
            if key is not None and name is not None:
                extraction.flags[key.start_byte] = MEMBER | APART
                extraction.owners[key.start_byte] = extraction.text(name).encode()


def _mark(extraction: Extraction, node: tree_sitter.Node, flag: int) -> None:
    if node.type == "identifier":
        extraction.flags[node.start_byte] = flag
    for child in node.named_children:
        _mark(extraction, child, flag)


def _import(extraction: Extraction, node: tree_sitter.Node) -> None:
    path = next(
        (candidate for candidate in node.named_children if "identifier" in candidate.type), None
    )
    if path is None:
        return
    _mark(extraction, path, LABEL)
    text = "".join(extraction.text(path).split())
    if any(child.type == "asterisk" for child in node.children):
        extraction.stars.append(text)
        name = field(path, "name")
    else:
        name = field(path, "name")
        module, _, last = text.rpartition(".")
        at = name.start_byte if name is not None else path.start_byte
        extraction.flags[at] = IMPORTED
        extraction.imports.append(Import(last, module, last, 0, at, False))
        name = field(path, "scope", "name")
    # `import a.b.Outer.*` and `import static a.b.Outer.name` also use the class.
    if name is not None and extraction.text(name)[:1].isupper():
        extraction.flags[name.start_byte] = IMPORTED
        outer = text[: text.index(extraction.text(name))].rstrip(".")
        extraction.imports.append(
            Import("", outer, extraction.text(name), 0, name.start_byte, False)
        )


def _components(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Mark the components of a record as its fields."""
    for name, parameters in with_fields((node,), "name", "parameters"):
        for (component,) in with_fields(parameters.named_children, "name"):
            at = component.start_byte
            extraction.flags[at] = extraction.flags[at] & ~(BINDS | PARAMETER) | MEMBER
            extraction.owners[at] = extraction.text(name).encode()


def collect(extraction: Extraction) -> None:
    """Add bases, types of names and methods, and names in comments."""
    captured = extraction.captured
    extraction.each("class", _bases)
    for node in captured.get("anonymous", ()):
        declared, body = field(node, "type"), node.named_children[-1]
        if declared is not None and body.type == "class_body":
            scope = extraction.scope_at(body.start_byte)
            extraction.bases[scope] = [_head(extraction.text(declared))]
    for node in captured.get("constant", ()):
        name = field(node, "name")
        around = extraction.class_around(extraction.scope_at(node.start_byte))
        if name is not None and around is not None:
            itself = extraction.scopes[around].name
            types = extraction.types.setdefault(around, {})
            types[extraction.text(name)] = expressions.declared(itself)
            if (own := field(node, "body")) is not None:
                extraction.bases[extraction.scope_at(own.start_byte)] = [itself]
    for kind in ("declared", "spread", "caught", "loop", "instance"):
        extraction.each(kind, _declared)
    for node in captured.get("bounded", ()):
        name, bound = (
            node.named_children[0],
            next((each for each in node.named_children if each.type == "type_bound"), None),
        )
        if bound is not None and bound.named_children:
            type_text = _type(extraction, bound.named_children[0])
            extraction.learn(name, expressions.declared(type_text))
    for name, declared in with_fields(captured.get("method", ()), "name", "type"):
        returns = extraction.returns.setdefault(extraction.scope_at(name.start_byte), {})
        source = expressions.declared(_type(extraction, declared))
        returns.setdefault(extraction.text(name), source)
    for node in captured.get("javadoc", ()):
        if extraction.source.startswith(b"/**", node.start_byte):
            _links(extraction, node)


def _bases(extraction: Extraction, node: tree_sitter.Node) -> None:
    body = field(node, "body")
    if body is None:
        return
    found: list[str] = []
    for child in node.named_children:
        if child.type == "superclass":
            found += [_head(extraction.text(candidate)) for candidate in child.named_children]
        elif child.type in ("super_interfaces", "extends_interfaces"):
            for candidate in child.named_children:
                found += [_head(extraction.text(base)) for base in candidate.named_children]
    scope = extraction.scope_at(body.start_byte + 1)
    if found:
        extraction.bases[scope] = found
    if node.type == "record_declaration":
        parameters = field(node, "parameters")
        components = parameters.named_children if parameters is not None else ()
        for declared, name in with_fields(components, "type", "name"):
            source = expressions.declared(_type(extraction, declared))
            extraction.types.setdefault(scope, {})[extraction.text(name)] = source
            extraction.returns.setdefault(scope, {})[extraction.text(name)] = source


def _head(text: str) -> str:
    """Return a type without arguments and annotations."""
    return re.sub(r"@\w+(\([^)]*\))?\s*", "", text).partition("<")[0].strip()


def _type(extraction: Extraction, node: tree_sitter.Node) -> str:
    text = " ".join(extraction.text(node).split())
    text = re.sub(r"@\w+(?:\([^)]*\))?\s*", "", text)
    return re.sub(r"\?\s*(?:extends|super)\s+", "", text)


def _declared(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the types of `T a = x, b` in any kind of declaration; `var` has the type of its value."""
    declared = field(node, "type") or field(node, "right")
    if declared is None:
        declared = next((each for each in node.named_children if each.type != "modifiers"), None)
    if declared is None:
        return
    type_text = _type(extraction, declared)
    if node.type == "spread_parameter":
        type_text += "[]"
    declarators = node.children_by_field_name("declarator") or [
        declarator for declarator in node.named_children if declarator.type == "variable_declarator"
    ]
    for declarator in declarators or [node]:
        name, value = field(declarator, "name"), field(declarator, "value")
        if name is None:
            continue
        if type_text != "var":
            dimensions = "[]" if field(declarator, "dimensions") is not None else ""
            extraction.learn(name, expressions.declared(type_text + dimensions))
        elif value is not None:
            described = extraction.chains.describe(value.start_byte, value.end_byte)
            if described:
                if node.type == "enhanced_for_statement":
                    described = expressions.item(described)
                extraction.learn(name, expressions.assigned(described))


def _links(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add names in doc comments, such as `{@link Foo#bar}`. A name alone is resolved like any
    other."""
    for link in _LINK.finditer(extraction.source, node.start_byte, node.end_byte):
        owner = b""
        for word in _WORD.finditer(extraction.source, *link.span(1)):
            text = word[0].decode()
            if text[:1].isupper():
                flags = (ATTRIBUTE if owner else TYPE) | IN_TYPE
                extraction.members.append(
                    (text, word.start(), flags, extraction.chains.number(owner))
                )
            owner += (b"." if owner else b"") + word[0]
        if link[2] and not owner and extraction.scope_at(node.start_byte) == 0:
            # The comment precedes a class of the file.
            behind = (
                candidate.name
                for candidate in extraction.definitions
                if candidate.start >= node.end_byte
            )
            owner = next(behind, "").encode()
        if link[2]:
            flags = ATTRIBUTE | MENTIONED | (APART if link[3] else 0)
            # Without a class in the link, members of the enclosing class.
            number = extraction.chains.number(owner or b"this")
            extraction.members.append((link[2].decode(), link.start(2), flags, number))


# --- resolving -----------------------------------------------------------------------------


def package(path: str, name: str) -> str:
    return f"{name}/"


def module(view: SymbolView, importer: str, name: str) -> str | None:
    """Return a package, or the class whose members are imported."""
    parts = name.split(".")
    first = next((place for place, part in enumerate(parts) if part[:1].isupper()), None)
    if first is None:
        return f"{name}/"
    file = f"{parts[first]}.java"
    ending = "/".join(["", *parts[:first], file])
    for candidate in view.files_named(file):
        if candidate.path.endswith(ending):
            return f"{candidate.path}::{'.'.join(parts[first:])}"
    return None


_COMMON = (
    "equals hashCode toString compareTo clone getClass get set add put remove size isEmpty contains"
    " clear iterator next hasNext length charAt substring append close read write run call apply"
    " accept test getName getMessage getCause printStackTrace name ordinal values valueOf stream"
    " map filter forEach collect of keySet entrySet getKey getValue format parse"
)
RULES = Rules(
    module=module,
    package=package,
    instance=frozenset(("this",)),
    members_bare="always",
    family=True,
    closed=True,
    typed_parameters=True,
    apart=frozenset(("method",)),
    containers=frozenset(
        "List ArrayList LinkedList Collection Set HashSet TreeSet LinkedHashSet SortedSet Iterable"
        " Iterator ListIterator Deque Queue ArrayDeque PriorityQueue Stream Optional Map HashMap"
        " TreeMap LinkedHashMap ConcurrentHashMap ConcurrentMap SortedMap Supplier Callable Future"
        " CompletableFuture AtomicReference ThreadLocal WeakReference Stack Vector Enumeration"
        " CopyOnWriteArrayList BlockingQueue NavigableMap NavigableSet".split()
    ),
    keeping=frozenset(
        "stream iterator listIterator values filter sorted distinct limit skip subList peek"
        " parallel parallelStream descendingIterator findFirst findAny".split()
    ),
    taking=frozenset(
        "get next remove pop poll first last getFirst getLast orElse orElseThrow orElseGet element"
        " previous removeFirst removeLast pollFirst pollLast take join call put computeIfAbsent"
        " getOrDefault nextElement firstElement lastElement".split()
    ),
    common=frozenset(_COMMON.split()),
)
