"""Control what leaves this machine: consent, spending caps, and a log of every request.

:class:`Egress` checks every request to a language model. No code path avoids it (see
:meth:`winnow.ranking.models.Models.ask`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from winnow.privacy.outbound.audit_log import AuditLog, DayUse, SentRequest
from winnow.privacy.outbound.caps import Caps, cap_problem
from winnow.privacy.outbound.consent import Consents
from winnow.storage.paths import shown_path
from winnow.storage.user_folders import state_folder

__all__ = ["Egress", "RequestBlocked", "destination_of", "is_this_machine"]

REFUSED = "you refused to send code of this workspace: run `winnow consent give` to allow it"
_LOOPBACK = re.compile(r"127(?:\.[0-9]{1,3}){3}")
Roots = Callable[[], Sequence[Path]]


class RequestBlocked(Exception):
    """A blocked request; the message says why and how to allow it."""


class Egress:
    """Check and log requests to models about the code in the ``roots`` of a workspace.

    ``caps`` are the user's, and ``always`` is True if the user's settings consent to everything.
    All processes of the user share consents and log.
    """

    def __init__(
        self, environment: Mapping[str, str], roots: Roots, caps: Caps, *, always: bool
    ) -> None:
        folder = state_folder(environment)
        self.log = AuditLog(folder)
        self.consents = Consents(folder)
        self._caps = caps
        self._always = always
        self._roots = roots

    def roots(self) -> list[str]:
        """Return the folders that consent applies to."""
        shown = (shown_path(os.path.realpath(root)) for root in self._roots())
        return [uri or path for path, uri in shown]

    def consent_problem(self, provider: str, address: str) -> str | None:
        """Return why code may not be sent to a model and how to allow it; None if it may."""
        if self._always or provider == "editor" or is_this_machine(address):
            return None
        destination, roots = destination_of(address), self.roots()
        if self.consents.refused(roots):
            return REFUSED
        if roots and self.consents.given(roots, destination):
            return None
        return no_consent([destination])

    def begin(self, sent: SentRequest) -> None:
        """Log a request before it is sent. Raises RequestBlocked at a cap, or if a remote request
        cannot be logged."""

        def check(used: DayUse) -> None:
            problem = cap_problem(self._caps, sent, used) if sent.remote else None
            if problem:
                raise RequestBlocked(problem)

        has_daily_cap = (self._caps.daily_tokens, self._caps.daily_usd) != (None, None)
        try:
            self.log.begin(sent, check, needs_use=sent.remote and has_daily_cap)
        except OSError as error:
            if sent.remote:
                raise RequestBlocked(
                    f"cannot write the log of requests in {self.log.folder}: {error}"
                ) from error


def no_consent(destinations: Sequence[str]) -> str:
    """Return the reason why nothing is sent to these destinations, and what to do."""
    return (
        f"you have not consented to send code of this workspace to {', '.join(destinations)}: run"
        ' `winnow consent give` there, or set `llm.consent` to "always" in your user settings'
    )


def destination_of(address: str) -> str:
    """Return scheme, host and port of an address, without parts that may be secret."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}"


def is_this_machine(address: str) -> bool:
    """Return True if requests to an address stay on this machine."""
    host = urlsplit(address).hostname or ""
    return host in ("localhost", "::1") or _LOOPBACK.fullmatch(host) is not None
