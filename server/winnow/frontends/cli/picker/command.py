"""Run the picker as a command: open the chosen row in the editor, or print its place."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from winnow.frontends.cli import editor
from winnow.frontends.cli.guarded import FOUND, INTERRUPTED
from winnow.frontends.cli.picker.screen import Screen
from winnow.frontends.cli.picker.searches import Searches
from winnow.frontends.cli.picker.state import Action, Choice, Picker, Row


def run() -> int:
    """Show the picker. Return the exit code: 0, that of the editor, or 130 if the user quits."""
    # Without a handler, warnings would be written into the screen.
    logging.getLogger().addHandler(logging.NullHandler())
    chosen_editor = editor.of_user(os.environ)
    try:
        choice = asyncio.run(_choose(opens=bool(chosen_editor.command)))
    except EOFError:  # the terminal is gone
        choice = None
    if choice is None:
        return INTERRUPTED
    if choice.action is Action.OPEN:
        if chosen_editor.problem:
            print(f"winnow: {chosen_editor.problem}", file=sys.stderr)
        code = chosen_editor.open(choice.row.file, choice.row.best or 1)
        if code is not None:
            return code
    print(_place(choice.row))
    return FOUND


async def _choose(*, opens: bool) -> Choice | None:
    """Return the row that the user chooses, or None if they quit."""
    searches = Searches()
    try:
        choice = await Screen(Picker(), searches, opens=opens).run()
        if choice is not None:
            await searches.record(choice)
    finally:
        await searches.aclose()
    return choice


def _place(row: Row) -> str:
    return row.path if row.best is None else f"{row.path}:{row.best}"
