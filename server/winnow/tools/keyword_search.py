"""keyword_search: where something is, asked by concept."""

from __future__ import annotations

from winnow.display import printable
from winnow.tool import tool
from winnow.types import KeywordSearchParams, KeywordSearchResult, Progress
from winnow.workspace import Workspace

NOTHING = "No relevant files found"


def plain(result: KeywordSearchResult) -> str:
    """The design's lines, ``/absolute/path: reason``, best first."""
    lines = [
        printable(f"{(file.root or result.root).rstrip('/')}/{file.path}: {file.reason}")
        for file in result.files
    ]
    return "\n".join(lines) if lines else NOTHING


@tool(plain=plain)
async def keyword_search(
    workspace: Workspace, params: KeywordSearchParams, progress: Progress
) -> KeywordSearchResult:
    """keyword_search locates files with a search-and-filter approach.
    Use when navigating unfamiliar codebases with only conceptual understanding or vague user questions.

    Effective use:
    - Provide a detailed query for accurate relevance ranking
    - Prefer MANY SPECIFIC terms over FEW GENERAL ones (high precision beats high recall)
    - Order search terms by importance (most important first)
    - Supports regex search terms for flexible matching

    IMPORTANT: Do NOT use this tool if you have precise information like log lines, error messages, stack traces, filenames, or symbols. Use direct approaches (rg, cat, etc.) instead.
    """  # noqa: E501 - the design's own text, line by line
    # Not needed to start a server or to print help.
    from winnow.keyword_search import search_keywords

    return await search_keywords(workspace, params, progress)
