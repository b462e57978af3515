"""Create entries of the audit log, for processes that load no other test code."""

from __future__ import annotations

from typing import Any

from winnow.privacy.outbound.audit_log import RequestEnd, SentRequest


def sent(number: int, *, tokens: int = 100, day: str = "2026-01-02", **more: Any) -> SentRequest:
    values: dict[str, Any] = {
        "id": f"{number:04}",
        "time": f"{day}T00:00:00.000Z",
        "purpose": "keyword_search",
        "workspace": ["/w"],
        "model": "m",
        "provider": "openai",
        "destination": "https://models.example",
        "remote": True,
        "files": [f"src/{number}.py"],
        "bytes": 1000,
        "redactions": {},
        "tokens": tokens,
    }
    return SentRequest(**{**values, **more})


def ended(number: int, outcome: Any = "answered", **more: Any) -> RequestEnd:
    return RequestEnd(id=f"{number:04}", time="2026-01-02T00:00:01.000Z", outcome=outcome, **more)
