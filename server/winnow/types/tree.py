"""Params and results of tree."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Answer, PageParams, Pattern, Result


class TreeParams(PageParams, frozen=True, kw_only=True):
    """Of which folder to show the structure, and how much of it."""

    path: Annotated[
        str,
        Meta(description="Folder, absolute or relative to the root.", max_length=4_000),
    ] = "."
    depth: Annotated[int, Meta(description="Levels of folders to show.", ge=1, le=100)] = 3
    include: Annotated[
        list[Pattern],
        Meta(description="Glob patterns of files to show, such as '*.py'.", max_length=100),
    ] = []
    exclude: Annotated[
        list[Pattern],
        Meta(
            description="Glob patterns of files to leave out, such as 'vendor/**'.", max_length=100
        ),
    ] = []
    show_hidden: Annotated[bool, Meta(description="Show hidden files and folders, too.")] = False
    show_sizes: Annotated[
        bool, Meta(description="Show the size of files, in bytes, and of folders.")
    ] = False
    include_ignored: Annotated[
        bool, Meta(description="Show files that .gitignore and similar files exclude, too.")
    ] = False
    include_submodules: Annotated[
        bool, Meta(description="Show git submodules that are checked out, too.")
    ] = False
    max_entries: Annotated[
        int, Meta(description="The most entries to answer.", ge=1, le=100_000)
    ] = 500


class TreeEntry(Result, frozen=True, kw_only=True):
    """A file, a folder or a symlink, which is not followed."""

    name: Annotated[str, Meta(description="Its name, without the folders above it.")]
    type: Annotated[Literal["file", "folder", "symlink"], Meta(description="What it is.")]
    size: Annotated[
        int | None, Meta(description="In bytes; of a folder, that of all files below it.")
    ] = None
    files: Annotated[
        int | None, Meta(description="How many files are below a folder, at any depth.")
    ] = None
    children: Annotated[
        list[TreeEntry] | None,
        Meta(description="What is in a folder; absent at the limit of `depth`."),
    ] = None
    omitted: Annotated[
        int | None,
        Meta(
            description="How many of a folder's own entries are not in this answer; of a folder at"
            " the limit of `depth`, how many files are below it."
        ),
    ] = None
    target: Annotated[str | None, Meta(description="What a symlink says it leads to.")] = None
    unsaved: Annotated[
        bool, Meta(description="Open in the editor with text that is not saved.")
    ] = False
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class TreeResult(Answer, frozen=True, kw_only=True):
    """The structure of the folder; `total_found` and `returned` count entries at any depth."""

    entries: Annotated[list[TreeEntry], Meta(description="What is in the folder, by name.")]
    text: Annotated[str, Meta(description="The same as indented lines.")]
