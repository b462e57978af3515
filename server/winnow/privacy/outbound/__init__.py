"""What may leave this machine, and what has: consents, caps, and the log of every request.

:class:`Egress` stands before every request to a language model; there is no way around it (see
:meth:`winnow.ranking.models.Models.ask`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from winnow.config import LlmSettings, ModelSettings
from winnow.privacy.outbound.audit import AuditLog, DayUse, SentRequest
from winnow.privacy.outbound.caps import cap_problem
from winnow.privacy.outbound.consent import Consents
from winnow.storage.paths import shown_path
from winnow.storage.user_folders import state_folder

__all__ = ["Egress", "RequestBlocked", "destination_of", "is_this_machine"]

REFUSED = "sending code of this workspace was refused: `winnow consent give` allows it"
_LOOPBACK = re.compile(r"127(?:\.[0-9]{1,3}){3}")
Roots = Callable[[], Sequence[Path]]


class RequestBlocked(Exception):
    """A request that may not be made; the message says why, and what would help."""


class Egress:
    """What may be sent to a model from the ``roots`` of a workspace, and that it was.

    ``settings`` are the user's. Consents and the log are shared by all processes of the user.
    """

    def __init__(
        self, settings: LlmSettings, environment: Mapping[str, str], roots: Roots = tuple[Path]
    ) -> None:
        folder = state_folder(environment)
        self.log = AuditLog(folder)
        self.consents = Consents(folder)
        self._settings = settings
        self._roots = roots

    def roots(self) -> list[str]:
        """The folders that consent is given for."""
        shown = (shown_path(os.path.realpath(root)) for root in self._roots())
        return [uri or path for path, uri in shown]

    def needs_consent(self, model: ModelSettings, address: str) -> bool:
        """Whether a model is elsewhere, and it is not settled by itself that it may be asked."""
        is_elsewhere = model.provider != "editor" and not is_this_machine(address)
        return is_elsewhere and self._settings.consent != "always"

    def consent_problem(self, model: ModelSettings, address: str) -> str | None:
        """Why the model may not be asked, in words that say what would help; None if it may."""
        if not self.needs_consent(model, address):
            return None
        destination, roots = destination_of(address), self.roots()
        if self.consents.refused(roots):
            return REFUSED
        if roots and self.consents.given(roots, destination):
            return None
        return no_consent([destination])

    def begin(self, sent: SentRequest, model: ModelSettings) -> None:
        """Take down that a request is made, before it is. Raises NotAllowedOut at a cap, and where
        it cannot be taken down that something leaves."""

        def check(used: DayUse) -> None:
            problem = cap_problem(self._settings, model, sent, used) if sent.remote else None
            if problem:
                raise RequestBlocked(problem)

        try:
            self.log.begin(sent, check, needs_use=sent.remote and has_daily_cap(self._settings))
        except OSError as error:
            if sent.remote:
                raise RequestBlocked(
                    f"what is sent cannot be taken down in {self.log.folder}: {error}"
                ) from error


def no_consent(destinations: Sequence[str]) -> str:
    """Why nothing is sent to these, in one sentence that says what to do."""
    return (
        f"no consent to send code of this workspace to {', '.join(destinations)}: run `winnow"
        ' consent give` in it, or set `llm.consent` to "always" in your own settings'
    )


def has_daily_cap(settings: LlmSettings) -> bool:
    return settings.daily_tokens is not None or settings.daily_usd is not None


def destination_of(address: str) -> str:
    """Where an address leads to, without what may be secret in it: scheme, host and port."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}"


def is_this_machine(address: str) -> bool:
    """Whether what is sent to an address stays on this machine."""
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or _LOOPBACK.fullmatch(host) is not None
