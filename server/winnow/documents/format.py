"""Formats: which file is a document, and what reads it; a module in ``formats/`` is one."""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from winnow.documents.extract.input_stream import DocumentInput
    from winnow.documents.extract.output import TextOutput


class DocumentFormat(Struct, frozen=True, kw_only=True):
    """A format of documents.

    ``ends`` are the ends of names in lower case (".pdf"). ``read`` hands the text of a document to
    an :class:`TextOutput`, and raises :class:`Unreadable` if there is none. ``is_text`` says that
    people read and edit the file itself as a text (a page in HTML, a notebook), so that it is also
    searched and shown as it is; not so where programs alone write it (mail, with its base64).
    ``is_image`` is one of which only the recognition of characters takes a text; ``has_members``
    one that holds files.
    """

    name: str
    ends: tuple[str, ...]
    read: Callable[[DocumentInput, TextOutput], None]
    is_text: bool = False
    is_image: bool = False
    has_members: bool = False


# Documents that nothing here reads: named, so that nobody takes silence for an answer.
UNSUPPORTED_EXTENSIONS = (
    *(".doc", ".dot", ".ppt", ".pps", ".msg", ".pst", ".one", ".pub", ".vsd", ".mdb", ".accdb"),
    *(".pages", ".numbers", ".key", ".wpd", ".djvu", ".ps", ".chm", ".mobi", ".azw3", ".xps"),
    *(".7z", ".rar", ".cab", ".lz4", ".lzma"),
)


def unsupported_reason(name: str) -> str | None:
    """What is said of a document that nothing here reads; None of all others."""
    end = os.path.splitext(name)[1].lower()
    return f"nothing here reads {end} files" if end in UNSUPPORTED_EXTENSIONS else None


@functools.cache
def formats() -> Mapping[str, DocumentFormat]:
    """All formats, by name."""
    from winnow.documents import formats as package

    names = sorted(found.name for found in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return {one.name: one for module in modules for one in module.FORMATS}


@functools.cache
def _by_end() -> Mapping[str, DocumentFormat]:
    return {end: one for one in formats().values() for end in one.ends}


def format_of(name: str) -> DocumentFormat | None:
    """The format that a name says, by its longest end that is known; None for no document."""
    last = name.replace("\\", "/").rpartition("/")[2]
    # A name that begins with a dot has no end there.
    return _by_ends(last.lower().lstrip(".").partition(".")[2])


@functools.lru_cache(4096)
def _by_ends(ends: str) -> DocumentFormat | None:
    by_end = _by_end()
    while ends:
        if (found := by_end.get(f".{ends}")) is not None:
            return found
        ends = ends.partition(".")[2]
    return None
