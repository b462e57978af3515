"""Params and results of glob."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import FileParams, Result, SearchAnswer


class GlobParams(FileParams, frozen=True, kw_only=True):
    """Which files to find."""

    pattern: Annotated[
        str,
        Meta(
            description="Glob pattern, such as 'src/**/*.rs' or '**/test_*.py', relative to the"
            " root or to `path`. A pattern without a slash is for names at any depth.",
            max_length=4_000,
        ),
    ]
    sort_by: Annotated[
        Literal["path", "mtime", "size"],
        Meta(description="'mtime': the last changed first; 'size': the largest first."),
    ] = "path"
    max_results: Annotated[int, Meta(description="The most files to answer.", ge=1, le=100_000)] = (
        100
    )


class GlobFile(Result, frozen=True, kw_only=True):
    """A file."""

    path: Annotated[str, Meta(description="The path, relative to `root`.")]
    size: Annotated[int | None, Meta(description="In bytes.")] = None
    modified: Annotated[
        str | None, Meta(description="The time of the last change, in ISO 8601, UTC.")
    ] = None
    unsaved: Annotated[
        bool,
        Meta(
            description="Open in the editor with text that is not saved, which counts for the size."
        ),
    ] = False
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class GlobResult(SearchAnswer, frozen=True, kw_only=True):
    """The files, in the order that was asked for."""

    files: Annotated[list[GlobFile], Meta(description="The files; none where they were streamed.")]


class GlobPartial(Result, frozen=True, kw_only=True):
    """Files that add to those before, and are not in the result again."""

    files: Annotated[list[GlobFile], Meta(description="The next files.")]
