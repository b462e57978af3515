"""Every grammar that may be loaded comes back from a small source, and whose files are which.

Grammars are tried in children, under a deadline: one that hangs holds the interpreter's lock.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
import tree_sitter_language_pack

from symbols.sources import SOURCES
from winnow.symbols.extract.driver import extract
from winnow.symbols.language import Language, generic_languages, language_of, languages

DEADLINE = 60
FIXTURES = Path(__file__).parents[1] / "fixtures"
CHILD = """
import json, sys
from winnow.symbols.extract.driver import extract
from winnow.symbols.language import Language
found = {}
for grammar, source in json.load(sys.stdin).items():
    language = Language(name=grammar, files=(), definitions="")
    definitions = extract(language, source.encode()).definitions
    found[grammar] = " ".join(f"{one.kind}:{one.qualified_name}" for one in definitions)
json.dump(found, sys.stdout)
"""
PARSE = """
import json, sys
import tree_sitter_language_pack
for grammar, source in json.load(sys.stdin):
    tree_sitter_language_pack.get_parser(grammar).parse(source.encode())
    print(grammar)
"""
PARTS = 4


def in_a_child(program: str, given: object) -> str:
    child = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert child.returncode == 0, child.stderr
    return child.stdout


@pytest.mark.process
@pytest.mark.parametrize("part", range(PARTS))
def test_every_grammar_without_a_query_finds_what_its_source_defines(part: int) -> None:
    some = dict(islice(SOURCES.items(), part, None, PARTS))
    found = json.loads(
        in_a_child(CHILD, {grammar: source for grammar, (source, _) in some.items()})
    )
    assert found == {grammar: expected for grammar, (_, expected) in some.items()}


def test_every_grammar_without_a_query_has_a_source() -> None:
    assert sorted(SOURCES) == sorted(generic_languages())


@pytest.mark.process
def test_every_grammar_with_a_query_comes_back_from_its_fixture() -> None:
    given = []
    for path in sorted(FIXTURES.iterdir()):
        language = language_of(path.name)
        assert language is not None, path.name
        given.append((language.grammar or language.name, path.read_text(encoding="utf-8")))
    assert in_a_child(PARSE, given).split() == [grammar for grammar, _ in given]


def test_every_language_has_files_and_no_two_have_the_same() -> None:
    known = [*languages().values(), *generic_languages().values()]
    assert [one.name for one in known if not one.files] == []
    claimed = Counter(name for one in known for name in one.files)
    assert [name for name, count in claimed.items() if count > 1] == []
    programs = Counter(name for one in known for name in one.programs)
    assert [name for name, count in programs.items() if count > 1] == []
    names = Counter(one.name for one in known)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_grammar_is_in_the_package_and_cobol_is_not_on_the_list() -> None:
    known = [*languages().values(), *generic_languages().values()]
    grammars = {one.grammar or one.name for one in known}
    for grammar in sorted(grammars):
        assert tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    assert "cobol" not in grammars
    assert language_of("payroll.cob") is None


def test_a_language_without_a_query_is_marked_as_generic() -> None:
    language = language_of("lib/shop.dart")
    assert language is not None
    facts = extract(language, b"class Shop {}\n")
    assert (facts.language, facts.generic) == ("dart", True)
    assert [(one.kind, one.name) for one in facts.definitions] == [("class", "Shop")]


@pytest.mark.parametrize(
    ("path", "first_line", "name"),
    [
        ("src/Makefile", b"", "make"),
        ("CMakeLists.txt", b"", "cmake"),
        ("deploy/Dockerfile", b"", "dockerfile"),
        ("a.b.kt", b"", "kotlin"),
        ("app.src", b"", None),
        ("shop.app.src", b"", "erlang"),
        ("bin/tool", b"#!/usr/bin/env ruby", "ruby"),
        ("bin/tool", b"#!/bin/sh -e", "bash"),
        ("bin/tool", b"#!/usr/bin/perl", "perl"),
        ("bin/tool", b"", None),
    ],
)
def test_a_file_is_of_the_language_that_its_name_or_first_line_says(
    path: str, first_line: bytes, name: str | None
) -> None:
    language = language_of(path, first_line)
    assert (language.name if language else None) == name


def test_of_a_table_of_data_only_the_first_keys_are_symbols() -> None:
    language = languages()["json"]
    source = json.dumps({f"key{number}": number for number in range(20_000)}).encode()
    names = [one.name for one in extract(language, source).definitions]
    assert names == [f"key{number}" for number in range(500)]


def test_generic_definitions_leave_out_what_is_local_to_a_function() -> None:
    source = b"void run() { final int local = 1; }\nfinal int top = 2;\n"
    found = extract(generic_languages()["dart"], source).definitions
    assert [(one.kind, one.name) for one in found] == [("function", "run"), ("variable", "top")]


def test_what_only_has_the_ending_of_a_language_defines_nothing() -> None:
    manual = b"""Short: C
Long: continue-at
Arg: <offset>
Help: Resumed transfer offset
Example: -C - $URL
---
Resume a transfer at this offset, counted from the beginning (of the source file), before it is
sent. Use "-C -" to tell curl to find out; it's then (automatically) found; class x { it says };
"""
    language = Language(name="d", files=(), definitions="")
    assert extract(language, manual).definitions == []
    program = b"class Shop { int count; }\nint add(int a) { return a; }\n"
    assert [one.name for one in extract(language, program).definitions] == [
        "Shop",
        "count",
        "add",
    ]
