"""Definitions of languages that have no query of their own, by the shapes of their grammars.

Grammars call things by similar names: a node whose type has the words "function" and "definition"
in it, and a field ``name``, defines a function. From the node types of a grammar a query is made,
which is run like those that people wrote. It misses what a grammar calls otherwise, and does not
know which names other files see; :attr:`~winnow.symbols.facts.Facts.generic` says so.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import tree_sitter
import tree_sitter_language_pack

from winnow.symbols.definitions import find_definitions
from winnow.symbols.facts import Facts, Scope, Skeleton
from winnow.symbols.language import Language

# What a node defines, by the words of its type; the first one that fits counts.
_KINDS = tuple(
    (re.compile(rf"(?:^|_)(?:{words})(?:_|$)"), kind)
    for words, kind in (
        ("enum_(?:member|constant|variant|value|case|field)|enumerator|variant", "enum_member"),
        ("constructor", "constructor"),
        ("method|member_function", "method"),
        (
            "function|func|fun|fn|procedure|proc|subroutine|sub|subprogram|rpc|getter|setter",
            "function",
        ),
        ("modifier|macro|template", "macro"),
        ("signal|event", "event"),
        ("property|prop", "property"),
        ("field|member|component", "field"),
        ("const|constant", "constant"),
        ("interface|protocol|signature_block", "interface"),
        ("trait|mixin|role|typeclass", "trait"),
        ("struct|structure|record", "struct"),
        ("union", "union"),
        ("enum|enumeration", "enum"),
        ("class|contract|actor|entity", "class"),
        ("module|namespace|package|library|program|architecture", "module"),
        ("type|typedef|alias|newtype|data|subtype|extension", "type"),
        ("variable|var|val|value|let|binding|state|global|static|resource|output", "variable"),
    )
)
# The words of types that define something.
_DEFINES = re.compile(
    r"(?:^|_)(?:definition|declaration|decl|defn?|item|statement|specification|specifier|"
    r"signature|header|binding|spec|body|interface|implementation|block)$"
)
# Types that define something and are called just what they define.
_BARE = re.compile(
    r"(?:async_)?(?:function|method|constructor|class|struct|enum|union|interface|trait|module|"
    r"namespace|package|procedure|subroutine|macro|data|newtype|type_alias|constant|"
    r"enum_(?:member|constant|variant|value|case)|enumerator|variant)"
)
# Words of types that look like it, and use, import or describe.
_OTHER = re.compile(
    r"(?:^|_)(?:end|parameters?|params?|arguments?|args?|imports?|use|using|calls?|expressions?|expr|"
    r"include|return|local|if|else|elsif|for|foreach|while|loop|case|when|try|catch|with|abstract_type|"
    r"forward|instantiation|anonymous|annotation|attribute|literal|pattern|clause|access|extends|"
    r"implements|assignment|echo|print|raise|throw|incomplete|array|pointer|list|set|assert|renaming|"
    r"export|goto|formal|guard|switch|empty|null|reference|select|exec|execute|go|defer|delete|yield|"
    r"await|block_statement|expression_statement|compound|static_assert|derive|open|extern_type|range|"
    r"map|friend|linkage|attributed|exit|next|trap|data_statement|sequence|wait|port)(?:_|$)"
)
_NAME_FIELDS = ("name", "designator", "pattern", "left")
_IDENTIFIER = re.compile(
    r"(?:^|_)(?:identifier|name|symbol|ident|word|atom|id|constructor|value_name)$"
)
# A name is a word, or an operator; not a whole expression.
_NAME_CHARACTERS = 120


def extract_generic(grammar: str, source: bytes) -> Facts:
    """The facts of a text in UTF-8, as far as the shape of its tree tells them: definitions."""
    tree = tree_sitter_language_pack.get_parser(grammar).parse(source)  # type: ignore[arg-type]
    language, query = _shapes(grammar)
    definitions = [
        one
        for one in find_definitions(language, query, None, source, tree.root_node)
        if len(one.name) <= _NAME_CHARACTERS and not any(sign in one.name for sign in " \n\t(")
    ]
    return Facts(
        language=language.name,
        definitions=definitions,
        skeleton=Skeleton(scopes=[Scope(0, len(source), -1, "module")]),
        occurrences={},
        generic=True,
        broken=int(tree.root_node.has_error),
    )


def _exported(header: str, name: str) -> bool:
    """What does not say `private`, as it is said in most languages."""
    return re.search(r"\b(?:private|local)\b", header) is None


@functools.cache
def _shapes(grammar: str) -> tuple[Language, tree_sitter.Query]:
    """The language that the node types of a grammar make, and its query."""
    loaded = tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    types = [
        loaded.node_kind_for_id(number) or ""
        for number in range(loaded.node_kind_count)
        if loaded.node_kind_is_named(number) and loaded.node_kind_is_visible(number)
    ]
    types = list(dict.fromkeys(types))
    patterns = "\n".join(_patterns(loaded, types))
    comments = tuple(kind for kind in types if kind.endswith("comment"))
    language = Language(
        name=grammar, files=(), definitions=patterns, exported=_exported, comments=comments
    )
    text = patterns + "".join(f"\n({kind}) @comment" for kind in comments)
    return language, tree_sitter.Query(loaded, text)


def _patterns(loaded: tree_sitter.Language, types: list[str]) -> Iterator[str]:
    identifiers = [kind for kind in types if _IDENTIFIER.search(_snake(kind))]
    declarators = [kind for kind in types if kind.endswith(("declarator", "variable_declaration"))]
    for kind in types:
        defined = _defined(_snake(kind))
        if defined is None:
            continue
        names = [f"{name}: (_) @name" for name in _NAME_FIELDS]
        names += [f"({declarator} name: (_) @name)" for declarator in declarators]
        names += [f"({declarator} . (identifier) @name)" for declarator in declarators]
        found = next((name for name in names if _possible(loaded, f"({kind} {name})")), None)
        if found is not None:
            yield f"({kind} {found}) @definition.{defined}"
            continue
        for identifier in identifiers:
            if _possible(loaded, f"({kind} ({identifier}))"):
                yield f"({kind} ({identifier}) @name) @definition.{defined}"


def _snake(kind: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()


def _defined(kind: str) -> str | None:
    """What nodes of this type define."""
    if _OTHER.search(kind) or not (_DEFINES.search(kind) or _BARE.fullmatch(kind)):
        return None
    return next((defined for words, defined in _KINDS if words.search(kind)), None)


def _possible(loaded: tree_sitter.Language, pattern: str) -> bool:
    """Whether the grammar has such nodes."""
    try:
        tree_sitter.Query(loaded, pattern)
    except tree_sitter.QueryError:
        return False
    return True
