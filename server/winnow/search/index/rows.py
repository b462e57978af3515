"""The rows of a report on the state of the index; apart because this loads no index."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.index.not_covered import NotCovered
from winnow.types import Result, TextsIndexed


class FolderStatus(Result, frozen=True, kw_only=True):
    """The index of one workspace folder."""

    folder: Annotated[str, Meta(description="The absolute path of the folder.")]
    state: Annotated[
        Literal["none", "opening", "building", "ready", "stale", "paused"],
        Meta(
            description="'none': there is no index, see `problem`. 'opening': it is being compared"
            " with the files on disk. 'building': not all files are indexed yet. 'stale': changed"
            " files are being indexed. 'paused': updates are paused, see `waits_for`."
        ),
    ]
    files_indexed: Annotated[int, Meta(description="Number of indexed files.")]
    files_total: Annotated[int, Meta(description="Number of files to index, so far.")]
    files_with_occurrences: Annotated[
        int,
        Meta(
            description="Number of source files whose occurrences of names are stored. A search for"
            " references reads other files that contain the name first, which takes longer."
        ),
    ]
    not_covered: Annotated[NotCovered, Meta(description="Files that are not indexed, by reason.")]
    failed_files: Annotated[
        list[str] | None,
        Meta(
            description="The first files that took too much time or memory to index, each with the"
            " reason; absent if there are none."
        ),
    ] = None
    texts_indexed: TextsIndexed = None
    files_without_occurrences: Annotated[
        int | None,
        Meta(
            description="Number of the other source files; absent for none. A server reads them"
            " while the machine is idle."
        ),
    ] = None
    commits: Annotated[
        int | None,
        Meta(
            description="Number of commits whose messages help to find files; absent if none are"
            " known."
        ),
    ] = None
    store: Annotated[
        str | None, Meta(description="The index on disk; absent if it cannot be written.")
    ] = None
    bytes_on_disk: Annotated[
        int | None, Meta(description="Size on disk, in bytes, including all of its files.")
    ] = None
    updated_at: Annotated[
        float, Meta(description="Time of the last update, in seconds since 1970; 0 for never.")
    ] = 0.0
    watching: Annotated[
        Literal["editor", "events", "asked"],
        Meta(
            description="How changes are detected: the 'editor' reports them, by file system"
            " 'events', or by a scan when a request 'asked' for the index."
        ),
    ] = "asked"
    watching_why: Annotated[
        str | None, Meta(description="Why file system events are not used, if so.")
    ] = None
    problem: Annotated[
        str | None, Meta(description="Why the index is missing or incomplete; the last error.")
    ] = None
    damage: Annotated[
        str | None,
        Meta(
            description="What is damaged on disk. Searches use what is still readable while a new"
            " index is built."
        ),
    ] = None
    replaced: Annotated[
        str | None, Meta(description="When and why it replaced a damaged index, if it did.")
    ] = None


class IndexStatusSettings(Result, frozen=True, kw_only=True):
    """The settings in effect, see the section `index`."""

    enabled: Annotated[bool, Meta(description="True if folders are indexed at all.")]
    max_files: Annotated[
        int, Meta(description="Folders with more files are indexed only on request.")
    ]
    max_index_size_mb: Annotated[int, Meta(description="Maximum size on disk.")]
    max_memory_usage_mb: Annotated[
        int, Meta(description="Maximum memory of the server and its workers together.")
    ]
    cpu_throttle_threshold: Annotated[
        float, Meta(description="Share of CPU in use above which background work waits.")
    ]
    exclude_patterns: Annotated[
        list[str], Meta(description="Glob patterns of files that are not indexed.")
    ]
    watch: Annotated[bool, Meta(description="True if folders are watched for changes.")]
    embeddings: Annotated[str, Meta(description="The kind of vectors that are stored, if any.")]


class IndexStatus(Result, frozen=True, kw_only=True):
    """The index of all folders, and the processes that build it."""

    folders: Annotated[list[FolderStatus], Meta(description="The index of each folder.")]
    settings: Annotated[IndexStatusSettings, Meta(description="The settings in effect.")]
    workers: Annotated[int, Meta(description="Number of worker processes now.")] = 0
    memory_mb: Annotated[
        float | None,
        Meta(description="Private memory of the server and its workers, in MB, if known."),
    ] = None
    workers_memory_mb: Annotated[
        float | None, Meta(description="The workers' part of it, in MB.")
    ] = None
    paused: Annotated[bool, Meta(description="True if `index` has paused the background work.")] = (
        False
    )
    waits_for: Annotated[
        str | None,
        Meta(description="Why background work waits now: pause, load, memory or requests."),
    ] = None
    embeddings: Annotated[
        str | None, Meta(description="The model of the stored vectors; null if there are none.")
    ] = None
