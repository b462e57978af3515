"""Definition of a language. Each module in ``languages/`` adds one.

This module loads no grammar, because the server, which does not parse, imports it too.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.symbols.extract.grammars import FILES, PROGRAMS
from winnow.symbols.resolve.rules import Rules

if TYPE_CHECKING:
    from tree_sitter import Node

    from winnow.symbols.extract.extraction import Extraction


# Statement keywords of C-like languages; they name nothing.
STATEMENTS = frozenset("if else for while do switch case return".split())


class Language(Struct, frozen=True, kw_only=True):
    """A programming language: its files, tree-sitter queries, and hooks beyond the queries.

    To add a language, create ``languages/<name>.py`` with one instance. ``name``, ``files`` and
    ``definitions`` suffice; ``languages/zig.py`` is a short example.

    | files | meaning |
    | --- | --- |
    | ``files`` | file extensions (".py") and complete file names ("Rakefile") |
    | ``programs`` | interpreters in a ``#!`` line |
    | ``grammar`` | the name in tree-sitter-language-pack, if it is not ``name`` |
    | ``clean`` | replaces text that the grammar cannot parse by text of the same length |
    | ``embedded`` | returns parts to parse separately (items in Rust macros) |
    | ``scripts`` | a query for embedded TypeScript, ``@script``; the rest of the file is ignored |
    | ``instead`` | may return the name of another language, judging by the text |

    ``definitions`` is a tree-sitter query. If several patterns match a name, the first pattern
    wins.

    | capture of ``definitions`` | meaning |
    | --- | --- |
    | ``@definition.<kind>`` | a complete definition; ``file_symbols.Kind`` lists the kinds |
    | ``@name`` | its name |
    | ``@qualified`` | instead of a name: a node with the container, too (Elixir's `A.B`) |
    | ``@declaration.<kind>`` | instead of a definition: a prototype; the definition is elsewhere |
    | ``@local.<kind>`` | instead of a definition: in a function without a name |
    | ``@skipped.<kind>`` | not a definition, and later patterns cannot match it (include guards) |
    | ``@inside`` | not a definition, but contains members of ``@name`` (Rust's ``impl``) |
    | ``@inside`` without ``@name`` | contains members of its parent (Zig's ``return struct``) |
    | ``@container`` | the class that the definition belongs to, if it is not inside that class |
    | ``@namespace`` | like ``@container``, but its functions are not methods |
    | ``@first`` | the start of the definition, if it precedes the captured node (Zig's ``pub``) |
    | ``@last`` | the end of the definition, if it follows the captured node (Dart's bodies) |
    | ``@typed`` | makes this match win among the kinds ``once`` |
    | ``@doc`` | its doc comment, if not the comment before it |
    | ``@comment`` with ``@text`` | a doc comment that is not a comment node |
    | ``@between`` | may appear between a comment and its definition (Rust's attributes) |
    | ``@exported``, ``@hidden`` | in a match: other files see the name, or not |
    | ``@exported`` | on its own: a name that the file exports elsewhere |
    | ``@listed`` | the only names that other files see, with their members |
    | ``@access`` | if it begins with "private", definitions up to the next one are private |
    | ``@nested`` | a node in which the query ``nested`` runs |

    The extractor itself turns functions in classes into methods and variables there into fields,
    makes fields in a method (``self.name = …``) fields of the class, and drops variables in
    functions.

    | definitions | meaning |
    | --- | --- |
    | ``nested`` | patterns for any depth of ``@nested`` (slow on a complete text); they win |
    | ``namespace`` | returns the name of a namespace, given the text of ``@namespace`` |
    | ``kind`` | corrects a kind, given the text before the name, the name and its container |
    | ``exported`` | returns whether other files see a name, given the text before it and the name |
    | ``name_part`` | a regular expression for the part of ``@name`` that is the name |
    | ``name_of`` | finds the name in a definition without ``@name`` |
    | ``header`` | types of nodes around a definition that belong to it (decorators, ``export``) |
    | ``comments`` | types of comment nodes |
    | ``reserved`` | words that are never names; after an error, the grammar may parse them so |
    | ``clauses`` | adjacent functions with one name are one definition |
    | ``once`` | kinds that a container has once per name: the last ``@typed`` one, else the first |
    | ``most`` | the maximum number of definitions per file, for files that may be data |
    | ``flat`` | no function contains a definition that starts a line; see below |

    An empty kind drops the definition. The text before the name includes decorators and modifiers.
    With ``flat``, global variables always start a line, too; anything else is a parse error (in C,
    from macros).

    | references | meaning |
    | --- | --- |
    | ``tokens`` | a query for the roles of names; ``extract/occurrences.py`` lists its captures |
    | ``skipped`` | names whose occurrences are not stored (``self``) |
    | ``prepare``, ``collect`` | add flags, imports, bases, types, before and after reading names |
    | ``rules`` | tell the resolver how names work in the language |

    Without ``tokens``, ``scopes/plain.py`` matches references by name. A query ``uses`` then tells
    their kinds: ``@type``, ``@call`` (wins over a type) and ``@import``; ``@variable`` is the name
    of a variable or property (PHP's ``$a``). `scopes/plain.py` lists further captures, and
    ``prepare`` reads its own.
    """

    name: str
    files: Sequence[str]
    definitions: str
    nested: str = ""
    grammar: str = ""
    programs: Sequence[str] = ()
    tokens: str = ""
    uses: str = ""
    clean: Callable[[bytes], bytes] | None = None
    prepare: Callable[[Extraction], None] | None = None
    collect: Callable[[Extraction], None] | None = None
    rules: Rules | None = None
    embedded: Callable[[Node, bytes], list[tuple[int, int]]] | None = None
    skipped: frozenset[str] = frozenset()
    exported: Callable[[str, str], bool] = lambda header, name: True
    kind: Callable[[str, str, str, str], str] = lambda kind, header, name, container: kind
    namespace: Callable[[str], str] = lambda text: text
    once: Sequence[str] = ()
    flat: bool = False
    instead: Callable[[bytes], str] | None = None
    comments: Sequence[str] = ("comment",)
    header: Sequence[str] = ()
    reserved: frozenset[str] = frozenset()
    name_part: str = ""
    clauses: bool = False
    most: int = 0
    name_of: Callable[[Node], Node | None] = lambda node: None
    scripts: str = ""


def hidden_by(pattern: str) -> Callable[[str, str], bool]:
    """Return a function for ``exported``: other files see a name unless its header matches."""
    search = re.compile(pattern).search
    return lambda header, name: search(header) is None


@functools.cache
def languages() -> dict[str, Language]:
    """Return the languages that have a module, by name."""
    package = importlib.import_module("winnow.symbols.languages")
    found: dict[str, Language] = {}
    for module in pkgutil.iter_modules(package.__path__):
        for value in vars(importlib.import_module(f"{package.__name__}.{module.name}")).values():
            if isinstance(value, Language):
                found[value.name] = value
    return found


@functools.cache
def generic_languages() -> dict[str, Language]:
    """Return the languages known by their grammar only, by name. They have no query."""
    return {
        grammar: Language(
            name=grammar,
            files=files.split(),
            programs=PROGRAMS.get(grammar, "").split(),
            definitions="",
        )
        for grammar, files in FILES.items()
    }


def language_of(path: str, first_line: bytes = b"") -> Language | None:
    """Return the language of a file, by its name or its ``#!`` line."""
    by_name, by_program = _names()
    name = path.rpartition("/")[2]
    if name in by_name:
        return by_name[name]
    dot = name.find(".", 1)
    while dot > 0:
        if name[dot:] in by_name:
            return by_name[name[dot:]]
        dot = name.find(".", dot + 1)
    program = _PROGRAM.match(first_line)
    return by_program.get(program[1].decode()) if program else None


# `#!/usr/bin/env -S python3.11 -u`: "python"; `#!/bin/bash`: "bash".
_PROGRAM = re.compile(rb"#!\s*(?:\S*/env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z]+)")


@functools.cache
def _names() -> tuple[dict[str, Language], dict[str, Language]]:
    """Return the languages by file extension or file name, and by program."""
    all_languages = [*generic_languages().values(), *languages().values()]
    return (
        {name: language for language in all_languages for name in language.files},
        {program: language for language in all_languages for program in language.programs},
    )
