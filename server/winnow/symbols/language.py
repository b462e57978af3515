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

from winnow.symbols.extract.grammars import FILES, PROGRAMS
from winnow.symbols.resolve.rules import Rules

if TYPE_CHECKING:
    from tree_sitter import Node

    from winnow.symbols.extract.extraction import Extraction


# Words that begin statements in languages which have them from C, and name nothing there.
STATEMENTS = frozenset("if else for while do switch case return".split())


class Language(Struct, frozen=True, kw_only=True):
    """A language.

    ``grammar`` is its name in tree-sitter-language-pack, else ``name``. ``files`` are the ends of
    names (".py") and whole names ("Rakefile"), ``programs`` the interpreters of a first line
    ``#!``.

    ``definitions`` is a query. Each of its matches captures the whole as ``@definition.<kind>``
    and the name as ``@name``. In its place, ``@declaration.<kind>`` only says that something is
    elsewhere, as a prototype does, and ``@local.<kind>`` stands in a function that has no name;
    ``@inside`` is no definition, but members stand in it (Rust's ``impl``), and
    ``@skipped.<kind>`` keeps later patterns from matching (include guards). A match may also
    capture a ``@doc``; as ``@container`` the names of what it is a member of, where it does not
    stand inside of that; and anything as ``@typed``, which makes it win over others, see ``once``.
    A name that several patterns match is what the first of them says. ``@namespace`` is like
    ``@container`` for what is no class: its functions are no methods. ``@inside`` without
    ``@name`` has as members those of what is around it (Zig's `return struct`). ``@first`` is
    where the definition begins, if that is before the whole (Zig's `pub`).

    ``@hidden`` and ``@exported`` in a match decide what else ``exported`` would say;
    ``@exported`` without a definition is a name that the file exports elsewhere than there.
    ``@listed`` are all names that other files see, with their members. Behind an ``@access`` that
    begins with "private", up to the next one, stands what they do not see. ``@between`` may stand
    between a comment and what it is about (Rust's attributes), and ``@comment`` with ``@text`` is
    a doc that is no comment.

    In nodes that it captures as ``@nested``, another query ``nested`` is run, whose patterns come
    before the others: it can match what stands at any depth of them, which would be slow in the
    whole text.

    ``reserved`` are words that name nothing: where a text does not parse, the grammar may take them
    for names (C#'s `#else` before an `else if`).

    ``name_part`` is a regular expression for what of the text of ``@name`` is the name. With
    ``clauses``, functions of one name that follow each other are one definition. ``most`` is
    how many of a file are taken, where files may be data. ``name_of`` finds the name in what is
    defined, where the query does not. ``scripts`` is a query for the parts of a file, ``@script``,
    that are TypeScript: then nothing else of it counts.

    What the driver sees to: functions in classes are methods, variables there are fields; fields
    in a method (`self.name = …`) are the class's; variables in functions are left out. ``kind``
    then corrects the kind by what stands before the name in the definition (decorators and
    modifiers too), the name, and the name of the container; an empty kind is no definition. Of the
    kinds ``once``, a container has one of each name: the last with a type, else the first.

    ``tokens`` is a query whose captures tell what names are for, see ``occurrences.py``; without
    it, ``scoping/plain.py`` finds them. ``clean`` gives the text as the grammar reads it best, of
    the same length. ``prepare`` and ``collect`` add what a query cannot say, before and after
    identifiers are read: flags of single names, imports, bases, types. ``rules`` are for resolving
    names, ``skipped`` names whose occurrences are not kept (`self`). ``exported`` tells from what
    stands before the name in the definition, and the name, whether other files see it. ``comments``
    are the node types of comments, ``header`` the node types around a definition that belong to it:
    decorators, `export`. ``embedded`` gives parts of the text that are to be parsed on their own
    (items in macros of Rust). ``instead`` may name another language by the text itself.
    ``flat``: no function holds what begins a line, and every value outside of functions begins
    one. Where it looks otherwise, the text did not parse (in C, because of macros).
    """

    name: str
    files: Sequence[str]
    definitions: str
    nested: str = ""
    grammar: str = ""
    programs: Sequence[str] = ()
    tokens: str = ""
    clean: Callable[[bytes], bytes] | None = None
    prepare: Callable[[Extraction], None] | None = None
    collect: Callable[[Extraction], None] | None = None
    rules: Rules | None = None
    embedded: Callable[[Node, bytes], list[tuple[int, int]]] | None = None
    skipped: frozenset[str] = frozenset()
    exported: Callable[[str, str], bool] = lambda header, name: True
    kind: Callable[[str, str, str, str], str] = lambda kind, header, name, container: kind
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


@functools.cache
def generic_languages() -> dict[str, Language]:
    """The languages of which only the grammar is known, by name: they have no query."""
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
    known = [*generic_languages().values(), *languages().values()]
    return (
        {name: language for language in known for name in language.files},
        {program: language for language in known for program in language.programs},
    )
