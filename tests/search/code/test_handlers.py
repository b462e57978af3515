"""Requests in frameworks where the path of a file is its route."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import answered
from conftest import MakeWorkspace, write_files
from winnow.config import Config, IndexSettings
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["code_search"]
NO_INDEX = Config(index=IndexSettings(enabled=False))

FILES = {
    # Next.js
    "web/src/app/api/users/[id]/route.ts": (
        "import db from 'db'\n\nexport async function GET() {}\n\nexport const POST = create\n"
    ),
    "web/src/app/api/users/me/route.ts": "export async function GET() {}\n",
    "web/src/app/(main)/@side/users/[id]/page.tsx": "export default function Page() {}\n",
    "web/src/app/api/users/[id]/table.tsx": "export function Table() {}\n",
    "old/pages/api/files/[...path].ts": "export default function handler() {}\n",
    "old/pages/index.tsx": "export default function Home() {}\n",
    # Nuxt, SvelteKit, Remix
    "nuxt/server/api/chats/[id].get.ts": "export default defineEventHandler(() => 1)\n",
    "nuxt/server/api/chats/[id].delete.ts": "export default defineEventHandler(() => 1)\n",
    "svelte/src/routes/books/[slug]/+server.ts": "export function PUT() {}\n",
    "remix/app/routes/_auth.teams.$team.tsx": "export const loader = 1\n",
    # Express
    "express/routes/orders.js": "const router = express.Router()\n",
}


async def search(workspace: EngineWorkspace, query: str) -> CodeSearchResult:
    raw = {"query": query}
    return await answered(TOOL, CodeSearchResult, workspace, raw, no_progress, items="results")


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ("GET /api/users/5", "web/src/app/api/users/[id]/route.ts:3"),
        ("POST /api/users/5?x=1 404", "web/src/app/api/users/[id]/route.ts:5"),
        ("GET /api/users/me", "web/src/app/api/users/me/route.ts:1"),
        ("/users/7", "web/src/app/(main)/@side/users/[id]/page.tsx:1"),
        ("http://localhost:3000/api/files/a/b.pdf", "old/pages/api/files/[...path].ts:1"),
        ("DELETE /api/chats/5", "nuxt/server/api/chats/[id].delete.ts:1"),
        ("PUT /books/moby-dick", "svelte/src/routes/books/[slug]/+server.ts:1"),
        ("GET /teams/5", "remix/app/routes/_auth.teams.$team.tsx:1"),
        ("GET /orders", "express/routes/orders.js:1"),
    ],
)
@pytest.mark.parametrize("has_index", [True, False])
async def test_the_path_of_a_file_is_its_route(
    make_workspace: MakeWorkspace,
    tmp_path: Path,
    has_index: bool,
    request_line: str,
    expected: str,
) -> None:
    workspace = make_workspace(write_files(tmp_path, FILES), config=NO_INDEX)
    if has_index:
        workspace.reconfigure(Config())
        await workspace.index.build()
    result = await search(workspace, request_line)
    first = result.results[0]
    assert f"{first.path}:{first.best_line or first.line}" == expected
    assert first.why == "its path is the route"
    assert (result.search_type_used, result.fallback) == ("file", None)
    assert "no such" not in result.reason
    assert "no file" not in result.reason


@pytest.mark.parametrize("request_line", ["GET /api/users/5/table", "POST /api/chats/5", "GET /x"])
async def test_another_path_is_no_route(
    make_workspace: MakeWorkspace, tmp_path: Path, request_line: str
) -> None:
    workspace = make_workspace(write_files(tmp_path, FILES), config=NO_INDEX)
    result = await search(workspace, request_line)
    assert "no such route is declared" in result.reason
