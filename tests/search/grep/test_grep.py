"""grep as a coroutine: what is found, how it is shown, how it goes on, and what is left out."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from conftest import MakeWorkspace, Recorder, git_init, requires_posix, with_limits, write_files
from unending_ripgrep import UNENDING, unending_ripgrep
from winnow.config import Config, merge_layer
from winnow.errors import (
    EmptyQuery,
    InvalidParams,
    InvalidPattern,
    NotFound,
    PathOutsideWorkspace,
    SearchTimedOut,
)
from winnow.search.answer.shorten import estimated_tokens
from winnow.search.grep.page import GrepMatch, GrepPage, PreviewLine
from winnow.text import grep as text_grep
from winnow.text.buffers import Overlay
from winnow.text.ripgrep import FileLine, Line, command_lines
from winnow.text.scope import Filters, search_scope
from winnow.tools import TOOLS
from winnow.tools.grep import GrepFile, GrepPartial, GrepResult
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["grep"]


async def grep(
    workspace: EngineWorkspace, pattern: str, progress: Progress = no_progress, **params: Any
) -> GrepResult:
    result: GrepResult = await TOOL.call(workspace, {"pattern": pattern, **params}, progress)
    return result


def places(result: GrepResult) -> list[tuple[str, int, int]]:
    return [(match.path, match.line, match.column) for match in result.matches]


async def all_places(workspace: EngineWorkspace, pattern: str, **params: Any) -> list[Any]:
    """Return the locations on all pages."""
    found: list[Any] = []
    for _ in range(1000):
        result = await grep(workspace, pattern, **params)
        found += places(result)
        if not result.cursor:
            return found
        assert result.truncated
        params["cursor"] = result.cursor
    raise AssertionError("the pages do not end")


@pytest.fixture(params=["probe", "count"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with both search strategies: a probe first, or counts immediately."""
    if request.param == "count":

        async def nothing(self: object) -> Any:
            return
            yield  # an asynchronous generator

        monkeypatch.setattr(text_grep.TextSearch, "_probe", nothing)


# --- results -------------------------------------------------------------------------------


@pytest.mark.usefixtures("way")
async def test_matches_have_places_ranges_and_context_in_the_order_of_paths(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    result = await grep(make_workspace(project), "def load_plugin", context_lines=1)
    assert result == GrepResult(
        root=str(project),
        matches=[
            GrepMatch(
                path="src/loader.py",
                line=2,
                column=5,
                match_range=(5, 20),
                preview=[
                    PreviewLine(line=1, text="class Loader:"),
                    PreviewLine(line=2, text="    def load_plugins(self, names):", match=True),
                    PreviewLine(
                        line=3, text="        return [self.load_plugin(name) for name in names]"
                    ),
                ],
            ),
            GrepMatch(
                path="src/loader.py",
                line=5,
                column=5,
                match_range=(5, 20),
                preview=[
                    PreviewLine(line=4, text=""),
                    PreviewLine(line=5, text="    def load_plugin(self, name):", match=True),
                    PreviewLine(line=6, text="        return registry[name]"),
                ],
            ),
        ],
        total_matches=2,
        total_found=2,
        returned=2,
        truncated=False,
        completeness=result.completeness,
        search_id=result.search_id,
        warnings=[],
    )
    assert result.completeness.complete
    skipped = result.completeness.skipped
    assert (skipped.ignored, skipped.hidden, skipped.binary, skipped.symlink) == (1, 2, 0, 0)


async def test_each_match_of_a_line_counts_and_columns_are_code_points(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("😀 ü x and x\n", "utf-8")
    result = await grep(make_workspace(tmp_path), "x")
    first, second = result.matches
    assert (first.column, first.match_range) == (5, (5, 6))
    assert (second.column, second.match_range) == (11, (11, 12))
    assert [line.text for line in first.preview] == ["😀 ü x and x"]
    assert second.preview == []
    assert result.total_matches == 2


async def test_contexts_that_overlap_are_not_repeated(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    lines = [f"{number} x" if number in (3, 5, 20) else f"{number}" for number in range(1, 30)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    result = await grep(make_workspace(tmp_path), "x")
    assert [[line.line for line in match.preview] for match in result.matches] == [
        [1, 2, 3, 4],
        [5, 6, 7],
        [18, 19, 20, 21, 22],
    ]
    assert [line.line for match in result.matches for line in match.preview if line.match] == [
        3,
        5,
        20,
    ]


async def test_pattern_options_work(make_workspace: MakeWorkspace, tmp_path: Path) -> None:
    write_files(tmp_path, {"a.txt": "Foo.bar foobar\nfoo\nbar\n"})
    workspace = make_workspace(tmp_path)
    line = {"Foo.bar": (1, 1), "foobar": (1, 9), "foo": (2, 1)}
    assert places(await grep(workspace, "Foo.bar")) == [("a.txt", *line["Foo.bar"])]
    assert places(await grep(workspace, "o.b", literal=True)) == [("a.txt", 1, 3)]
    assert len(places(await grep(workspace, "foo", case_sensitive=False))) == 3
    assert places(await grep(workspace, "foo", word=True)) == [("a.txt", *line["foo"])]
    assert places(await grep(workspace, "-foo|--pre=x|foobar")) == [("a.txt", 1, 9)]
    result = await grep(workspace, r"foo\nbar", multiline=True, context_lines=0)
    [match] = result.matches
    assert (match.line, match.column, match.match_range, match.end_line) == (2, 1, (1, 4), 3)
    assert [(line.line, line.text, line.match) for line in match.preview] == [
        (2, "foo", True),
        (3, "bar", True),
    ]


async def test_an_invalid_pattern_is_reported(workspace: EngineWorkspace) -> None:
    with pytest.raises(EmptyQuery):
        await grep(workspace, "")
    for mode in ("matches", "files", "counts"):
        with pytest.raises(InvalidPattern) as invalid:
            await grep(workspace, "load(", mode=mode)
        assert invalid.value.data["pattern"] == "load("
    for pattern, advice in (("a\nb", "multiline"), ("(?=x)", "simpler"), ("load(", "literal")):
        with pytest.raises(InvalidPattern, match=advice):
            await grep(workspace, pattern)
    assert (await grep(workspace, "load(", literal=True)).total_matches == 0
    with pytest.raises(InvalidParams, match=r"file_types.*: tsx. Did you mean ts or typescript\?"):
        await grep(workspace, "x", file_types=["tsx"])


@pytest.mark.usefixtures("way")
async def test_scope_is_controllable(workspace: EngineWorkspace) -> None:
    async def files(**params: Any) -> list[str]:
        return sorted({match.path for match in (await grep(workspace, "plugin", **params)).matches})

    assert await files(path="tests") == ["tests/test_loader.py"]
    assert await files(path="docs/plugins.md") == ["docs/plugins.md"]
    assert await files(include=["*.md"]) == ["docs/plugins.md"]
    assert await files(include=["src/**"], exclude=["src/main.py"]) == [
        "src/loader.py",
        "src/registry.py",
    ]
    assert await files(file_types=["md"]) == ["docs/plugins.md"]
    assert "ignored/cache.py" in await files(include_ignored=True)
    assert ".hidden/secret.py" in await files(include_hidden=True)


async def test_a_path_with_a_range_of_lines_is_searched_only_there(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    git_init(tmp_path)
    write_files(tmp_path, {"a.py": "call()\n" * 9, "b.py": "call()\n"})
    workspace = make_workspace(tmp_path)
    part = await grep(workspace, "call", path="a.py:3-5", max_results=2)
    assert places(part) == [("a.py", 3, 1), ("a.py", 4, 1)]
    assert (part.total_matches, part.truncated) == (3, True)
    rest = await grep(workspace, "call", path="a.py:3-5", max_results=2, cursor=part.cursor)
    assert places(rest) == [("a.py", 5, 1)]
    counts = await grep(workspace, "call", path="a.py#L3-L5", mode="counts")
    assert counts.files == [GrepFile(path="a.py", matches=3)]
    assert (await grep(workspace, "call", path="a.py:3")).total_matches == 9
    none = await grep(workspace, "call", path="a.py:20-30")
    assert none.warnings == ["0 matches in lines 20 to 30; other lines were not searched"]


async def test_modes_answer_files_and_counts(workspace: EngineWorkspace) -> None:
    counts = await grep(workspace, "load_plugin", mode="counts")
    assert counts.files == [
        GrepFile(path="src/loader.py", matches=3),
        GrepFile(path="src/main.py", matches=1),
        GrepFile(path="tests/test_loader.py", matches=2),
    ]
    assert (counts.total_matches, counts.total_found, counts.returned) == (6, 3, 3)
    assert counts.matches == []
    lines = await grep(workspace, "l", include=["loader.py"], mode="line_counts")
    every = await grep(workspace, "l", include=["loader.py"])
    assert lines.files == [
        GrepFile(path="src/loader.py", matches=len({match.line for match in every.matches}))
    ]
    assert (lines.total_matches or 0) < (every.total_matches or 0)
    part = await grep(workspace, "load", path="src/loader.py:1-3", mode="line_counts")
    found = await grep(workspace, "load", path="src/loader.py:1-3")
    assert part.total_matches == len({match.line for match in found.matches})
    files = await grep(workspace, "load_plugin", mode="files", max_results=2)
    assert files.files == [GrepFile(path="src/loader.py"), GrepFile(path="src/main.py")]
    assert (files.total_matches, files.total_found, files.truncated) == (None, 3, True)
    rest = await grep(workspace, "load_plugin", mode="files", max_results=2, cursor=files.cursor)
    assert rest.files == [GrepFile(path="tests/test_loader.py")]
    assert not rest.truncated


# --- pages ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("way")
async def test_pages_lose_and_double_nothing(make_workspace: MakeWorkspace, tmp_path: Path) -> None:
    names = ["b.txt", "a/z.txt", "a.txt", "a-b/c.txt", "a/b/c.txt", "ü.txt", "a b.txt"]
    write_files(tmp_path, dict.fromkeys(names, "x x\ny\n" * 2))
    workspace = make_workspace(tmp_path)
    whole = places(await grep(workspace, "x", max_results=1000))
    assert len(whole) == len(names) * 4
    for size in (1, 3, 4, 27, 28):
        assert await all_places(workspace, "x", max_results=size) == whole


async def test_a_page_has_the_total_or_a_lower_bound(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {f"{number:04}.txt": "x\n" * 50 for number in range(400)})
    workspace = make_workspace(tmp_path)
    monkeypatch.setattr("winnow.search.grep.search.GRACE_SECONDS", 0.0)
    # A probe that is given up before ripgrep has begun is followed by a count.
    monkeypatch.setattr(text_grep, "PROBE_SECONDS", 20.0)
    result = await grep(workspace, "x", max_results=10)
    assert result.truncated
    assert result.total_is_lower_bound
    assert result.total_matches is not None
    assert 10 < result.total_matches < 20_000
    assert "there may be more matches" in result.completeness.reasons[0]
    monkeypatch.setattr("winnow.search.grep.search.GRACE_SECONDS", 30.0)
    monkeypatch.setattr("winnow.search.grep.search.ONE_MORE_SECONDS", 30.0)
    result = await grep(workspace, "x", max_results=10)
    assert (result.total_matches, result.total_is_lower_bound) == (20_000, False)
    assert result.completeness.complete


async def test_a_full_page_that_is_the_last_is_not_truncated(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # How soon ripgrep has been through the other files depends on the machine.
    monkeypatch.setattr("winnow.search.grep.search.ONE_MORE_SECONDS", 20.0)
    result = await grep(make_workspace(project), "def load_plugin", max_results=2)
    assert (result.returned, result.truncated, result.cursor) == (2, False, None)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mode", ["matches", "counts"])
async def test_a_change_before_the_page_is_reported(
    make_workspace: MakeWorkspace, tmp_path: Path, mode: str
) -> None:
    write_files(tmp_path, {"a.txt": "x\n", "b.txt": "x\n", "c.txt": "x\n"})
    workspace = make_workspace(tmp_path)
    first = await grep(workspace, "x", max_results=2, mode=mode)
    same = await grep(workspace, "x", max_results=2, mode=mode, cursor=first.cursor)
    assert same.completeness.complete
    (tmp_path / "a.txt").write_text("x\nx\n")
    changed = await grep(workspace, "x", max_results=2, mode=mode, cursor=first.cursor)
    assert not changed.completeness.complete
    assert "changed since" in " ".join(changed.completeness.reasons)
    (tmp_path / "b.txt").unlink()
    gone = await grep(workspace, "x", max_results=2, mode=mode, cursor=first.cursor)
    assert "changed since" in " ".join(gone.completeness.reasons)


async def test_a_cursor_of_another_search_is_refused(workspace: EngineWorkspace) -> None:
    cursor = (await grep(workspace, "plugin", max_results=1)).cursor
    with pytest.raises(InvalidParams, match="cursor"):
        await grep(workspace, "load", max_results=1, cursor=cursor)
    with pytest.raises(InvalidParams, match="cursor"):
        await grep(workspace, "plugin", cursor="nonsense")


async def test_answers_that_are_not_streamed_are_bounded(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {"a.txt": f"x {'y' * 400}\n" * 1000})
    workspace = make_workspace(tmp_path, config=with_limits(answer_bytes=20_000))
    result = await grep(workspace, "x", max_results=100_000)
    assert 10 < result.returned < 60
    assert result.truncated
    assert len(await all_places(workspace, "x", max_results=100_000)) == 1000


# --- max_tokens ----------------------------------------------------------------------------


async def test_answers_get_shorter_step_by_step_and_the_cursor_loses_nothing(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    text = "\n".join(f"{'before ' * 20}\nx = {number} {'after ' * 60}\n" for number in range(40))
    write_files(tmp_path, {f"{name}.py": text for name in "abcdef"})
    workspace = make_workspace(tmp_path)
    seen = set()
    for tokens in (100_000, 22_000, 18_000, 9_000, 4_000, 1_000, 500):
        result = await grep(workspace, r"^x = \d+", max_results=100, max_tokens=tokens)
        assert estimated_tokens(result) <= tokens
        assert result.truncated
        match = result.matches[0]
        lines = len(match.preview)
        longest = max((len(line.text) for line in match.preview), default=0)
        seen.add((len(result.matches) == 100, lines > 1, longest > 120, lines > 0))
    # Everything; without context; with short lines; places; fewer places.
    assert seen == {
        (True, True, True, True),
        (True, False, True, True),
        (True, False, False, True),
        (True, False, False, False),
        (False, False, False, False),
    }
    for tokens in (9_000, 1_000, 500):
        found = await all_places(workspace, r"^x = \d+", max_results=100, max_tokens=tokens)
        assert found == await all_places(workspace, r"^x = \d+", max_results=100)


async def test_if_no_place_fits_files_are_counted(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {f"{'folder/' * 20}{name}.py": "x\n" * 40 for name in "ab"})
    # The folder is named in the answer; whether the search had ended, too, where it had enough.
    tokens = 360 + len(str(tmp_path)) // 3
    result = await grep(make_workspace(tmp_path), "x", max_results=60, max_tokens=tokens)
    assert result.matches == []
    assert [file.matches for file in result.files or []] == [40, 20]
    assert result.truncated
    assert result.returned == 60
    assert "only for the counts of files" in result.warnings[-1]
    rest = await grep(make_workspace(tmp_path), "x", max_results=60, cursor=result.cursor)
    assert len(rest.matches) == 20


@pytest.mark.parametrize("mode", ["files", "counts"])
async def test_lists_of_files_get_shorter_too(
    make_workspace: MakeWorkspace, tmp_path: Path, mode: str
) -> None:
    write_files(tmp_path, {f"{number}.py": "x\n" for number in range(100)})
    workspace = make_workspace(tmp_path)
    found: list[str] = []
    cursor = ""
    while True:
        result = await grep(
            workspace, "x", mode=mode, max_results=100, max_tokens=400, cursor=cursor
        )
        assert estimated_tokens(result) <= 400
        found += [file.path for file in result.files or []]
        if not result.cursor:
            break
        cursor = result.cursor
    assert sorted(found) == sorted(f"{number}.py" for number in range(100))


# --- streams -------------------------------------------------------------------------------


class Stream(Recorder):
    streaming = True


def test_a_line_with_two_matches_is_streamed_with_the_context_behind_it(tmp_path: Path) -> None:
    scope = search_scope([tmp_path], Filters())
    page = GrepPage(scope, Overlay(), max_matches=9, max_bytes=None, context=1)
    page.add("a.txt", FileLine(1, Line("x x", 4, ((0, 1), (2, 3))), matched=True))
    assert (page.ready, page.pop()) == (0, [])
    page.add("a.txt", FileLine(2, Line("y", 2)))
    page.add("a.txt", FileLine(9, Line("x", 2, ((0, 1),)), matched=True))
    assert page.ready == 2
    first, second = page.pop()
    assert [line.text for line in first.preview] == ["x x", "y"]
    assert second.preview == []
    assert [match.line for match in page.matches] == [9]


async def test_a_stream_has_all_matches_and_the_result_does_not_repeat_them(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {f"{name}.txt": "a\nx\nb\n" * 700 for name in "abc"})
    workspace = make_workspace(tmp_path)
    whole = await grep(workspace, "x", max_results=5000)
    stream = Stream()
    result = await grep(workspace, "x", stream, max_results=5000)
    assert result.matches == []
    assert (result.returned, result.total_matches, result.truncated) == (2100, 2100, False)
    partials = [one for one in stream.partials if isinstance(one, GrepPartial)]
    assert len(partials) > 3
    # The first match doesn't wait for others.
    assert len(partials[0].matches) == 1
    assert [match for partial in partials for match in partial.matches] == whole.matches
    stream = Stream()
    result = await grep(workspace, "x", stream, mode="counts")
    assert result.files == []
    [partial] = stream.partials
    assert isinstance(partial, GrepPartial)
    assert partial.files == (await grep(workspace, "x", mode="counts")).files


async def test_a_stream_that_stops_can_be_continued(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {f"{name}.txt": "x\n" * 300 for name in "abc"})
    workspace = make_workspace(tmp_path)
    stream = Stream()
    first = await grep(workspace, "x", stream, max_results=500)
    assert (first.returned, first.truncated) == (500, True)
    rest = await grep(workspace, "x", stream, max_results=500, cursor=first.cursor)
    assert (rest.returned, rest.truncated) == (400, False)
    found = [
        (match.path, match.line)
        for partial in stream.partials
        if isinstance(partial, GrepPartial)
        for match in partial.matches
    ]
    assert found == [(f"{name}.txt", line) for name in "abc" for line in range(1, 301)]


# --- excluded files ------------------------------------------------------------------------


@requires_posix
@pytest.mark.usefixtures("way")
async def test_skipped_files_are_counted(make_workspace: MakeWorkspace, tmp_path: Path) -> None:
    folder = write_files(git_init(tmp_path / "r"), {".gitignore": "*.log\nbuild/\n", "a.txt": "x"})
    write_files(folder, {"b.log": "x", "build/c.txt": "x", ".d/e.txt": "x", "f/g.txt": "x"})
    (folder / "binary").write_bytes(b"\0x\n")
    (folder / "late").write_bytes(b"text\n" * 20 + b"\0" + b"x\n")
    (folder / "link.txt").symlink_to("a.txt")
    (folder / "folder").symlink_to("f")
    os.mkfifo(folder / "fifo")
    result = await grep(make_workspace(folder), "x")
    assert places(result) == [("a.txt", 1, 1), ("f/g.txt", 1, 1)]
    skipped = result.completeness.skipped
    assert skipped.ignored == 2  # b.log, and the folder build
    assert skipped.hidden == 2  # .gitignore and .d
    assert skipped.binary == 2
    assert skipped.symlink == 2
    assert (skipped.unreadable, skipped.too_large) == (0, 0)
    assert result.completeness.complete


async def test_a_binary_file_is_searched_on_request(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(b"needle\n\0\nneedle\n")
    workspace = make_workspace(tmp_path)
    for path in ("", "a.bin"):
        nothing = await grep(workspace, "needle", path=path)
        assert nothing.matches == []
        assert nothing.completeness.skipped.binary == 1
        assert "include_binary" in " ".join(nothing.warnings)
        found = await grep(workspace, "needle", path=path, include_binary=True)
        assert places(found) == [("a.bin", 1, 1), ("a.bin", 3, 1)]


async def test_no_match_reports_matches_in_excluded_files(workspace: EngineWorkspace) -> None:
    async def warnings(pattern: str, **params: Any) -> list[str]:
        return (await grep(workspace, pattern, **params)).warnings

    assert await warnings("load_plugin_from_cache") == [
        "0 matches; 1 in excluded files: pass include_ignored"
    ]
    assert await warnings("hidden_plugin") == [
        "0 matches; 1 in excluded files: pass include_hidden"
    ]
    assert await warnings("hidden_plugin|load_plugin_from_cache", mode="counts") == [
        "0 matches; 2 in excluded files: pass include_ignored and include_hidden"
    ]
    assert await warnings("hidden_plugin", include_hidden=True) == []
    assert await warnings("there is no such thing") == []
    assert await warnings("LOAD_PLUGINS", path="src") == [
        "0 matches; 2 if case is ignored: pass case_sensitive=false"
    ]
    assert await warnings("load_plugins", path="docs") == [
        "0 matches; 2 in the rest of the workspace"
    ]


async def test_a_binary_file_is_reported_even_with_file_types(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "b.py").write_bytes(b"def needle():\n x = '\0'\n")
    workspace = make_workspace(tmp_path)
    scopes: list[dict[str, Any]] = [{"include": ["*.py"]}, {"file_types": ["py"]}]
    for scope in scopes:
        for mode in ("matches", "counts"):
            result = await grep(workspace, "needle", mode=mode, **scope)
            assert result.warnings == ["0 matches; 1 in binary files: pass include_binary"]


async def test_a_file_with_a_late_null_is_the_same_in_every_mode(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    text = b"needle one\n" + b"hay\n" * 20_000
    (tmp_path / "late.txt").write_bytes(text + b"\0\nneedle two\n")
    workspace = make_workspace(tmp_path)
    ways: list[dict[str, Any]] = [{}, {"path": "late.txt"}, {"include": ["*.txt"]}]
    for params in ways:
        result = await grep(workspace, "needle", **params)
        assert places(result) == [("late.txt", 1, 1)]
        assert result.total_matches == 1
        assert "up to the first NUL" in result.completeness.reasons[0]
    ways.append({"file_types": ["txt"]})
    for mode, matches in (("files", None), ("counts", 1)):
        for params in ways:
            result = await grep(workspace, "needle", mode=mode, **params)
            assert result.files == [GrepFile(path="late.txt", matches=matches)]
            assert mode == "files" or not result.completeness.complete
    both = await grep(workspace, "needle", include_binary=True)
    assert places(both) == [("late.txt", 1, 1), ("late.txt", 20_003, 1)]


@pytest.mark.parametrize("probe_seconds", [0.0, 20.0])
@pytest.mark.parametrize("context_lines", [0, 2])
async def test_a_multiline_search_ends_at_a_late_null(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    probe_seconds: float,
    context_lines: int,
) -> None:
    """ripgrep itself notices the NUL only if it prints the line as context."""
    monkeypatch.setattr(text_grep, "PROBE_SECONDS", probe_seconds)
    text = b"needle one\n" + b"hay\n" * 20_000
    (tmp_path / "late.txt").write_bytes(text + b"\0\nneedle two\n")
    (tmp_path / "later.txt").write_bytes(text[11:] + b"\0\nneedle two\n")
    workspace = make_workspace(tmp_path)
    params: dict[str, Any] = {"multiline": True, "context_lines": context_lines}
    result = await grep(workspace, r"needl[e] \w+\n", **params)
    assert places(result) == [("late.txt", 1, 1)]
    assert result.total_matches in (1, None)
    assert "up to the first NUL" in result.completeness.reasons[0]
    for mode, matches in (("files", None), ("counts", 1)):
        result = await grep(workspace, r"needl[e] \w+\n", mode=mode, multiline=True)
        assert result.files == [GrepFile(path="late.txt", matches=matches)]


async def test_other_encodings_are_searched_on_request(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "latin1.txt").write_bytes("café foo\n".encode("latin-1"))
    (tmp_path / "utf16.txt").write_bytes("Größe\n".encode("utf-16-le"))
    workspace = make_workspace(tmp_path)
    nothing = await grep(workspace, "é")
    assert nothing.warnings == ["0 matches; 1 if files are read as Latin-1: pass encoding='latin1'"]
    assert (await grep(workspace, "caf. foo")).warnings == nothing.warnings
    assert places(await grep(workspace, "é", encoding="latin1")) == [("latin1.txt", 1, 4)]
    wide = await grep(workspace, "öß", encoding="utf-16le", path="utf16.txt")
    assert places(wide) == [("utf16.txt", 1, 3)]
    with pytest.raises(InvalidParams, match="encoding"):
        await grep(workspace, "x", encoding="nonsense")


@requires_posix
@pytest.mark.parametrize("slow", ["--hidden", "--text"])
async def test_an_incomplete_count_of_excluded_matches_reports_it(
    tmp_path: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    """By a ripgrep that takes its time for what is looked at then."""
    program = tmp_path / "slow-rg"
    program.write_text(
        f'#!/bin/sh\ncase " $* " in *" {slow} "*) rg "$@"; sleep 60;; *) exec rg "$@";; esac\n'
    )
    program.chmod(0o755)
    folder = tmp_path / "tree"
    write_files(folder, {"plain.py": "alpha = 1\n", ".hidden/two.txt": "hidden_word\n"})
    (folder / "data.bin").write_bytes(b"\0 of another kind\n")
    monkeypatch.setattr("winnow.search.answer.completeness.EXCLUDED_SECONDS", 2.0)
    config, _ = merge_layer(Config(), {"programs": {"rg": str(program)}}, "test")
    workspace = make_workspace(folder, config=config, environment={"PATH": os.environ["PATH"]})
    no_time = "0 matches; not all excluded files could be searched in time"
    found = await grep(workspace, "hidden_word", mode="files")
    if slow == "--hidden":
        assert found.warnings == [
            "0 matches; at least 1 in excluded files:"
            " pass include_ignored or include_hidden or include_submodules",
            no_time,
        ]
    else:
        assert found.warnings == [
            "0 matches; 1 in excluded files: pass include_hidden",
            no_time,
        ]
    monkeypatch.setattr("winnow.search.answer.completeness.EXCLUDED_SECONDS", 0.5)
    assert (await grep(workspace, "nowhere_at_all", mode="files")).warnings == [no_time]


async def test_globs_are_accepted_as_people_write_them(
    workspace: EngineWorkspace, project: Path
) -> None:
    for glob in ("./src/*.py", f"{project}/src/*.py", "/src/*.py", "src/*.py"):
        found = await grep(workspace, "^registry", include=[glob])
        assert places(found) == [("src/registry.py", 1, 1)], glob
        assert (await grep(workspace, "^registry", exclude=[glob])).matches == []
    with pytest.raises(InvalidParams, match="use `exclude`"):
        await grep(workspace, "x", include=["!*.py"])
    nothing = await grep(workspace, "registry", include=["*.rs"])
    assert nothing.warnings == [
        "0 matches; 3 in the rest of the workspace",
        "no file in scope matches `include` or `file_types`",
    ]


async def test_configured_excludes_are_reported(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    config, problems = merge_layer(Config(), {"search": {"exclude": ["docs/**"]}}, "test")
    assert not problems
    result = await grep(make_workspace(project, config=config), "Plugins", case_sensitive=False)
    assert result.warnings == ["not searched: files in search.exclude (docs/**)"]


async def test_a_file_deleted_during_the_search_is_not_an_invalid_pattern(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by review: the file name was mistaken for an error message about the pattern."""

    def with_another(paths: Sequence[str]) -> list[list[str]]:
        return command_lines([*paths, "./test_regex.py"])

    monkeypatch.setattr(text_grep, "command_lines", with_another)
    result = await grep(make_workspace(project), "def load_plugins", scope="changed")
    assert places(result) == [("src/loader.py", 2, 5)]


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux only")
async def test_a_file_that_needs_too_much_memory_does_not_fail_the_search(
    make_workspace: MakeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.processes.children.MEMORY_BYTES", 64 * 1024 * 1024)
    (tmp_path / "a.txt").write_text("needle\n")
    (tmp_path / "one_line.txt").write_text("needle" + "y" * 60_000_000)
    workspace = make_workspace(tmp_path, config=with_limits(file_bytes=1_000_000))
    for mode in ("matches", "counts"):
        result = await grep(workspace, "needle|x", mode=mode)
        assert result.total_matches == 1
        assert "ripgrep ran out of memory" in " ".join(result.completeness.reasons)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux only")
@pytest.mark.parametrize("streaming", [False, True])
async def test_matches_that_take_too_much_memory_do_not_lose_the_others(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recorder: Recorder,
    streaming: bool,
) -> None:
    """Each letter of a long line is a match, and ripgrep reports all matches of a line at once."""
    monkeypatch.setattr("winnow.processes.children.MEMORY_BYTES", 256 * 1024 * 1024)
    write_files(tmp_path, {"a.txt": "ab\ncd\n", "z.txt": "x\n", "long.txt": "y" * 5_000_000})
    workspace = make_workspace(tmp_path)
    recorder.streaming = streaming
    raw: dict[str, Any] = {"pattern": ".", "max_results": 1_000}
    result = await TOOL.call(workspace, raw, recorder)
    partials = [one for told in recorder.partials for one in cast("GrepPartial", told).matches]
    found = [(one.path, one.line, one.column) for one in [*partials, *result.matches]]
    assert found == [
        ("a.txt", 1, 1),
        ("a.txt", 1, 2),
        ("a.txt", 2, 1),
        ("a.txt", 2, 2),
        ("z.txt", 1, 1),
    ]
    reason = "1 file of more than 4 MiB skipped: ripgrep ran out of memory"
    assert result.completeness.reasons == [reason]
    alone = await TOOL.call(workspace, {**raw, "path": "long.txt"}, recorder)
    assert (alone.matches, alone.completeness.reasons) == ([], [reason])


@pytest.mark.parametrize("probe_seconds", [0.005, 0.01, 0.02, 0.04, 0.06])
async def test_cut_and_giant_lines_are_reported(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    probe_seconds: float,
) -> None:
    monkeypatch.setattr("winnow.text.grep.PROBE_SECONDS", probe_seconds)
    (tmp_path / "a.js").write_text("a" * 1000 + "needle" + "b" * 1000 + "needle\n")
    (tmp_path / "b.js").write_text("needle" + "b" * 5_000_000)
    result = await grep(make_workspace(tmp_path), "needle")
    first, second = result.matches
    assert (first.column, second.column) == (1001, 2007)
    [line] = first.preview
    assert line.text_column is not None
    start = first.column - line.text_column
    assert line.text[start : start + 6] == "needle"
    assert result.warnings == ["lines of more than 500 characters are cut"]
    assert result.completeness.reasons == ["1 matching line of more than 4 MiB: not shown"]


async def test_a_file_too_large_for_a_multiline_search_is_reported(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {"big.txt": "x\n" * 1000, "small.txt": "x\n"})
    workspace = make_workspace(tmp_path, config=with_limits(file_bytes=1000))
    assert (await grep(workspace, "x", max_results=2000)).total_matches == 1001
    result = await grep(workspace, "x", multiline=True)
    assert places(result) == [("small.txt", 1, 1)]
    assert result.completeness.skipped.too_large == 1
    assert not result.completeness.complete
    named = await grep(workspace, "x", multiline=True, path="big.txt", max_results=2000)
    assert named.total_matches == 1000


@requires_posix
async def test_a_timeout_is_an_error_or_an_incomplete_answer(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    rg = unending_ripgrep(tmp_path)
    root = write_files(tmp_path / "root", {UNENDING: ""})
    workspace = make_workspace(root, config=with_limits(rg, search_seconds=0.3))
    for mode in ("matches", "files"):
        with pytest.raises(SearchTimedOut):
            await grep(workspace, f"needle|{UNENDING}", mode=mode)
    write_files(root, {"a.txt": "needle\n"})
    # A fifth of it is left for what was counted.
    workspace = make_workspace(root, config=with_limits(rg, search_seconds=3.0))
    result = await grep(workspace, f"needle|{UNENDING}")
    assert result.completeness.timed_out
    assert result.truncated
    assert places(result) == [("a.txt", 1, 1)]
    assert result.total_is_lower_bound
    assert "stopped after 3 s" in result.completeness.reasons[0]


# --- unsaved documents ---------------------------------------------------------------------


@pytest.mark.usefixtures("way")
async def test_unsaved_documents_replace_the_files_on_disk(
    workspace: EngineWorkspace, project: Path
) -> None:
    workspace.open_documents = lambda: {
        project / "src/loader.py": "nothing\nunsaved needle\n",
        project / "src/new.py": "needle in a new file\n",
        project / "src/main.py": (project / "src/main.py").read_text(),
    }
    assert places(await grep(workspace, "needle")) == [
        ("src/loader.py", 2, 9),
        ("src/new.py", 1, 1),
    ]
    assert await all_places(workspace, "needle", max_results=1) == [
        ("src/loader.py", 2, 9),
        ("src/new.py", 1, 1),
    ]
    assert places(await grep(workspace, "def load_plugin")) == []
    counts = await grep(workspace, "needle|Loader", mode="counts")
    assert [(file.path, file.matches) for file in counts.files or []] == [
        ("src/loader.py", 1),
        ("src/main.py", 2),
        ("src/new.py", 1),
        ("tests/test_loader.py", 1),
    ]
    assert places(await grep(workspace, "needle", path="src/new.py")) == [("src/new.py", 1, 1)]
    assert places(await grep(workspace, "needle", file_types=["md"])) == []


async def test_unsaved_hidden_documents_are_found_on_request(
    workspace: EngineWorkspace, project: Path
) -> None:
    """Found by review: no search found them, and no answer reported it."""
    workspace.open_documents = lambda: {
        project / ".env": "needle\n",
        project / ".d/e.py": "needle\n",
    }
    nothing = await grep(workspace, "needle")
    assert nothing.warnings == ["0 matches; 2 in excluded files: pass include_hidden"]
    assert len(places(await grep(workspace, "needle", include_hidden=True))) == 2
    assert places(await grep(workspace, "needle", path=".env")) == [(".env", 1, 1)]
    assert places(await grep(workspace, "needle", path=".env", exclude=["*"])) == [(".env", 1, 1)]
    assert len(places(await grep(workspace, "needle", scope="open"))) == 2
    assert len(places(await grep(workspace, "needle", scope="changed"))) == 2


async def test_a_change_of_an_unsaved_document_before_the_page_is_reported(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {"a.txt": "", "b.txt": "x\n"})
    workspace = make_workspace(tmp_path)
    workspace.open_documents = lambda: {tmp_path / "a.txt": "x\n"}
    first = await grep(workspace, "x", max_results=1)
    same = await grep(workspace, "x", max_results=1, cursor=first.cursor)
    assert same.completeness.complete
    workspace.open_documents = lambda: {tmp_path / "a.txt": "\nx\n"}
    changed = await grep(workspace, "x", max_results=1, cursor=first.cursor)
    assert "changed since" in " ".join(changed.completeness.reasons)


# --- where ---------------------------------------------------------------------------------


async def test_open_and_changed_files_only(workspace: EngineWorkspace, project: Path) -> None:
    nothing = await grep(workspace, "plugin", scope="open")
    assert nothing.matches == []
    assert nothing.warnings == ["scope='open' has only 0 files"]
    workspace.open_documents = lambda: {
        project / "src/main.py": (project / "src/main.py").read_text()
    }
    assert places(await grep(workspace, "plugin", scope="open")) == [("src/main.py", 3, 15)]
    changed = await grep(workspace, "plugin", scope="changed", mode="files")
    # A repository without a commit: all that is not ignored is new.
    assert [file.path for file in changed.files or []] == [
        ".hidden/secret.py",
        "docs/plugins.md",
        "src/loader.py",
        "src/main.py",
        "src/registry.py",
        "tests/test_loader.py",
    ]


async def test_several_folders_name_their_root(
    make_workspace: MakeWorkspace, project: Path, tmp_path: Path
) -> None:
    other = write_files(tmp_path / "other", {"src/main.py": "plugin\n"})
    workspace = make_workspace(project, other)
    result = await grep(workspace, "^plugin|^Loader")
    assert [(match.root, match.path) for match in result.matches] == [
        (str(project), "src/main.py"),
        (str(other), "src/main.py"),
    ]
    assert await all_places(workspace, "^plugin|^Loader", max_results=1) == places(result)
    narrowed = await grep(workspace, "plugin", path="src/main.py")
    assert narrowed.root == str(project)
    assert "is in several workspace folders" in narrowed.warnings[0]


@requires_posix
async def test_a_path_of_an_answer_goes_into_the_next_request(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    names = ["a b.txt", "-x.txt", "ü.txt", "new\nline.txt", "q'uote\".txt", "back\\slash.txt"]
    write_files(tmp_path, dict.fromkeys(names, "needle\n"))
    (tmp_path / os.fsdecode(b"bad\xff.txt")).write_text("needle\n")
    workspace = make_workspace(tmp_path)
    found = await grep(workspace, "needle")
    assert found.returned == 7
    for match in found.matches:
        for path in filter(None, (match.path, match.uri)):
            again = await grep(workspace, "needle", path=path)
            assert places(again) == [(match.path, 1, 1)], path


@requires_posix
async def test_paths_outside_are_refused_and_nothing_hangs(
    make_workspace: MakeWorkspace, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.txt").write_text("plugin\n")
    (project / "out").symlink_to(tmp_path)
    (project / "loop").symlink_to(project)
    os.mkfifo(project / "fifo")
    workspace = make_workspace(project)
    for path in (
        "..",
        "../outside.txt",
        str(tmp_path),
        "out/outside.txt",
        "/etc/passwd",
        "/dev/zero",
    ):
        with pytest.raises(PathOutsideWorkspace):
            await grep(workspace, "x", path=path)
    for path in ("fifo", "nothing"):
        with pytest.raises(NotFound):
            await grep(workspace, "x", path=path)
    whole = await asyncio.wait_for(grep(workspace, "plugin", follow_symlinks=True), 20)
    assert {match.path.partition("/")[0] for match in whole.matches} == {"src", "docs", "tests"}
    inside = await grep(workspace, "def load_plugin", path="loop/src")
    assert [match.path for match in inside.matches] == ["src/loader.py"] * 2


@requires_posix
async def test_a_page_that_ran_out_of_time_can_be_continued_without_a_gap(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    """An unsaved document behind the files that were not reached has to wait for them."""
    root = write_files(tmp_path / "root", {"a.txt": "needle\n", UNENDING: ""})
    config = with_limits(unending_ripgrep(tmp_path), search_seconds=3.0)
    workspace = make_workspace(root, config=config)
    workspace.open_documents = lambda: {root / "z.txt": "needle\n"}
    first = await grep(workspace, "needle", scope="open")
    assert places(first) == [("z.txt", 1, 1)]
    result = await grep(workspace, f"needle|{UNENDING}")
    assert result.completeness.timed_out
    assert result.truncated
    assert not (result.cursor and ("z.txt", 1, 1) in places(result))
