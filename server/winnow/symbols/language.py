"""Languages: which file is which, and what is known of each; a module in ``languages/`` is one.

This module loads no grammar: the server, which parses nothing, reads it too.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.symbols.resolve.rules import Rules

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract import Extraction


class Language(Struct, frozen=True, kw_only=True):
    """A language.

    ``grammar`` is its name in tree-sitter-language-pack, else ``name``. ``files`` are the ends of
    names (".py") and whole names ("Rakefile"), ``programs`` the interpreters of a first line
    ``#!``.

    ``definitions`` is a query. Each of its matches captures the whole as ``@definition.<kind>``
    (``@declaration.<kind>``: it only says that something is elsewhere, as a prototype does) and
    the name as ``@name``; it may capture a ``@doc``, and as ``@container`` the name of the
    class that it is a member of, where it does not stand inside of it. ``@inside`` with ``@name``
    and no definition is something that members stand in (Rust's ``impl``); without ``@name`` its
    members are those of what is around it (Zig's `return struct`). A node that several patterns
    match is what the first of them says. ``@namespace`` is like ``@container`` for what
    is no class: its functions are no methods. ``@first`` is where the definition begins, if that
    is before the whole (Zig's ``pub``). A match that captures names as ``@export`` says that other
    files see these, their members, and nothing else. ``name_part`` is a regular expression for
    what of the text of ``@name`` is the name. With ``clauses``, functions of one name that follow
    each other are one definition. ``@comment`` with ``@text`` is a doc that is no comment, and
    ``@between`` what may stand between a doc and its definition.

<<<<<<< HEAD
    ``tokens`` is a query whose captures tell what names are for, see ``occurrences.py``. ``prepare``
    and ``collect`` add what a query cannot say, before and after identifiers are read: flags of
    single names, imports, bases, types; ``rules`` are for resolving names. ``exported`` tells from
    what stands before the name in the definition, and the name, whether other files see it.
    ``nested`` gives parts of the text that are to be parsed on their own (items in macros).
    ``comments`` are the node types of comments, ``header`` the node types around a definition that
    belong to it: decorators, `export`.
=======
    ``tokens`` is a query whose captures tell what names are for, see ``occurrences.py``.
    ``prepare`` and ``collect`` add what a query cannot say, before and after identifiers are read:
    flags of single names, imports, bases, types. ``rules`` are for resolving names.
    ``skipped`` are names whose occurrences are not kept (`self`). ``exported``
    tells from what stands before the name in the definition, and the name, whether other files see
    it. ``comments`` are the node types of comments, ``header`` the node types around a definition
    that belong to it: decorators, `export`.
>>>>>>> issue-4
    """

    name: str
    files: Sequence[str]
    definitions: str
    grammar: str = ""
    programs: Sequence[str] = ()
    tokens: str = ""
    prepare: Callable[[Extraction], None] | None = None
    collect: Callable[[Extraction], None] | None = None
    rules: Rules | None = None
    nested: Callable[[tree_sitter.Node, bytes], list[tuple[int, int]]] | None = None
    skipped: frozenset[str] = frozenset()
    exported: Callable[[str, str], bool] = lambda header, name: True
    comments: Sequence[str] = ("comment",)
    header: Sequence[str] = ()
    name_part: str = ""
    clauses: bool = False


@functools.cache
def languages() -> dict[str, Language]:
    """The languages with a module of their own, by name."""
    package = importlib.import_module("winnow.symbols.languages")
    found: dict[str, Language] = {}
    for module in pkgutil.iter_modules(package.__path__):
        for value in vars(importlib.import_module(f"{package.__name__}.{module.name}")).values():
            if isinstance(value, Language):
                found[value.name] = value
    return found


def language_of(path: str, first_line: bytes = b"") -> Language | None:
    """The language of a file with this path, and perhaps a first line ``#!``."""
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
    """Languages by ends of names and whole names, and by programs."""
    known = languages().values()
    return (
        {name: language for language in known for name in language.files},
        {program: language for language in known for program in language.programs},
    )
