"""The definitions of every language, as markers in ``fixtures/`` state them.

To add a language, write `fixtures/<anything>.<extension>`: a small program with every kind of
definition, each with a marker (see `markers.py`). The complete list is compared: a definition
without a marker fails, and so does a marker without a definition. The file name selects the
language. Run one with `pytest tests/symbols/extract/test_definitions.py -k python`.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from symbols.markers import Expected, read_fixture
from winnow.symbols.extract.definitions import DOC_CHARACTERS, SIGNATURE_CHARACTERS
from winnow.symbols.extract.driver import extract
from winnow.symbols.file_symbols import Definition
from winnow.symbols.language import language_of

FIXTURES = Path(__file__).parents[1] / "fixtures"


def definitions_of(path: str, source: bytes) -> list[Definition]:
    language = language_of(path)
    assert language is not None, path
    return extract(language, source).definitions


def in_lines(expected: list[Expected]) -> list[str]:
    return [
        str(marker) for marker in sorted(expected, key=lambda marker: (marker.line, marker.name))
    ]


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.iterdir()))
def test_definitions_match_their_markers(name: str) -> None:
    source, expected = read_fixture(FIXTURES / name)
    found = definitions_of(name, source)
    markers = {(marker.line, marker.name): marker for marker in expected}
    assert len(markers) == len(expected), "two markers for one name on one line"
    unmarked = Expected(-1, "", "", frozenset(), "", lines=(0, 0), signature="")
    described = [
        markers.get((definition.line, definition.qualified_name), unmarked).describes(
            definition, source
        )
        for definition in found
    ]
    assert in_lines(described) == in_lines(expected)


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.iterdir()))
def test_definitions_have_correct_offsets(name: str) -> None:
    source, _ = read_fixture(FIXTURES / name)
    for definition in definitions_of(name, source):
        assert definition.start <= definition.at < definition.end <= len(source), definition
        line = source[source.rfind(b"\n", 0, definition.at) + 1 : definition.at]
        text = line.decode()
        utf16 = len(text.encode("utf-16-le")) // 2
        assert definition.columns == (len(line), len(text), utf16), definition
        assert definition.line == source.count(b"\n", 0, definition.at), definition
        # In some grammars, the range ends after the end of the last line.
        assert definition.end_line in (
            source.count(b"\n", 0, definition.end),
            source.count(b"\n", 0, definition.end - 1),
        ), definition


def outline(path: str, source: bytes) -> list[tuple[str, str, int, str]]:
    return [
        (definition.kind, definition.qualified_name, definition.line, definition.doc)
        for definition in definitions_of(path, source)
    ]


SOURCE = """# Says hello.
# Twice.
class Client:
\tdef send(self,
\t\tdata):
\t\t'''Sends.

\t\tMore.'''
"""
OUTLINE = [
    ("class", "Client", 2, "Says hello.\nTwice."),
    ("method", "Client.send", 3, "Sends."),
]


def test_line_ends_and_byte_order_marks_change_nothing() -> None:
    assert outline("a.py", SOURCE.encode()) == OUTLINE
    assert outline("a.py", SOURCE.replace("\n", "\r\n").encode()) == OUTLINE
    assert outline("a.py", b"\xef\xbb\xbf" + SOURCE.encode()) == OUTLINE
    windows = definitions_of("a.py", SOURCE.replace("\n", "\r\n").encode())
    assert [definition.signature for definition in windows] == [
        "class Client",
        "def send(self, data)",
    ]


def test_columns_count_bytes_code_points_and_utf_16_units() -> None:
    source = "/* 𝒳é */ const é = 1, 𝒳y = 2; let z;\nlet a;".encode()
    assert [
        (definition.name, definition.line, definition.columns)
        for definition in definitions_of("a.js", source)
    ] == [
        ("é", 0, (19, 15, 16)),
        ("𝒳y", 0, (27, 22, 23)),
        ("z", 0, (42, 34, 36)),
        ("a", 1, (4, 4, 4)),
    ]


def test_text_that_is_not_utf_8_still_has_definitions() -> None:
    source = b"# \xff\xfe\ndef caf\xe9(): pass\n\nclass A:\n    def after(self): pass\n"
    names = [definition.qualified_name for definition in definitions_of("a.py", source)]
    assert names[-2:] == ["A", "A.after"]


@pytest.mark.slow
def test_a_file_with_a_single_line_is_as_fast_as_others() -> None:
    line = "function a(b){return b};var é=function(){return 1};"
    source = ("/* x */\n" + line * 8_000).encode()
    began = time.process_time()
    found = definitions_of("a.js", source)
    assert time.process_time() - began < 15  # once over 20, growing with the square of the length
    assert len(found) == 16_000
    column = len(line) * 8_000 - len("é=function(){return 1};")
    assert found[-1].columns == (column + 7_999, column, column)


@pytest.mark.slow
def test_very_deep_definitions_are_dropped() -> None:
    deep = "".join(f"function f{number}() {{" for number in range(1500)) + "}" * 1500
    names = [
        definition.name
        for definition in definitions_of("a.js", (deep + "\nfunction g() {}").encode())
    ]
    assert names == [f"f{number}" for number in range(64)] + ["g"]


def test_long_signatures_and_docs_are_cut() -> None:
    parameters = ", ".join(f"parameter{number}" for number in range(100))
    (found,) = definitions_of("a.py", f"def f({parameters}):\n    '{'y' * 700}'\n".encode())
    assert found.signature == f"def f({parameters}"[: SIGNATURE_CHARACTERS - 1] + "…"
    assert found.doc == "y" * (DOC_CHARACTERS - 1) + "…"


@pytest.mark.parametrize(
    ("path", "source", "signatures"),
    [
        (
            "a.py",
            "class A:  # one\n"
            "    def b(self): #: what follows\n"
            "        pass\n"
            "    def c(  # why\n"
            "        self,\n"
            "        d='#: no comment',  #: of d\n"
            "    ):\n"
            "        # of the body\n"
            "        pass\n"
            "    e = 1  #: of e\r\n",
            ["class A", "def b(self)", "def c(self, d='#: no comment')", "e = 1"],
        ),
        (
            "a.c",
            "int f(int /* fd */, int a) // one\n{\n}\nint g(int a, /* two */\n int b) { }\n",
            ["int f(int /* fd */, int a)", "int g(int a, int b)"],
        ),
    ],
)
def test_signatures_have_no_comments_at_the_ends_of_lines(
    path: str, source: str, signatures: list[str]
) -> None:
    assert [one.signature for one in definitions_of(path, source.encode())] == signatures


def test_statement_keywords_are_not_names() -> None:
    source = b"""
class A
{
    void f(object a)
    {
        if (a is int)
        {
        }
#if BIG
        else if (a is long)
        {
        }
#endif
        else if (a is string)
        {
        }
    }
    void @if() { }
}
"""
    found = {one.name for one in definitions_of("a.cs", source)}
    assert found == {"A", "f", "@if"}


def test_the_content_of_a_header_selects_c_or_cpp() -> None:
    header = language_of("a.h")
    assert header is not None
    assert extract(header, b"struct A { int b; };\nint class;\n").language == "c"
    assert (
        extract(header, b'#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n').language == "c"
    )
    assert extract(header, b"#pragma once\nnamespace a {\nint f();\n}\n").language == "cpp"
    assert extract(header, b"template <class T>\nstruct A { T b; };\n").language == "cpp"


@pytest.mark.parametrize(
    "line",
    [
        "struct A : B {",
        "struct A final : public B<int> {",
        "  private:",
        "class A;",
        "constexpr int f(int a) { return a; }",
        "  explicit A(int a);",
        "  virtual int f() = 0;",
        "  A(const A&) = delete;",
        "  A() = default;",
        "  A() : a(0) {}",
        "  bool operator==(const A& other) const;",
        "inline int f(std::size_t n);",
        "static long a = static_cast<long>(1);",
        "int f(const A &a);",
        "int f() noexcept;",
        "enum class A : int { B };",
    ],
)
def test_a_header_with_cpp_syntax_is_cpp(line: str) -> None:
    header = language_of("a.h")
    assert header is not None
    read = [
        extract(header, text.encode()).language
        for text in (
            f"#define A_H\n{line}\n",
            f"/*\n{line}\n*/\n",
            f"#ifdef __cplusplus\n#if 1\n#endif\n{line}\n#endif\nint a;\n",
            f"#ifndef __cplusplus\nint a;\n#else\n{line}\n#endif\n",
        )
    ]
    assert read == ["cpp", "c", "c", "cpp"]


@pytest.mark.parametrize(
    "line",
    [
        "struct class mei_class = { .name = 1 };",
        "struct file { unsigned private : 1; int class, namespace, template; };",
        "[[gnu::packed]] struct a { int explicit; };",
        "static inline int f(int a, int b) { return a && b && ~f(a, b); }",
        "static inline void f(struct a *a) { a->operator = (b); a->delete = delete; }",
        "constexpr int a = 1;",
        "#define each(a) case A(a): for_each(a) { }",
        "struct a { void (*using)(int virtual, const int *public); };",
    ],
)
def test_a_c_header_can_use_cpp_keywords_as_names(line: str) -> None:
    header = language_of("a.h")
    assert header is not None
    assert extract(header, f"{line}\n".encode()).language == "c"


def test_functions_after_a_parse_error_in_macros_are_top_level() -> None:
    source = b"""
static int first(void)
{
    for_each(x) { if (x) {
}

int second(int a)
{
    return a;
}
"""
    assert [one.qualified_name for one in definitions_of("a.c", source)] == ["first", "second"]


@pytest.mark.parametrize(
    ("path", "first_line", "language"),
    [
        ("/a/b.py", b"", "python"),
        ("b.pyi", b"", "python"),
        ("SConstruct", b"", "python"),
        ("a/b.d.ts", b"", "typescript"),
        ("b.test.tsx", b"", "tsx"),
        ("b.mjs", b"", "javascript"),
        ("b.h", b"", "c"),
        ("b.hpp", b"", "cpp"),
        ("b.go", b"", "go"),
        ("b.rs", b"", "rust"),
        ("B.java", b"", "java"),
        ("tool", b"#!/usr/bin/python3.11 -u", "python"),
        ("tool", b"#!/usr/bin/env -S LANG=C node --trace", "javascript"),
        ("tool.old", b"#! /usr/bin/env python", "python"),
        ("tool", b"import sys", None),
        ("py", b"", None),
        ("b.py.orig", b"", None),
        ("b.PY", b"", None),
    ],
)
def test_the_language_comes_from_the_name_or_the_first_line(
    path: str, first_line: bytes, language: str | None
) -> None:
    found = language_of(path, first_line)
    assert (found.name if found else None) == language
