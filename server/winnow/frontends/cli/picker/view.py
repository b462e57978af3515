"""The lines of the picker, as pieces of text with the names of their styles."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice

from prompt_toolkit.utils import get_cwidth

from winnow.frontends.cli.picker.state import Picker, Row

Line = list[tuple[str, str]]

LINES_PER_ROW = 2
KEYS_WITHOUT_EDITOR = ("Esc quits", "↑↓ choose", "Ctrl-U clears")
KEYS = ("Ctrl-O prints", *KEYS_WITHOUT_EDITOR)
# The part of the width that shows what is before the first match of a long line.
BEFORE_MATCH = 1 / 3


# --- the list ------------------------------------------------------------------------------


def list_lines(picker: Picker, first: int, width: int, height: int) -> list[Line]:
    """Return the lines of the rows from index ``first`` on."""
    rows = islice(enumerate(picker.answer.rows), first, first + -(-height // LINES_PER_ROW))
    words = picker.answer.words
    return [
        line
        for index, row in rows
        for line in _row_lines(row, words, width, is_selected=index == picker.selected)
    ][:height]


def first_row(first: int, selected: int, height: int) -> int:
    """Return the first row of a list that shows the selected one, near the one before."""
    visible = max(1, height // LINES_PER_ROW)
    return max(min(first, selected), selected - visible + 1)


def _row_lines(
    row: Row, words: re.Pattern[str] | None, width: int, *, is_selected: bool
) -> Iterator[Line]:
    """Yield the file, the line, the folder and the reason, then the line of code."""
    folder, name = os.path.split(row.path)
    marker, style = ("class:marker", "class:selected") if is_selected else ("", "class:name")
    title = cut(name if row.best is None else f"{name}:{row.best}", width - 2)
    room = width - 2 - get_cwidth(title)
    code = row.code.expandtabs(1).strip()
    # Without code, the second line is free for the reason.
    why = row.why if code else ""
    folder = shortened(folder, (room if not why else room // 2) - 2)
    room -= get_cwidth(folder) + 2
    line: Line = [(marker, "> " if is_selected else "  "), (style, title)]
    if folder:
        line.append(("class:dim", f"  {folder}"))
    if why:
        line.append(("class:dim", f"  {cut(why, room - 2)}"))
    yield cut_line(line, width)
    below = highlighted(scrolled(code, words, width - 4), words)
    yield cut_line([("", "    "), *(below if code else [("class:dim", row.why)])], width)


# --- the preview ---------------------------------------------------------------------------


def preview_lines(picker: Picker, width: int, height: int) -> list[Line]:
    """Return the name of the file of the preview, and its lines around the best one."""
    shown = picker.preview
    if shown is None or not picker.answer.rows:
        return []
    row = shown.row
    title: Line = [("class:name", shortened(row.path, width))]
    if shown.problem:
        return [title, [("class:dim", cut(shown.problem, width))]][:height]
    best = row.best or 1
    # The best line is a third of the way down.
    start = max(0, min(best - shown.first - height // 3, len(shown.lines) - height + 1))
    column = len(str(shown.first + len(shown.lines)))
    lines = [title]
    for number, text in enumerate(shown.lines[start : start + height - 1], shown.first + start):
        is_best = row.best == number
        numbered: Line = [
            ("class:marker", "> ") if is_best else ("", "  "),
            ("class:number", f"{number:{column}}  "),
        ]
        is_found = (row.line or best) <= number <= (row.last or best)
        code = highlighted(text, picker.answer.words if is_found else None)
        if is_best:
            code = [(f"{style} class:best", piece) for style, piece in code]
        lines.append(cut_line([*numbered, *code], width))
    return lines[:height]


# --- other lines ---------------------------------------------------------------------------


def summary_line(picker: Picker, width: int) -> Line:
    """Return the size of the answer, and what a running search does."""
    parts = [picker.answer.summary, picker.progress]
    return [("class:dim", cut("  " + "; ".join(filter(None, parts)), width))]


def note_lines(picker: Picker, width: int, most: int = 2) -> list[Line]:
    """Return what the answer lacks, on at most two lines."""
    text = "; ".join(picker.answer.notes)
    lines: list[Line] = []
    while text and width > 2:
        is_last = len(lines) == most - 1
        piece = cut(text, width) if is_last else _whole_words(text, width)
        lines.append([("class:note", piece)])
        text = "" if is_last else text[len(piece) :].lstrip()
    return lines


def keys_line(width: int, *, opens: bool) -> Line:
    """Return the keys, as many as fit. Enter ``opens`` a row if there is an editor for it."""
    shown = ""
    for key in ("Enter opens", *KEYS) if opens else ("Enter prints", *KEYS_WITHOUT_EDITOR):
        longer = f"{shown}  {key}" if shown else key
        if get_cwidth(longer) > width:
            break
        shown = longer
    return [("class:dim", shown)]


# --- widths --------------------------------------------------------------------------------


def cut(text: str, width: int) -> str:
    """Return the start of a text that fits in a number of columns, with `…` if it is longer."""
    if get_cwidth(text) <= width:
        return text
    return _fitting(text, width - 1) + "…" if width > 0 else ""


def shortened(path: str, width: int) -> str:
    """Return a path, or `…` and its last folders if it is longer than a number of columns."""
    if get_cwidth(path) <= width:
        return path
    end = _fitting(path[::-1], width - 1)[::-1]
    name = end.find("/")
    return "…" + (end[name:] if name >= 0 else end) if width > 0 else ""


def _fitting(text: str, width: int) -> str:
    used = 0
    for index, character in enumerate(text):
        used += get_cwidth(character)
        if used > width:
            return text[:index]
    return text


def _whole_words(text: str, width: int) -> str:
    """Return the first words of a text that fit, or the start of a word that is too long."""
    fitting = _fitting(text, width)
    if text[len(fitting) : len(fitting) + 1] in ("", " "):
        return fitting
    return fitting.rpartition(" ")[0] or fitting


def cut_line(line: Line, width: int) -> Line:
    """Cut a line to a number of columns."""
    shown: Line = []
    for style, text in line:
        piece = cut(text, width)
        shown.append((style, piece))
        width -= get_cwidth(piece)
        if piece != text:
            break
    return shown


def scrolled(code: str, words: re.Pattern[str] | None, width: int) -> str:
    """Return a line of code from a place on where its first match is in view."""
    found = words.search(code) if words else None
    if found is None or get_cwidth(code[: found.end()]) <= width:
        return code
    return "…" + code[max(0, found.start() - int(width * BEFORE_MATCH)) :]


def highlighted(text: str, words: re.Pattern[str] | None) -> Line:
    """Return a text with the words of the query highlighted."""
    line, at = Line(), 0
    for found in words.finditer(text) if words else ():
        line += [("", text[at : found.start()]), ("class:match", found.group())]
        at = found.end()
    line.append(("", text[at:]))
    return [(style, piece) for style, piece in line if piece]
