"""Generate all pages: one for each tool, the list of tools, the errors, and the settings."""

from __future__ import annotations

from pathlib import Path

from reference.error_page import error_page
from reference.example import project, run
from reference.settings_page import settings_page
from reference.tool_page import index_page, tool_page
from winnow.tools import TOOLS

DOCS = Path(__file__).parents[2] / "docs"


async def all_pages() -> dict[str, str]:
    """Run the examples and return all pages by their files, relative to ``docs/``."""
    pages = {
        "tools/README.md": index_page(),
        "errors.md": error_page(),
        "settings.md": settings_page(),
    }
    with project() as folder:
        for tool in TOOLS.values():
            pages[f"tools/{tool.command}.md"] = tool_page(tool, await run(tool, folder))
    return pages


def generated_files() -> set[str]:
    """Return the existing generated pages, relative to ``docs/``."""
    files = [*DOCS.glob("tools/*.md"), DOCS / "errors.md", DOCS / "settings.md"]
    return {file.relative_to(DOCS).as_posix() for file in files if file.exists()}
