"""Params and results of grep."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import FileParams, Result, SearchAnswer

Mode = Literal["matches", "files", "counts"]


class GrepParams(FileParams, frozen=True, kw_only=True):
    """What to look for, exactly."""

    pattern: Annotated[
        str,
        Meta(
            description="The regular expression (Rust syntax) or, with `literal`, the text.",
            max_length=10_000,
        ),
    ]
    literal: Annotated[bool, Meta(description="The pattern is text, not a regular expression.")] = (
        False
    )
    case_sensitive: Annotated[bool, Meta(description="Upper and lower case differ.")] = True
    word: Annotated[bool, Meta(description="Match whole words only.")] = False
    multiline: Annotated[
        bool, Meta(description="Matches may go over line ends, which `\\n` and `\\s` match then.")
    ] = False
    include_binary: Annotated[
        bool, Meta(description="Search files with NUL bytes, too, as if they were text.")
    ] = False
    encoding: Annotated[
        str,
        Meta(
            description="The encoding of the files, such as 'latin1', 'utf-16le' or 'shift_jis', if"
            " it is neither UTF-8 nor told by a byte order mark.",
            pattern="^[A-Za-z0-9_-]{0,40}$",
        ),
    ] = ""
    context_lines: Annotated[
        int, Meta(description="Lines to show before and after each match.", ge=0, le=100)
    ] = 2
    max_results: Annotated[
        int, Meta(description="The most matches (or files) to answer.", ge=1, le=1_000_000)
    ] = 50
    mode: Annotated[
        Mode,
        Meta(
            description="'matches': each match with its lines; 'files': the files that match;"
            " 'counts': the files with the number of their matches."
        ),
    ] = "matches"


class PreviewLine(Result, frozen=True, kw_only=True):
    """A line of a file."""

    line: Annotated[int, Meta(description="Its number, from 1.")]
    text: Annotated[str, Meta(description="The line, without its end.")]
    match: Annotated[bool, Meta(description="Whether it matches; it is context otherwise.")] = False
    text_column: Annotated[
        int | None,
        Meta(
            description="The column of the first character of `text`, if a long line was cut"
            " around its match."
        ),
    ] = None


class GrepMatch(Result, frozen=True, kw_only=True):
    """A match; columns are 1-based and count code points, the end is exclusive."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    line: Annotated[int, Meta(description="The number of the line in which it begins, from 1.")]
    column: Annotated[int, Meta(description="The column at which it begins.")]
    match_range: Annotated[
        tuple[int, int],
        Meta(description="First column, and the column behind the last (in `end_line`, if any)."),
    ]
    preview: Annotated[
        list[PreviewLine],
        Meta(
            description="The line and its context. Contexts that overlap are not repeated: a line"
            " stands in one preview of an answer only."
        ),
    ]
    end_line: Annotated[
        int | None, Meta(description="The line in which a match over several lines ends.")
    ] = None
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class GrepFile(Result, frozen=True, kw_only=True):
    """A file that matches."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    matches: Annotated[
        int | None, Meta(description="How many matches it has; absent in the mode 'files'.")
    ] = None
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class GrepResult(SearchAnswer, frozen=True, kw_only=True):
    """The matches; `total_found` and `returned` count them, or files where `files` is there."""

    matches: Annotated[
        list[GrepMatch],
        Meta(description="The matches, in the order of paths; none where they were streamed."),
    ]
    files: Annotated[
        list[GrepFile] | None,
        Meta(description="In the modes 'files' and 'counts', or if `max_tokens` leaves no room."),
    ] = None
    total_matches: Annotated[
        int | None, Meta(description="How many matches there are; absent if nobody counted.")
    ] = None
    total_is_lower_bound: Annotated[
        bool, Meta(description="There may be more: the search stopped when it had enough.")
    ] = False


class GrepPartial(Result, frozen=True, kw_only=True):
    """Matches or files that add to those before, and are not in the result again."""

    matches: Annotated[list[GrepMatch], Meta(description="The next matches.")]
    files: Annotated[
        list[GrepFile] | None, Meta(description="The files, in the modes 'files' and 'counts'.")
    ] = None
