"""Bind names in Rust: modules, `use`, impl blocks, fields beside methods."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.symbols import expressions
from winnow.symbols.file_symbols import (
    APART,
    ATTRIBUTE,
    BINDS,
    IMPORTED,
    KEY,
    MEMBER,
    SHORTHAND,
    Import,
)
from winnow.symbols.resolve.rules import Rules, shared_folders
from winnow.symbols.scopes.nodes import field, with_fields
from winnow.symbols.view import SymbolView

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract.extraction import Extraction

TOKENS = """
(identifier) @identifier
(type_identifier) @identifier @in_type
(field_identifier) @identifier
(shorthand_field_identifier) @identifier
(self) @identifier
(super) @identifier
(crate) @identifier
(use_declaration) @use
(extern_crate_declaration) @extern
(mod_item !body) @module
(mod_item name: (identifier) @bind body: (_))
(mod_item body: (_)) @scope.module
(function_item name: (identifier) @named)
(function_signature_item name: (identifier) @named)
(struct_item name: (type_identifier) @bind)
(enum_item name: (type_identifier) @bind)
(union_item name: (type_identifier) @bind)
(trait_item name: (type_identifier) @bind)
(type_item name: (type_identifier) @named)
(associated_type name: (type_identifier) @inner)
(const_item name: (identifier) @named)
(static_item name: (identifier) @bind)
(macro_definition name: (identifier) @bind)
(type_parameter name: (type_identifier) @bind)
(const_parameter name: (identifier) @bind)
(enum_variant name: (identifier) @inner)
(field_declaration name: (field_identifier) @inner @apart)
(field_expression field: (field_identifier) @apart)
(call_expression function: (field_expression field: (field_identifier) @method))
(call_expression function: (generic_function
  function: (field_expression field: (field_identifier) @method)))
(parameter pattern: (identifier) @parameter)
(parameter pattern: (mut_pattern (identifier) @parameter))
(parameter pattern: (ref_pattern (identifier) @parameter))
(closure_parameters (identifier) @parameter)
(let_declaration pattern: (identifier) @bind)
(for_expression pattern: (identifier) @bind)
(tuple_pattern (identifier) @pattern)
(tuple_struct_pattern (identifier) @pattern)
(tuple_struct_pattern type: (identifier) @constructor)
(slice_pattern (identifier) @pattern)
(ref_pattern (identifier) @pattern)
(mut_pattern (identifier) @pattern)
(reference_pattern (identifier) @pattern)
(captured_pattern . (identifier) @bind)
(or_pattern (identifier) @pattern)
(match_pattern . (identifier) @pattern)
(field_pattern pattern: (identifier) @pattern)
(let_condition pattern: (identifier) @pattern)
(struct_pattern) @fields
(struct_expression) @fields
(label (identifier) @label)
(function_item) @scope.function @function
(function_signature_item) @scope.function @function
(closure_expression) @scope.function
(struct_item) @scope.class
(enum_item) @scope.class
(enum_variant body: (field_declaration_list)) @scope.class
(union_item) @scope.class
(trait_item) @scope.class @trait
(impl_item) @scope.part @impl
(block) @scope.block
(match_arm) @scope.block
(for_expression) @scope.block
(if_expression) @scope.block
(while_expression) @scope.block
(arguments) @arguments
(index_expression) @subscript
(type_arguments) @typearguments
(parenthesized_expression) @parenthesis
(try_expression) @postfix
(await_expression) @postfix
(type_cast_expression) @cast
(parameter pattern: (_) @name type: (_)) @declared
(let_declaration) @declared
(field_declaration) @declared
(const_item) @declared
(static_item) @declared
(for_expression) @loop
(let_condition) @condition
(type_item type: (_)) @alias
(type_parameter bounds: (_)) @bounded
(where_predicate) @bounded
(enum_variant) @variant
(token_tree (identifier) @token)
"""

_FIELD = re.compile(rb"\s*(?:::\s*<|\()")
_NAME = re.compile(r"[\w:]+")
_WORD = re.compile(rb"\w+")
# A variable with a member.
_RECEIVER = re.compile(rb"(?<![.:])[a-z_]\w*\s*\.(?!\.)")
# Calls that wrap their argument in a type that is treated as its content.
_WRAPPED = re.compile(
    rb"(?:(?:std::)?(?:\w+::)*(?:Arc|Rc|Box|Mutex|RwLock|Cell|RefCell|Pin|Cow|Some|Ok)"
    rb"(?:::(?:new|pin|from|clone|Borrowed|Owned))?)\("
)


_ITEMS = re.compile(rb"\b(?:fn|struct|enum|union|mod|use|impl|trait|type|const|static)\s")
_HOLDING = frozenset(("mod_item", "impl_item", "trait_item", "foreign_mod_item"))


def embedded(root: tree_sitter.Node, source: bytes) -> list[tuple[int, int]]:
    """Return the item lists inside macro calls: `cfg_net! { pub mod net; }`."""
    found = []
    todo = [root]
    while todo:
        for node in todo.pop().named_children:
            if node.type in _HOLDING:
                body = field(node, "body")
                if body is not None:
                    todo.append(body)
            elif node.type == "expression_statement":
                todo.append(node)
            elif node.type == "macro_invocation":
                tree = node.named_children[-1]
                start, end = tree.start_byte + 1, tree.end_byte - 1
                if tree.type == "token_tree" and _ITEMS.search(source, start, end):
                    found.append((start, end))
    return sorted(found)


def prepare(extraction: Extraction) -> None:
    """Add imports, and set the roles of names that their position determines."""
    captured, flags = extraction.captured, extraction.flags
    for node in captured.get("named", ()):
        at = node.start_byte
        kind = extraction.scopes[extraction.scope_at(at)].kind
        flags[at] |= MEMBER if kind in ("class", "part") else BINDS
    for node in captured.get("method", ()):
        flags[node.start_byte] &= ~APART
    constructors = {node.start_byte for node in captured.get("constructor", ())}
    for node in captured.get("pattern", ()):
        # A capitalized name in a pattern is a constant or a variant.
        first = extraction.source[node.start_byte : node.start_byte + 1]
        if node.start_byte not in constructors and not first.isupper():
            flags[node.start_byte] |= BINDS
    for node in captured.get("token", ()):
        # Macro calls have no syntax tree, but `x.name` is a field there, too.
        start = node.start_byte
        if extraction.source[start - 1 : start] == b"." and not _FIELD.match(
            extraction.source, node.end_byte
        ):
            flags[start] |= APART
    extraction.each("fields", _fields)
    extraction.each("module", _module)
    for node in captured.get("use", ()):
        if (tree := field(node, "argument")) is not None:
            _tree(extraction, tree, "", extraction.scope_at(node.start_byte))
    for node in captured.get("extern", ()):
        if (name := field(node, "name")) is not None:
            flags[name.start_byte] = IMPORTED
            local = extraction.text(field(node, "alias") or name)
            extraction.imports.append(Import(local, extraction.text(name), "", 0, name.start_byte))
    _bind_in_macros(extraction)


def _bind_in_macros(extraction: Extraction) -> None:
    """Bind the variables of patterns in macro calls, which have no syntax tree: names before a dot
    that nothing around them binds."""
    tokens = [
        (node.start_byte, extraction.scope_at(node.start_byte), extraction.text(node))
        for node in extraction.captured.get("token", ())
    ]
    first: dict[tuple[int, str], int] = {}
    for at, scope, name in tokens:
        first.setdefault((scope, name), at)
    bound = {(imported.scope, imported.local) for imported in extraction.imports}
    for at, flag in extraction.flags.items():
        if flag & BINDS and (word := _WORD.match(extraction.source, at)):
            bound.add((extraction.scope_at(at), word.group().decode()))

    def is_bound(scope: int, name: str) -> bool:
        while scope >= 0 and (scope, name) not in bound:
            scope = extraction.scopes[scope].parent
        return scope >= 0

    for at, scope, name in tokens:
        if _RECEIVER.match(extraction.source, at) and not is_bound(scope, name):
            bound.add((scope, name))
            extraction.flags[first[scope, name]] |= BINDS


def _fields(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Mark the fields of `Name { a: 1, b }`, in expressions and patterns."""
    declared = field(node, "name") or field(node, "type")
    if declared is None:
        return
    owner = type_name(extraction.text(declared)).encode()
    body = field(node, "body") or node
    flags = extraction.flags
    for child in body.named_children:
        name = field(child, "field") or field(child, "name")
        if child.type == "shorthand_field_initializer":
            name = child.named_children[-1]
            flags[name.start_byte] = SHORTHAND
        elif name is not None and name.type == "shorthand_field_identifier":
            flags[name.start_byte] = SHORTHAND | BINDS
        elif name is not None and child.type in ("field_initializer", "field_pattern"):
            flags[name.start_byte] = KEY | APART
        if name is not None:
            extraction.owners[name.start_byte] = owner


def _module(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the import of `mod name;`, which is another file."""
    name = field(node, "name")
    if name is None:
        return
    scope, text = extraction.scope_at(name.start_byte), extraction.text(name)
    extraction.flags[name.start_byte] = IMPORTED
    extraction.imports.append(
        Import(text, f"{_around(extraction, scope)}.{text}", "", scope, name.start_byte)
    )


def _around(extraction: Extraction, scope: int) -> str:
    """Return the path of the inline module around a scope, starting with "self"."""
    names = []
    while scope > 0:
        if extraction.scopes[scope].kind == "module":
            names.append(extraction.scopes[scope].name)
        scope = extraction.scopes[scope].parent
    return ".".join(["self", *reversed(names)])


def _tree(extraction: Extraction, node: tree_sitter.Node, prefix: str, scope: int) -> None:
    """Add the imports of a part of a `use`; ``prefix`` is the path before it."""
    if node.type in ("use_list", "scoped_use_list"):
        path = field(node, "path")
        if path is not None:
            _parts(extraction, path, prefix, scope)
            prefix = _joined(prefix, extraction.text(path))
        inner = field(node, "list") or node
        for child in inner.named_children:
            _tree(extraction, child, prefix, scope)
    elif node.type == "use_wildcard":
        if node.named_children:
            _parts(extraction, node.named_children[0], prefix, scope)
            prefix = _joined(prefix, extraction.text(node.named_children[0]))
        module = _absolute(extraction, prefix, scope)
        # Names around an inline module are visible in it anyway.
        if module and not (scope and module == "self"):
            extraction.stars.append(module)
    elif node.type == "use_as_clause":
        path, alias = field(node, "path"), field(node, "alias")
        if path is not None:
            extraction.flags[alias.start_byte if alias is not None else -1] = IMPORTED
            local = extraction.text(alias) if alias is not None else "_"
            _leaf(extraction, path, prefix, scope, local)
    elif "identifier" in node.type or node.type in ("self", "crate", "super"):
        _leaf(extraction, node, prefix, scope, "")


def _leaf(
    extraction: Extraction, node: tree_sitter.Node, prefix: str, scope: int, local: str
) -> None:
    """Add the import of one name: `b` in `use a::b`."""
    name = field(node, "name") or node
    path = field(node, "path")
    if path is not None:
        _parts(extraction, path, prefix, scope)
        prefix = _joined(prefix, extraction.text(path))
    text = extraction.text(name)
    at = name.start_byte
    if text == "self":  # `use a::{self}`
        module = _absolute(extraction, prefix, scope)
        outer, _, last = module.rpartition(".")
        extraction.imports.append(Import(local or last, outer, last, scope, at))
        return
    extraction.flags[at] = IMPORTED
    if prefix:
        module = _absolute(extraction, prefix, scope)
        extraction.imports.append(Import(local or text, module, text, scope, at))
    elif local:
        extraction.imports.append(Import(local, text, "", scope, at))
    elif text not in ROOTS:
        extraction.imports.append(Import(text, text, "", scope, at))


def _parts(extraction: Extraction, path: tree_sitter.Node, prefix: str, scope: int) -> None:
    """Mark the names along a path as attributes, to be resolved like any others."""
    inner, name = field(path, "path"), field(path, "name")
    if inner is not None:
        _parts(extraction, inner, prefix, scope)
    leaf = name if name is not None else path
    if leaf.type not in ("identifier", "type_identifier"):
        return
    before = _joined(prefix, extraction.text(inner)) if inner is not None else prefix
    if before:
        extraction.flags[leaf.start_byte] = ATTRIBUTE
        extraction.owners[leaf.start_byte] = before.encode()


def _joined(prefix: str, path: str) -> str:
    path = "".join(path.split()).replace("::", ".").strip(".")
    return f"{prefix}.{path}" if prefix else path


def _absolute(extraction: Extraction, path: str, scope: int) -> str:
    """Return a path relative to the file's module, if it starts with the enclosing module."""
    around = _around(extraction, scope)
    first, _, rest = path.partition(".")
    while first in ("self", "super") and around != "self":
        if first == "super":
            around = around.rpartition(".")[0]
            path = f"{around}.{rest}" if rest else around
            first, _, rest = rest.partition(".")
            if first != "super":
                return path
        else:
            return f"{around}.{rest}" if rest else around
    return path


def collect(extraction: Extraction) -> None:
    """Add bases, and types of names, fields and functions."""
    captured = extraction.captured
    extraction.each("impl", _implemented)
    for bounds, body in with_fields(captured.get("trait", ()), "bounds", "body"):
        found = [_head(extraction.text(one)) for one in bounds.named_children]
        extraction.bases[extraction.scope_at(body.start_byte)] = [one for one in found if one]
    extraction.each("declared", _declared)
    for pattern, value in with_fields(captured.get("loop", ()), "pattern", "value"):
        _learn(extraction, pattern, expressions.assigned(_value(extraction, value, "[]")))
    for pattern, value in with_fields(captured.get("condition", ()), "pattern", "value"):
        # `if let Some(x) = y`: the content has the type of its wrapper here.
        inner = pattern.named_children if pattern.type == "tuple_struct_pattern" else ()
        if len(inner) == 2 and extraction.text(inner[0]) in ("Some", "Ok"):
            _learn(extraction, inner[1], expressions.assigned(_value(extraction, value)))
    extraction.each("function", _returned)
    for name, declared in with_fields(captured.get("alias", ()), "name", "type"):
        extraction.aliases.setdefault(extraction.text(name), type_name(extraction.text(declared)))
    extraction.each("bounded", _bounded)
    extraction.each("variant", _variant)


def _implemented(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the trait of `impl Trait for Type` as a base."""
    if (named := field(node, "trait")) is not None:
        found = [_head(extraction.text(named)), *_dereferenced(extraction, node)]
        extraction.bases[extraction.scope_at(node.start_byte)] = [each for each in found if each]


def _bounded(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the first bound of a type parameter as its type."""
    name, bounds = field(node, "name") or field(node, "left"), field(node, "bounds")
    if name is not None and bounds is not None and name.type == "type_identifier":
        first = next((one for one in bounds.named_children if "type" in one.type), None)
        if first is not None:
            _learn(extraction, name, expressions.declared(type_name(extraction.text(first))))


def _variant(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the enumeration as the type of a variant, or of what calling it returns."""
    name, body = field(node, "name"), field(node, "body")
    if name is not None and (body is None or body.type != "field_declaration_list"):
        table = extraction.types if body is None else extraction.returns
        types = table.setdefault(extraction.scope_at(name.start_byte), {})
        types[extraction.text(name)] = expressions.declared("Self")


def _returned(extraction: Extraction, node: tree_sitter.Node) -> None:
    """Add the type of a function's result, and those of the parts of a tuple."""
    name, declared = field(node, "name"), field(node, "return_type")
    if name is None:
        return
    called = extraction.text(name)
    returns = extraction.returns.setdefault(extraction.scope_at(name.start_byte), {})
    type_text = type_name(extraction.text(declared)) if declared is not None else ""
    returns[called] = expressions.declared(type_text)
    if declared is not None and declared.type == "tuple_type":
        for place, one in enumerate(declared.named_children):
            key, type_text = expressions.result(called, place), type_name(extraction.text(one))
            returns[key] = expressions.declared(type_text)


def _head(text: str) -> str:
    """Return a type without its arguments: `From<Other>` has no members of `Other`."""
    return type_name(text).partition("<")[0]


def _dereferenced(extraction: Extraction, node: tree_sitter.Node) -> list[str]:
    """Return the type in `impl Deref for … { type Target = … }`, whose members it has, too."""
    body, named = field(node, "body"), field(node, "trait")
    if body is None or named is None or _head(extraction.text(named)).split(".")[-1] != "Deref":
        return []
    types = [field(one, "type") for one in body.named_children]
    return [_head(extraction.text(one)) for one in types if one is not None]


def _declared(extraction: Extraction, node: tree_sitter.Node) -> None:
    name = field(node, "pattern") or field(node, "name")
    declared, value = field(node, "type"), field(node, "value")
    if name is None:
        return
    if declared is not None:
        _learn(extraction, name, expressions.declared(type_name(extraction.text(declared))))
    elif value is not None:
        described = _value(extraction, value)
        _learn(extraction, name, expressions.assigned(described))
        if name.type == "tuple_pattern" and described.endswith("()"):
            parts = [child for child in name.children if child.type not in ("(", ",", ")")]
            for place, child in enumerate(parts):
                if child.type == "remaining_field_pattern":
                    break
                result = expressions.result(described, place)
                _learn(extraction, child, expressions.assigned(result))


def _value(extraction: Extraction, value: tree_sitter.Node, items: str = "") -> str:
    """Return the expression of a value; a struct literal becomes a cast."""
    while True:
        wrapped = _WRAPPED.match(extraction.source, value.start_byte, value.end_byte)
        arguments = field(value, "arguments")
        if value.type in ("reference_expression", "await_expression", "try_expression"):
            value = field(value, "value") or value.named_children[0]
        elif wrapped and arguments is not None and arguments.start_byte == wrapped.end() - 1:
            if len(arguments.named_children) != 1:
                return ""
            value = arguments.named_children[0]
        else:
            break
    if value.type == "struct_expression":
        name = field(value, "name")
        if name is None:
            return ""
        return expressions.cast(type_name(extraction.text(name)).partition("<")[0])
    described = extraction.chains.describe(value.start_byte, value.end_byte)
    return described + items if described else ""


def _learn(extraction: Extraction, name: tree_sitter.Node, source: str) -> None:
    if name.type in ("mut_pattern", "ref_pattern") and name.named_children:
        name = name.named_children[-1]
    if "identifier" in name.type:
        extraction.learn(name, source)


_BEFORE = re.compile(r"(?:&|\*|'\w+|\b(?:mut|dyn|impl|const|ref|pub)\b|\?|for\s*<[^>]*>|\(|\s)+")


def type_name(text: str) -> str:
    """Return a type without references, lifetimes, and all bounds but the first; `[T]` becomes
    `T[]`."""
    text = " ".join(text.split())
    before = _BEFORE.match(text)
    if before:
        text = text[before.end() :]
    if text.startswith("["):
        inner = type_name(text[1:].rpartition("]")[0].partition(";")[0])
        return f"{inner}[]" if inner else ""
    if text.startswith("<"):  # `<T as Trait>::Item`
        return ""
    head = _NAME.match(text)
    if head is None:
        return ""
    name = head.group().strip(":").replace("::", ".")
    rest = text[head.end() :]
    if rest.startswith("<"):
        arguments = [
            argument_type
            for argument in _arguments(rest)
            if (argument_type := type_name(argument)) and argument[:1] != "'"
        ]
        return f"{name}<{', '.join(arguments)}>" if arguments else name
    return name


def _arguments(text: str) -> list[str]:
    """Return the arguments in the angle brackets at the start of a text."""
    found: list[str] = []
    depth, start = 0, 1
    for place, sign in enumerate(text):
        if sign in "<([":
            depth += 1
        elif sign in ")]" or (sign == ">" and text[place - 1] not in "-="):
            depth -= 1
            if depth == 0:
                return [*found, text[start:place].strip()]
        elif sign == "," and depth == 1:
            found.append(text[start:place].strip())
            start = place + 1
    return found


# --- resolving -----------------------------------------------------------------------------

ROOTS = frozenset(("crate", "self", "super"))
_CRATE = re.compile(
    r"^[ \t]*\[(?:package|lib)\][^\[]*?^[ \t]*name[ \t]*=[ \t]*\"([^\"]+)\"", re.MULTILINE
)
_OWN = ("mod.rs", "lib.rs", "main.rs", "build.rs")


def module(view: SymbolView, importer: str, name: str) -> str | None:
    """Return the file of `crate`, `super` or `self.name` as seen from a file, or of a crate."""
    folder, _, file = importer.rpartition("/")
    if name == "self":
        return importer
    if name == "crate":
        return _root(view, importer)
    if name == "super":
        if file == "mod.rs":
            folder = folder.rpartition("/")[0]
        return _first(view, _files_of(folder))
    if name.startswith("self."):
        below = name[5:].replace(".", "/")
        within = folder if file in _OWN or _root(view, importer) == importer else importer[:-3]
        return _first(view, [f"{within}/{below}.rs", f"{within}/{below}/mod.rs"])
    return _crate(view, importer, name)


def _first(view: SymbolView, paths: list[str]) -> str | None:
    return next((path for path in paths if view.file(path)), None)


def _files_of(folder: str) -> list[str]:
    """Return the files that can declare a folder's modules."""
    return [f"{folder}/mod.rs", f"{folder}.rs", f"{folder}/lib.rs", f"{folder}/main.rs"]


def _root(view: SymbolView, path: str) -> str:
    """Return the root file of a file's crate."""
    folder = path.rpartition("/")[0]
    while "/" in folder:
        above, _, last = folder.rpartition("/")
        if last in ("tests", "examples", "benches", "bin") and _is_package(view, above):
            inside = path[len(folder) + 1 :]
            if "/" not in inside:
                return path
            main = f"{folder}/{inside.partition('/')[0]}/main.rs"
            if view.file(main):
                return main
        for name in ("lib.rs", "main.rs"):
            if view.file(f"{folder}/{name}"):
                return f"{folder}/{name}"
        folder = above
    return path


def _is_package(view: SymbolView, folder: str) -> bool:
    """Return True if a folder, or its parent for a `src` folder, contains a crate."""
    package = folder.removesuffix("/src")
    return any(view.file(f"{package}/src/{name}") for name in ("lib.rs", "main.rs")) or (
        Path(package, "Cargo.toml").is_file()
    )


def _crate(view: SymbolView, importer: str, name: str) -> str | None:
    """Return the root file of a crate in the workspace."""
    found = []
    for file in view.files_named("lib.rs"):
        folder = file.path.rpartition("/")[0]
        package = folder.removesuffix("/src")
        if package.rpartition("/")[2].replace("-", "_") == name or name in _names(view, package):
            found.append(file.path)
    # The crate nearest to the importing file.
    return max(found, key=lambda path: shared_folders(path, importer), default=None)


def _names(view: SymbolView, package: str) -> list[str]:
    """Return the library names in a package's Cargo.toml."""
    raw = view.manifest(f"{package}/Cargo.toml")
    found = _CRATE.findall(raw.decode("utf-8", "replace")) if raw else []
    return [name.replace("-", "_") for name in found]


_COMMON = (
    "new default clone fmt eq cmp hash from into try_from try_into as_ref as_mut as_str as_bytes"
    " len is_empty push pop insert remove get get_mut contains contains_key iter iter_mut next map"
    " filter collect unwrap expect ok err and_then or_else unwrap_or take replace drop deref"
    " borrow borrow_mut lock read write flush poll send recv to_string to_owned to_vec as_slice"
    " extend clear split join find name message source start end entry or_insert values keys"
    " with_capacity spawn load store wait wake finish parse"
)
RULES = Rules(
    module=module,
    roots=ROOTS,
    instance=frozenset(("self",)),
    super_name="",
    self_types=frozenset(("Self",)),
    family=True,
    closed=True,
    typed_parameters=True,
    extending=True,
    apart=frozenset(("field",)),
    everywhere=frozenset(("macro",)),
    wrappers=frozenset(
        "Option Result Box Rc Arc Cow Pin RefCell Cell Mutex RwLock MutexGuard RwLockReadGuard"
        " RwLockWriteGuard Ref RefMut Weak ManuallyDrop MaybeUninit UnsafeCell NonNull OnceCell"
        " OnceLock LazyLock Lazy Poll".split()
    ),
    containers=frozenset(
        "Vec VecDeque LinkedList HashSet BTreeSet BinaryHeap HashMap BTreeMap IndexMap IndexSet"
        " SmallVec Iter IterMut IntoIter Drain Slab".split()
    ),
    keeping=frozenset(
        "unwrap expect clone as_ref as_mut borrow borrow_mut lock read write unwrap_or_default"
        " unwrap_or_else unwrap_or to_owned cloned copied ok take iter iter_mut into_iter drain"
        " values values_mut into_values rev skip as_deref as_deref_mut filter peekable by_ref chain"
        " deref deref_mut get_ref upgrade as_slice insert get_or_insert_with ok_or ok_or_else"
        " map_err or_else enumerate".split()
    ),
    taking=frozenset(
        "next get get_mut first last pop pop_front pop_back remove front back peek nth last_mut"
        " first_mut swap_remove entry max min find".split()
    ),
    common=frozenset(_COMMON.split()),
)
