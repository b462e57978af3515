"""The files that searches cover and the index does not; apart because it loads no index."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.types import Result


class NotCovered(Result, frozen=True, kw_only=True):
    """Files that searches cover and the index does not, by reason. A reason without files is
    absent."""

    excluded: Annotated[
        int | None, Meta(description="Files that match `index.exclude_patterns`.")
    ] = None
    too_large: Annotated[
        int | None, Meta(description="Files larger than `limits.parse_bytes`.")
    ] = None
    secret: Annotated[
        int | None, Meta(description="Files that hold keys or passwords, by name or format.")
    ] = None
    binary: Annotated[int | None, Meta(description="Binary files.")] = None
    unreadable: Annotated[int | None, Meta(description="Files that could not be read.")] = None
    size_limit: Annotated[
        int | None, Meta(description="Files left out because of `index.max_index_size_mb`.")
    ] = None
    failed: Annotated[
        int | None, Meta(description="Files that a worker could not parse in its time or memory.")
    ] = None
