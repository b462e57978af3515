"""Run the picker as a command: open the chosen row in the editor, or print its place."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from pathlib import Path

from winnow.frontends.cli import editor
from winnow.frontends.cli.guarded import FAILED, FOUND, INTERRUPTED
from winnow.frontends.cli.picker.screen import Screen
from winnow.frontends.cli.picker.searches import Searches, SearchFailed, SharedFile
from winnow.frontends.cli.picker.state import Action, Choice, Picker, Row
from winnow.storage.writing import create_file, temporary_folder


def run() -> int:
    """Show the picker. Return the exit code: 0, that of the editor, or 130 if the user quits."""
    # Without a handler, warnings would be written into the screen.
    logging.getLogger().addHandler(logging.NullHandler())
    chosen_editor = editor.of_user(os.environ)
    try:
        choice, shared = asyncio.run(_choose(opens=bool(chosen_editor.command)))
    except EOFError:  # the terminal is gone
        choice, shared = None, None
    except SearchFailed as failed:
        print(f"winnow: {failed}", file=sys.stderr)
        return FAILED
    if choice is None:
        return INTERRUPTED
    if choice.action is Action.OPEN:
        if chosen_editor.problem:
            print(f"winnow: {chosen_editor.problem}", file=sys.stderr)
        code = _open(chosen_editor, choice.row, shared)
        if code is not None:
            return code
    print(_place(choice.row))
    return FOUND


def _open(chosen_editor: editor.Editor, row: Row, shared: SharedFile | None) -> int | None:
    """Open a row; a file that only the search cluster has as a read-only copy, which is deleted
    when the editor ends."""
    if shared is None or shared.local:
        file = shared.local if shared and shared.local else row.file
        return chosen_editor.open(file, row.best or 1)
    with temporary_folder("winnow-") as folder:
        copy = Path(folder, os.path.basename(row.file))
        create_file(copy, shared.text.encode("utf-8", "replace"))
        copy.chmod(0o400)
        return chosen_editor.open(str(copy), row.best or 1)


async def _choose(*, opens: bool) -> tuple[Choice | None, SharedFile | None]:
    """Return the row that the user chooses, or None if they quit; and its file of the
    search cluster if that is to be opened. Raise SearchFailed."""
    searches = Searches()
    try:
        choice = await Screen(Picker(), searches, opens=opens).run()
        if choice is None:
            return None, None
        await searches.record(choice)
        is_read = opens and choice.action is Action.OPEN and choice.row.repository
        return choice, await searches.read(choice.row) if is_read else None
    finally:
        await searches.aclose()


def _place(row: Row) -> str:
    return row.path if row.best is None else f"{row.path}:{row.best}"
