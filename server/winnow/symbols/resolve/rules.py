"""The rules of a language for resolving names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from winnow.symbols.view import SymbolView

# The member name for calls of an object itself (TypeScript's `interface A { (b: B): C }`).
SIGNATURE = "()"
# The package of a script, and the namespace whose names all files see (TypeScript's `declare
# global`).
GLOBAL = "global"


class Rules(Struct, frozen=True, kw_only=True):
    """The rules by which the resolver finds what names of a language mean.

    Modules:

    * ``module(view, importer, module)`` returns the file that an import resolves to. A result that
      ends with "/" is a package; "::" and a qualified name after a path mean a class or inline
      module.
    * ``package(path, declared)`` returns the package of a file, in the same form
    * ``submodules``: a name imported from a folder may be a file in it
    * ``roots``: words that start a module path (`crate`, `super`); the parts of such a path are
      resolved individually, so that they can be re-exported
    * ``everywhere``: kinds that are visible without an import
    * ``closed``: a name that nothing binds is external, because files do not see each other's names
    * ``scripts``: where the names of scripts, which have the package `GLOBAL`, and of the namespace
      `GLOBAL` are visible: in all files ("always"), in programs that load the script ("loaded"), or
      "never"
    * ``renames``: uses under an import's alias count as references

    Scopes and members:

    * ``instance``: names of the object that a method is called on; ``super_name`` skips its class
    * ``members_bare``: where members are visible without a receiver: only in the class body
      ("direct"), also in methods ("always"), or "never"
    * ``family``: a method and its overrides count as one symbol
    * ``marked``: occurrences that declare members are flagged
    * ``merging``: declarations of one name in one scope are one symbol; types and values are
      separate
    * ``apart``: kinds of members with a separate name space (methods in Java, fields in Rust);
      their occurrences are flagged
    * ``structural``: a class with all members of an interface implements it
    * ``extending``: interfaces can add members to any class
    * ``common``: members of built-in types
    * ``linkage``: names belong to the program, or to the files that include them; handled by
      :mod:`winnow.symbols.resolve.linkage`
    * ``plain``: only names and definitions are known; handled by
      :mod:`winnow.symbols.resolve.plain`

    Types:

    * ``wrappers``: generic types that are treated as their first argument
    * ``containers``: generic types whose items have the type of their last argument
    * ``self_types`` mean the enclosing class; ``class_types`` a class instead of its instances
    * ``any_types`` allow everything
    * ``typed_parameters``: a parameter without a declared type still has a type
    * ``same``, ``item``, ``takes``: container methods that return a container of the same items,
      return an item, or accept items
    * ``keeping``: methods that return an object of the receiver's type, or the same items, unless
      the class defines them; ``taking``: container methods that return an item
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
    scripts: Literal["never", "loaded", "always"] = "never"
    closed: bool = False
    marked: bool = False
    any_types: frozenset[str] = frozenset()
    typed_parameters: bool = False


# Languages that use each other's definitions, mapped to one of them.
_WORLDS = {
    "cpp": "c",
    "objc": "c",
    "cuda": "c",
    "swift": "c",
    "tsx": "typescript",
    "javascript": "typescript",
    "jsx": "typescript",
    "vue": "typescript",
    "svelte": "typescript",
    "blade": "php",
    "kotlin": "java",
    "scala": "java",
    "groovy": "java",
}


def world(language: str) -> str:
    """Return a common name for languages that use each other's definitions."""
    return _WORLDS.get(language, language)


def shared_folders(path: str, other: str) -> int:
    """Return the number of leading folders that two files share."""
    count = 0
    for mine, theirs in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        count += 1
    return count
