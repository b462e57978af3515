"""Restore the line breaks of a stack trace.

An input field of one line replaces the line breaks of a text pasted into it with spaces, as the
search box of VS Code does. What begins a line of a trace tells where they were. A log in JSON
escapes them.
"""

from __future__ import annotations

import re

from winnow.ranking.query.frames import call_of, frame_of

_TYPE = r"[A-Z]\w{0,80}(?:Error|Exception|Warning|Interrupt|Exit|Iteration)"
# Each alternative is anchored at one space, so that the time is linear.
_BREAK = re.compile(
    # The indentation of a frame, or of a line of the source.
    r"(?<!\s)(?<!\bE) (?= {2,}\S|\t)|"
    # What introduces or continues a trace.
    r" (?=Traceback \(most recent call last\)|During handling of the above|The above exception was|"
    r"[Ss]tack (?:back)?trace(?:back)?:|Caused by: |Suppressed: |goroutine \d|exit status \d|"
    r"note: run with `RUST|created by |<frozen |#\d{1,4}:? |\d{1,4}: +0x|thread '|E {3})|"
    # A place, or a frame of Firefox.
    r"(?<![\s)])(?<!at) (?=[^\s:\"'()]{1,300}\.\w{1,5}:\d{1,7}(?::\d{1,7})?(?:: |:in ))|"
    r" (?=[^\s@]{0,100}@\w+://)|"
    # An error behind the frames of Python.
    r"(?<!except)(?<!raise)(?<!Uncaught)(?<!exception\.)(?<!\d:)(?<!E  ) "
    rf"(?=(?:\w{{1,80}}\.){{0,12}}{_TYPE}(?:: |$)|(?:[a-z_]\w{{0,80}}\.){{1,12}}[A-Z]\w{{0,80}}: )"
)


def with_line_breaks(text: str) -> list[str]:
    """Return the lines of a text of one line: several if one is then a frame of a stack trace."""
    unescaped = text.replace("\\n", "\n").replace("\\t", "\t")
    lines = [line for line in _BREAK.sub("\n", unescaped).split("\n") if line.strip()]
    pairs = zip(lines[1:], lines, strict=False)
    is_trace = any(frame_of(line, before) or call_of(line) for line, before in pairs)
    return lines if is_trace else [text]
