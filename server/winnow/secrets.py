"""Until the real one is there."""

from __future__ import annotations


def masked(text: bytes) -> tuple[bytes, int]:
    return text, 0


def is_secret_file(path: str) -> bool:
    return False
