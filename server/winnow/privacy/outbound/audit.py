"""The log of what left this machine: a line when a request is made, and one when it has ended.

The lines are JSON, only ever added, by all processes of the user, one at a time. The first line is
there before anything is sent, so that a process that is killed cannot have sent in silence. Full
files are renamed, and the oldest goes.
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
from winnow.storage.writing import appending, move_file, private_folder

FILE_BYTES = 8 * 1024 * 1024
OLDER_FILES = 4
# Whoever has the lock reads some files at most.
LOCK_SECONDS = 5.0
_DAY = len("2026-01-01")

# The purpose of a request. Earlier versions also had a model order folders ("index_order").
Purpose = Literal["keyword_search", "index_order"]
Outcome = Literal["answered", "broken_off", "failed"]


class SentRequest(
    Struct, frozen=True, kw_only=True, omit_defaults=True, tag="sent", tag_field="event"
):
    """A request that is about to be made: where to, and what is in it, but not the contents.

    ``tokens`` is what it takes at most: those sent, as estimated, and the most that may be written;
    ``usd`` what these cost, where prices are known. ``remote`` is False for this machine.
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
    """What became of a request, and what it took, as far as that was told.

    'failed': it did not get there, or was refused, which costs nothing. 'broken_off': no whole
    answer came.
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
    """A request in the log; ``ended`` is None while it runs, and where its process was killed."""

    sent: SentRequest
    ended: RequestEnd | None

    @property
    def tokens(self) -> int:
        """What it counts as: what was told, else the most that it can have been."""
        ended = self.ended
        if ended and ended.input_tokens is not None:
            return ended.input_tokens + (ended.output_tokens or 0)
        return 0 if ended and ended.outcome == "failed" else self.sent.tokens

    @property
    def usd(self) -> float:
        """What it counts as in US dollars; 0 where no prices are known."""
        if self.ended and self.ended.usd is not None:
            return self.ended.usd
        return 0.0 if self.tokens == 0 else self.sent.usd or 0.0


class DayUse(Struct, frozen=True):
    """What left this machine in a day."""

    day: str = ""
    requests: int = 0
    tokens: int = 0
    usd: float = 0.0


class LogContents(Struct, frozen=True):
    """What the log holds, the oldest request first; ``unreadable`` lines are damaged."""

    requests: Sequence[LoggedRequest]
    unreadable: int


_decoder = msgspec.json.Decoder(SentRequest | RequestEnd)


def now() -> str:
    """The time as the log has it: UTC, to be read by people and compared as text."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class AuditLog:
    """The log in a folder of the user's, which is made when something is taken down; None where
    there can be no such folder."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def begin(self, sent: SentRequest, check: Callable[[DayUse], None], *, needs_use: bool) -> None:
        """Take down a request before it is made, unless ``check`` raises.

        It is told what the day has used so far, if that is needed. No other process begins a
        request meanwhile, so that two do not pass below a cap that has room for one. Raises
        OSError.
        """
        with self._locked() as folder:
            check(self._used(folder, sent.time[:_DAY]) if needs_use else DayUse())
            _append(folder, msgspec.json.encode(sent))

    def end(self, ended: RequestEnd) -> None:
        """Take down what became of a request. Raises OSError."""
        with self._locked() as folder:
            _append(folder, msgspec.json.encode(ended))

    def read(self) -> LogContents:
        """All requests that the log still has. Raises OSError."""
        if self.folder is None or not self.folder.exists():
            return LogContents([], 0)
        with self._locked() as folder:
            return _log([_read(file) for file in _files(folder)])

    def used_on(self, day: str) -> DayUse:
        """What left this machine on a day, such as '2026-01-31'. Raises OSError."""
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
        sent = [
            one for one in _log(texts).requests if one.sent.remote and one.sent.time[:_DAY] == day
        ]
        tokens, usd = sum(one.tokens for one in sent), sum(one.usd for one in sent)
        return DayUse(day, len(sent), tokens, usd)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[Path]:
        if self.folder is None:
            raise FileNotFoundError("there is no folder for what is kept for the user")
        private_folder(self.folder)
        with locked_briefly(self.folder / "audit.lock", LOCK_SECONDS):
            yield self.folder


def _files(folder: Path) -> list[Path]:
    """The files of the log that are there, the oldest first."""
    names = [_older(folder, number) for number in range(OLDER_FILES, 0, -1)]
    return [file for file in (*names, folder / "audit.jsonl") if file.is_file()]


def _read(file: Path) -> bytes:
    # It is renamed when it is about to be larger; a single line can be.
    return read_untrusted(file, 2 * FILE_BYTES)


def _older(folder: Path, number: int) -> Path:
    return folder / f"audit.{number}.jsonl"


def _append(folder: Path, line: bytes) -> None:
    file = folder / "audit.jsonl"
    with contextlib.suppress(FileNotFoundError):
        if file.stat().st_size + len(line) > FILE_BYTES:
            _rotate(folder, file)
    with appending(file) as log:
        # Whoever was killed in the midst of a line, or had no room for it, has left a part.
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
        [LoggedRequest(one, ended.get(one.id)) for one in requests.values()], unreadable
    )


def _begins_before(text: bytes, day: str) -> bool:
    """Whether a file of the log goes back to before a day: its first line does."""
    with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError):
        first: SentRequest | RequestEnd = _decoder.decode(text[: text.find(b"\n")])
        return first.time[:_DAY] < day
    return False
