"""The watching thread of macOS and Windows, which runs on every system."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from conftest import write_files
from waiting_for import until
from winnow.index.watch import portable
from winnow.index.watch.channel import WatchChannel

SECONDS = 20.0


async def test_changes_in_scope_are_reported(tmp_path: Path) -> None:
    root = write_files(tmp_path.resolve(), {"sub/a.txt": "a", "built/a.o": "a"})
    reported: set[str] = set()
    channel = WatchChannel(reported.update, lambda: None)
    unwanted = str(root / "built")
    thread = threading.Thread(
        target=portable.watch,
        args=(str(root), ".winnow", lambda path: path != unwanted, channel),
    )
    thread.start()
    try:
        await channel.begun
        write_files(root, {"built/b.o": "b", ".winnow/a": "a", ".git/objects/a": "a"})
        write_files(root, {".git/HEAD": "ref: a", "sub/a.txt": "changed", "last.txt": "last"})
        wanted = {str(root / name) for name in (".git", ".git/HEAD", "sub/a.txt", "last.txt")}
        await until(lambda: wanted - {str(root / ".git/HEAD")} <= reported)
        assert reported <= wanted
    finally:  # otherwise the tests never end
        channel.close()
    await asyncio.wait_for(channel.ended.wait(), SECONDS)
    thread.join()


async def test_a_missing_folder_ends_the_thread_with_a_reason(tmp_path: Path) -> None:
    losses: list[None] = []
    channel = WatchChannel(lambda paths: None, lambda: losses.append(None))
    await asyncio.to_thread(
        portable.watch, str(tmp_path / "none"), ".winnow", lambda path: True, channel
    )
    await channel.begun
    assert channel.reason.startswith(f"{tmp_path / 'none'} cannot be watched: ")
    assert losses == []
