"""The table of document formats; each module in ``formats/`` adds one or more."""

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

    ``extensions`` are file extensions in lower case (".pdf"). ``read`` writes the text of a
    document to a :class:`TextOutput`, and raises :class:`Unreadable` if there is none. ``is_text``
    is True if people read and edit the file itself as text (an HTML page, a notebook), so that it
    is also searched as a file; it is False for files that only programs write (mail, with its
    base64). ``is_plain`` is True if the file is its own text. ``is_image`` is True if only OCR can
    read the text; ``has_members`` is True if the document contains files.
    """

    name: str
    extensions: tuple[str, ...]
    read: Callable[[DocumentInput, TextOutput], None]
    is_text: bool = False
    is_plain: bool = False
    is_image: bool = False
    has_members: bool = False


# Documents that Winnow cannot read. Answers name them, so that a missing hit is not misleading.
UNSUPPORTED_EXTENSIONS = (
    *(".doc", ".dot", ".ppt", ".pps", ".msg", ".pst", ".one", ".pub", ".vsd", ".mdb", ".accdb"),
    *(".pages", ".numbers", ".key", ".wpd", ".djvu", ".ps", ".chm", ".mobi", ".azw3", ".xps"),
    *(".7z", ".rar", ".cab", ".lz4", ".lzma"),
)


def unsupported_reason(name: str) -> str | None:
    """Return the reason for a document that Winnow cannot read, and None for all other files."""
    extension = os.path.splitext(name)[1].lower()
    return f"{extension} files are not supported" if extension in UNSUPPORTED_EXTENSIONS else None


@functools.cache
def formats() -> Mapping[str, DocumentFormat]:
    """Return all formats by name."""
    from winnow.documents import formats as package

    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"{package.__name__}.{name}") for name in names]
    return {entry.name: entry for module in modules for entry in module.FORMATS}


@functools.cache
def _by_extension() -> Mapping[str, DocumentFormat]:
    return {end: entry for entry in formats().values() for end in entry.extensions}


def format_of(name: str) -> DocumentFormat | None:
    """Return the format of a file by its longest known extension, or None if it has none."""
    base = name.replace("\\", "/").rpartition("/")[2]
    # The first dot of a hidden file does not start an extension.
    return _by_extensions(base.lower().lstrip(".").partition(".")[2])


def format_of_member(name: str) -> DocumentFormat | None:
    """Return the format of a file in another document; None if it is plain text, which is read
    there whatever its name is."""
    known = format_of(name)
    return None if known is None or known.is_plain else known


@functools.lru_cache(4096)
def _by_extensions(extensions: str) -> DocumentFormat | None:
    by_extension = _by_extension()
    while extensions:
        if (entry := by_extension.get(f".{extensions}")) is not None:
            return entry
        extensions = extensions.partition(".")[2]
    return None
