"""Params and results of index_status: what there is to know of the index.

The engine answers with an :class:`IndexStatus`, too, to which the request adds nothing but what
every answer has.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Answer, Params, Result


class IndexStatusParams(Params, frozen=True, kw_only=True):
    """No parameters."""


class NotCovered(Result, frozen=True, kw_only=True):
    """Files that searches cover and the index does not, by reason; a reason without files is
    absent."""

    excluded: Annotated[int | None, Meta(description="By `index.exclude_patterns`.")] = None
    too_large: Annotated[
        int | None, Meta(description="Larger than `limits.parse_bytes`: nothing is kept of them.")
    ] = None
    secret: Annotated[
        int | None, Meta(description="Files that hold keys or passwords by their name or form.")
    ] = None
    binary: Annotated[int | None, Meta(description="No text.")] = None
    unreadable: Annotated[int | None, Meta(description="What may not be read.")] = None
    size_limit: Annotated[
        int | None,
        Meta(description="Left out to keep the index within `index.max_index_size_mb`."),
    ] = None
    failed: Annotated[
        int | None, Meta(description="What a worker could not read in its time or memory.")
    ] = None


class FolderStatus(Result, frozen=True, kw_only=True):
    """The index of one workspace folder."""

    folder: Annotated[str, Meta(description="The folder, absolute.")]
    state: Annotated[
        Literal["none", "opening", "building", "ready", "stale", "paused"],
        Meta(
            description="'none': there is none, see `problem`. 'opening': it is being compared with"
            " the files on disk. 'building': it does not know all files yet. 'stale': files have"
            " changed since, and are being read. 'paused': it is not kept up by itself, see"
            " `waits_for`."
        ),
    ]
    files_indexed: Annotated[int, Meta(description="Files that it knows.")]
    files_total: Annotated[int, Meta(description="Files that it is to know, as far as listed.")]
    not_covered: Annotated[NotCovered, Meta(description="Files that it leaves out, and why.")]
    store: Annotated[
        str | None, Meta(description="Where it is on disk; none where nothing can be written.")
    ] = None
    bytes_on_disk: Annotated[
        int | None, Meta(description="What it takes on disk, all of its files together.")
    ] = None
    updated_at: Annotated[
        float, Meta(description="When it was changed last, in seconds since 1970; 0 for never.")
    ] = 0.0
    watching: Annotated[
        Literal["editor", "events", "asked"],
        Meta(
            description="How changes are heard of: the 'editor' tells, 'events' of the file system,"
            " or files are looked at when somebody 'asked'."
        ),
    ] = "asked"
    watching_why: Annotated[
        str | None, Meta(description="Why not by events, where that is so.")
    ] = None
    problem: Annotated[
        str | None, Meta(description="Why it is not what it should be; the last error.")
    ] = None
    damage: Annotated[
        str | None,
        Meta(
            description="What is wrong with its files. The index answers what can still be read,"
            " and a new one is built beside it."
        ),
    ] = None
    replaced: Annotated[
        str | None,
        Meta(description="When and why it has taken the place of a damaged index, if it has."),
    ] = None


class IndexStatusSettings(Result, frozen=True, kw_only=True):
    """The settings that hold, see the section `index`."""

    enabled: Annotated[bool, Meta(description="Whether an index is kept at all.")]
    max_files: Annotated[int, Meta(description="A folder with more is indexed only if asked for.")]
    max_index_size_mb: Annotated[int, Meta(description="The most that it takes on disk.")]
    max_memory_usage_mb: Annotated[
        int, Meta(description="The most memory of server and workers together.")
    ]
    cpu_throttle_threshold: Annotated[
        float, Meta(description="The part of the processors above which the background waits.")
    ]
    exclude_patterns: Annotated[list[str], Meta(description="Files of which nothing is kept.")]
    watch: Annotated[bool, Meta(description="Whether folders are watched for changes.")]
    embeddings: Annotated[str, Meta(description="Which vectors are made, if any.")]


class IndexStatus(Result, frozen=True, kw_only=True):
    """The index of all folders, and what works on it."""

    folders: Annotated[list[FolderStatus], Meta(description="The index of each folder.")]
    settings: Annotated[IndexStatusSettings, Meta(description="The settings that apply.")]
    workers: Annotated[int, Meta(description="How many processes read files now.")] = 0
    memory_mb: Annotated[
        float | None,
        Meta(description="Memory of server and workers together, their own, in MB, where known."),
    ] = None
    workers_memory_mb: Annotated[
        float | None, Meta(description="Of this, the workers', in MB.")
    ] = None
    paused: Annotated[
        bool, Meta(description="Whether somebody has stopped the background, see `index`.")
    ] = False
    waits_for: Annotated[
        str | None,
        Meta(description="Why the background waits just now: a pause, load, memory, requests."),
    ] = None
    embeddings: Annotated[
        str | None, Meta(description="The model whose vectors are kept, or why there is none.")
    ] = None


class IndexStatusResult(Answer, frozen=True, kw_only=True):
    """The state of the index; `total_found` and `returned` count folders."""

    index: Annotated[IndexStatus, Meta(description="The index of all folders.")]
