"""References in Java."""

from __future__ import annotations

from pathlib import Path

from symbols.references import Check, check_references


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


def test_a_method_and_a_field_with_one_name_are_two_symbols(check: Check) -> None:
    check("""
    -- Box.java --
    class Box {
        int size; // ref: Box.size definition
        int size() {
            return size; // ref: Box.size read
        }
        void grow(int by) {
            int size = size();
            this.size += by; // ref: Box.size write
        }
    }
    """)


def test_overriding_methods_are_one_family(check: Check) -> None:
    check("""
    -- Shape.java --
    interface Shape {
        int area(); // ref: Shape.area definition
    }
    -- Square.java --
    class Square implements Shape {
        public int area() { return 1; } // ref: Shape.area definition
        int twice() { return area() * 2; } // ref: Shape.area call
    }
    -- Field.java --
    class Field { int area() { return 2; } }
    -- Use.java --
    class Use {
        void run(Square square, java.util.List<Shape> shapes, Field field) {
            square.area(); // ref: Shape.area call
            for (var shape : shapes) shape.area(); // ref: Shape.area call
            shapes.get(0).area(); // ref: Shape.area call
            ((Shape) any()).area(); // ref: Shape.area call
            new Square().area(); // ref: Shape.area call
            new Shape() {
                public int area() { return 3; } // ref: Shape.area definition
            };
            shapes.stream().map(Shape::area); // ref: Shape.area read
            field.area();
        }
    }
    """)


def test_inherited_members_are_visible_without_a_receiver(check: Check) -> None:
    check("""
    -- a/Base.java --
    package a;
    public class Base {
        protected int limit; // ref: Base.limit definition
        protected enum Mode { FAST } // ref: Base.Mode.FAST definition
    }
    -- b/Derived.java --
    package b;
    import a.Base;
    class Derived extends Base {
        int run(int other) { return limit + other; } // ref: Base.limit read
        Mode mode = Mode.FAST; // ref: Base.Mode.FAST read
        int hidden(int limit) { return limit; }
    }
    -- b/Point.java --
    package b;
    record Point(int x, int y) { // ref: Point.x definition
        int sum() { return x + y; } // ref: Point.x read
    }
    """)
