"""The user's consent to send code of a workspace to a destination.

It is stored for the user, where no file of a workspace can forge it, per root and destination:
consent to one provider does not cover another. An unreadable file is no consent.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.privacy.outbound.audit_log import now
from winnow.storage.lock import locked_briefly
from winnow.storage.untrusted import read_untrusted
from winnow.storage.writing import private_folder, replace_file

LOCK_SECONDS = 2.0
# Enough for many thousands of folders.
MAX_BYTES = 16 * 1024 * 1024


class Consent(Struct):
    """The consents for one root: ``given`` has the time by destination, ``refused`` the time if the
    user wants nothing sent and no further questions."""

    given: dict[str, str] = {}
    refused: str | None = None


class Consents:
    """All consents of the user, in a folder that need not exist yet."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def given(self, roots: Iterable[str], destination: str) -> bool:
        """Return True if there is consent for each of these roots."""
        consents = self._read()
        return all(destination in consents.get(root, Consent()).given for root in roots)

    def refused(self, roots: Iterable[str]) -> bool:
        """Return True if the user refused for one of these roots."""
        consents = self._read()
        return any(consents.get(root, Consent()).refused is not None for root in roots)

    def destinations(self, roots: Iterable[str]) -> set[str]:
        """Return the destinations with consent for any of these roots."""
        consents = self._read()
        return {
            destination for root in roots for destination in consents.get(root, Consent()).given
        }

    def give(self, roots: Iterable[str], destinations: Iterable[str]) -> None:
        """Store consent to destinations for each root. Raises OSError."""
        times = dict.fromkeys(destinations, now())
        with self._changing() as consents:
            for root in roots:
                consents[root] = Consent({**consents.get(root, Consent()).given, **times})

    def refuse(self, roots: Iterable[str]) -> None:
        """Store a refusal for these roots, which also ends the questions. Raises OSError."""
        with self._changing() as consents:
            consents.update({root: Consent(refused=now()) for root in roots})

    def withdraw(self, roots: Iterable[str]) -> None:
        """Delete the consents and refusals of these roots. Raises OSError."""
        with self._changing() as consents:
            for root in roots:
                consents.pop(root, None)

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
        """Yield the consents, to change in the block while no other process does."""
        folder = self._folder
        if folder is None:
            raise FileNotFoundError("the user has no folder for state")
        private_folder(folder)
        with locked_briefly(folder / "consent.lock", LOCK_SECONDS):
            consents = self._read()
            yield consents
            replace_file(
                folder / "consent.json", msgspec.json.format(msgspec.json.encode(consents))
            )
