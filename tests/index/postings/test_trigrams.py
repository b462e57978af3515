"""Trigrams of texts, and the conditions of patterns, compared with ripgrep."""

from __future__ import annotations

import re
import subprocess
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import RIPGREP
from winnow.index.postings.trigrams import (
    ANYTHING,
    AS_WRITTEN,
    BLOCKS_FOLDED_ONLY,
    FOLDED_ONLY,
    SLICE,
    TrigramQuery,
    Trigrams,
    any_of,
    condition_of,
    required_by,
    searched_text,
    trigrams_of,
    trigrams_of_pieces,
)
from winnow.text.ripgrep import TextPattern


def all_of_blocks(found: Trigrams) -> list[list[int]]:
    """Return all trigrams of each block of a text."""
    numbers = iter(np.frombuffer(found.numbers, np.uint32).tolist())
    return [list(islice(numbers, size)) for size in np.frombuffer(found.sizes, np.uint32).tolist()]


def blocks_of(found: Trigrams) -> list[list[int]]:
    """Return the case-folded trigrams of each block of a text."""
    return [[number for number in block if number < AS_WRITTEN] for block in all_of_blocks(found)]


def as_written(found: Trigrams) -> list[set[bytes] | None]:
    """Return the trigrams as written of each block of a text, if it has them."""
    blocks = [set(block) for block in all_of_blocks(found)]
    return [
        None
        if FOLDED_ONLY in block
        else {(number - AS_WRITTEN).to_bytes(3, "big") for number in block if number >= AS_WRITTEN}
        for block in blocks
    ]


def trigrams(text: bytes) -> set[bytes]:
    """Return the trigrams of a text of one block."""
    (block,) = blocks_of(trigrams_of(text))
    return {number.to_bytes(3, "big") for number in block}


def holds(text: bytes, required: TrigramQuery) -> bool:
    (block,) = blocks_of(trigrams_of(text))
    return satisfied(required, set(block))


def satisfied(required: TrigramQuery, trigrams: set[int]) -> bool:
    return set(required.trigrams) <= trigrams and all(
        any(satisfied(one, trigrams) for one in some) for some in required.either
    )


def spelled(required: TrigramQuery) -> str:
    """Format a condition: `abc bcd (xyz | uvw)`."""
    words = [number.to_bytes(3, "big").decode("utf-8", "replace") for number in required.trigrams]
    either = [f"({' | '.join(sorted(map(spelled, some)))})" for some in required.either]
    return " ".join([*sorted(words), *either])


# --- texts ---------------------------------------------------------------------------------


def test_trigrams_are_three_bytes_within_one_line() -> None:
    assert trigrams(b"abcd\nef\nghi") == {b"abc", b"bcd", b"ghi"}
    assert trigrams(b"") == trigrams(b"a") == trigrams(b"ab\nc") == set()
    assert trigrams("né".encode()) == {"né".encode()}
    assert trigrams(b"\xff\xfe\x80") == {b"\xff\xfe\x80"}


def test_letters_that_differ_in_case_have_the_same_trigrams() -> None:
    assert trigrams(b"KeYS") == {b"key", b"eys"}
    assert trigrams("\u212aey\u017f".encode()) == {b"key", b"eys"}
    assert trigrams("É12".encode()) != trigrams("é12".encode())


@given(st.binary(max_size=300))
def test_trigrams_are_ascending_and_distinct(text: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("winnow.index.postings.trigrams.BLOCK_BYTES", 20)
        for block in all_of_blocks(trigrams_of(text)):
            assert block == sorted(set(block))


def test_trigrams_across_slices_are_found() -> None:
    text = b"x" * (SLICE - 1) + b"abc" + b"y" * SLICE + b"end"
    assert trigrams(text) == {
        b"xxx", b"xxa", b"xab", b"abc", b"bcy", b"cyy", b"yyy", b"yye", b"yen", b"end"
    }  # fmt: skip


@given(st.lists(st.text("ab\u212a\u017f \n", max_size=20), max_size=8), st.integers(1, 30))
def test_a_text_in_pieces_has_the_same_trigrams(parts: list[str], size: int) -> None:
    pieces = [part.encode() for part in parts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("winnow.index.postings.trigrams.BLOCK_BYTES", size)
        assert trigrams_of_pieces(pieces) == trigrams_of(b"".join(pieces))


@given(st.text("abc\n", max_size=80), st.integers(1, 30), st.integers(1, 40))
def test_each_line_has_its_trigrams_in_one_block(text: str, size: int, most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("winnow.index.postings.trigrams.BLOCK_BYTES", size)
        patch.setattr("winnow.index.postings.trigrams.MOST_IN_BLOCKS", most)
        found = blocks_of(trigrams_of(text.encode()))
    lines = [trigrams_of_line(line) for line in text.split("\n")]
    assert all(any(line <= set(block) for block in found) for line in lines)
    assert set().union(*found) == set().union(*lines)
    assert len(found) == 1 or sum(map(len, found)) <= most


def trigrams_of_line(line: str) -> set[int]:
    return {int.from_bytes(line[at : at + 3].encode(), "big") for at in range(len(line) - 2)}


def test_a_long_text_has_a_block_for_every_64_kib_and_the_rest_of_a_line() -> None:
    line = b"a line of some length\n"
    count = 64 * 1024 // len(line) + 1
    text = line * count + b"another\n" + line * count + b"the end"
    first, second, last = (set(block) for block in blocks_of(trigrams_of(text)))
    assert first == trigrams_of_line(line.decode().strip())
    assert second == first | trigrams_of_line("another")
    assert last == trigrams_of_line("the end")


def test_a_large_text_also_has_its_trigrams_as_written() -> None:
    line = b"Some Names\n"
    block = line * (64 * 1024 // len(line) + 1)
    small = trigrams_of(block * (BLOCKS_FOLDED_ONLY - 1))
    assert as_written(small) == [None] * BLOCKS_FOLDED_ONLY
    large = trigrams_of(block * BLOCKS_FOLDED_ONLY + b"ENDS")
    names = {b"Som", b"ome", b"me ", b"e N", b" Na", b"Nam", b"ame", b"mes"}
    assert as_written(large) == [names] * BLOCKS_FOLDED_ONLY + [{b"END", b"NDS"}]
    assert blocks_of(large)[:-2] == blocks_of(small)[:-1]
    assert blocks_of(large)[-1] == sorted(trigrams_of_line("ends"))


def test_a_utf_16_file_has_the_trigrams_that_ripgrep_searches() -> None:
    assert searched_text("\ufeffgrün".encode("utf-16-le")) == "grün".encode()
    assert searched_text("\ufeffgrün".encode("utf-16-be")) == "grün".encode()
    assert searched_text(b"gr\xfcn") == b"gr\xfcn"
    assert searched_text(b"\xff\xfea") is None


# --- patterns ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("needle", "dle edl eed nee"),
        ("ab", ""),
        ("foo.*bar", "bar foo"),
        (r"def\s+(\w+)_handler", "_ha and def dle han ler ndl"),
        ("foo|bar", "(bar | foo)"),
        ("colou?r", "col olo (lor | lou our)"),
        ("foo[ab]bar", "bar foo (aba oab ooa | bba obb oob)"),
        ("(abc)+de", "abc bcd cde"),
        ("(abc)*def", "def"),
        ("(?:abc){2}", "abc bca cab"),
        ("a{3,}b", "aaa aab"),
        ("[0-9]{4}-ab", "-ab " + "(" + " | ".join(f"{digit}-a" for digit in range(10)) + ")"),
        ("[a-z]bc", ""),
        ("[[:digit:]&&[3-4]]xy", "(3xy | 4xy)"),
        ("[a-e--b-d]xy", "(axy | exy)"),
        ("[a-c~~b]xy", "(axy | cxy)"),
        (r"[^\x00-`b-\x{10FFFF}]xy", "axy"),
        (r"\bfoo\b", "foo"),
        (r"\b{start}foo\>", "foo"),
        (r"^\s*return$", "etu ret tur urn"),
        ("std::(vec|map)<", "d:: std td: (::m :ma ap< map | ::v :ve ec< vec)"),
        (r"\x66\u006F\x{6f}", "foo"),
        ("(?x) a b # c\n c", "abc"),
        ("(?P<name>foo)+?bar", "bar foo oba oob"),
        ("(?-u:foo\\xFF)bar", "bar foo"),
        (r"foo\.bar\(", ".ba ar( bar foo o.b oo."),
        ("(foo|ba[rz]).{0,20}qux", "qux (bar | baz | foo)"),
        ("ab(c|d)ef", "(abc bce cef | abd bde def)"),
        (r"foo\nbar", "bar foo"),
        ("a(?i)bc|de(?-i)f", "(abc | def)"),
    ],
)  # fmt: skip
def test_a_pattern_requires_its_trigrams(pattern: str, expected: str) -> None:
    assert spelled(required_by(TextPattern(pattern, multiline=True))) == expected


def test_without_case_only_ascii_letters_and_caseless_scripts_count() -> None:
    both_ways = TextPattern("kEys", case_sensitive=False)
    assert spelled(required_by(both_ways)) == "eys key"
    assert spelled(required_by(TextPattern("fooÉbar", case_sensitive=False))) == "bar foo"
    assert spelled(required_by(TextPattern("(?i)fooÉbar"))) == "bar foo"
    assert required_by(TextPattern("É12")) == required_by(
        TextPattern("(?-i)É12", case_sensitive=False)
    )
    caseless = required_by(TextPattern("检索", case_sensitive=False))
    assert caseless == required_by(TextPattern("检索"))
    assert len(caseless.trigrams) == 4
    assert holds("检索".encode(), caseless)
    assert not holds("索检".encode(), caseless)


def test_a_literal_requires_its_own_trigrams() -> None:
    assert spelled(required_by(TextPattern("a.*b", literal=True))) == ".*b a.*"
    assert spelled(required_by(TextPattern("(", literal=True))) == ""


@pytest.mark.parametrize(
    "pattern",
    [
        "", "a*", "(foo)?", ".", r"\w{3}", "foo|", "(?i)é{5}", "[^a]bc", r"\d\d\d",
        # rejected by ripgrep
        "foo)", "(foo", "foo[", "*foo", "foo{", "foo(?=bar)", r"foo\1", r"foo\y", "(?<!foo)bar",
        # not necessarily understood
        "a" * 30_000, "(" * 200 + "foo" + ")" * 200, "foo" + "+" * 200,
    ],
)  # fmt: skip
def test_an_uncertain_pattern_requires_nothing(pattern: str) -> None:
    assert required_by(TextPattern(pattern)) == ANYTHING


def test_case_counts_for_trigrams_as_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def may_match(query: TextPattern, text: bytes) -> bool:
        required = condition_of(query).required
        return any(satisfied(required, set(block)) for block in all_of_blocks(trigrams_of(text)))

    sensitive, either = TextPattern("Needle"), TextPattern("Needle", case_sensitive=False)
    inline, partly = TextPattern("(?i)NEEDLE"), TextPattern("[Nn]eedle|THREAD")
    assert may_match(sensitive, b"NEEDLE")
    monkeypatch.setattr("winnow.index.postings.trigrams.BLOCKS_FOLDED_ONLY", 0)
    assert not may_match(sensitive, b"NEEDLE")
    assert not may_match(sensitive, b"needle")
    assert may_match(sensitive, b"a Needle")
    assert all(may_match(query, b"nEEdle") for query in (either, inline))
    assert may_match(partly, b"needle")
    assert may_match(partly, b"THREAD")
    assert not may_match(partly, b"thread")
    assert condition_of(TextPattern("..")).required == ANYTHING


def test_an_overlong_condition_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("winnow.index.postings.trigrams.MOST_TRIGRAMS", 3)
    patterns = ["abcde", "abcdef", "abc(d|e)", "abc(d|e|f)", "ab(cd|de)"]
    required = [spelled(required_by(TextPattern(pattern))) for pattern in patterns]
    assert required == ["abc bcd cde", "", "abc (bcd | bce)", "", ""]


def test_other_encodings_require_nothing() -> None:
    assert required_by(TextPattern("needle", encoding="latin1")) == ANYTHING
    assert required_by(TextPattern("needle", encoding="auto")) != ANYTHING


def test_several_patterns_require_one_of_their_conditions() -> None:
    one, other = required_by(TextPattern("abcd")), required_by(TextPattern("abce"))
    assert spelled(any_of([one, other])) == "abc (bcd | bce)"
    assert any_of([one]) == any_of([one, one]) == one
    assert any_of([one, ANYTHING]) == ANYTHING


# --- comparison with ripgrep ----------------------------------------------------------------

LETTERS = "abksABKS01_ .-é\u212a\u017fıİßẞÉ检\n"
Piece = tuple[str, str]  # a pattern, and a text that it may match


def written(char: str, how: int) -> str:
    if how == 0:
        return rf"\x{{{ord(char):x}}}"
    if how == 1:
        return rf"\u{ord(char):04X}"
    return r"\n" if char == "\n" else re.escape(char)


def in_another_case(char: str) -> str:
    alike = ["kK\u212a", "sS\u017f"]
    group = next((one for one in alike if char in one), char + char.swapcase())
    return group[(group.index(char) + 1) % len(group)]


@st.composite
def characters(draw: st.DrawFn) -> Piece:
    char = draw(st.sampled_from(LETTERS))
    found = in_another_case(char) if draw(st.integers(0, 4)) == 0 else char
    return written(char, draw(st.integers(0, 9))), found[:1]


@st.composite
def classes(draw: st.DrawFn) -> Piece:
    some = "".join(draw(st.lists(st.sampled_from("abks01é\u017f"), min_size=1, max_size=3)))
    form = draw(
        st.sampled_from(
            [
                "[{}]", "[^{}]", "[{}a-c]", "[a-z&&[{}]]", "[a-k--{}]", "[{}~~ab]", "[[:alpha:]{}]",
                "[[:^digit:]&&{}]", r"[\w&&[{}]]", r"[^\W{}]", "[]{}]", "[-{}]", "[{}-]", "[^^{}]",
                ".", r"\w", r"\S", r"\d", r"\D", r"\p{{L}}", r"\PN", "(?-u:[{}])", r"(?-u:\w)",
                r"(?-u:\xC5)",
            ]
        )
    )  # fmt: skip
    return form.format(some), draw(st.sampled_from(some + "abkK1\u212a"))


ANCHORS = [
    "^", "$", r"\b", r"\B", r"\A", r"\z", r"\b{start}", r"\b{end}", r"\b{start-half}", r"\<", r"\>",
    "", "()", "(?i)", "(?-i)", "(?s)", "(?U)", "(?R)", "(?x) # c\n",
]  # fmt: skip
GROUPS = [
    "({})", "(?:{})", "(?i:{})", "(?-i:{})", "(?s:{})", "(?U-m:{})", "(?R:{})", "(?x:{})",
    "(?x: {} # )\n)", "(?-u:{})",
]  # fmt: skip
TIMES = [("?", 0), ("?", 1), ("*", 2), ("+", 1), ("+", 3), ("{2}", 2), ("{1,}", 2), ("{0,2}", 1)]


@st.composite
def concatenated(draw: st.DrawFn, inner: st.SearchStrategy[Piece]) -> Piece:
    parts = draw(st.lists(inner, min_size=1, max_size=5))
    anchor = draw(st.sampled_from(ANCHORS)) if draw(st.integers(0, 3)) == 0 else ""
    pattern = "".join(pattern for pattern, _ in parts)
    return (anchor + pattern), "".join(text for _, text in parts)


@st.composite
def alternated(draw: st.DrawFn, inner: st.SearchStrategy[Piece]) -> Piece:
    parts = draw(st.lists(inner, min_size=2, max_size=3))
    chosen = draw(st.sampled_from(parts))
    form = draw(st.sampled_from(GROUPS))
    return form.format("|".join(pattern for pattern, _ in parts)), chosen[1]


@st.composite
def repeated(draw: st.DrawFn, inner: st.SearchStrategy[Piece]) -> Piece:
    pattern, text = draw(inner)
    form = draw(st.sampled_from(GROUPS))
    times, count = draw(st.sampled_from(TIMES))
    lazy = draw(st.sampled_from(["", "", "?", "+"]))
    return form.format(pattern) + times + lazy, text * count


@st.composite
def words(draw: st.DrawFn) -> Piece:
    """Generate letters; one may have another case or be in a character class."""
    word = draw(st.sampled_from(["abs", "skb", "as_", "KBs", "k0a", "ssa", "检bs"]))
    place = draw(st.integers(0, 2))
    before, char, after = word[:place], word[place], word[place + 1 :]
    if draw(st.booleans()):
        return word, before + in_another_case(char)[:1] + after
    pattern, text = draw(classes())
    return before + pattern + after, before + text + after


SIMPLE = st.one_of(words(), words(), characters(), classes())
PIECES = st.recursive(
    concatenated(SIMPLE),
    lambda inner: st.one_of(concatenated(inner), alternated(inner), repeated(inner)),
    max_leaves=6,
)
AROUND = st.text(st.sampled_from(LETTERS), max_size=3)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [120, pytest.param(1_000, marks=pytest.mark.long)])
def test_every_text_that_ripgrep_finds_meets_the_condition(tmp_path: Path, examples: int) -> None:
    ripgrep = RIPGREP
    matched = narrowed = 0

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        PIECES,
        st.lists(st.tuples(AROUND, AROUND, st.booleans()), min_size=2, max_size=2),
        st.lists(st.text(st.sampled_from(LETTERS), max_size=12), min_size=1, max_size=2),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    )
    def check(
        piece: Piece,
        around: list[tuple[str, str, bool]],
        others: list[str],
        sensitive: bool,
        multiline: bool,
        literal: bool,
        word: bool,
    ) -> None:
        nonlocal matched, narrowed
        pattern, text = piece
        if literal:
            pattern = text
        query = TextPattern(
            pattern,
            literal=literal,
            case_sensitive=sensitive,
            multiline=multiline,
            word=word and multiline,
        )
        required = required_by(query)
        texts = [
            before + (text.swapcase() if swap else text) + after for before, after, swap in around
        ]
        for place, one in enumerate([*texts, *others]):
            (tmp_path / f"{place}").write_bytes(one.encode())
        files = [str(place) for place in range(len(texts) + len(others))]
        run = subprocess.run(
            [ripgrep, "--no-config", "--files-with-matches", *query.arguments(), "--", *files],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        for file in run.stdout.splitlines():
            matched += 1
            narrowed += required != ANYTHING
            raw = (tmp_path / file).read_bytes()
            assert holds(raw, required), (query, file)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("winnow.index.postings.trigrams.BLOCKS_FOLDED_ONLY", 0)
                (block,) = all_of_blocks(trigrams_of(raw))
            assert satisfied(condition_of(query).required, set(block)), (query, file)

    check()
    # Otherwise the test shows nothing.
    assert matched > examples / 2
    assert narrowed > examples / 5
