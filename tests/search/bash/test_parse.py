"""Words of a command line: what a shell would make of it, or what is refused and why."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.errors import InvalidParams, NotAllowed, SearchError
from winnow.search.bash.parse import MAX_PROGRAMS, parse


def words(line: str) -> list[list[str]]:
    return [[word.text for word in command] for command in parse(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rg foo", [["rg", "foo"]]),
        ("  rg\tfoo  \n", [["rg", "foo"]]),
        ("rg a|head -5 | wc -l", [["rg", "a"], ["head", "-5"], ["wc", "-l"]]),
        ("rg a |\n  head", [["rg", "a"], ["head"]]),
        ("rg a \\\n  src", [["rg", "a", "src"]]),
        ("rg 'a|b;c>d$(e)`f`&#~{1,2}*'", [["rg", "a|b;c>d$(e)`f`&#~{1,2}*"]]),
        ('rg "a|b;c>d&#~{1,2}*"', [["rg", "a|b;c>d&#~{1,2}*"]]),
        ('rg "it\'s" \'say "x"\'', [["rg", "it's", 'say "x"']]),
        (r'rg "a\"b\\c\d\$x\`"', [["rg", r'a"b\c\d$x`']]),
        (r"rg a\ b\|c\;d\$e", [["rg", "a b|c;d$e"]]),
        ("rg a'b'\"c\"d", [["rg", "abcd"]]),
        ("rg '' \"\"", [["rg", "", ""]]),
        ('rg "foo$"', [["rg", "foo$"]]),
        ('rg "^$|x"', [["rg", "^$|x"]]),
        ("rg 'a$'", [["rg", "a$"]]),
        ("rg a$ b", [["rg", "a$", "b"]]),
        ("rg a#b", [["rg", "a#b"]]),
        ("rg a~ b~c", [["rg", "a~", "b~c"]]),
        ("find . ! -name x", [["find", ".", "!", "-name", "x"]]),
        ("find . -exec rm {} +", [["find", ".", "-exec", "rm", "{}", "+"]]),
        ("rg a{2} b}", [["rg", "a{2}", "b}"]]),
        (r"rg \{a,b\}", [["rg", "{a,b}"]]),
        ("rg -e FOO=1", [["rg", "-e", "FOO=1"]]),
        ("rg 'two\nlines'", [["rg", "two\nlines"]]),
        ("rg größe\u00a0x", [["rg", "größe\u00a0x"]]),
    ],
)
def test_words_are_split_as_in_a_shell(line: str, expected: list[list[str]]) -> None:
    assert words(line) == expected


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("rg a; ls", ";"),
        ("rg a ;ls", ";"),
        ("rg a && ls", "&&"),
        ("rg a || ls", "||"),
        ("rg a & ", "&"),
        ("rg a |& ls", "|&"),
        ("rg a\nls", "\n"),
        ("rg a\r\nls", "\r"),
        ("rg a > b", "> b"),
        ("rg a >b", ">b"),
        ("rg a >> b", ">> b"),
        ("rg a >| b", ">| b"),
        ("rg a 2>&1", "2>&1"),
        ("rg a 2>/dev/null | head", "2>/dev/null"),
        ("rg a &> b", "&>"),
        ("rg < b", "< b"),
        ("rg << E", "<< E"),
        ("rg <<< word", "<<< word"),
        ("rg a <(ls)", "<(ls)"),
        ("rg $HOME", "$HOME"),
        ("rg ${HOME}", "${HOME}"),
        ('rg "a $HOME"', "$HOME"),
        ('rg "${x:-y}"', "${x:-y}"),
        ("rg $1 $@", "$1"),
        ("rg $(ls)", "$(ls)"),
        ('rg "$(ls -l)"', "$(ls -l)"),
        ("rg $((1+1))", "$((1+1)"),
        ("rg `ls`", "`ls`"),
        ('rg "`ls`"', "`ls`"),
        ("rg $'a\\n'", "$'"),
        ('rg $"a"', '$"'),
        ("(rg a)", "("),
        ("rg a)", ")"),
        ("{ rg a }", "{"),
        ("! rg a", "!"),
        ("rg {a,b}", "{a,b}"),
        ("cat x{1..3}", "x{1..3}"),
        ("cat {a,{b,c}}", "{a,{b,c}}"),
        ("cat ~", "~"),
        ("cat ~/x", "~/x"),
        ("cat ~root", "~root"),
        ("rg a # all", "# all"),
        ("FOO=1 rg a", "FOO=1"),
        ("LD_PRELOAD=./x.so ls", "LD_PRELOAD=./x.so"),
        ("rg 'a", "'"),
        ('rg "a', '"'),
        ("rg a\\", "\\"),
        ("| rg a", "|"),
        ("rg a |", "|"),
        ("rg a | | head", "|"),
        ("|".join(["cat"] * (MAX_PROGRAMS + 1)), "|"),
    ],
)
def test_shell_syntax_is_refused_by_its_name(line: str, what: str) -> None:
    with pytest.raises(NotAllowed) as refused:
        parse(line)
    assert refused.value.data["what"] == what
    assert len(refused.value.data["why"]) > 15


@pytest.mark.parametrize("line", ["", "  \n\t", "rg a\0b"])
def test_a_line_without_a_program_is_invalid(line: str) -> None:
    with pytest.raises(InvalidParams, match="`command`"):
        parse(line)


def test_only_unquoted_characters_are_patterns() -> None:
    [[_, first, second, third]] = parse("ls *.py '*.py' \\*.py")
    assert [one.has_unquoted("*") for one in (first, second, third)] == [True, False, False]


@settings(max_examples=500)
@given(st.lists(st.sampled_from(["a", " ", "'", '"', "\\", "|", "$", "x.py", "*", "\t", "-"])))
def test_quoting_follows_posix(pieces: list[str]) -> None:
    line = "".join(pieces)
    try:
        understood = words(line)
    except SearchError:
        return
    lexer = shlex.shlex(line.replace("\\\n", ""), posix=True, punctuation_chars="|")
    lexer.whitespace_split = True
    lexer.commenters = ""
    if "\\" not in line and "|" not in line:
        assert [word for command in understood for word in command] == list(lexer)


@settings(max_examples=500)
@given(st.text(max_size=200))
def test_any_text_is_parsed_or_refused(line: str) -> None:
    try:
        commands = parse(line)
    except (NotAllowed, InvalidParams) as error:
        said = error.message
    else:
        assert all(commands)
        said = "understood"
    assert 0 < len(said) < 500
