"""The log of what left this machine: one line before a request is sent, and one at its end.

All processes of the user append JSON lines, one process at a time. The first line is written before
anything is sent, so that even a killed process leaves a trace. Full files are renamed, and the
oldest is deleted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from winnow.storage.lock import locked_briefly
from winnow.storage.untrusted import read_untrusted
from winnow.storage.writing import move_file, open_for_append, private_folder

FILE_BYTES = 8 * 1024 * 1024
OLDER_FILES = 4
# The holder of the lock reads a few files at most.
LOCK_SECONDS = 5.0
_DAY = len("2026-01-01")

# The purpose of a request. Earlier versions also had a model order folders ("index_order").
Purpose = Literal["keyword_search", "index_order", "shared_search"]
Outcome = Literal["answered", "broken_off", "failed"]


class SentRequest(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag="sent", tag_field="event"
):
    """A request that is about to be sent: its destination and a description, but not its contents.

    ``tokens`` is the maximum: the estimated input plus the limit of the output. ``usd`` is the cost
    of those, if prices are configured. ``remote`` is False for this machine.
    """

    id: str
    time: str
    purpose: Purpose
    workspace: Sequence[str]
    model: str
    provider: str
    destination: str
    remote: bool
    files: Sequence[str]
    bytes: int
    redactions: Mapping[str, int]
    tokens: int
    usd: float | None = None


class RequestEnd(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag="ended", tag_field="event"
):
    """The outcome of a request, with the usage that the server reported.

    'failed': the request did not arrive or was refused, at no cost. 'broken_off': the answer was
    incomplete.
    """

    id: str
    time: str
    outcome: Outcome
    answered_by: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usd: float | None = None


class LoggedRequest(Struct, frozen=True):
    """A logged request; ``ended`` is None while it runs, or if its process was killed."""

    sent: SentRequest
    ended: RequestEnd | None

    @property
    def tokens(self) -> int:
        """The tokens that count: those reported, or else the maximum."""
        ended = self.ended
        if ended and ended.input_tokens is not None:
            return ended.input_tokens + (ended.output_tokens or 0)
        return 0 if ended and ended.outcome == "failed" else self.sent.tokens

    @property
    def usd(self) -> float:
        """The cost in US dollars that counts; 0 without prices."""
        if self.ended and self.ended.usd is not None:
            return self.ended.usd
        return 0.0 if self.tokens == 0 else self.sent.usd or 0.0


class DayUse(Struct, frozen=True):
    """The remote requests of a day."""

    day: str = ""
    requests: int = 0
    tokens: int = 0
    usd: float = 0.0


class LogContents(Struct, frozen=True):
    """The contents of the log, oldest request first; ``unreadable`` lines are damaged."""

    requests: Sequence[LoggedRequest]
    unreadable: int


_decoder = msgspec.json.Decoder(SentRequest | RequestEnd)


def now() -> str:
    """Return the current time in UTC, readable and comparable as text."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class AuditLog:
    """The log in a folder of the user, created on first use; None if there cannot be one."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def begin(self, sent: SentRequest, check: Callable[[DayUse], None], *, needs_use: bool) -> None:
        """Log a request before it is sent, unless ``check`` raises.

        ``check`` gets the day's use if ``needs_use``. No other process can begin a request
        meanwhile, so that two requests cannot both pass a cap with room for one. Raises OSError.
        """
        with self._locked() as folder:
            check(self._used(folder, sent.time[:_DAY]) if needs_use else DayUse())
            _append(folder, msgspec.json.encode(sent))

    def end(self, ended: RequestEnd) -> None:
        """Log the end of a request. Raises OSError."""
        with self._locked() as folder:
            _append(folder, msgspec.json.encode(ended))

    def read(self) -> LogContents:
        """Return all requests in the log. Raises OSError."""
        if self.folder is None or not self.folder.exists():
            return LogContents([], 0)
        with self._locked() as folder:
            return _log([_read(file) for file in _files(folder)])

    def used_on(self, day: str) -> DayUse:
        """Return the use on a day, such as '2026-01-31'. Raises OSError."""
        if self.folder is None or not self.folder.exists():
            return DayUse(day)
        with self._locked() as folder:
            return self._used(folder, day)

    def _used(self, folder: Path, day: str) -> DayUse:
        texts: list[bytes] = []
        for file in reversed(_files(folder)):
            texts.insert(0, _read(file))
            if _begins_before(texts[0], day):
                break
        requests = [
            request
            for request in _log(texts).requests
            if request.sent.remote and request.sent.time[:_DAY] == day
        ]
        tokens, usd = sum(r.tokens for r in requests), sum(r.usd for r in requests)
        return DayUse(day, len(requests), tokens, usd)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[Path]:
        if self.folder is None:
            raise FileNotFoundError("the user has no folder for state")
        private_folder(self.folder)
        with locked_briefly(self.folder / "audit.lock", LOCK_SECONDS):
            yield self.folder


def _files(folder: Path) -> list[Path]:
    """Return the existing files of the log, oldest first."""
    names = [_older(folder, number) for number in range(OLDER_FILES, 0, -1)]
    return [file for file in (*names, folder / "audit.jsonl") if file.is_file()]


def _read(file: Path) -> bytes:
    # A file is renamed before it exceeds its limit, but a single line can.
    return read_untrusted(file, 2 * FILE_BYTES)


def _older(folder: Path, number: int) -> Path:
    return folder / f"audit.{number}.jsonl"


def _append(folder: Path, line: bytes) -> None:
    file = folder / "audit.jsonl"
    with contextlib.suppress(FileNotFoundError):
        if file.stat().st_size + len(line) > FILE_BYTES:
            _rotate(folder, file)
    with open_for_append(file) as log:
        # A process that was killed, or a full disk, may have left part of a line.
        if size := log.seek(0, os.SEEK_END):
            log.seek(size - 1)
            line = line if log.read(1) == b"\n" else b"\n" + line
        if log.write(line + b"\n") != len(line) + 1:
            raise OSError(f"{file}: no room for a line")


def _rotate(folder: Path, file: Path) -> None:
    for number in range(OLDER_FILES, 1, -1):
        with contextlib.suppress(FileNotFoundError):
            move_file(_older(folder, number - 1), _older(folder, number))
    move_file(file, _older(folder, 1))


def _log(texts: Sequence[bytes]) -> LogContents:
    requests: dict[str, SentRequest] = {}
    ended: dict[str, RequestEnd] = {}
    unreadable = 0
    for line in b"\n".join(texts).split(b"\n"):
        if not line:
            continue
        try:
            event = _decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            unreadable += 1
            continue
        if isinstance(event, SentRequest):
            requests[event.id] = event
        else:
            ended[event.id] = event
    return LogContents(
        [LoggedRequest(sent, ended.get(sent.id)) for sent in requests.values()], unreadable
    )


def _begins_before(text: bytes, day: str) -> bool:
    """Return True if the first line of a log file is from before a day."""
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
        first: SentRequest | RequestEnd = _decoder.decode(text[: text.find(b"\n")])
        return first.time[:_DAY] < day
    return False
