"""Consent to send code of a workspace to a destination, as somebody gave it.

It is kept for the user, where no file of a workspace can put it, and for each root and destination
by itself: whoever agreed to one provider has not agreed to the next. What cannot be read is no
consent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.privacy.outbound.audit import now
from winnow.storage.lock import locked_briefly
from winnow.storage.untrusted import read_untrusted
from winnow.storage.writing import private_folder, replace_file

LOCK_SECONDS = 2.0
# Of consents for many thousands of folders.
MAX_BYTES = 16 * 1024 * 1024


class Consent(Struct):
    """What was said for one root: ``given`` has the time by destination, ``refused`` the time if
    nothing may be sent and nobody is to be asked again."""

    given: dict[str, str] = {}
    refused: str | None = None


class Consents:
    """All consents of the user, in a folder that need not exist yet."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def given(self, roots: Iterable[str], destination: str) -> bool:
        """Whether there is consent for each of these roots."""
        known = self._read()
        return all(destination in known.get(root, Consent()).given for root in roots)

    def refused(self, roots: Iterable[str]) -> bool:
        """Whether sending was refused for one of these roots."""
        known = self._read()
        return any(known.get(root, Consent()).refused is not None for root in roots)

    def destinations(self, roots: Iterable[str]) -> set[str]:
        """What there is consent for, for any of these roots."""
        known = self._read()
        return {one for root in roots for one in known.get(root, Consent()).given}

    def give(self, roots: Iterable[str], destinations: Iterable[str]) -> None:
        """Consent to some destinations for each root. Raises OSError."""
        times = dict.fromkeys(destinations, now())
        with self._changing() as known:
            for root in roots:
                known[root] = Consent({**known.get(root, Consent()).given, **times})

    def refuse(self, roots: Iterable[str]) -> None:
        """Have nothing sent, and nobody asked, for these roots. Raises OSError."""
        with self._changing() as known:
            known.update({root: Consent(refused=now()) for root in roots})

    def withdraw(self, roots: Iterable[str]) -> None:
        """Forget what was said for these roots. Raises OSError."""
        with self._changing() as known:
            for root in roots:
                known.pop(root, None)

    def _read(self) -> dict[str, Consent]:
        if self._folder is None:
            return {}
        try:
            text = read_untrusted(self._folder / "consent.json", MAX_BYTES)
            return msgspec.json.decode(text, type=dict[str, Consent])
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            return {}

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, Consent]]:
        """What is known, to be changed in the block, while no other process changes it."""
        folder = self._folder
        if folder is None:
            raise FileNotFoundError("there is no folder for what is kept for the user")
        private_folder(folder)
        with locked_briefly(folder / "consent.lock", LOCK_SECONDS):
            known = self._read()
            yield known
            replace_file(folder / "consent.json", msgspec.json.format(msgspec.json.encode(known)))
