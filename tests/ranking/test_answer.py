"""Parse a model's answer: tolerate its format, trust none of it."""

from __future__ import annotations

import pytest

from winnow.ranking.answer import AnswerReader, NamedFile, Validator, clean_reason
from winnow.ranking.candidates import Candidate, Ranked
from winnow.text.ripgrep import Line

CANDIDATE = Candidate(
    "src/a.py", {3: Line("x", 2, ((0, 1),)), 9: Line("y", 2)}, {"x": (3,)}, {"x": 1}
)
OTHER = Candidate("b/c d.py", {}, {}, {"x": 7})
SENT = {"f01": CANDIDATE, "f02": OTHER}


def read(text: str, size: int = 10**6) -> tuple[list[NamedFile], bool]:
    reader = AnswerReader()
    found: list[NamedFile] = []
    for start in range(0, len(text), size):
        found += reader.feed(text[start : start + size])
    return [*found, *reader.finish()], reader.nothing_relevant


ONE = NamedFile("f01", "3-9", "holds {x}: yes")
TWO = NamedFile("f02", "", "why not")
JSON = '{"files": [{"id": "f01", "lines": "3-9", "reason": "holds {x}: yes"}, {"id": "f02", "lines": "", "reason": "why not"}]}'  # noqa: E501
ANSWERS = {
    "json": JSON,
    "json in a fence": f"Here you are:\n```json\n{JSON}\n```\nI hope that helps.",
    "json behind a thought": f'<think>is it {{"id": "f02"}}?</think>{JSON}',
    "a bare list": '[{"id":"f01","lines":[3,9],"reason":"holds {x}: yes"},{"id":"f02","why":"why not"}]',  # noqa: E501
    "objects on lines": '{"id":"f01","lines":"3-9","reason":"holds {x}: yes"}\n{"id":"f02","reason":"why not"}',  # noqa: E501
    "plain lines": "f01 (3-9): holds x: yes\nf02: why not\n",
    "bullets": "- [f01] (lines 3-9): holds x: yes\n- **f02** - why not",
    "numbers": "Files:\n1. `f01` 3-9: holds x: yes\n2. `f02`: why not",
    "no end": JSON[:-2],
}


@pytest.mark.parametrize("form", ANSWERS)
@pytest.mark.parametrize("size", [1, 7, 10**6])
def test_every_answer_format_is_read_at_once_and_in_pieces(form: str, size: int) -> None:
    found, nothing = read(ANSWERS[form], size)
    plain = [(file.name, file.lines, file.reason.replace("{x}", "x")) for file in found]
    assert plain == [("f01", "3-9", "holds x: yes"), ("f02", "", "why not")]
    assert not nothing


# Python refuses to read such a number.
LONG = f'{{"id": "f01", "lines": {"9" * 5000}}}'


def test_a_brace_in_a_plain_line_is_not_json() -> None:
    found, _ = read("f01: good\nf02: handles {id} templates\nf03: third\n", 3)
    assert [file.name for file in found] == ["f01", "f02", "f03"]


@pytest.mark.parametrize("size", [1, 10**6])
@pytest.mark.parametrize("broken", ['{"id": f01}', "{", "{}{", '{"id": "f01"', LONG])
def test_an_object_after_a_broken_object_is_read(broken: str, size: int) -> None:
    assert read(f'{broken}{{"id": "f02", "reason": "why not"}}', size) == ([TWO], False)


@pytest.mark.parametrize("size", [1, 10**6])
def test_a_reason_of_several_lines_is_read(size: int) -> None:
    found, _ = read('{"id": "f02", "reason": "why\n\tnot"}', size)
    assert found == [NamedFile("f02", "", "why\n\tnot")]


@pytest.mark.parametrize("size", [1, 10**6])
def test_nothing_relevant_differs_from_an_empty_answer(size: int) -> None:
    assert read('{"files": []}', size) == ([], True)
    assert read('{ "files" : [ ] }', size) == ([], True)
    assert read("No relevant files found", size) == ([], True)
    assert read("", size) == ([], False)
    assert read("I am sorry, I cannot help.", size)[0] == []


def test_files_come_as_soon_as_they_are_complete() -> None:
    reader = AnswerReader()
    assert list(reader.feed('{"files": [{"id": "f01", "lines": "3-9", "reason": "holds {x}')) == []
    assert list(reader.feed(': yes"}, {"id":')) == [ONE]
    assert list(reader.feed(' "f02", "lines": "", "reason": "why not"}')) == [TWO]
    assert list(reader.finish()) == []


def test_plain_lines_come_as_soon_as_they_are_complete() -> None:
    reader = AnswerReader()
    assert list(reader.feed("f01 (3-9): first\nf02: why")) == [NamedFile("f01", "3-9", "first")]
    assert list(reader.feed(" not")) == []
    assert list(reader.feed("\n")) == [TWO]
    assert list(reader.finish()) == []


def test_a_thinking_block_hides_text_until_it_is_closed() -> None:
    reader = AnswerReader()
    assert list(reader.feed("<thi")) == []
    assert list(reader.feed('nk>{"id": "f01"} ')) == []
    assert list(reader.feed('</think>{"id": "f02", "reason": "why not"}')) == [TWO]


def accepted(*named: NamedFile, root: str = "/root") -> tuple[list[Ranked | None], int]:
    validator = Validator(SENT, root)
    return [validator.accept(file) for file in named], validator.unknown


def test_sent_ids_and_paths_are_recognized_in_any_spelling() -> None:
    for name in ("f01", "F01", "src/a.py", "./src/a.py", "/root/src/a.py", "[f01]"):
        [file], unknown = accepted(NamedFile(name, "", "r"))
        assert file is not None, name
        assert (file.candidate, unknown) == (CANDIDATE, 0)


def test_files_that_were_not_sent_are_dropped_and_counted_by_the_validator() -> None:
    names = ("f99", "/etc/passwd", "src/b.py", "../src/a.py", "f01\nf02", "", "/root")
    found, unknown = accepted(*(NamedFile(name, "", "r") for name in names))
    assert found == [None] * len(names)
    assert unknown == len(names)


def test_a_file_counts_once() -> None:
    found, unknown = accepted(NamedFile("f01", "", "first"), NamedFile("src/a.py", "", "again"))
    assert [file.reason if file else None for file in found] == ["first", None]
    assert unknown == 0


@pytest.mark.parametrize(
    ("lines", "span"),
    [
        ("3-9", (3, 9)),
        ("1-100", (3, 9)),
        ("9", (9, 9)),
        ("4-8", (None, None)),
        ("", (None, None)),
        ("lines 3 – 9", (3, 9)),
        ("99999999999999999999", (None, None)),
        ("-3", (3, 3)),
    ],
)
def test_lines_are_limited_to_those_shown(lines: str, span: tuple[int | None, int | None]) -> None:
    [file], _ = accepted(NamedFile("f01", lines, "r"))
    assert file is not None
    assert (file.first, file.last) == span


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("  two\n\nlines\there ", "two lines here"),
        ("see [this](https://evil.example/?q=1) now", "see this now"),
        ("![img](http://evil.example/x.png)", "img"),
        ("go to https://evil.example/path now", "go to now"),
        ("www.evil.example and javascript:alert(1)", "and"),
        ("[x](command:rm) vscode://open file:///etc", "x"),
        ("\x1b[31mred\x1b[0m", "[31mred [0m"),
        ("a\u202eb\u200bc\ufeffd", "a b c d"),
        ("tag\U000e0041\U000e0042s", "tag s"),
        ("<img src=x onerror=y>text</b>", "text"),
        ("half \ud800 pair", "half pair"),
        ("see [[click](a)](//evil.example/x)", "see click"),
        ("[a] (b)", "a"),
        ("handles std::vec: yes", "handles std::vec: yes"),
    ],
)
def test_a_reason_is_one_plain_line(text: str, clean: str) -> None:
    assert clean_reason(text) == clean


def test_reasons_are_limited_in_length() -> None:
    assert len(clean_reason("word " * 50_000)) <= 160
    assert clean_reason("x" * 161) == "x" * 159 + "…"
