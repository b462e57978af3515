"""ripgrep: its arguments, and its ``--json`` events as matching lines of files.

Every argument list here is safe for patterns and paths of a stranger: ``--no-config`` and an
environment without ``RIPGREP_CONFIG_PATH`` keep configuration out, each pattern follows ``-e``,
each path follows ``--`` (a pattern such as ``--pre=SCRIPT`` would run that script otherwise).
"""

from __future__ import annotations

import asyncio
import bisect
import dataclasses
import itertools
import os
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.errors import InvalidParams, SearchFailed
from winnow.processes.children import Child, LogParser, Processes
from winnow.text.ignore_files import IgnoreFiles
from winnow.types import Line

# A record of `rg --json` holds its whole line (--max-columns does not apply): a line of more than
# this is a data file or a bundle, which nobody wants to be shown.
RECORD_BYTES = 4 * 1024 * 1024
MATCH = b'{"type":"match"'  # how the record of a matching line begins
NO_CONFIG = "--no-config"
# Editors apply .gitignore files in folders that are no git repository, too; ripgrep must be told.
NO_REQUIRE_GIT = "--no-require-git"
# A memory-mapped file that is cut short while it is searched ends ripgrep with SIGBUS.
SAFE = (NO_CONFIG, "--no-mmap", "--color=never", NO_REQUIRE_GIT)

# Paths of one command line, in bytes: Windows allows 32 KiB in all, Linux 128 KiB an argument.
ARGUMENT_BYTES = 20 * 1024 if os.name == "nt" else 200 * 1024


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """The environment for a ripgrep child."""
    return {name: value for name, value in base.items() if name != "RIPGREP_CONFIG_PATH"}


def match_arguments(
    rg: str, terms: Iterable[str], *, context: int, threads: int, per_file: int | None = None
) -> list[str]:
    """Arguments for structured matches of any of the terms, up to the scope and paths.

    ``context`` is lines before and after each match, ``threads`` 0 for ripgrep's own choice,
    ``per_file`` the most matching lines of one file.
    """
    return [
        rg,
        *SAFE,
        "--json",
        "--ignore-case",
        f"--context={context}",
        f"--threads={threads}",
        *([f"--max-count={per_file}"] if per_file else []),
        *(part for term in terms for part in ("-e", term)),
    ]


def list_arguments(rg: str, terms: Iterable[str], *, count: bool = False) -> list[str]:
    """Arguments for the files that match any of the terms: paths that end in NUL, or with
    ``count`` paths, NUL, number of matching lines, newline."""
    return [
        rg,
        *SAFE,
        "--ignore-case",
        "--null",
        *(["--count", "--with-filename"] if count else ["--files-with-matches"]),
        *(part for term in terms for part in ("-e", term)),
    ]


@dataclass(frozen=True)
class Ripgrep:
    """How ripgrep is run for one request; ``deadline`` is on the loop's clock, and so many
    ``seconds`` after the request began."""

    processes: Processes
    program: str
    environment: Mapping[str, str]
    deadline: float
    seconds: float
    ignore_files: IgnoreFiles | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the request began."""
        return asyncio.get_running_loop().time() - self.deadline + self.seconds

    def for_share(self, share: float) -> Ripgrep:
        """The same with a part of the time that is left."""
        left = self.deadline - asyncio.get_running_loop().time()
        return dataclasses.replace(self, deadline=self.deadline - left * (1 - share))

    def start(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        log_parser: LogParser | None = None,
        spooled: bool = False,
    ) -> Child:
        """A run, to be used in ``async with``; see :func:`start_ripgrep`."""
        return start_ripgrep(
            self.processes,
            self.ignore_files,
            [self.program, *SAFE, *arguments],
            cwd=cwd,
            deadline=self.deadline,
            environment=self.environment,
            log_parser=log_parser,
            spooled=spooled,
        )


def start_ripgrep(
    processes: Processes,
    ignore_files: IgnoreFiles | None,
    arguments: Sequence[str],
    *,
    cwd: Path,
    deadline: float,
    environment: Mapping[str, str],
    log_parser: LogParser | None = None,
    spooled: bool = False,
) -> Child:
    """Return a run of ripgrep for ``async with``, in the sandbox and without the ignore files that
    it must not read; see :meth:`Processes.start`.

    Reading its output raises IgnoreFilesChanged where it is stopped for such a file.
    """
    program, *others = arguments
    options, watchdog = ignore_files.protect(others, cwd) if ignore_files else ([], None)
    return processes.start(
        [program, *options, *others],
        cwd=cwd,
        deadline=deadline,
        environment=environment,
        log_parser=log_parser,
        spooled=spooled,
        sandboxed=True,
        watchdog=watchdog,
    )


def command_lines(paths: Sequence[str]) -> list[list[str]]:
    """The paths in portions that fit a command line."""
    portions: list[list[str]] = []
    room = 0
    for path in paths:
        cost = (len(path) if path.isascii() else len(os.fsencode(path))) + 3
        if cost > room or not portions:
            portions.append([])
            room = ARGUMENT_BYTES
        portions[-1].append(path)
        room -= cost
    return portions


class TextPattern(Struct, frozen=True):
    """One pattern, and how it is to be read."""

    pattern: str
    literal: bool = False
    case_sensitive: bool = True
    word: bool = False
    multiline: bool = False
    binary: bool = False
    encoding: str = ""

    def arguments(self) -> list[str]:
        """The options that say so, the pattern among them."""
        flags = {
            "--fixed-strings": self.literal,
            "--ignore-case": not self.case_sensitive,
            "--word-regexp": self.word,
            "--multiline": self.multiline,
            "--text": self.binary,
        }
        encoding = [f"--encoding={self.encoding}"] if self.encoding else []
        return [*(flag for flag, wanted in flags.items() if wanted), *encoding, "-e", self.pattern]


# --- events --------------------------------------------------------------------------------


class _Text(msgspec.Struct):
    text: str | None = None
    base64: str | None = msgspec.field(name="bytes", default=None)

    def raw(self) -> bytes:
        if self.text is not None:
            return self.text.encode()
        return b64decode(self.base64 or "")

    def path(self) -> str:
        return os.fsdecode(self.raw()) if self.text is None else self.text


class _Span(msgspec.Struct):
    start: int
    end: int


class _File(msgspec.Struct):
    path: _Text


class _Lines(msgspec.Struct):
    lines: _Text
    line_number: int
    absolute_offset: int
    submatches: list[_Span]


class _FileEnd(msgspec.Struct):
    path: _Text
    binary_offset: int | None


class _Stats(msgspec.Struct):
    searches: int


class _Totals(msgspec.Struct):
    stats: _Stats


class _Begin(msgspec.Struct, tag_field="type", tag="begin"):
    data: _File


class _Match(msgspec.Struct, tag_field="type", tag="match"):
    data: _Lines


class _Context(msgspec.Struct, tag_field="type", tag="context"):
    data: _Lines


class _End(msgspec.Struct, tag_field="type", tag="end"):
    data: _FileEnd


class _Summary(msgspec.Struct, tag_field="type", tag="summary"):
    data: _Totals


_decoder = msgspec.json.Decoder(_Begin | _Match | _Context | _End | _Summary)


class FileBegin(msgspec.Struct, frozen=True):
    path: str


class FileLine(msgspec.Struct, frozen=True):
    """A line that matches, or one of its context.

    ``matched`` lines hold a match or a part of one. ``ends`` has, for each match of the line that
    goes on in later lines, by its place in the line's ranges, the line and the offset it ends at.
    ``offset`` is that of the line in the file, in bytes.
    """

    number: int
    line: Line
    matched: bool = False
    ends: Mapping[int, tuple[int, int]] = {}
    offset: int = 0


class FileEnd(msgspec.Struct, frozen=True):
    path: str
    binary: bool


class Summary(msgspec.Struct, frozen=True):
    """The search came to its end; ``searched`` is the number of files it read."""

    searched: int


Event = FileBegin | FileLine | FileEnd | Summary


async def events(child: Child, width: int) -> AsyncIterator[Event]:
    """What ``rg --json`` reports, with lines of more than ``width`` characters cut."""
    async for record in child.records(b"\n", RECORD_BYTES):
        try:
            event = _decoder.decode(record)
        except msgspec.MsgspecError:
            said = record[:200].decode("utf-8", "replace")
            raise SearchFailed("ripgrep", 0, f"not an event of `rg --json`: {said}") from None
        if isinstance(event, (_Match, _Context)):
            for line in _file_lines(event.data, width, isinstance(event, _Match)):
                yield line
        elif isinstance(event, _Begin):
            yield FileBegin(event.data.path.path())
        elif isinstance(event, _End):
            yield FileEnd(event.data.path.path(), event.data.binary_offset is not None)
        else:
            yield Summary(event.data.stats.searches)


def _file_lines(data: _Lines, width: int, matched: bool) -> Iterator[FileLine]:
    """The record of a match or of context, line by line: a match can go over several."""
    text = data.lines.text
    spans = [(span.start, span.end) for span in data.submatches]
    newline = text.find("\n") if text is not None else data.lines.raw().find(b"\n")
    if newline in (-1, len(data.lines.raw() if text is None else text) - 1):
        line = _line(data.lines, spans, width)
        yield FileLine(data.line_number, line, matched, {}, data.absolute_offset)
        return
    pieces = _pieces(data.lines.raw())
    starts = list(itertools.accumulate((len(piece) for piece in pieces), initial=0))
    for place, piece in enumerate(pieces):
        first, end = starts[place], starts[place + 1]
        own = [span for span in spans if first <= span[0] < end]
        clipped = [(span[0] - first, min(span[1], end) - first) for span in own]
        ends = {
            index: _place(pieces, starts, span[1], data.line_number)
            for index, span in enumerate(own)
            if span[1] > end
        }
        line = _line(_Text(base64=b64encode(piece).decode()), clipped, width)
        yield FileLine(data.line_number + place, line, matched, ends, data.absolute_offset + first)


def _pieces(raw: bytes) -> list[bytes]:
    """The lines with their ends."""
    return [piece + b"\n" for piece in raw.removesuffix(b"\n").split(b"\n")]


def _place(
    pieces: Sequence[bytes], starts: Sequence[int], position: int, first_number: int
) -> tuple[int, int]:
    """The line in which a match ends, and the offset there, in code points."""
    place = bisect.bisect_left(starts, position) - 1
    before = pieces[place][: position - starts[place]].removesuffix(b"\n").removesuffix(b"\r")
    return first_number + place, len(before.decode("utf-8", "replace"))


def _line(lines: _Text, spans: Sequence[tuple[int, int]], width: int) -> Line:
    if lines.text is not None:
        text = lines.text
        size = len(text) if text.isascii() else len(text.encode())
        if size != len(text):
            spans = _code_points(text.encode(), spans, "utf-8")
    else:
        raw = lines.raw()
        size = len(raw)
        # Not UTF-8. A bad byte in a line of UTF-8 is a replacement character; in other lines
        # every byte is a character of Latin-1.
        text = raw.decode("utf-8", "replace")
        if any(char > "\x7f" and char != "\ufffd" for char in text):
            spans = _code_points(raw, spans, "utf-8")
        else:
            text = raw.decode("latin-1")
    size += not text.endswith("\n")
    text = text.removesuffix("\n")
    starts = [min(start, len(text)) for start, _ in spans]  # `$` stands behind a carriage return
    text = text.removesuffix("\r")
    ends = [min(end, len(text)) for _, end in spans]
    spans = [(start, max(start, end)) for start, end in zip(starts, ends, strict=True)]
    if len(text) <= width:
        return Line(text, size, tuple(spans))
    return cut_line(text, spans, width)


def _code_points(
    raw: bytes, spans: Iterable[tuple[int, int]], encoding: str
) -> list[tuple[int, int]]:
    def offset(position: int) -> int:
        return len(raw[:position].decode(encoding, "replace"))

    return [(offset(start), offset(end)) for start, end in spans]


def cut_line(text: str, spans: Sequence[tuple[int, int]], width: int) -> Line:
    """The part of a long line around its first match; ellipses stand for the rest."""
    first = spans[0][0] if spans else 0
    start = max(0, min(first - width // 4, len(text) - width))
    end = start + width
    piece = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
    size = len(piece.encode("utf-8", "replace")) + 1
    return Line(piece, size, tuple(spans), start, cut=True)


# --- failures ------------------------------------------------------------------------------

# Complaints about one file, after which ripgrep goes on: "rg: x: Permission denied (os error 13)"
_FILE_COMPLAINT = re.compile(r"^(?:rg: )?(?P<path>.+): .*\(os error (?P<number>\d+)\)$", re.M)
_GONE = {"2", "3"}  # ENOENT, and ERROR_PATH_NOT_FOUND on Windows: deleted while searched


def unreadable_files(stderr: str) -> set[str]:
    """The files that ripgrep could not read; those that were deleted meanwhile do not count."""
    return {
        found["path"] for found in _FILE_COMPLAINT.finditer(stderr) if found["number"] not in _GONE
    }


def pattern_problem(exit_code: int, stderr: str) -> str | None:
    """Why ripgrep refused the pattern, or None if it did not.

    Raises InvalidParams for a bad glob or file type, SearchFailed for any other reason not to
    search at all. To be asked only of a run that ended without a summary or a list.
    """
    if exit_code in (0, 1) or unreadable_files(stderr):
        return None
    # Complaints about an ignore file stand before the one about the pattern; those about files may
    # have any words in the names.
    general = _FILE_COMPLAINT.sub("", stderr)
    pattern = re.search(r"^rg: .*(?:regex|pattern contains)", general, re.M)
    if pattern:
        return _sentence(general[pattern.start() :])
    if "unknown encoding" in general:
        raise InvalidParams("encoding", _sentence(general))
    if "error parsing glob" in stderr:
        raise InvalidParams("include", f"or `exclude`: {_sentence(stderr)}")
    if "unrecognized file type" in stderr:
        raise InvalidParams("file_types", _sentence(stderr))
    if _FILE_COMPLAINT.search(stderr):
        return None
    raise SearchFailed("ripgrep", exit_code, stderr[:2048])


def ran_out_of_memory(stderr: str) -> bool:
    """Whether ripgrep was aborted because it may take no more memory: with `--json` it holds all
    matches of a line, of which one of 50 MB may have as many."""
    return "memory allocation of" in stderr


def _sentence(stderr: str) -> str:
    """ripgrep's complaint in one line: the one marked `error:` if there is one, else the first."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for line in lines:
        if line.startswith("error: "):
            return line.removeprefix("error: ")
    return lines[0].removeprefix("rg: ") if lines else "no message"
