"""Places where symbols of C and C++ are defined."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conftest import write_files
from indexed import indexed
from winnow.search.symbols.navigation import Navigation
from winnow.text.lines import SourceTexts

SHAPES = {
    "shape.hpp": (
        "class Shape {\n public:\n  Shape(int n);\n  int area() const;\n  static int made;\n};\n"
    ),
    "shape.cpp": (
        '#include "shape.hpp"\n'
        "int Shape::made = 0;\n"
        "Shape::Shape(int n) {}\n"
        "int Shape::area() const { return made; }\n"
    ),
    "use.cpp": '#include "shape.hpp"\nint use(Shape& shape) { return shape.area(); }\n',
}
LISTS = {
    "list.h": (
        "struct list { struct list *next; };\n"
        "typedef struct list list;\n"
        "struct list *push(list *);\n"
        "#define EMPTY(l) ((l)->next == 0)\n"
    ),
    "list.c": '#include "list.h"\nstruct list *push(list *to) { return EMPTY(to) ? to : 0; }\n',
}


def places_of(folder: Path, files: Mapping[str, str], path: str, before: str, name: str) -> object:
    """Return the definitions (file, line, kind) of a name; it is the first one after a text."""
    write_files(folder, dict(files))
    at = files[path].index(name, files[path].index(before) + len(before))
    with indexed(folder) as view:
        symbol = Navigation(view, SourceTexts([folder], {}, 1_000_000)).named_at(
            (folder / path).as_posix(), at, name
        )
    assert symbol is not None
    return [
        (
            Path(place.path).name,
            files[Path(place.path).name].encode()[: place.at].count(b"\n") + 1,
            place.definition.kind if place.definition else "",
        )
        for place in symbol.places
    ]


def test_the_body_of_a_method_precedes_its_declaration(tmp_path: Path) -> None:
    assert places_of(tmp_path, SHAPES, "use.cpp", "shape.", "area") == [
        ("shape.cpp", 4, "method"),
        ("shape.hpp", 4, "method"),
    ]


def test_a_tag_means_the_struct_and_a_type_the_typedef(tmp_path: Path) -> None:
    assert places_of(tmp_path, LISTS, "list.c", "struct ", "list") == [("list.h", 1, "struct")]
    assert places_of(tmp_path, LISTS, "list.c", "push(", "list") == [("list.h", 2, "type")]


def test_the_body_of_a_function_precedes_its_prototype(tmp_path: Path) -> None:
    assert places_of(tmp_path, LISTS, "list.h", "*", "push") == [
        ("list.c", 2, "function"),
        ("list.h", 3, "function"),
    ]


def test_parameters_macros_and_members_are_found(tmp_path: Path) -> None:
    assert places_of(tmp_path, LISTS, "list.c", "return EMPTY(", "to") == [("list.c", 2, "")]
    assert places_of(tmp_path, LISTS, "list.c", "return ", "EMPTY") == [("list.h", 4, "macro")]
    assert places_of(tmp_path, LISTS, "list.h", "(l)->", "next") == [("list.h", 1, "field")]
