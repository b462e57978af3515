"""tree: the structure of a folder."""

from __future__ import annotations

from winnow.errors import SEARCHING, NotAFolder
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of
from winnow.types import Progress
from winnow.types.tree import TreeParams, TreeResult
from winnow.workspace import Workspace


def text(result: TreeResult, style: Style, folder: str) -> str:
    """Indented lines; then what was left out."""
    summary = f"{result.returned} of {result.total_found} entries"
    return "\n".join([result.text, "", *notes_of(result, summary, style)])


def plain(result: TreeResult) -> str:
    """The same without colours."""
    return text(result, FOR_AGENTS, "")


@tool(
    plain=plain,
    text=text,
    positional=("path",),
    example={"depth": 2, "show_sizes": True},
    raises=(NotAFolder, *SEARCHING),
)
async def tree(workspace: Workspace, params: TreeParams, progress: Progress) -> TreeResult:
    """Show the structure of a folder as a tree, with counts of what was left out.

    Effective use:
    - Start with the default depth at the root of a code base you do not know
    - `… 42 files` behind a folder says what `depth` cut off: call again with that `path`
    - Folders near the top come first where `max_entries` is not enough; `cursor` shows the rest
    - `include: ["*.py"]` shows only the folders that hold such files
    """
    # Not needed to start a server or to print help.
    from winnow.search.files.tree import show_tree

    return await show_tree(workspace, params, progress)
