"""grep: exact text or a regular expression, in the files of the workspace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from winnow.errors import SEARCHING, EmptyQuery, InvalidPattern
from winnow.search.answer import cursor
from winnow.search.answer.completeness import fractions, with_reasons
from winnow.search.answer.shorten import shorten
from winnow.search.grep.page import GrepMatch, GrepPage, MatchPosition, PreviewLine
from winnow.search.grep.search import GrepSearch, start_search
from winnow.text.grep import COUNT, COUNT_LINES, LIST
from winnow.text.paths import shown_folder
from winnow.text.plural import counted
from winnow.text.ripgrep import TextPattern
from winnow.text.sanitize import printable
from winnow.text.scope import Scope, path_order
from winnow.tools.recording import in_workspace, searches
from winnow.tools.registry import CommandHelp, ShortTool, tool
from winnow.tools.scope_filters import filters_of
from winnow.tools.terminal import Style, notes_of, seen_path
from winnow.types import FileParams, InRepository, Progress, Repositories, Result, SearchAnswer
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.search.shared.grep import SharedMatches
    from winnow.search.shared.session import SharedAnswer

# A shortened preview keeps this many characters of a line.
SHORT_LINE = 100
# Fewer places than this are worth less than the number of matches of each file.
FEWEST_PLACES = 3
_COUNTING = {"files": LIST, "counts": COUNT, "line_counts": COUNT_LINES}


class GrepParams(FileParams, frozen=True, kw_only=True):
    """An exact pattern, and the files to search."""

    pattern: Annotated[
        str,
        Meta(
            description="The regular expression (Rust syntax) or, with `literal`, the text.",
            max_length=10_000,
        ),
    ]
    literal: Annotated[
        bool, Meta(description="Treat the pattern as text, not as a regular expression.")
    ] = False
    case_sensitive: Annotated[bool, Meta(description="Distinguish upper and lower case.")] = True
    word: Annotated[bool, Meta(description="Match whole words only.")] = False
    multiline: Annotated[
        bool,
        Meta(description="Allow matches to span lines; `\\n` and `\\s` then match line endings."),
    ] = False
    include_binary: Annotated[
        bool, Meta(description="Also search files that contain NUL bytes, as if they were text.")
    ] = False
    encoding: Annotated[
        str,
        Meta(
            description="Encoding of the files, such as 'latin1', 'utf-16le' or 'shift_jis', if it"
            " is not UTF-8 and the files have no byte order mark.",
            pattern="^[A-Za-z0-9_-]{0,40}$",
        ),
    ] = ""
    context_lines: Annotated[
        int, Meta(description="Number of lines to show before and after each match.", ge=0, le=100)
    ] = 2
    max_results: Annotated[
        int, Meta(description="Maximum number of matches (or files) to return.", ge=1, le=1_000_000)
    ] = 50
    mode: Annotated[
        Literal["matches", "files", "counts", "line_counts"],
        Meta(
            description="'matches': each match with its lines; 'files': the files that match;"
            " 'counts': the files that match, with the number of matches in each; 'line_counts':"
            " with the number of matching lines."
        ),
    ] = "matches"
    repositories: Repositories = []


class GrepFile(InRepository, frozen=True, kw_only=True):
    """A file that matches."""

    matches: Annotated[
        int | None,
        Meta(
            description="Number of matches in the file, of matching lines in mode 'line_counts';"
            " absent in mode 'files'."
        ),
    ] = None


class GrepResult(SearchAnswer, frozen=True, kw_only=True):
    """The matches; `total_found` and `returned` count matches, or files if `files` is present."""

    matches: Annotated[
        list[GrepMatch],
        Meta(description="The matches, in the order of paths; empty if they were streamed."),
    ]
    files: Annotated[
        list[GrepFile] | None,
        Meta(description="In all modes but 'matches', or if `max_tokens` leaves no room."),
    ] = None
    total_matches: Annotated[
        int | None, Meta(description="Total number of matches; absent if they were not counted.")
    ] = None
    total_is_lower_bound: Annotated[
        bool, Meta(description="True if the search stopped early, so that there may be more.")
    ] = False


class GrepPartial(Result, frozen=True, kw_only=True):
    """Further matches or files, which the result does not repeat."""

    matches: Annotated[list[GrepMatch], Meta(description="The next matches.")]
    files: Annotated[
        list[GrepFile] | None, Meta(description="The files, in all modes but 'matches'.")
    ] = None


# --- rendering -----------------------------------------------------------------------------


def text(result: GrepResult, style: Style, folder: str | None) -> str:
    """Render files with their lines (`12:` matches, `11-` is context), then what was skipped.

    Paths are relative to ``folder``.
    """
    lines = rows(result, style, folder)
    return "\n".join([*lines, *[""] * bool(lines), *closing_lines(result, style)])


def rows(result: GrepResult, style: Style, folder: str | None) -> list[str]:
    """Return the lines about matches and files."""

    def shown(found: GrepMatch | GrepFile) -> str:
        return style.path(seen_path(found, result.root, folder))

    lines: list[str] = []
    for file in result.files or []:
        lines.append(shown(file) + (f": {file.matches}" if file.matches is not None else ""))
    at = None
    for match in result.matches:
        if (match.repository, match.root, match.path) != at:
            lines += [""] * bool(lines) + [shown(match)]
            at, last = (match.repository, match.root, match.path), 0
        if not match.preview and match.line > last:
            lines.append(style.dim(f"{match.line}:{match.column}"))
            last = match.line
        for line in match.preview:
            if last and line.line > last + 1:
                lines.append(style.dim("--"))
            last = line.line
            mark = ":" if line.match else "-"
            lines.append(style.dim(f"{line.line}{mark}") + printable(line.text))
    return lines


def closing_lines(result: GrepResult, style: Style) -> Iterator[str]:
    """Return the lines about the search: the number of results, and what was skipped."""
    what = "matches" if result.files is None else "files"
    least = "at least " * (result.total_is_lower_bound and what == "matches")
    summary = f"{result.returned} of {least}{result.total_found} {what}"
    if what == "files" and result.total_matches is not None:
        summary += f", {counted(result.total_matches, 'match', 'matches')}"
    return notes_of(result, summary, style)


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    positional=("path",),
    command_help=CommandHelp(
        "Search files for a regular expression or exact text.",
        "winnow grep 'def load_\\w+' src --include '*.py'",
        "winnow grep -il todo src tests",
    ),
    example={"pattern": "def load_plugin", "context_lines": 1},
    raises=(EmptyQuery, InvalidPattern, *SEARCHING),
    partial=GrepPartial,
    # As many as ripgrep prints; the size of the answer is limited.
    for_people={"max_results": 1_000_000, "context_lines": 0},
    learn=searches(
        lambda params, result: params.pattern,
        lambda result: [*in_workspace(result.matches), *in_workspace(result.files or ())],
    ),
    of_open_documents=True,
    short=ShortTool(
        "grep",
        "Find every match of a regular expression (Rust syntax) in files, in the order of paths.",
        {
            "pattern": "The regular expression or, with `literal`, the text.",
            "path": "File or folder to search in.",
            "include": "Globs of files, such as '*.py'.",
            "literal": "The pattern is text.",
            "case_sensitive": "Default: true.",
            "include_ignored": "Also search ignored files.",
            "mode": "'matches' with lines; 'files'; 'counts' per file.",
            "context_lines": "Lines around each match. Default: 2.",
            "max_results": "Default: 50.",
            "cursor": "Continues a truncated answer.",
        },
    ),
)
async def grep(workspace: EngineWorkspace, params: GrepParams, progress: Progress) -> GrepResult:
    """Search for exact text or a regular expression in files. Returns matches with surrounding lines.

    Effective use:
    - Use it when you know the text: names, messages, calls
    - Narrow with `path`, `include` and `file_types` before you raise `max_results`
    - `mode: "counts"` or `"files"` is a cheap way to see where a common word occurs
    - If `total_is_lower_bound` is true, the search stopped early; `cursor` continues it exactly
    - Ignored, hidden and binary files are searched only on request; `completeness` and `warnings`
      report what was skipped
    """  # noqa: E501 - the first line is the summary
    if not params.pattern:
        raise EmptyQuery
    if params.repositories and not params.cursor:
        return await _with_repositories(workspace, params, progress)
    return await _in_workspace(workspace, params, progress)


def _pattern_of(params: GrepParams) -> TextPattern:
    return TextPattern(
        pattern=params.pattern,
        literal=params.literal,
        case_sensitive=params.case_sensitive,
        word=params.word,
        multiline=params.multiline,
        binary=params.include_binary,
        encoding=params.encoding,
    )


async def _in_workspace(
    workspace: EngineWorkspace, params: GrepParams, progress: Progress
) -> GrepResult:
    scope, query = workspace.scope(filters_of(params)), _pattern_of(params)
    context = params.context_lines if params.mode == "matches" else 0
    async with workspace.search_slots:
        progress(f"Searching for {params.pattern[:60]!r}")
        ripgrep = workspace.run_ripgrep()
        scope = await workspace.narrow_scope(
            scope, ripgrep, files=params.scope, follow_symlinks=params.follow_symlinks
        )
        search_in = start_search(
            *(workspace, ripgrep, scope, query), context=context, max_results=params.max_results
        )
        async with search_in as search:
            answer = _matches if params.mode == "matches" else _files
            result = await answer(params, search, progress)
            if result.total_found or params.cursor:
                return result
            if params.scope == "workspace":
                warnings = await search.excluded_matches()
            else:
                files = len(scope.files or ())
                warnings = [f"scope={params.scope!r} has only {files} files"]
            return msgspec.structs.replace(result, warnings=[*result.warnings, *warnings])


# --- repositories --------------------------------------------------------------------------


async def _with_repositories(
    workspace: EngineWorkspace, params: GrepParams, progress: Progress
) -> GrepResult:
    """Search the workspace and meanwhile ask the cluster, whose rows follow."""
    # Costs the import of what reads the cluster's documents.
    from winnow.search.shared.grep import begin_matching

    query = _pattern_of(params)
    async with begin_matching(workspace, params.repositories, query) as shared:
        result = await _in_workspace(workspace, params, progress)
        found = await _found_in(workspace, params, query, await shared.answer())
    completeness = with_reasons(result.completeness, *found.reasons)
    completeness = msgspec.structs.replace(completeness, shared=found.state)
    result = msgspec.structs.replace(result, completeness=completeness)
    rows = len(found.matches) if params.mode == "matches" else len(found.counts)
    # `max_tokens` may have left room only for the number of matches of each file.
    is_shortened = params.mode == "matches" and result.files is not None
    shown = 0 if is_shortened else min(rows, params.max_results)

    def with_rows(count: int) -> Callable[[], GrepResult]:
        return lambda: _joined(params, result, found, count)

    steps = [with_rows(count) for count in (*fractions(shown), 0)]
    joined = shorten(_joined(params, result, found, shown), params.max_tokens, steps)
    if progress.streaming and not params.max_tokens and shown:
        partial = GrepPartial(
            matches=joined.matches[len(result.matches) :],
            files=joined.files[len(result.files or ()) :] if joined.files else None,
        )
        progress(f"{joined.returned} found", partial=partial)
        return msgspec.structs.replace(joined, matches=[], files=[] if joined.files else None)
    return joined


async def _found_in(
    workspace: EngineWorkspace, params: GrepParams, query: TextPattern, answer: SharedAnswer
) -> SharedMatches:
    """Return the matches in the cluster's candidates. A full disk, for example, is no error."""
    from winnow.search.shared.grep import SharedMatches, counts_in, matches_in
    from winnow.search.shared.session import described, not_written

    filters = filters_of(params)
    try:
        if params.mode == "matches":
            return await matches_in(
                *(workspace, answer, query, filters),
                context=params.context_lines,
                max_results=params.max_results,
            )
        return await counts_in(workspace, answer, query, filters, _COUNTING[params.mode])
    except OSError as error:
        state = not_written(answer, error).state
        return SharedMatches(state, described(state))


def _joined(params: GrepParams, result: GrepResult, found: SharedMatches, count: int) -> GrepResult:
    """Return the result with the first ``count`` rows of the cluster."""
    if params.mode == "matches":
        return msgspec.structs.replace(
            result,
            matches=[*result.matches, *found.matches[:count]],
            total_matches=(result.total_matches or 0) + found.total,
            total_found=result.total_found + found.total,
            returned=result.returned + count,
            truncated=result.truncated or found.more or count < len(found.matches),
        )
    files = [
        GrepFile(
            path=path,
            matches=None if params.mode == "files" else number,
            repository=branch.ref,
            commit=branch.commit,
            origin="cluster",
        )
        for branch, path, number in found.counts[:count]
    ]
    has_total = result.total_matches is not None
    return msgspec.structs.replace(
        result,
        files=[*(result.files or ()), *files],
        total_matches=(result.total_matches or 0) + found.total if has_total else None,
        total_found=result.total_found + len(found.counts),
        returned=result.returned + count,
        truncated=result.truncated or count < len(found.counts),
    )


# --- matches -------------------------------------------------------------------------------


async def _matches(params: GrepParams, search: GrepSearch, progress: Progress) -> GrepResult:
    streams = progress.streaming and not params.max_tokens
    scope = search.text.scope
    page = GrepPage(
        scope,
        search.text.overlay,
        cursor.decode(params, MatchPosition),
        max_matches=params.max_results,
        max_bytes=None if streams else search.text.limits.answer_bytes,
        context=params.context_lines,
    )

    async def stream(matches: Sequence[GrepMatch]) -> None:
        progress(f"{page.returned} matches", partial=GrepPartial(matches=list(matches)))
        await progress.drain()

    await search.read(page, stream if streams else None)
    if streams and page.matches:
        partial = GrepPartial(matches=list(page.matches))
        progress(f"{page.returned} matches", partial=partial)
    finished, timed_out = search.text.finished, search.text.timed_out
    total = search.total if search.total is not None else page.seen
    truncated = page.more or timed_out or (page.full and not finished)
    has_cursor = truncated and search.text.ordered
    result = GrepResult(
        root=shown_folder(scope.root),
        matches=[] if streams else page.matches,
        total_matches=total,
        total_is_lower_bound=not search.is_total_known,
        total_found=total,
        returned=page.returned,
        truncated=truncated,
        completeness=await search.completeness(page, changed=page.changed),
        warnings=search.warnings(page),
        cursor=_cursor(params, page, len(page.positions)) if has_cursor else None,
    )
    return shorten(result, params.max_tokens, _shorter(params, page, result))


def _cursor(params: GrepParams, page: GrepPage, count: int) -> str | None:
    """Return the cursor after the first ``count`` matches of the page."""
    if not count:
        return None
    position = page.positions[count - 1]
    return cursor.encode(params, position, page.digests[position.path])


def _shorter(
    params: GrepParams, page: GrepPage, result: GrepResult
) -> list[Callable[[], GrepResult]]:
    """Return ever shorter forms of the result: shorter lines, places only, fewer places, and
    counts of files."""

    def with_matches(change: Callable[[GrepMatch], GrepMatch]) -> Callable[[], GrepResult]:
        return lambda: msgspec.structs.replace(
            result, matches=[change(match) for match in result.matches], truncated=True
        )

    def first(count: int) -> Callable[[], GrepResult]:
        return lambda: msgspec.structs.replace(
            result,
            matches=[_place(match) for match in result.matches[:count]],
            returned=count,
            truncated=True,
            cursor=_cursor(params, page, count),
        )

    def counts(files: int) -> Callable[[], GrepResult]:
        return lambda: _counted(params, page, result, files)

    fewer_places = fractions(len(result.matches), FEWEST_PLACES)
    fewer_files = fractions(len({match.path for match in result.matches}), 1)
    return [
        with_matches(_without_context),
        with_matches(_short),
        with_matches(_place),
        *map(first, fewer_places),
        *map(counts, fewer_files),
    ]


def _without_context(match: GrepMatch) -> GrepMatch:
    return msgspec.structs.replace(match, preview=[line for line in match.preview if line.match])


def _short(match: GrepMatch) -> GrepMatch:
    """Return the match with its own line only, cut around it."""
    lines = [line for line in match.preview if line.line == match.line]
    return msgspec.structs.replace(match, preview=[_cut(line, match.column) for line in lines])


def _cut(line: PreviewLine, column: int) -> PreviewLine:
    if len(line.text) <= SHORT_LINE:
        return line
    shift = line.text_column or 1
    start = max(0, min(column - shift - SHORT_LINE // 4, len(line.text) - SHORT_LINE))
    text = line.text[start : start + SHORT_LINE]
    return msgspec.structs.replace(line, text=text, text_column=(start + shift) or None)


def _place(match: GrepMatch) -> GrepMatch:
    return msgspec.structs.replace(match, preview=[])


def _counted(params: GrepParams, page: GrepPage, result: GrepResult, files: int) -> GrepResult:
    """Return the number of matches in each of the first ``files`` files, instead of matches."""
    counts: dict[tuple[str, str | None, str | None], int] = {}
    returned = 0
    for match in result.matches:
        key = match.path, match.root, match.uri
        if key not in counts and len(counts) == files:
            break
        counts[key] = counts.get(key, 0) + 1
        returned += 1
    more = returned < len(result.matches) or result.truncated
    return msgspec.structs.replace(
        result,
        matches=[],
        files=[
            GrepFile(path=path, matches=count, root=root, uri=uri)
            for (path, root, uri), count in counts.items()
        ],
        returned=returned,
        truncated=True,
        cursor=_cursor(params, page, returned) if more else None,
        warnings=[*result.warnings, "max_tokens leaves room only for the counts of files"],
    )


# --- files and counts ----------------------------------------------------------------------


async def _files(params: GrepParams, search: GrepSearch, progress: Progress) -> GrepResult:
    is_counted = params.mode != "files"
    counts = await search.count_files(_COUNTING[params.mode])
    scope, paths = search.text.scope, list(counts)
    first, changed = _first_after_cursor(params, scope, counts)
    end = min(first + params.max_results, len(paths))
    completeness = await search.completeness(None, changed=changed)

    def file(path: str) -> GrepFile:
        shown = scope.shown(path)
        matches = counts[path] if is_counted else None
        return GrepFile(path=shown.path, matches=matches, root=shown.root, uri=shown.uri)

    def page_to(end: int) -> GrepResult:
        more, position = end < len(paths), os.fsencode(paths[end - 1]) if end else b""
        stamp = _stamp(paths[:end], counts)
        return GrepResult(
            root=shown_folder(scope.root),
            matches=[],
            files=[file(path) for path in paths[first:end]],
            total_matches=sum(counts.values()) if is_counted else None,
            total_is_lower_bound=search.text.timed_out,
            total_found=len(paths),
            returned=end - first,
            truncated=more,
            completeness=completeness,
            warnings=search.warnings(None),
            cursor=cursor.encode(params, position, stamp) if more else None,
        )

    fewer = fractions(end - first, 1)[1:]
    steps = [lambda count=count: page_to(first + count) for count in fewer]
    result = shorten(page_to(end), params.max_tokens, steps)
    if progress.streaming and not params.max_tokens and result.files:
        progress(
            counted(len(paths), "file", "files"),
            partial=GrepPartial(matches=[], files=result.files),
        )
        return msgspec.structs.replace(result, files=[])
    return result


def _stamp(paths: Sequence[str], counts: Mapping[str, int]) -> bytes:
    return cursor.stamp_of([(path, counts[path]) for path in paths])


def _first_after_cursor(
    params: GrepParams, scope: Scope, counts: Mapping[str, int]
) -> tuple[int, bool]:
    """Return the index of the first file after the cursor, and whether earlier files changed."""
    key = path_order(scope)

    def passed(position: bytes) -> int:
        last = key(os.fsdecode(position))
        return sum(key(path) <= last for path in counts)

    return cursor.resume(params, bytes, passed, lambda first: _stamp(list(counts)[:first], counts))
