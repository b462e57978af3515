"""read_file: read lines of a file by their numbers."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from winnow.errors import (
    BinaryFile,
    InvalidParams,
    NotAFile,
    NotFound,
    NotInRepository,
    NoWorkspace,
    PathOutsideWorkspace,
    RepositoryUnavailable,
    SearchError,
    SearchTimedOut,
    UnreadableDocument,
)
from winnow.search.answer import cursor
from winnow.search.answer.shorten import estimated_tokens, shorten
from winnow.search.files.read import LINE_CHARACTERS, FileText, ReadRequest, read_file_text
from winnow.search.shared.place import REPOSITORY, SharedPlace, place_below, shared_place
from winnow.text.paths import is_symbol_name, locate, member_of, place_of, shown_folder
from winnow.text.plural import counted
from winnow.text.reading import LineRange, ReadLine, count_within, first_line_from, merge_ranges
from winnow.text.sanitize import printable
from winnow.text.scope import Filters
from winnow.tools.recording import reads
from winnow.tools.registry import CommandHelp, ShortTool, tool
from winnow.tools.terminal import Style
from winnow.types import Answer, Completeness, PageParams, Params, Progress, Result, Skipped
from winnow.workspace import EngineWorkspace

LineEndings = Literal["lf", "crlf", "cr", "mixed"]

# To fit `max_tokens`, lines are cut to this length before lines are dropped.
SHORT_LINE_CHARACTERS = 200
# Line numbers that a warning names; more tell a reader nothing.
NAMED_LINES = 5
# Files of a name that an error suggests.
NAMED_FILES = 5


class Span(Params, frozen=True, kw_only=True):
    """A range of lines. Lines outside the file are ignored."""

    start: Annotated[int, Meta(description="The first line, counted from 1.")] = 1
    end: Annotated[
        int | None, Meta(description="The last line, inclusive. Default: the end of the file.")
    ] = None


class ReadFileParams(PageParams, frozen=True, kw_only=True):
    """The lines to read."""

    path: Annotated[
        str,
        Meta(
            description="File to read, absolute or relative to the root, as results show it; also"
            " with lines: 'a.py:12-40'. Or the name of a symbol, to read its definition:"
            " 'Client.send'. Or a file of the team's search cluster: 'team/project:a.py:12-40'.",
            min_length=1,
            max_length=4_000,
        ),
    ]
    spans: Annotated[
        list[Span],
        Meta(
            description="Line ranges to read, such as {'start': 10, 'end': 20}, or '10-20', '10-'"
            " (to the end), '10' (one line). Overlapping and adjacent ranges are merged."
            " Default: the whole file.",
            max_length=1_000,
        ),
    ] = field(default_factory=list)
    outline: Annotated[
        bool,
        Meta(description="Read only the lines on which the definitions of the file begin."),
    ] = False
    max_lines: Annotated[
        int, Meta(description="Maximum number of lines, of all spans together.", ge=1, le=10_000)
    ] = 500
    repository: Annotated[
        str,
        Meta(
            description="The repository in the team's search cluster, as results name it; `path` is"
            " relative to it. If a clone of it is open and has the same text, that file is read.",
            max_length=500,
            pattern=f"^({REPOSITORY})?$",
        ),
    ] = ""
    commit: Annotated[
        str,
        Meta(
            description="With `repository`: the commit in the result. A warning says if the cluster"
            " has the text of another commit by now.",
            max_length=100,
        ),
    ] = ""
    line_endings: Annotated[
        Literal["normalize", "keep"],
        Meta(
            description="'normalize': every line ends in a line feed. 'keep': `content` includes"
            " the carriage returns of the file."
        ),
    ] = "normalize"


class Chunk(Result, frozen=True, kw_only=True):
    """Consecutive lines."""

    start: Annotated[int, Meta(description="The number of the first line, from 1.")]
    end: Annotated[int, Meta(description="The number of the last line.")]
    content: Annotated[
        str,
        Meta(description="The lines with their line ends; the last line of a file may have none."),
    ]


class ReadFileResult(Answer, frozen=True, kw_only=True):
    """``total_found`` and ``returned`` count lines."""

    path: Annotated[str, Meta(description="The file, relative to `root`, or to the `repository`.")]
    chunks: Annotated[list[Chunk], Meta(description="The requested lines, in order.")]
    encoding: Annotated[
        str,
        Meta(
            description="'utf-8', 'utf-8-sig', 'utf-16-le', 'utf-16-be', 'utf-32-le', 'utf-32-be'"
            " or 'latin-1'."
        ),
    ]
    total_lines: Annotated[
        int | None,
        Meta(description="Number of lines in the file; absent if they were not all counted."),
    ] = None
    line_endings: Annotated[
        LineEndings | None,
        Meta(
            description="The line endings of the lines that were read; absent if there are none."
            " 'cr': lone carriage returns, which do not end a line here."
        ),
    ] = None
    byte_order_mark: Annotated[
        bool,
        Meta(description="True if the file begins with a byte order mark. `content` omits it."),
    ] = False
    unsaved: Annotated[bool, Meta(description="True if this is unsaved text from the editor.")] = (
        False
    )
    outline: Annotated[
        bool, Meta(description="True if these are the first lines of the definitions in the file.")
    ] = False
    symbol: Annotated[
        str | None,
        Meta(description="The qualified name of the symbol whose definition this is."),
    ] = None
    document: Annotated[
        str | None,
        Meta(
            description="The format of a document whose text this is, such as 'pdf'. `search_docs`"
            " numbers its lines in the same way, and `document_text` knows their pages."
        ),
    ] = None
    uri: Annotated[
        str | None,
        Meta(description="The exact name as a URI, if the path is not valid Unicode."),
    ] = None
    repository: Annotated[
        str | None,
        Meta(
            description="The repository in the search cluster whose text this is. Absent for a file"
            " of this workspace."
        ),
    ] = None
    commit: Annotated[str | None, Meta(description="The commit of that text.")] = None


# --- rendering -----------------------------------------------------------------------------


def text(result: ReadFileResult, style: Style, folder: str | None) -> str:
    """Render the lines with their numbers, as `cat -n` does, then notes in square brackets."""
    heading = []
    if result.symbol and result.chunks:
        full = os.path.join(result.root, result.path)
        path = printable(os.path.relpath(full, folder) if folder else result.path)
        place = f"{style.path(path)}:{result.chunks[0].start}-{result.chunks[-1].end}"
        heading.append(f"{place}  {style.match(printable(result.symbol))}")
    more = "more with the cursor" if folder is None else "more: --cursor"
    notes = [*_notes(result), *[f"{more} {result.cursor}"] * bool(result.cursor)]
    return "\n".join([*heading, *_rows(result, style), *(style.dim(f"[{note}]") for note in notes)])


def _rows(result: ReadFileResult, style: Style) -> Iterator[str]:
    for place, chunk in enumerate(result.chunks):
        if place and not result.outline:
            yield style.dim("...")
        for number, line in enumerate(chunk.content.removesuffix("\n").split("\n"), chunk.start):
            # A carriage return at the end is shown as a symbol.
            is_crlf = line.endswith("\r")
            content = printable(line[:-1] if is_crlf else line)
            yield style.number(number) + content + "\N{SYMBOL FOR CARRIAGE RETURN}" * is_crlf


def _notes(result: ReadFileResult) -> Iterator[str]:
    if result.total_lines == 0:
        yield "the file is empty"
    if result.document:
        yield f"text of a document: {result.document}"
    if result.repository:
        yield f"from the search cluster: {result.repository}, commit {result.commit}"
    if result.unsaved:
        yield "unsaved text from the editor"
    if result.encoding != "utf-8":
        yield f"encoding: {result.encoding}"
    if result.line_endings not in (None, "lf"):
        yield f"line endings: {result.line_endings}"
    yield from (f"incomplete: {reason}" for reason in result.completeness.reasons)
    yield from (f"note: {warning}" for warning in result.warnings)
    if result.cursor:
        total = f" of {result.total_lines:,} in the file" if result.total_lines else ""
        yield f"{result.returned:,} of {result.total_found:,} requested lines{total}"


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    command="read",
    command_help=CommandHelp(
        "Print a file, lines of it, or the definition of a symbol.",
        "winnow read src/loader.py:8-20",
        "winnow read load_plugin",
    ),
    example={"path": "src/loader.py", "spans": [{"start": 8, "end": 10}, {"start": 18}]},
    raises=(
        NoWorkspace,
        NotFound,
        PathOutsideWorkspace,
        NotAFile,
        BinaryFile,
        UnreadableDocument,
        SearchTimedOut,
        NotInRepository,
        RepositoryUnavailable,
    ),
    learn=reads,
    of_open_documents=True,
    short=ShortTool(
        "read",
        "Read a file, lines of it, or the definition of a symbol, with line numbers.",
        {
            "path": "The file, with lines if not all are needed: 'src/a.py:10-60'. Or a symbol, to"
            " read its definition: 'Client.send'.",
            "outline": "Only the first lines of the definitions in the file.",
            "spans": "Several ranges of lines: ['10-20', '300-340'].",
            "cursor": "Continues a truncated answer.",
        },
    ),
)
async def read_file(
    workspace: EngineWorkspace, params: ReadFileParams, progress: Progress
) -> ReadFileResult:
    """Read line ranges of a file, several in one call.
    Use after a search: pass the path from its answer, and as `spans` the lines around each hit.

    - A name instead of a path reads the definition of that symbol: `load_plugin`, `Client.send`
    - `outline: true` reads only the lines on which definitions begin
    - Without `spans` it reads from the first line, up to `max_lines`; `cursor` continues
    - Lines are numbered from 1, as in the search tools; ranges may extend beyond the file
    - Unsaved text in the editor takes precedence over the file on disk
    - Files of any size; binary files are refused, lines longer than 2,000 characters are cut
    - `team/project:src/a.py`, as searches with `repositories` print it, reads from the team's search cluster, at the commit that was pushed
    - Documents (PDF, Word, Excel, archives, …) are read as text, with a ruler before each page or part
    """  # noqa: E501 - one sentence a line, as agents read it
    progress(f"Reading {params.path}")
    request = request_of(params)
    if place := await asyncio.to_thread(_shared_place, workspace, params):
        # Costs the import of what reads the cluster's documents.
        from winnow.search.shared.reading import read_shared_text

        found = await read_shared_text(workspace, request, place, outline=params.outline)
    elif params.outline:
        try:
            found = await _outline(workspace, request)
        except NotFound as error:
            raise await _with_named_file(workspace, error, request.path, progress) from None
    else:
        found = await _lines_or_definition(workspace, request, progress)
    return await asyncio.to_thread(page_of, params, found)


def _shared_place(workspace: EngineWorkspace, params: ReadFileParams) -> SharedPlace | None:
    """Return the place in a repository of the search cluster that the params name, if it is one."""
    if params.repository:
        return place_below(params.repository, params.path, params.commit)
    place = shared_place(params.path) if workspace.config.cluster.addresses else None
    if place is None:
        return None
    # Neither `src/a:b.py` nor `src/a.py:name` of the workspace.
    for path in (params.path, place.repository):
        with contextlib.suppress(NotFound, PathOutsideWorkspace):
            located = locate(path, workspace.search_roots(), tuple(workspace.buffers))
            if path == params.path or os.path.isfile(located.real):
                return None
    return place


async def _outline(workspace: EngineWorkspace, request: ReadRequest) -> FileText:
    """Read the lines on which the definitions of a file begin."""
    # Symbols take time to load, and most calls read lines.
    from winnow.search.files.definitions import outline_lines

    lines = await outline_lines(workspace, request.path)
    return await read_file_text(
        workspace, msgspec.structs.replace(request, ranges=merge_ranges(lines))
    )


async def _lines_or_definition(
    workspace: EngineWorkspace, request: ReadRequest, progress: Progress
) -> FileText:
    """Read lines of a file, or the definition of a symbol if no file has this name."""
    try:
        return await read_file_text(workspace, request)
    except NotFound as error:
        # A folder can't be read.
        missing = NotFound(request.path) if _is_folder(workspace, error.meant) else error
    file, name = _file_and_symbol(workspace, request.path)
    if request.ranges != merge_ranges([]) or not is_symbol_name(name):
        raise await _with_named_file(workspace, missing, request.path, progress)
    from winnow.search.files.definitions import definition_named

    try:
        definition = await definition_named(workspace, name, progress, file)
    except NotFound as error:
        if error.meant:
            raise
        if file:
            raise NotFound(request.path, f"{file!r} defines no {name!r}") from None
        missing = missing if missing.meant else error
        raise await _with_named_file(workspace, missing, request.path, progress) from None
    at = msgspec.structs.replace(request, path=definition.path, ranges=[definition.lines])
    found = await read_file_text(workspace, at)
    warnings = [*found.warnings, *definition.others]
    return msgspec.structs.replace(found, warnings=warnings, symbol=definition.symbol)


def _is_folder(workspace: EngineWorkspace, path: str) -> bool:
    return bool(path) and os.path.isdir(locate(path, workspace.search_roots()).real)


def _file_and_symbol(workspace: EngineWorkspace, path: str) -> tuple[str, str]:
    """Return the file and the symbol of a path such as `a.py:send`; "" as the file if there is
    none."""
    if found := member_of(path):
        with contextlib.suppress(NotFound, PathOutsideWorkspace):
            locate(found[0], workspace.search_roots(), tuple(workspace.buffers))
            return found
    return "", path


async def _with_named_file(
    workspace: EngineWorkspace, missing: NotFound, path: str, progress: Progress
) -> NotFound:
    """Return the error; if there are files of this name in other folders, with their paths."""
    place = place_of(path)
    bare = place[0] if place else path
    name = bare.replace("\\", "/").rpartition("/")[2]
    if f"/{missing.meant}".endswith(f"/{name}{path[len(bare) :]}"):
        return missing  # it suggests a file of this name
    from winnow.search.code.files import files_named

    try:
        found = await files_named(workspace, workspace.scope(Filters()), name, progress)
    except SearchError:
        return missing
    paths = [hit.path for hit in found.hits if f"/{hit.path}".endswith(f"/{name}")]
    if len(paths) == 1:
        meant = paths[0] + path[len(bare) :]
        return NotFound(path, f"Did you mean {meant!r}?", meant)
    several = ", ".join(paths[:NAMED_FILES])
    return NotFound(path, f"Files of this name: {several}") if several else missing


def request_of(params: ReadFileParams) -> ReadRequest:
    """Return the lines that the params request. Raise InvalidParams."""
    ranges = []
    for place, span in enumerate(params.spans):
        start = max(1, span.start)
        if span.end is not None and span.end < start:
            problem = f"its end {span.end} is before its start {start}"
            raise InvalidParams(f"spans[{place}]", problem)
        ranges.append(LineRange(start, span.end))
    first, _ = cursor.decode(params, int) or (1, None)
    return ReadRequest(params.path, merge_ranges(ranges), first, params.max_lines)


def page_of(params: ReadFileParams, found: FileText) -> ReadFileResult:
    """Return the answer, shortened to `max_tokens`."""
    lines = found.reading.lines
    short = [_shortened(line) for line in lines]
    steps = [
        lambda: _result(params, found, short, shortened=True),
        lambda: _result(params, found, short[: _fitting(params, found, short)], shortened=True),
    ]
    return shorten(_result(params, found, lines), params.max_tokens, steps)


def _fitting(params: ReadFileParams, found: FileText, lines: Sequence[ReadLine]) -> int:
    """Return the number of lines that fit, at least 1, so that the cursor makes progress."""
    fits, too_many = 1, len(lines)
    while too_many - fits > 1:
        count = (fits + too_many) // 2
        shorter = _result(params, found, lines[:count], shortened=True)
        if estimated_tokens(shorter) <= params.max_tokens:
            fits = count
        else:
            too_many = count
    return fits


def _shortened(line: ReadLine) -> ReadLine:
    if len(line.text) <= SHORT_LINE_CHARACTERS:
        return line
    text = line.text[:SHORT_LINE_CHARACTERS] + "…"
    return msgspec.structs.replace(line, text=text, cut=True)


def _result(
    params: ReadFileParams, found: FileText, lines: Sequence[ReadLine], shortened: bool = False
) -> ReadFileResult:
    """Return the answer with these lines, the first of those that were read."""
    reading = found.reading
    # Without a line, the next page would be the same.
    next_line = first_line_from(lines[-1].number + 1, found.ranges) if lines else None
    if next_line is not None and reading.ended and next_line > reading.seen:
        next_line = None
    cut = [line for line in lines if line.cut]
    reasons = list(_reasons(params, found, len(cut), shortened))
    return ReadFileResult(
        root=shown_folder(found.root),
        path=found.located.shown,
        uri=found.uri,
        repository=found.repository,
        commit=found.commit,
        total_lines=reading.seen if reading.ended else None,
        chunks=_chunks(lines, params.line_endings == "keep"),
        encoding=reading.encoding.name,
        byte_order_mark=bool(reading.encoding.mark),
        line_endings=_line_endings(lines),
        unsaved=found.unsaved,
        outline=params.outline,
        symbol=found.symbol,
        document=found.document,
        total_found=count_within(found.ranges, reading.seen),
        returned=len(lines),
        truncated=next_line is not None or bool(cut) or reading.missed,
        completeness=Completeness(
            complete=not reasons, reasons=reasons, skipped=Skipped(), timed_out=reading.missed
        ),
        warnings=list(_warnings(found, lines)),
        cursor=cursor.encode(params, next_line, found.stamp) if next_line else None,
    )


def _chunks(lines: Sequence[ReadLine], keep: bool) -> list[Chunk]:
    runs: list[list[ReadLine]] = []
    for line in lines:
        if runs and runs[-1][-1].number + 1 == line.number:
            runs[-1].append(line)
        else:
            runs.append([line])
    return [
        Chunk(
            start=run[0].number,
            end=run[-1].number,
            content="".join(line.text + (line.end if keep else line.end[-1:]) for line in run),
        )
        for run in runs
    ]


def _line_endings(lines: Sequence[ReadLine]) -> LineEndings | None:
    ends = {line.end for line in lines if line.end}
    if not ends:
        return "cr" if any("\r" in line.text for line in lines) else None
    if len(ends) > 1:
        return "mixed"
    return "crlf" if "\r\n" in ends else "lf"


def _reasons(params: ReadFileParams, found: FileText, cut: int, shortened: bool) -> Iterator[str]:
    """Yield the reasons why the answer is incomplete, or mixes two versions of the file."""
    if cut:
        limit = SHORT_LINE_CHARACTERS if shortened else LINE_CHARACTERS
        yield f"{counted(cut, 'line', 'lines')} of more than {limit:,} characters: cut"
    if found.reading.missed:
        yield (
            f"stopped after {found.seconds:g} s at line {found.reading.seen:,}: not every"
            " requested line was reached"
        )
    _, stamp = cursor.decode(params, int) or (1, found.stamp)
    if stamp != found.stamp:
        yield "the file changed since the previous page: line numbers may have shifted"


def _warnings(found: FileText, lines: Sequence[ReadLine]) -> Iterator[str]:
    yield from found.warnings
    reading = found.reading
    if reading.ended:
        for lines_range in found.ranges:
            if lines_range.start > max(reading.seen, 1):
                total = counted(reading.seen, "line", "lines")
                yield f"{_named(lines_range)} beyond the end: the file has {total}"
    elif not reading.missed:
        yield f"the lines of the file could not all be counted in {found.seconds:g} seconds"
    if invalid := [line.number for line in lines if line.invalid]:
        name = reading.encoding.name.upper()
        yield f"not valid {name}, shown with \N{REPLACEMENT CHARACTER}: {_numbers(invalid)}"
    if null := [line.number for line in lines if "\0" in line.text]:
        yield f"NUL characters, as binary files have them: {_numbers(null)}"


def _named(lines: LineRange) -> str:
    if lines.end == lines.start:
        return f"line {lines.start} is"
    return f"lines {lines.start}-{lines.end or ''} are"


def _numbers(numbers: Sequence[int]) -> str:
    """List the first line numbers, and count the others."""
    more = len(numbers) - NAMED_LINES
    shown = ", ".join(map(str, numbers[:NAMED_LINES])) + (f" and {more} more" if more > 0 else "")
    return f"line{'s' * (len(numbers) > 1)} {shown}"
