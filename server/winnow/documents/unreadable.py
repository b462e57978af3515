"""Reasons why a document cannot be read."""

from __future__ import annotations

PICTURE = "it is an image, and OCR (documents.ocr) is off"


class Unreadable(Exception):
    """A document, or a part of one, without readable text; the message is the reason."""


class TooMuchMemory(Unreadable):
    """A document that needs more memory than the worker has; another worker may read it."""

    def __init__(self) -> None:
        super().__init__("reading it needs too much memory")


def damaged(error: Exception) -> str:
    """Return the reason for an exception of a library."""
    name = type(error).__name__
    return f"it is damaged: {name}: {str(error)[:200]}" if str(error) else f"it is damaged: {name}"
