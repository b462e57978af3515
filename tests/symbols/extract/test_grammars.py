"""Every loadable grammar parses a small source, and file names select the language.

Each grammar runs in a child process with a deadline, because a grammar that hangs holds the GIL.
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
def test_every_grammar_without_a_query_finds_the_definitions_of_its_source(part: int) -> None:
    sources = dict(islice(SOURCES.items(), part, None, PARTS))
    found = json.loads(
        in_a_child(CHILD, {grammar: source for grammar, (source, _) in sources.items()})
    )
    assert found == {grammar: expected for grammar, (_, expected) in sources.items()}


def test_every_grammar_without_a_query_has_a_source() -> None:
    assert sorted(SOURCES) == sorted(generic_languages())


@pytest.mark.process
def test_every_grammar_with_a_query_parses_its_fixture() -> None:
    given = []
    for path in sorted(FIXTURES.iterdir()):
        language = language_of(path.name)
        assert language is not None, path.name
        given.append((language.grammar or language.name, path.read_text(encoding="utf-8")))
    assert in_a_child(PARSE, given).split() == [grammar for grammar, _ in given]


def test_languages_have_files_and_share_none() -> None:
    all_languages = [*languages().values(), *generic_languages().values()]
    assert [language.name for language in all_languages if not language.files] == []
    claimed = Counter(name for language in all_languages for name in language.files)
    assert [name for name, count in claimed.items() if count > 1] == []
    programs = Counter(name for language in all_languages for name in language.programs)
    assert [name for name, count in programs.items() if count > 1] == []
    names = Counter(language.name for language in all_languages)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_grammar_is_installed_and_cobol_is_not_allowed() -> None:
    all_languages = [*languages().values(), *generic_languages().values()]
    grammars = {language.grammar or language.name for language in all_languages}
    for grammar in sorted(grammars):
        assert tree_sitter_language_pack.get_language(grammar)  # type: ignore[arg-type]
    assert "cobol" not in grammars
    assert language_of("payroll.cob") is None


def test_a_language_without_a_query_is_marked_as_generic() -> None:
    language = language_of("lib/shop.d")
    assert language is not None
    symbols = extract(language, b"class Shop {}\n")
    assert (symbols.language, symbols.generic) == ("d", True)
    assert [(one.kind, one.name) for one in symbols.definitions] == [("class", "Shop")]


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
def test_the_name_or_first_line_of_a_file_selects_its_language(
    path: str, first_line: bytes, name: str | None
) -> None:
    language = language_of(path, first_line)
    assert (language.name if language else None) == name


def test_only_the_first_keys_of_a_data_table_are_symbols() -> None:
    language = languages()["json"]
    source = json.dumps({f"key{number}": number for number in range(20_000)}).encode()
    names = [one.name for one in extract(language, source).definitions]
    assert names == [f"key{number}" for number in range(500)]


def test_generic_definitions_skip_local_variables() -> None:
    source = b"void run() { int local = 1; }\nint top = 2;\n"
    found = extract(generic_languages()["d"], source).definitions
    assert [(one.kind, one.name) for one in found] == [("function", "run"), ("variable", "top")]


def test_other_files_with_the_extension_of_a_language_define_nothing() -> None:
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
