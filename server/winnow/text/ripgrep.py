"""Run ripgrep and parse its ``--json`` events into matching lines of files.

All arguments here are safe for untrusted patterns and paths. ``--no-config``, and an environment
without ``RIPGREP_CONFIG_PATH``, exclude configuration. Patterns follow ``-e`` and paths follow
``--``; otherwise a pattern such as ``--pre=SCRIPT`` would run that script.
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

# `rg --json` prints complete lines (--max-columns does not apply). A longer line is data or a
# bundle, which is useless in a result.
RECORD_BYTES = 4 * 1024 * 1024
MATCH = b'{"type":"match"'  # the start of a matching line's record
NO_CONFIG = "--no-config"
# Editors apply .gitignore files outside git repositories, too; ripgrep needs an option for that.
NO_REQUIRE_GIT = "--no-require-git"
# ripgrep dies of SIGBUS if a memory-mapped file is truncated during the search.
SAFE = (NO_CONFIG, "--no-mmap", "--color=never", NO_REQUIRE_GIT)

# Paths on one command line, in bytes. Windows allows 32 KiB in total, Linux 128 KiB per argument.
ARGUMENT_BYTES = 20 * 1024 if os.name == "nt" else 200 * 1024


class Line(Struct, frozen=True, gc=False):
    """A line of a file.

    `ranges` are the matches, as code point offsets into the complete line; a context line has none.
    `start` is the offset of `text` in a long line that was `cut`. `size` is the length of the line
    in ripgrep's plain output, without path and number, in bytes.
    """

    text: str
    size: int
    ranges: tuple[tuple[int, int], ...] = ()
    start: int = 0
    cut: bool = False


def environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a ripgrep child."""
    return {name: value for name, value in base.items() if name != "RIPGREP_CONFIG_PATH"}


def match_arguments(
    rg: str, terms: Iterable[str], *, context: int, threads: int, per_file: int | None = None
) -> list[str]:
    """Return the arguments to print matches of any term as JSON, up to the scope and paths.

    ``context`` is the number of lines before and after each match, ``threads`` 0 for ripgrep's own
    choice, ``per_file`` the maximum number of matching lines per file.
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
    """Return the arguments to list files that match any term: paths with NUL behind them, or with
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
    """The settings and limits of ripgrep for one request.

    ``deadline`` is a time on the loop's clock, ``seconds`` after the start of the request.
    """

    processes: Processes
    program: str
    environment: Mapping[str, str]
    deadline: float
    seconds: float
    ignore_files: IgnoreFiles | None = None

    @property
    def elapsed(self) -> float:
        """Seconds since the start of the request."""
        return asyncio.get_running_loop().time() - self.deadline + self.seconds

    def for_share(self, share: float) -> Ripgrep:
        """Return a copy that may use a share of the remaining time."""
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
        """Return a run for ``async with``; see :func:`start_ripgrep`."""
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
    """Return a run of ripgrep for ``async with``, in the sandbox and without unusable ignore files;
    see :meth:`Processes.start`.

    Reading its output raises IgnoreFilesChanged if a new unusable ignore file stops it.
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
    """Split paths into portions that fit a command line."""
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
    """A pattern and its interpretation."""

    pattern: str
    literal: bool = False
    case_sensitive: bool = True
    word: bool = False
    multiline: bool = False
    binary: bool = False
    encoding: str = ""

    def arguments(self) -> list[str]:
        """Return ripgrep's options for the pattern, and the pattern."""
        flags = {
            "--fixed-strings": self.literal,
            "--ignore-case": not self.case_sensitive,
            "--word-regexp": self.word,
            "--multiline": self.multiline,
            "--text": self.binary,
        }
        encoding = [f"--encoding={self.encoding}"] if self.encoding else []
        return [*(flag for flag, is_on in flags.items() if is_on), *encoding, "-e", self.pattern]


# --- events --------------------------------------------------------------------------------

# A search may have a hundred thousand lines. Structs that cannot be part of a cycle are not
# tracked, because the garbage collector would visit all of them again and again.


class _Text(msgspec.Struct, gc=False):
    text: str | None = None
    base64: str | None = msgspec.field(name="bytes", default=None)

    def raw(self) -> bytes:
        if self.text is not None:
            return self.text.encode()
        return b64decode(self.base64 or "")

    def path(self) -> str:
        return os.fsdecode(self.raw()) if self.text is None else self.text


class _Span(msgspec.Struct, gc=False):
    start: int
    end: int


class _File(msgspec.Struct):
    path: _Text
    binary_offset: int | None = None


class _Lines(msgspec.Struct, gc=False):
    lines: _Text
    line_number: int
    absolute_offset: int
    submatches: list[_Span]


class _Stats(msgspec.Struct):
    searches: int


class _Totals(msgspec.Struct):
    stats: _Stats


class _Begin(msgspec.Struct, tag_field="type", tag="begin"):
    data: _File


class _Match(msgspec.Struct, tag_field="type", tag="match", gc=False):
    data: _Lines


class _Context(msgspec.Struct, tag_field="type", tag="context", gc=False):
    data: _Lines


class _End(msgspec.Struct, tag_field="type", tag="end"):
    data: _File


class _Summary(msgspec.Struct, tag_field="type", tag="summary"):
    data: _Totals


_decoder = msgspec.json.Decoder(_Begin | _Match | _Context | _End | _Summary)


class FileBegin(msgspec.Struct, frozen=True):
    path: str


class FileLine(msgspec.Struct, frozen=True, gc=False):
    """A matching line or a line of context.

    ``matched`` lines contain a match or a part of one. If a match continues in later lines,
    ``ends`` maps its index in the line's ranges to the line and the offset where it ends.
    ``offset`` is the position of the line in the file, in bytes.
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
    """The search is complete; ``searched`` is the number of files that it read."""

    searched: int


Event = FileBegin | FileLine | FileEnd | Summary


async def events(child: Child, width: int) -> AsyncIterator[Event]:
    """Yield the events of ``rg --json``, with lines cut to ``width`` characters."""
    async for record in child.records(b"\n", RECORD_BYTES):
        try:
            event = _decoder.decode(record)
        except msgspec.MsgspecError:
            start = record[:200].decode("utf-8", "replace")
            raise SearchFailed("ripgrep", 0, f"not an event of `rg --json`: {start}") from None
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
    """Yield the lines of a record: a match can span several."""
    text = data.lines.text
    spans = [(span.start, span.end) for span in data.submatches]
    newline = text.find("\n") if text is not None else data.lines.raw().find(b"\n")
    if newline in (-1, len(data.lines.raw() if text is None else text) - 1):
        line = _line(data.lines, spans, width)
        yield FileLine(data.line_number, line, matched, {}, data.absolute_offset)
        return
    pieces = [piece + b"\n" for piece in data.lines.raw().removesuffix(b"\n").split(b"\n")]
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


def _place(
    pieces: Sequence[bytes], starts: Sequence[int], position: int, first_number: int
) -> tuple[int, int]:
    """Return the line in which a match ends, and the offset of the end, in code points."""
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
        # Not UTF-8. If the line has other UTF-8, a bad byte becomes a replacement character;
        # otherwise each byte is a character of Latin-1.
        text = raw.decode("utf-8", "replace")
        if any(char > "\x7f" and char != "\ufffd" for char in text):
            spans = _code_points(raw, spans, "utf-8")
        else:
            text = raw.decode("latin-1")
    size += not text.endswith("\n")
    ended = text.removesuffix("\n")
    text = ended.removesuffix("\r")
    if spans and spans[-1][1] > len(text):
        starts = [min(start, len(ended)) for start, _ in spans]  # `$` is behind a carriage return
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
    """Return the part of a long line around its first match, with ellipses for the rest."""
    first = spans[0][0] if spans else 0
    start = max(0, min(first - width // 4, len(text) - width))
    end = start + width
    piece = ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
    size = len(piece.encode("utf-8", "replace")) + 1
    return Line(piece, size, tuple(spans), start, cut=True)


_SIGNS = re.compile(r"[()\[\]{}?*+|^$\\.]")


def escaped(text: str) -> str:
    """Return the regular expression of a literal text. Python escapes more than ripgrep accepts."""
    return _SIGNS.sub(r"\\\g<0>", text)


def plain_line(text: str, width: int) -> Line:
    """Return a line without matches, cut to its beginning if it is long."""
    if len(text) > width:
        return cut_line(text, (), width)
    return Line(text, len(text.encode("utf-8", "replace")) + 1)


# --- failures ------------------------------------------------------------------------------

# Errors about a file, after which ripgrep continues: "rg: x: Permission denied (os error 13)". If
# the path contains line ends, this is its last line, which may be empty.
_FILE_ERROR = re.compile(r"^(?:rg: )?(?P<path>.*): .*\(os error (?P<number>\d+)\)$", re.M)
_GONE = {"2", "3"}  # ENOENT, and ERROR_PATH_NOT_FOUND on Windows: deleted while searched


def unreadable_files(stderr: str) -> set[str]:
    """Return the files that ripgrep could not read, except those deleted meanwhile."""
    return {found["path"] for found in _FILE_ERROR.finditer(stderr) if found["number"] not in _GONE}


def pattern_problem(exit_code: int, stderr: str) -> str | None:
    """Return why ripgrep rejected the pattern, or None if it did not.

    Call this only for a run without a summary or a list. Raises InvalidParams for a bad glob or
    file type, SearchFailed for any other reason not to search.
    """
    if exit_code in (0, 1) or unreadable_files(stderr):
        return None
    # Errors about an ignore file come before one about the pattern. Errors about files may contain
    # any words, in the names.
    general = _FILE_ERROR.sub("", stderr)
    pattern = re.search(r"^rg: .*(?:regex|pattern contains)", general, re.M)
    if pattern:
        return _sentence(general[pattern.start() :])
    if "unknown encoding" in general:
        raise InvalidParams("encoding", _sentence(general))
    if "error parsing glob" in stderr:
        raise InvalidParams("include", f"or `exclude`: {_sentence(stderr)}")
    if "unrecognized file type" in stderr:
        raise InvalidParams("file_types", _sentence(stderr))
    if _FILE_ERROR.search(stderr):
        return None
    raise SearchFailed("ripgrep", exit_code, stderr[:2048])


def ran_out_of_memory(exit_code: int, stderr: str) -> bool:
    """Return True if ripgrep reached its memory limit: with `--json` it holds all matches of a
    line, and a line of 50 MB may have 50 million."""
    # An error about a file may contain these words, in the name.
    return exit_code not in (0, 1, 2) and "memory allocation of" in stderr


def _sentence(stderr: str) -> str:
    """Return ripgrep's error as one line: the one marked `error:`, or the first."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for line in lines:
        if line.startswith("error: "):
            return line.removeprefix("error: ")
    return lines[0].removeprefix("rg: ") if lines else "no message"
