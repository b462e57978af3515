"""Collect the stack traces of a text, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from winnow.ranking.query.errors import ErrorMessage, error_of
from winnow.ranking.query.frames import (
    Frame,
    call_of,
    ends_trace,
    frame_of,
    is_of_python,
    rust_name,
)

# More frames are those of an endless recursion.
MOST_FRAMES = 200
MOST_ERRORS = 50

# Every frame has the number of a line.
_HAS_NUMBER = re.compile(r"[:( ]\d")
_TRACEBACK = re.compile(r"(?:E  +)?Traceback \(most recent call last\)")
# What links a trace to the one before it, which is then of lesser interest: this one caused it, or
# replaced it.
_CHAIN = re.compile(
    r"During handling of the above exception|The above exception was the direct cause|"
    r"Caused by:|\[cause\]:|Suppressed:"
)
# A task of Ansible, behind its role. Its name is text in the code, as that of a message.
_TASK = re.compile(r"(?:TASK|RUNNING HANDLER) \[(?:[\w./-]{1,200} : )?([^\]\n]{1,200})\]")
# The line of a function that fails, as pytest marks it before it prints the place.
_FAILING = re.compile(r">\s{3,}(\S.*)")
# Lines of traces without a place or a message.
_OTHER = re.compile(
    r"goroutine \d+ \[|exit status \d|[Ss]tack (?:back)?trace|note: run with `RUST|Node\.js v\d|"
    r"[\^~ ]+$|\.{3} \d+ (?:more|common|lines)|\[signal |\[Previous line repeated|"
    r"at (?:async )?[\w$.<>/]+ ?\(|#\d+ \{main\}|#\d{1,4} +0x[0-9a-f]+ |created by |"
    r"\[C\]: (?:in )?|thrown in |={5,}$|\d{1,4}: +[\w<]+(?:::|$)|"
    r"(?:created by )?[\w./*()$\[\]-]+\.[\w.*()$\[\]-]+\((?:0x|\.\.\.|\)|\{)"
)


class _Trace:
    """The errors and frames of a trace, as printed."""

    def __init__(self, *, is_python: bool) -> None:
        self.errors: list[ErrorMessage] = []
        self.frames: list[Frame] = []
        # Names of functions in frames without a place.
        self.calls: list[str] = []
        # Python prints the deepest frame last, and then the error.
        self.is_python = is_python

    @property
    def awaits_error(self) -> bool:
        """True if the frames of Python have been read, but not yet the error."""
        return self.is_python and not self.errors

    def add(self, error: ErrorMessage) -> None:
        """Add an error; one without a message is completed by the next."""
        if self.errors and not self.errors[-1].text:
            error = ErrorMessage(error.text, error.kind or self.errors.pop().kind)
        self.errors.append(error)

    def add_source(self, code: str) -> None:
        """Add a line of the source, which follows its frame."""
        if self.frames and not self.frames[-1].code:
            self.frames[-1] = msgspec.structs.replace(self.frames[-1], code=code)


def is_traceback(text: str) -> bool:
    """Return True if a line introduces a stack trace of Python."""
    return bool(_TRACEBACK.match(text))


class Traces:
    """The stack traces and error messages of a text whose lines are read one after another."""

    def __init__(self) -> None:
        self._traces: list[_Trace] = []
        self._current: _Trace | None = None
        self._is_chained = False
        self._has_message_next = False
        self._frames = self._errors = 0
        self._task = self._failing = ""

    def frames(self) -> Iterator[Frame]:
        """Yield the frames, the deepest first; of a chain, those of the last trace first."""
        for trace in self._traces:
            yield from reversed(trace.frames) if trace.is_python else trace.frames

    def calls(self) -> Iterator[str]:
        """Yield the functions of frames without a place, the deepest first."""
        placed = {rust_name(frame.function) for frame in self.frames()}
        for trace in self._traces:
            yield from (call for call in trace.calls if call not in placed)

    def errors(self) -> Iterator[ErrorMessage]:
        """Yield the errors, in the order of the traces."""
        for trace in self._traces:
            yield from trace.errors

    def read(self, line: str, before: str) -> bool:
        """Read a line; return False if it is no part of a trace, and no error message.

        ``before`` is the line before it.
        """
        text = line.strip()
        if _CHAIN.match(text):
            self._is_chained = True
        if is_traceback(text):
            self._open(is_python=True)
            return True
        if found := _FAILING.match(line):
            self._failing = found[1]
        frame = frame_of(line, before) if _HAS_NUMBER.search(text) else None
        is_in_traceback = self._current is not None and self._current.awaits_error
        if self._has_message_next and frame is None and self._current is not None:
            self._has_message_next = False
            self._current.add(ErrorMessage(text))
            return True
        if (
            self._current is not None
            and self._current.awaits_error
            and frame is None
            and line[:4].isspace()
        ):
            self._current.add_source(text)
            return True
        error = error_of(
            text, after_frames=is_in_traceback and bool(self._current and self._current.frames)
        )
        if found := _TASK.match(text):
            self._task = found[1]
        if error is not None and self._errors < MOST_ERRORS:
            if self._task:
                self._add_error(ErrorMessage(self._task))
                self._task = ""
            self._add_error(error)
        if frame is not None and self._frames < MOST_FRAMES:
            self._add_frame(frame, text)
        if frame is None and self._current is not None and len(self._current.calls) < MOST_FRAMES:
            self._current.calls += filter(None, [call_of(text)])
        is_chain, self._is_chained = self._is_chained, self._is_chained and error is None
        return bool(frame or error or is_chain or (self._current and _OTHER.match(text)))

    def _add_error(self, error: ErrorMessage) -> None:
        self._errors += 1
        current = self._current
        if current is None or not (current.awaits_error or _is_open(current)):
            current = self._open()
        current.add(error)
        self._has_message_next = not (error.text or error.kind)

    def _add_frame(self, frame: Frame, text: str) -> None:
        self._frames += 1
        current, is_python = self._current, is_of_python(text)
        is_next = is_python and not (current and current.awaits_error) and not ends_trace(text)
        if current is None or is_next:
            current = self._open(is_python=is_python)
        if is_python and self._failing:
            frame = msgspec.structs.replace(frame, code=self._failing)
            self._failing = ""
        if frame.path.endswith(".php") and frame.function:
            # PHP names what the line calls: the function around the place before.
            if current.frames and not current.frames[-1].function:
                before = current.frames.pop()
                current.frames.append(Frame(before.path, before.line, frame.function))
            frame = Frame(frame.path, frame.line)
        current.frames.append(frame)

    def _open(self, *, is_python: bool = False) -> _Trace:
        trace = _Trace(is_python=is_python)
        is_chained = self._is_chained and self._current is not None
        at = self._traces.index(self._current) if is_chained and self._current else None
        self._traces.insert(len(self._traces) if at is None else at, trace)
        self._current = trace
        self._is_chained = False
        return trace


def _is_open(trace: _Trace) -> bool:
    """Return True if the message of the last error is still to come."""
    return bool(trace.errors) and not trace.errors[-1].text and not trace.frames
