"""Globs, compared with ripgrep."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import RIPGREP, requires_posix, write_files
from winnow.config.globs import InvalidGlob, glob_regex, name_pattern

RG = RIPGREP
PATHS = [
    "a.py", "b.md", "ab.py", "src/a.py", "src/b.ts", "src/deep/a.py", "src/deep/er/x.tsx",
    "docs/src/a.py", "docs/a b.txt", "x[1].py", "q?.md", "weird{a}.py", "c,d.py", "^.py", "-.py",
]  # fmt: skip


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("tree"), dict.fromkeys(PATHS, "x"))


def by_ripgrep(tree: Path, pattern: str) -> set[str] | None:
    """Return the files that ripgrep lists for a glob; None if it rejects the glob."""
    done = subprocess.run(
        [RG, "--no-config", "--files", "--null", f"--glob={pattern}"],
        cwd=tree,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return None if done.returncode == 2 else set(done.stdout.decode().split("\0")) - {""}


def by_us(pattern: str) -> set[str]:
    return {path for path in PATHS if glob_regex(pattern).fullmatch(path)}


@pytest.mark.process
@requires_posix
@pytest.mark.parametrize(
    "pattern",
    [
        "*.py", "*", "**", "src/*.py", "src/**", "src/**/*.py", "**/a.py", "/a.py", "/src/a.py",
        "*.{py,ts}", "src/**/*.{ts,tsx}", "{src,docs}/**", "[ab].*", "[!a].py", "[^a].py", "?.py",
        "a\\.py", "x[[]1].py", "x\\[1\\].py", "q[?].md", "weird\\{a\\}.py", "*[,]d.py", "[a-b].py",
        "**/deep/**", "deep/**", "docs/a b.txt", "src/*/*.py", "[]^].py", "src/**/er/*", "[-].py",
        "c,d.py", "**/src/a.py", "src/deep*/**/*.tsx",
    ],
)  # fmt: skip
def test_globs_match_like_ripgrep(tree: Path, pattern: str) -> None:
    assert by_us(pattern) == by_ripgrep(tree, pattern)


@pytest.mark.process
@requires_posix
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.text(st.sampled_from("ab.py*?/[]{},sr-"), min_size=1, max_size=9))
def test_random_globs_match_like_ripgrep(tree: Path, pattern: str) -> None:
    expected = by_ripgrep(tree, pattern)
    if expected is not None and not pattern.endswith("/") and "//" not in pattern:
        assert by_us(pattern) >= expected


@pytest.mark.parametrize("pattern", ["*" * 200 + "b", "**/" * 200 + "b"])
def test_consecutive_stars_match_quickly(pattern: str) -> None:
    """A name without the pattern's end took forever."""
    assert not glob_regex(pattern).fullmatch("a/" * 200 + "a" * 200)
    assert glob_regex(pattern).fullmatch("a/" * 200 + "b")


@pytest.mark.process
@pytest.mark.parametrize("pattern", ["[", "[a", "a[!", "{a", "{a,{b}", "[z-a]", "[]"])
def test_invalid_globs_are_rejected_like_ripgrep(tree: Path, pattern: str) -> None:
    with pytest.raises(InvalidGlob):
        glob_regex(pattern)
    assert by_ripgrep(tree, pattern) is None


def test_no_pattern_makes_matching_slow() -> None:
    """Found by review: these blocked the server for minutes."""
    name = "a" * 200
    for pattern in (
        "*a" * 12 + "*Z",
        "**a" * 12 + "**Z",
        "**/a*" * 12 + "/Z",
        "{a,*}" * 9 + "Z",
        "*?" * 60 + "Z",
        "**/" * 50 + "Z",
        "*[ab]" * 40 + "Z",
        "**/*/**/*/**/*/**/*/Z",
        "{*a,*b}" * 6 + "*Z",
    ):
        regex = glob_regex(pattern)
        started = time.process_time()
        for path in (name, f"{name}/" * 10 + name, "a/" * 300 + "a", "ab" * 500):
            assert not regex.fullmatch(path), pattern
        assert time.process_time() - started < 15, pattern


def test_the_number_of_alternatives_is_limited() -> None:
    with pytest.raises(InvalidGlob, match="more than 1000 alternatives"):
        glob_regex("{a,b,c,d}" * 6)
    assert glob_regex("{a,b}" * 9).fullmatch("ababababa")


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a*b*c", "abbbcbc", True), ("a*bc*bd", "abcbcbd", True), ("**/a/**/b", "a/x/a/y/b", True),
        ("**/a/b/**/c", "a/a/b/c", True), ("x/**/a/**/b/c", "x/a/b/a/b/c", True),
        ("a**b", "axxb", True), ("a**b", "ax/xb", False), ("{a,b/{c,d}}e", "b/de", True),
        ("\\{a}", "{a}", True), ("a}", "a}", True), ("[{]a", "{a", True), ("*ab*ab", "abab", True),
        ("*ab*ab", "aab", False), ("a/**", "a", False), ("a/**", "a/b/c", True),
        ("*.*", "a.b.c", True), ("**/" * 300 + "x", "a/b/x", True),
    ],
)  # fmt: skip
def test_stars_and_braces_are_combined(pattern: str, path: str, matches: bool) -> None:
    assert bool(glob_regex(pattern).fullmatch(path)) is matches


@pytest.mark.parametrize(
    ("pattern", "name"),
    [("*.py", "*.py"), ("src/**/*.py", "*.py"), ("src/**", "**"), ("src/", "*"), ("{a/b,c}", "*")],
)
def test_the_name_part_of_a_glob_is_found(pattern: str, name: str) -> None:
    assert name_pattern(pattern) == name
