"""Draw a terminal's screen as SVG, which is small, sharp and readable as text."""

from __future__ import annotations

from html import escape
from itertools import groupby

import pyte

WIDTH, HEIGHT, SIZE = 8.4, 18, 14
FOREGROUND, BACKGROUND = "#e0e2ea", "#14161b"
# The 16 colors of the terminal, by pyte's names.
NAMED = {
    "black": "#14161b", "red": "#ffc0b9", "green": "#b3f6c0", "brown": "#fce094",
    "blue": "#a6dbff", "magenta": "#ffcaff", "cyan": "#8cf8f7", "white": "#e0e2ea",
}  # fmt: skip


def _color(name: str, default: str) -> str:
    if name == "default":
        return default
    return NAMED.get(name.removeprefix("bright"), f"#{name}")


def picture(screen: pyte.Screen, title: str) -> str:
    """Return the screen as SVG."""
    width, height = screen.columns * WIDTH, screen.lines * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
        f' font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace"'
        f' font-size="{SIZE}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:g}" height="{height:g}" rx="6" fill="{BACKGROUND}"/>',
    ]
    for row in range(screen.lines):
        parts += _row(screen, row)
    return "\n".join([*parts, "</svg>", ""])


def _row(screen: pyte.Screen, row: int) -> list[str]:
    def style(column: int) -> tuple[str, str, bool]:
        cell = screen.buffer[row][column]
        front, back = _color(cell.fg, FOREGROUND), _color(cell.bg, BACKGROUND)
        return (back, front, cell.bold) if cell.reverse else (front, back, cell.bold)

    backs, texts = [], []
    for (front, back, bold), run in groupby(range(screen.columns), style):
        columns = list(run)
        x, length = columns[0] * WIDTH, len(columns) * WIDTH
        text = "".join(screen.buffer[row][column].data for column in columns)
        if back != BACKGROUND:
            backs.append(
                f'<rect x="{x:g}" y="{row * HEIGHT}" width="{length:g}" height="{HEIGHT}"'
                f' fill="{back}"/>'
            )
        if text.strip():
            weight = ' font-weight="bold"' if bold else ""
            texts.append(
                f'<text x="{x:g}" y="{row * HEIGHT + 13}" fill="{front}"{weight}'
                f' textLength="{length:g}" xml:space="preserve">{escape(text)}</text>'
            )
    return backs + texts
