"""Leave out what the cells of Jupyter notebooks have printed: their code and notes are searched."""

from __future__ import annotations

import re

NOTEBOOK = ".ipynb"
# A list of outputs with some, as all common programs write it: each list and text on its own lines.
_OUTPUTS = re.compile(rb'( *)"outputs": \[\s*')


def without_outputs(text: bytes) -> bytes:
    """Return the text of a notebook with empty lines instead of the outputs of its cells: pictures,
    tables and logs, by which most notebooks would be considered data."""
    lines = []
    end: bytes | None = None
    for line in text.split(b"\n"):
        if end is None:
            lines.append(line)
            if opened := _OUTPUTS.fullmatch(line):
                end = opened[1] + b"]"
        else:
            lines.append(b"")
            if line.startswith(end):
                end = None
    return b"\n".join(lines)
