"""References in Java."""

from __future__ import annotations

from pathlib import Path

from symbols.references import check_references


def test_imports_and_packages_lead_to_classes(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "src/main/java/org/shop/Cart.java": (
                "package org.shop;\n"
                "public class Cart { // ref: Cart definition\n"
                "    public static final int LIMIT = 3; // ref: Cart.LIMIT definition\n"
                "    public Cart(int size) {} // ref: Cart definition\n"
                "    public static int count() { // ref: Cart.count definition\n"
                "        return LIMIT; // ref: Cart.LIMIT read\n"
                "    }\n"
                "}\n"
            ),
            "src/test/java/org/shop/CartTest.java": (
                "package org.shop;\n"
                "/** Of {@link Cart} */ // ref: Cart type\n"
                "/** and {@link Cart#count()} */ // ref: Cart type ;; Cart.count read\n"
                "class CartTest { Cart cart = new Cart(1); } // ref: Cart type ;; Cart type\n"
            ),
            "src/main/java/org/app/Main.java": (
                "package org.app;\n"
                "import org.shop.Cart; // ref: Cart import\n"
                "import static org.shop.Cart.LIMIT; // ref: Cart import ;; Cart.LIMIT import\n"
                "class Main { int n = LIMIT + Cart.count(); }"
                " // ref: Cart.LIMIT read ;; Cart read ;; Cart.count call\n"
            ),
            "src/main/java/org/app/Star.java": (
                "package org.app;\n"
                "import org.shop.*;\n"
                "class Star extends Cart {} // ref: Cart type\n"
            ),
            "src/main/java/org/other/Cart.java": (
                "package org.other;\nclass Cart { Cart next; }\n"
            ),
        },
    )


def test_a_method_and_a_field_with_one_name_are_two_symbols(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Box.java": (
                "class Box {\n"
                "    int size; // ref: Box.size definition\n"
                "    int size() {\n"
                "        return size; // ref: Box.size read\n"
                "    }\n"
                "    void grow(int by) {\n"
                "        int size = size();\n"
                "        this.size += by; // ref: Box.size write\n"
                "    }\n"
                "}\n"
            ),
        },
    )


def test_overriding_methods_are_one_family(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "Shape.java": ("interface Shape {\n    int area(); // ref: Shape.area definition\n}\n"),
            "Square.java": (
                "class Square implements Shape {\n"
                "    public int area() { return 1; } // ref: Shape.area definition\n"
                "    int twice() { return area() * 2; } // ref: Shape.area call\n"
                "}\n"
            ),
            "Field.java": "class Field { int area() { return 2; } }\n",
            "Use.java": (
                "class Use {\n"
                "    void run(Square square, java.util.List<Shape> shapes, Field field) {\n"
                "        square.area(); // ref: Shape.area call\n"
                "        for (var shape : shapes) shape.area(); // ref: Shape.area call\n"
                "        shapes.get(0).area(); // ref: Shape.area call\n"
                "        ((Shape) any()).area(); // ref: Shape.area call\n"
                "        new Square().area(); // ref: Shape.area call\n"
                "        new Shape() {\n"
                "            public int area() { return 3; } // ref: Shape.area definition\n"
                "        };\n"
                "        shapes.stream().map(Shape::area); // ref: Shape.area read\n"
                "        field.area();\n"
                "    }\n"
                "}\n"
            ),
        },
    )


def test_inherited_members_are_visible_without_a_receiver(tmp_path: Path) -> None:
    check_references(
        tmp_path,
        {
            "a/Base.java": (
                "package a;\n"
                "public class Base {\n"
                "    protected int limit; // ref: Base.limit definition\n"
                "    protected enum Mode { FAST } // ref: Base.Mode.FAST definition\n"
                "}\n"
            ),
            "b/Derived.java": (
                "package b;\n"
                "import a.Base;\n"
                "class Derived extends Base {\n"
                "    int run(int other) { return limit + other; } // ref: Base.limit read\n"
                "    Mode mode = Mode.FAST; // ref: Base.Mode.FAST read\n"
                "    int hidden(int limit) { return limit; }\n"
                "}\n"
            ),
            "b/Point.java": (
                "package b;\n"
                "record Point(int x, int y) { // ref: Point.x definition\n"
                "    int sum() { return x + y; } // ref: Point.x read\n"
                "}\n"
            ),
        },
    )
