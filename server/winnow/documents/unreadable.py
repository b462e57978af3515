"""Reasons why no text can be taken from a document."""

from __future__ import annotations

PICTURE = "it is a picture: recognition of characters (documents.ocr) is off"


class Unreadable(Exception):
    """A document, or a part of one, of which no text can be taken; the message is the reason."""


class TooMuchMemory(Unreadable):
    """What was at hand did not suffice: with more, it may be read."""

    def __init__(self) -> None:
        super().__init__("it takes too much memory to read")


def damaged(error: Exception) -> str:
    """The reason for what a library could not read."""
    said = f"{type(error).__name__}: {str(error)[:200]}" if str(error) else type(error).__name__
    return f"it is damaged: {said}"
