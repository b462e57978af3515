"""What resolving has to know of a language; its module in ``languages/`` says it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from winnow.symbols.view import View

# The name that a call of an object itself stands under (TypeScript's `interface A { (b: B): C }`).
SIGNATURE = "()"


class Rules(Struct, frozen=True, kw_only=True):
    """How names of a language find their definitions.

    ``module`` gives the file that an import means: asked with the importing file's path and the
    module as it is written. ``submodules`` says that a name imported from a folder's file may be a
    file of that folder. ``instance`` are names of the object that a method is called on.
    ``members_bare`` says where members are visible without a receiver: "direct" in the class's body
    only, "never", or "always" in its methods too. ``family`` says that a method and those that
    override it count as one. ``linkage`` says that a name is one of the whole program, or of the
    files that include it: :mod:`winnow.symbols.resolve.linkage` answers. ``wrappers`` are generic
    types that stand for their first argument, ``containers`` those whose items are of their last.
    ``self_types`` mean the class around, ``class_types`` a class rather than an object of it.
    ``common`` are members of built-in types, ``same`` and ``item`` those of containers that give
    one with the same items, or one item, ``takes`` those that take items.

    ``merging`` says that declarations of one name in one scope are one symbol, and that types and
    values of this name are told apart. ``renames`` says that uses under the name that an import
    gives count, too. ``closed`` says that a name bound nowhere is foreign, as no file sees those of
    others. ``marked`` says that all members are marked so where they are written down.
    ``any_types`` are types that allow everything. ``typed_parameters`` says that a parameter has a
    type even if none is declared.
    """

    module: Callable[[View, str, str], str | None]
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
    same: frozenset[str] = frozenset()
    item: frozenset[str] = frozenset()
    takes: frozenset[str] = frozenset()
    merging: bool = False
    renames: bool = False
    closed: bool = False
    marked: bool = False
    any_types: frozenset[str] = frozenset()
    typed_parameters: bool = False
