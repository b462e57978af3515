"""grep beside ripgrep itself: on three real trees, for generated patterns, the same matches, with
an index and without.

    python -m pytest tests/test_grep_equals_ripgrep.py

The trees are fetched when they are first wanted (`benchmarks/corpora.py`). WINNOW_PATTERNS is the
number of patterns for each tree, WINNOW_SEED another beginning. The more patterns, the more files
of the tree are indexed. Two hundred patterns take minutes: `-m long`.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from asking import answered, pages
from conftest import CI, RIPGREP, MakeWorkspace
from winnow.config import Config, LearningSettings
from winnow.tools import TOOLS
from winnow.tools.grep import GrepResult
from winnow.workspace import EngineWorkspace

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import corpora

pytestmark = pytest.mark.slow
PATTERNS = int(os.environ.get("WINNOW_PATTERNS", "50"))
SEED = int(os.environ.get("WINNOW_SEED", "1"))
# More would be a test of Python's patience, not of what is found.
MOST_MATCHES = 5_000
# Files to index per pattern: a few patterns do not need an index of thousands.
INDEXED_FILES = 40

Match = tuple[bytes, int, int]


def tree(fetch: Callable[[], Path]) -> Path:
    try:
        return fetch()
    except (OSError, subprocess.CalledProcessError) as error:
        if CI:
            raise
        pytest.skip(f"cannot be fetched: {error}")


def matches_of_ripgrep(folder: Path, arguments: list[str]) -> Counter[Match] | None:
    """Return path, line and column of every match, from `rg --json`; None if there are too many."""
    command = [RIPGREP, "--no-config", "--no-require-git", "--json", *arguments, "."]
    found: Counter[Match] = Counter()
    total = 0
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        for record in map(json.loads, run.stdout):
            data = record["data"]
            if record["type"] == "summary":
                assert total == data["stats"]["matches"]
            if record["type"] != "match":
                continue
            path = raw(data["path"]).removeprefix(b"./")
            starts = [submatch["start"] for submatch in data["submatches"]]
            total += len(starts)
            if total > MOST_MATCHES:  # as every fifth pattern has, a million of them at times
                run.kill()
                return None
            for line, column in places(raw(data["lines"]), starts):
                found[path, data["line_number"] + line, column] += 1
    assert run.returncode in (0, 1)
    return found


def places(lines: bytes, starts: list[int]) -> Iterator[tuple[int, int]]:
    """Convert ripgrep's byte offsets to lines (from 0) and columns (from 1)."""
    line_start, encoding = -1, ""
    for start in starts:
        if (own := lines.rfind(b"\n", 0, start) + 1) != line_start:
            # Once for each line: some have 100 KB and a thousand matches.
            line_start, encoding = own, encoding_of(lines[own:].partition(b"\n")[0])
        column = len(lines[line_start:start].decode(encoding, "replace")) + 1
        yield lines.count(b"\n", 0, start), column


def raw(value: dict[str, str]) -> bytes:
    return value["text"].encode() if "text" in value else b64decode(value["bytes"])


def encoding_of(line: bytes) -> str:
    """Return UTF-8, even with some invalid bytes, or Latin-1 if nothing is UTF-8."""
    text = line.decode("utf-8", "replace")
    bad = "\ufffd" in text
    return "latin-1" if bad and text.replace("\ufffd", "").isascii() else "utf-8"


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def copied(folder: Path, target: Path, files: int, chance: random.Random) -> Path:
    """Copy a sample of a tree's files, with all symlinks and hidden files."""
    everything = files_of(folder)
    left_out = set(chance.sample(everything, max(0, len(everything) - files)))

    def ignore(where: str, names: list[str]) -> set[str]:
        return {name for name in names if name[0] != "." and Path(where, name) in left_out}

    return shutil.copytree(folder, target, symlinks=True, ignore=ignore)


def words_of(folder: Path, chance: random.Random) -> list[str]:
    files = files_of(folder)
    found: set[str] = set()
    for path in chance.sample(files, min(300, len(files))):
        found.update(re.findall(r"\w{3,}", path.read_bytes()[:200_000].decode("utf-8", "ignore")))
    return sorted(found)


def generated(words: list[str], chance: random.Random) -> tuple[dict[str, Any], list[str]]:
    """Generate params of grep, and the equivalent arguments of ripgrep."""
    word, other = chance.choice(words), chance.choice(words)
    cut = word[: chance.randint(2, len(word))]
    whole, part = re.escape(word), re.escape(cut)
    pattern = chance.choice(
        [
            whole, rf"{part}\w*", rf"\b{part}", rf"^\s*{whole}", rf"{whole}\s*[(\[=:]",
            f"{whole}|{re.escape(other)}", rf"{part}.{{0,20}}{re.escape(other[:2])}",
            rf"[{cut[0]}{other[0]}]{re.escape(word[1:3])}+", rf"{whole}$", r"[^\x00-\x7f]+",
            rf"(?i){part}[A-Z]", r"\d{4,}", rf"{whole}[^\n]*$", "TODO|FIXME", r"\s+$",
            rf"(?:{whole})?;$", "😀|é|ü", rf"(?-u:\x89|{part})", rf"x*{part}|$^",
        ]
    )  # fmt: skip
    params: dict[str, Any] = {"pattern": pattern, "context_lines": chance.choice([0, 0, 1, 3])}
    arguments: list[str] = []
    if chance.random() < 0.15:
        params |= {
            "pattern": chance.choice([word, f"{cut}(", ".", "*", "$" + cut]),
            "literal": True,
        }
        arguments.append("--fixed-strings")
    elif chance.random() < 0.15:
        params |= {"pattern": rf"{re.escape(word)}[^\n]*\n\s*\w+", "multiline": True}
        arguments.append("--multiline")
    for name, value, flag, share in (
        ("case_sensitive", False, "--ignore-case", 0.3),
        ("word", True, "--word-regexp", 0.2),
        ("include_hidden", True, "--hidden", 0.2),
        ("include_ignored", True, "--no-ignore", 0.2),
    ):
        if chance.random() < share:
            params[name] = value
            arguments.append(flag)
    if chance.random() < 0.2:
        kind = chance.choice(["py", "js", "ts", "c", "md", "json"])
        params["file_types"] = [kind]
        arguments.append(f"--type={kind}")
        if not params.get("include_hidden"):
            arguments.append("--glob=!.*")  # hidden files stay out, whatever their type
    return params, [*arguments, "-e", params["pattern"]]


@pytest.mark.parametrize("patterns", [PATTERNS, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("fetch", [corpora.django, corpora.rxjs, corpora.redis])
async def test_the_matches_are_ripgreps_and_the_cursor_loses_and_doubles_none(
    fetch: Callable[[], Path], patterns: int, make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = tree(fetch)
    chance = random.Random(f"{SEED} {folder.name}")
    copy = copied(folder, tmp_path / folder.name, patterns * INDEXED_FILES, chance)
    words = words_of(copy, chance)
    unlearned = Config(
        learning=LearningSettings(enabled=False)
    )  # the history would be a file in the tree
    plain, indexed = make_workspace(folder, config=unlearned), make_workspace(copy)
    indexed.index.enable_watching()
    await indexed.index.build()
    assert indexed.index.state().state == "ready"
    checked = paged = 0
    while checked < patterns:
        params, arguments = generated(words, chance)
        expected = matches_of_ripgrep(folder, arguments)
        if expected is None:
            continue
        checked += 1
        parts = chance.choice([1, 1, 2, 5])
        params["max_results"] = max(1, -(-expected.total() // parts))
        of_copy = matches_of_ripgrep(copy, arguments)
        assert of_copy is not None
        paged += await check(plain, params, expected)
        paged += await check(indexed, params, of_copy)
    # Of a few patterns, none may have more matches than fit a page.
    assert patterns < 10 or paged > patterns / 5


async def grep(workspace: EngineWorkspace, **params: Any) -> GrepResult:
    return await answered(TOOLS["grep"], GrepResult, workspace, params)


async def check(
    workspace: EngineWorkspace, params: dict[str, Any], expected: Counter[Match]
) -> int:
    """Compare the matches of all pages with the expected ones; return the number of more pages."""
    found: Counter[Match] = Counter()
    paged = 0
    async for page in pages(grep, workspace, **params):
        found.update((os.fsencode(one.path), one.line, one.column) for one in page.matches)
        assert page.completeness.skipped.unreadable in (0, None)
        paged += page.truncated
    assert found == expected, params
    assert page.total_matches == expected.total(), params
    assert not page.total_is_lower_bound
    return paged
