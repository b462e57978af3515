"""Names of one symbol in languages that call each other: Java calls Kotlin's property `title` by
`getTitle()`, and Kotlin writes `title` for Java's `getTitle()`."""

from __future__ import annotations

import re

# Languages in which accessors are used as a property, and in which they are called.
WITH_PROPERTIES = frozenset(("kotlin", "groovy"))
JAVA = frozenset(("java",))
# Kinds of definitions that have accessors in Java.
PROPERTIES = frozenset(("property", "field", "variable", "constant"))
_ACCESSOR = re.compile(r"[gs]et([A-Z]\w*)")
_IS = re.compile(r"is(?=[A-Z])")


def accessors(name: str) -> list[str]:
    """Return the names of the getter and the setter of a property in Java."""
    if _IS.match(name):  # its getter has the name of the property
        return [f"set{name[2:]}"]
    capitalized = name[:1].upper() + name[1:]
    return [f"get{capitalized}", f"set{capitalized}"]


def property_of(name: str) -> str:
    """Return the name of the property that a method of Java is an accessor of, or ""."""
    accessor = _ACCESSOR.fullmatch(name)
    return accessor[1][:1].lower() + accessor[1][1:] if accessor else ""
