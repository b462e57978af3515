"""$/tree on the wire: the editor's documents, deep answers, error kinds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conftest import requires_posix, write_files
from frontends.lsp.conftest import Client

pytestmark = pytest.mark.wire

METHOD = "$/tree"


async def test_a_tree_and_its_next_page(client: Client) -> None:
    first = await client.request(METHOD, {"max_entries": 4})
    assert first["text"] == (
        "project/\n  docs/\n    plugins.md\n  src/\n    … 3 more\n  tests/\n    … 1 more"
    )
    assert (first["total_found"], first["returned"], first["truncated"]) == (8, 4, True)
    second = await client.request(METHOD, {"max_entries": 100, "cursor": first["cursor"]})
    assert second["entries"] == [
        {
            "name": "src",
            "type": "folder",
            "files": 3,
            "children": [
                {"name": name, "type": "file"} for name in ("loader.py", "main.py", "registry.py")
            ],
        },
        {
            "name": "tests",
            "type": "folder",
            "files": 1,
            "children": [{"name": "test_loader.py", "type": "file"}],
        },
    ]
    assert (second["returned"], second["truncated"], "cursor" in second) == (4, False, False)


async def test_open_documents_are_listed_until_closed(client: Client, project: Path) -> None:
    new = project / "new/folder/x.py"

    async def lines() -> list[str]:
        result = await client.request(METHOD, {"include": ["x.py"], "show_sizes": True})
        return [line.strip() for line in result["text"].splitlines()[1:]]

    assert await lines() == []
    client.open(new, "text")
    assert await lines() == ["new/  4 B", "folder/  4 B", "x.py  4 B  (not saved)"]
    client.change(new, "more text")
    assert await lines() == ["new/  9 B", "folder/  9 B", "x.py  9 B  (not saved)"]
    write_files(project, {"new/folder/x.py": "more text"})
    assert await lines() == ["new/  9 B", "folder/  9 B", "x.py  9 B"]
    new.unlink()
    client.close(new)
    assert await lines() == []


async def test_a_deeply_nested_answer_is_sent(client: Client, project: Path) -> None:
    write_files(project, {"d/" * 150 + "file": ""})
    result = await client.request(METHOD, {"path": "d", "depth": 100})
    depth, entries = 0, result["entries"]
    while entries:
        depth, entries = depth + 1, entries[0].get("children", [])
    assert (depth, result["returned"]) == (100, 100)


@requires_posix
async def test_each_error_has_its_kind(client: Client, project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "out").symlink_to("/etc")
    for path, kind in {
        "..": "path_outside_workspace",
        "/etc": "path_outside_workspace",
        "/proc/self": "path_outside_workspace",
        "out": "path_outside_workspace",
        "pipe": "not_found",
        "nothing": "not_found",
        "src/main.py": "not_a_folder",
    }.items():
        error = await client.error(METHOD, {"path": path})
        assert (error.code, error.data) == (-32803, {"kind": kind, "path": path})
    for params, field in (
        ({"depth": 0}, "depth"),
        ({"depth": "3"}, "depth"),
        ({"include": ["{a"]}, "include[0]"),
        ({"cursor": "x"}, "cursor"),
        ({"hidden": True}, "hidden"),
    ):
        error = await client.error(METHOD, params)
        assert (error.code, error.message.partition(":")[0]) == (-32602, f"`{field}`")
