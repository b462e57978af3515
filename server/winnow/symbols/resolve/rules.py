"""What resolving has to know of a language; its module in ``languages/`` says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from winnow.symbols.view import SymbolView

# The name that a call of an object itself stands under (TypeScript's `interface A { (b: B): C }`).
SIGNATURE = "()"


class Rules(Struct, frozen=True, kw_only=True):
    """How names of a language find their definitions.

    ``module`` gives the file that an import means: asked with the importing file's path and the
    module as it is written. ``submodules`` says that a name imported from a folder's file may be a
    file of that folder. ``instance`` are names of the object that a method is called on.
    ``members_bare`` says where members are visible without a receiver: "direct" in the class's body
    only, "never", or "always" in its methods too. ``family`` says that a method and those that
    override it count as one. ``plain`` says that nothing is known but names and definitions, see
    :mod:`winnow.symbols.resolve.plain`. ``linkage`` says that a name is one of the whole program,
    or of the files that include it: :mod:`winnow.symbols.resolve.linkage` answers. ``wrappers`` are
    generic types that stand for their first argument, ``containers`` those whose items are of their
    last. ``self_types`` mean the class around, ``class_types`` a class rather than an object of it.
    ``common`` are members of built-in types, ``same`` and ``item`` those of containers that give
    one with the same items, or one item, ``takes`` those that take items.

    ``merging`` says that declarations of one name in one scope are one symbol, and that types and
    values of this name are told apart. ``renames`` says that uses under the name that an import
    gives count, too. ``closed`` says that a name bound nowhere is foreign, as no file sees those of
    others. ``marked`` says that all members are marked so where they are written down.
    ``any_types`` are types that allow everything. ``typed_parameters`` says that a parameter has a
    type even if none is declared.

    Modules may be others than files. What ``module`` gives ends with "/" for a package, which
    consists of the files that ``package`` gives the same for (asked with a file's path and the
    package it says it belongs to), and with "::" and a qualified name for a class or module within
    a file. ``roots`` are the words that a path of modules begins with (`crate`, `super`); where
    there are any, the parts of a path are looked up one by one, so that they can be re-exported.

    ``apart`` are kinds of members that can have the same name as a member of another kind (methods
    of Java, fields of Rust); their occurrences are flagged. ``structural`` says that a class with
    all members of an interface has it as a base without saying so, ``extending`` that interfaces
    can have members for any class. ``everywhere`` are kinds that are visible without an import.
    ``keeping`` are
    methods that give an object of the same type as the one they are called on, as far as its class
    does not define them, or the same items; ``taking`` those of containers that give an item.
    """

    module: Callable[[SymbolView, str, str], str | None]
    submodules: bool = False
    instance: frozenset[str] = frozenset()
    super_name: str = "super"
    members_bare: Literal["direct", "never", "always"] = "never"
    family: bool = False
    linkage: bool = False
    wrappers: frozenset[str] = frozenset()
    containers: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()
    self_types: frozenset[str] = frozenset()
    class_types: frozenset[str] = frozenset()
    package: Callable[[str, str], str] | None = None
    roots: frozenset[str] = frozenset()
    apart: frozenset[str] = frozenset()
    structural: bool = False
    extending: bool = False
    everywhere: frozenset[str] = frozenset()
    keeping: frozenset[str] = frozenset()
    taking: frozenset[str] = frozenset()
    plain: bool = False
    same: frozenset[str] = frozenset()
    item: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset()
    merging: bool = False
    renames: bool = False
    closed: bool = False
    marked: bool = False
    any_types: frozenset[str] = frozenset()
    typed_parameters: bool = False


# Languages that use each other's definitions, by the one that stands for all of them.
_WORLDS = {
    "cpp": "c",
    "objc": "c",
    "cuda": "c",
    "tsx": "typescript",
    "javascript": "typescript",
    "jsx": "typescript",
    "vue": "typescript",
    "svelte": "typescript",
    "kotlin": "java",
    "scala": "java",
    "groovy": "java",
}


def world(language: str) -> str:
    """What languages that use each other's definitions have in common."""
    return _WORLDS.get(language, language)
