"""Languages: which file is which, and what is known of each; a module in ``languages/`` is one.

This module loads no grammar: the server, which parses nothing, reads it too.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.symbols.resolve.rules import Rules

if TYPE_CHECKING:
    from winnow.symbols.extract import Extraction


class Language(Struct, frozen=True, kw_only=True):
    """A language.

    ``grammar`` is its name in tree-sitter-language-pack, else ``name``. ``files`` are the ends of
    names (".py") and whole names ("Rakefile"), ``programs`` the interpreters of a first line
    ``#!``.

    ``definitions`` is a query. Each of its matches captures the whole as ``@definition.<kind>``
    and the name as ``@name``; it may capture a ``@doc``, and as ``@container`` the name of the
    class that it is a member of, where it does not stand inside of it. ``@inside`` with ``@name``
    and no definition is something that members stand in (Rust's ``impl``). A node that several
    patterns match is what the first of them says.

    ``tokens`` is a query whose captures tell what names are for, see ``occurrences.py``. ``clean``
    gives the text as the grammar reads it best, of the same length. ``prepare`` and ``collect`` add what a query cannot say, before and after identifiers are read: flags of
    single names, imports, bases, types. ``exported`` tells from the definition's
    own first line and name whether other files see it. ``comments`` are the node types of comments,
    ``rules`` are for resolving names,
    ``header`` the node types around a definition that belong to it: decorators, `export`.
    """

    name: str
    files: Sequence[str]
    definitions: str
    grammar: str = ""
    programs: Sequence[str] = ()
    tokens: str = ""
    clean: Callable[[bytes], bytes] | None = None
    prepare: Callable[[Extraction], None] | None = None
    collect: Callable[[Extraction], None] | None = None
    rules: Rules | None = None
    exported: Callable[[str, str], bool] = lambda header, name: True
    comments: Sequence[str] = ("comment",)
    header: Sequence[str] = ()


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
