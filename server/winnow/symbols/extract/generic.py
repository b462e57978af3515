"""Find definitions of languages without a query, from the shapes of their trees.

Grammars use similar names: a node type with the words "function" and "definition" defines a
function, whose name is in a field ``name`` or is the first identifier. This misses what a grammar
names differently, and does not know which names other files see;
:attr:`~winnow.symbols.file_symbols.FileSymbols.generic` records that.
"""

from __future__ import annotations

import functools
import re

import tree_sitter
import tree_sitter_language_pack

from winnow.symbols.extract.definitions import find_definitions
from winnow.symbols.extract.grammars import PATTERNS
from winnow.symbols.file_symbols import Definition
from winnow.symbols.language import Language, hidden_by

# The kind that a node defines, by the words of its type; the first match counts.
_KINDS = tuple(
    (re.compile(rf"(?:^|_)(?:{words})(?:_|$)"), kind)
    for words, kind in (
        ("enum_(?:member|constant|variant|value|case|field)|enumerator|variant", "enum_member"),
        ("constructor", "constructor"),
        ("method|member_function", "method"),
        (
            "function|func|fun|fn|procedure|proc|subroutine|sub|subprogram|rpc|getter|setter|task",
            "function",
        ),
        ("modifier|macro|template|preproc", "macro"),
        ("signal|event", "event"),
        ("property|prop", "property"),
        ("field|member|component", "field"),
        ("const|constant", "constant"),
        ("interface|protocol", "interface"),
        ("trait|mixin|role|typeclass", "trait"),
        ("struct|structure|record|model|derived", "struct"),
        ("union", "union"),
        ("enum|enumeration", "enum"),
        ("class|contract|actor|entity|service", "class"),
        ("module|namespace|package|library|program|architecture", "module"),
        ("type|typedef|alias|newtype|data|subtype|extension|exception|error|abstract", "type"),
        ("variable|var|val|value|let|binding|state|global|static|resource|output", "variable"),
    )
)
# Words of node types that define something.
_DEFINES = re.compile(
    r"(?:^|_)(?:definition|declaration|decl|defn?|item|statement|specification|specifier|signature|"
    r"header|binding|spec|interface|implementation)$|^decl_|^(?:package|architecture)_body$"
)
# Node types named after exactly what they define.
_BARE = re.compile(
    r"function|method|constructor|class|struct|enum|union|interface|trait|module|namespace|package|"
    r"procedure|subroutine|macro|data|newtype|type_alias|constant|message|service|program|"
    r"enum_(?:member|constant|variant|value|case)|enumerator|variant"
)
# Words of node types that only look like definitions: they use, import or describe something, or
# are parts of definitions.
_OTHER = re.compile(
    r"(?:^|_)(?:end|parameters?|params?|arguments?|args?|arg|imports?|use|using|calls?|include|"
    r"expressions?|expr|return|local|if|else|elsif|for|foreach|while|loop|case|when|try|catch|with|"
    r"forward|instantiation|anonymous|annotation|attribute|literal|pattern|clause|access|extends|"
    r"implements|assignment|echo|print|raise|throw|incomplete|array|pointer|list|set|assert|export|"
    r"renaming|goto|formal|guard|switch|empty|null|reference|select|exec|execute|go|defer|delete|"
    r"yield|await|expression_statement|compound|static_assert|derive|open|extern_type|range|map|"
    r"friend|linkage|attributed|exit|next|trap|data_statement|sequence|wait|port|label|unset|"
    r"type_spec|component_definition|head|(?:generate|package)_item|generate_item_declaration)(?:_|$)"
)
_FIELDS = ("name", "declarator", "designator", "pattern", "left", "identifier", "id")
_IDENTIFIER = re.compile(
    r"(?:^|_)(?:identifier|name|symbol|ident|word|atom|id|constant|variable|constructor)$",
    re.IGNORECASE,
)
# Parts of a definition that precede its name.
_BEFORE = re.compile(
    r"modifier|annotation|attribute|visibility|comment|doc|keyword|^k[A-Z]|_?type$|specifiers?$|"
    r"parameter|body|block|^(?:fun|class|enum|struct|function|module|pub|storage|const|let|var)$"
)
# Parts of a definition that may contain its name.
_HEAD = re.compile(
    r"name|head|signature|binding|declarator|statement|defn|left|call|clause|assignment|binary|"
    r"operator|specification|ident|variable|symbol|prototype|pattern|path"
)
# Node types that use or import, and do not define.
_USED = re.compile(r"use|import|include|open|extends|implements|call|_identifier$")
_TYPE = re.compile(r"class|interface|struct|trait|object")
_BODIES = re.compile(r"function_body|^block$|statement_block|compound_statement")
# The maximum depth of a name below its definition.
_DEPTH = 5
# Variables in one of these are local.
_LOCAL = re.compile(r"variable|var|let|val|binding|const|object")
_AROUND = frozenset(("function", "method", "constructor", "variable", "constant", "macro"))
_NAME = re.compile(r"[^\s(){},;]{1,100}")


def generic_definitions(grammar: str, source: bytes, root: tree_sitter.Node) -> list[Definition]:
    """Return the definitions of a UTF-8 text that the shape of its tree reveals."""
    language, query = _shapes(grammar)
    if _is_other_language(grammar, root):
        return []
    found = find_definitions(language, query, None, source, root)
    return _not_local([definition for definition in found if _NAME.fullmatch(definition.name)])


def _is_other_language(grammar: str, root: tree_sitter.Node) -> bool:
    """Return True if almost every line has an error: the file is of another kind with the same
    extension.

    Manual pages that end in `.d` have two errors in 100 bytes. A grammar that does not know all of
    its language makes few and large errors.
    """
    if not root.has_error:
        return False
    errors = tree_sitter.QueryCursor(_errors(grammar)).captures(root).get("error", [])
    return len(errors) > 3 and 80 * len(errors) > root.end_byte


@functools.cache
def _errors(grammar: str) -> tree_sitter.Query:
    loaded: tree_sitter.Language = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    made: tree_sitter.Query = tree_sitter.Query(loaded, "(ERROR) @error")
    return made


def _not_local(definitions: list[Definition]) -> list[Definition]:
    """Drop variables in the value of another one, or in a function."""
    kept: list[Definition] = []
    end = 0
    for definition in definitions:
        if definition.start < end and definition.kind in ("variable", "constant"):
            continue
        kept.append(definition)
        if definition.kind in _AROUND:
            end = max(end, definition.end)
    return kept


@functools.cache
def _shapes(grammar: str) -> tuple[Language, tree_sitter.Query]:
    """Return a language derived from the node types of a grammar, and its query."""
    loaded = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    types = dict.fromkeys(
        loaded.node_kind_for_id(number) or ""
        for number in range(loaded.node_kind_count)
        if loaded.node_kind_is_named(number) and loaded.node_kind_is_visible(number)
    )
    defined = {kind: _defined(kind) for kind in types}
    language = Language(
        name=grammar,
        files=(),
        definitions=PATTERNS.get(grammar, "")
        + "\n".join(f"({node}) @definition.{kind}" for node, kind in defined.items() if kind),
        clauses=True,
        comments=[kind for kind in types if kind.endswith("comment")],
        exported=hidden_by(r"\b(?:private|local)\b"),
        name_of=_name_of,
    )
    comments = "".join(f"\n({kind}) @comment" for kind in language.comments)
    return language, tree_sitter.Query(loaded, language.definitions + comments)


def _defined(kind: str) -> str | None:
    """Return the kind that nodes of this type define."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()
    if _OTHER.search(kind) or not (_DEFINES.search(kind) or _BARE.fullmatch(kind)):
        return None
    return next((defined for words, defined in _KINDS if words.search(kind)), None)


def _name_of(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the name in a definition: a field for it, or the first identifier."""
    parent = node.parent
    if parent is None or _USED.search(parent.type):
        return None
    # `struct name` without a body only names a type.
    if node.type.endswith("specifier") and node.child_by_field_name("body") is None:
        return None
    if _LOCAL.search(node.type) and _in_body(parent):
        return None
    return _first_name(node, _DEPTH)


def _in_body(node: tree_sitter.Node | None) -> bool:
    """Return True if a function body is near above the node."""
    for _ in range(_DEPTH):
        if node is None:
            break
        if _BODIES.search(node.type):
            return node.parent is None or not _TYPE.search(node.parent.type)
        node = node.parent
    return False


def _first_name(node: tree_sitter.Node, depth: int) -> tree_sitter.Node | None:
    for field in _FIELDS:
        child = node.child_by_field_name(field)
        if child is not None:
            if field == "name" or _is_name(child):
                return child
            return _first_name(child, depth - 1) if depth > 1 else None
    children = [child for child in node.named_children if not _BEFORE.search(child.type)]
    name = next((child for child in children if _is_name(child)), None)
    if name is None and children and depth > 1 and _HEAD.search(children[0].type):
        return _first_name(children[0], depth - 1)
    return name


def _is_name(node: tree_sitter.Node) -> bool:
    return node.named_child_count == 0 and _IDENTIFIER.search(node.type) is not None
