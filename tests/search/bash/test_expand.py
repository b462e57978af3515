"""Patterns among the words, against a real shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import requires_posix, write_files
from winnow.errors import NotAllowed
from winnow.search.bash import expand as module
from winnow.search.bash.allowed_paths import AllowedPaths
from winnow.search.bash.expand import expand
from winnow.search.bash.parse import parse

FILES = dict.fromkeys(
    (
        "a.py",
        "b.py",
        "B.txt",
        "-rf.py",
        "[x].py",
        ".hidden.py",
        "with space.py",
        "src/a.py",
        "src/deep/b.py",
        "src/.git/x.py",
        "docs/a.md",
        "größe.txt",
    ),
    "",
)
PATTERNS = """
    *.py ?.py *.md */*.py */*/*.py src/*.py ./src/*.py */ */deep/*.py .*.py [ab].py [!a].py [^a].py
    [a-c].py [a-].py []].py [[]x].py [x.py [].py \\*.py '*'.py *'.'py "*".py *.nothing src/.g*/x*
    [x\\]].py [\\!a].py [a'-'c].py [c-a].py *a*a* *.?? gr??e.txt src/*/../a.py
    * ** [ab]*[y] ?[x]?.py docs/*/
""".split()


@pytest.fixture
def tree(tmp_path: Path) -> AllowedPaths:
    folder = write_files(tmp_path / "tree", FILES)
    return AllowedPaths(str(folder), (os.path.realpath(folder),))


needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash to compare with")


def expanded(line: str, allowed: AllowedPaths) -> list[str]:
    return [name for word in parse(line)[0] for name in expand(word, allowed)]


@pytest.mark.process
@requires_posix
@needs_bash
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_as_in_a_shell(tree: AllowedPaths, pattern: str) -> None:
    shell = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {pattern}"],
        cwd=tree.folder,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    names = shell.stdout.splitlines()
    unsafe = [f"./{name}" if name.startswith("-") else name for name in names]
    assert sorted(expanded(pattern, tree)) == sorted(unsafe)


def test_no_name_becomes_an_option(tree: AllowedPaths) -> None:
    assert "./-rf.py" in expanded("*.py", tree)
    assert "-rf.py" not in expanded("*.py", tree)


@requires_posix
def test_patterns_do_not_leave_the_workspace(tree: AllowedPaths, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.py").write_text("")
    (Path(tree.folder) / "link").symlink_to(tmp_path / "outside")
    for pattern in (
        "../*",
        "/etc/*",
        "/*",
        "src/../../*",
        "link/*",
        "*/*.py",
        "*/../../outside/*",
        "*/../../outside/secret.py",
        f"{tmp_path}/*",
    ):
        with pytest.raises(NotAllowed, match="outside") as refused:
            expanded(pattern, tree)
        assert refused.value.data["what"] == pattern
    assert expanded(f"{tree.folder}/src/*.py", tree) == [f"{tree.folder}/src/a.py"]


def test_patterns_that_match_too_much_are_refused(
    tree: AllowedPaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WORDS", 3)
    with pytest.raises(NotAllowed, match="more than 3 names"):
        expanded("*", tree)
    monkeypatch.setattr(module, "MAX_ENTRIES", 3)
    with pytest.raises(NotAllowed, match="too many files"):
        expanded("nothing*", tree)


def test_patterns_of_many_stars_match_quickly(tree: AllowedPaths) -> None:
    (Path(tree.folder) / ("a" * 200)).write_text("")
    assert expanded("*a" * 100 + "b", tree) == ["*a" * 100 + "b"]
