"""Describe the contents of an archive, sign that description, and compare it with a key."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Annotated, NoReturn

import msgspec
from msgspec import Meta, Struct

FORMAT = 1
NAME = "manifest.json"
# Its size limit: a member takes about a hundred bytes, and there are hundreds.
MOST_BYTES = 4 * 1024 * 1024
# The size limit of an archive.
MOST_ARCHIVE_BYTES = 64 * 1024**3
# A shorter key can be guessed.
LEAST_KEY_CHARACTERS = 16
KEY_VARIABLE = "WINNOW_TEAM_KEY"
# Stored names: a database and its segments.
MEMBER = re.compile(r"index-([0-9a-f]{12})(?:\.db|-[0-9a-f]{1,40}\.seg)")


class ArchiveRejected(Exception):
    """An archive is not used; the message says why."""


class Member(Struct, frozen=True, forbid_unknown_fields=True):
    """A file in an archive: its size, and the SHA-256 hash of its contents, in hexadecimal."""

    bytes: Annotated[int, Meta(ge=1)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Manifest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The contents of an archive.

    ``kind`` stands for the version of Winnow and the settings that decide what an index stores (see
    :func:`winnow.index.store.generations.version`). ``commit`` is git's, if known. ``sample`` has
    keys of texts of the whole code base, by which similar folders are recognized, in hexadecimal; a
    delta has only the ``texts`` that the archive with the digest ``base`` lacks. ``signature`` is
    the HMAC-SHA256 of everything else.
    """

    format: int
    winnow: str
    kind: Annotated[str, Meta(pattern="^[0-9a-f]{12}$")]
    model: str | None
    commit: str | None
    created: str
    files: int
    texts: int
    signatures: bool
    base: str | None
    sample: Annotated[list[Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]], Meta(max_length=1000)]
    members: Mapping[str, Member]
    signature: str | None = None

    @property
    def digest(self) -> str:
        """What identifies the contents, whoever has signed them."""
        return hashlib.sha256(_unsigned(self)).hexdigest()


def signed(manifest: Manifest, key: str) -> Manifest:
    """Return a manifest with its signature. Raises ValueError for a key that can be guessed."""
    return msgspec.structs.replace(manifest, signature=_signature(manifest, key))


def verified(data: bytes, kind: str, key: str | None, *, may_be_unsigned: bool) -> Manifest:
    """Return the manifest of an archive that an index of this ``kind`` can use.

    With a ``key``, it must be signed with that key. Without one, it is used only if it
    ``may_be_unsigned``. Raises ArchiveRejected.
    """
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        _reject(f"its manifest cannot be read: {error}")
    if manifest.format != FORMAT:
        _reject(f"it has format {manifest.format}, and this version of Winnow reads {FORMAT}")
    if key is not None:
        try:
            expected = _signature(manifest, key)
        except ValueError as error:
            _reject(str(error))
        if not manifest.signature:
            _reject(f"it is not signed, and {KEY_VARIABLE} is set")
        if not hmac.compare_digest(manifest.signature.encode(), expected.encode()):
            _reject(f"its signature does not match {KEY_VARIABLE}")
    elif not may_be_unsigned:
        _reject(f"its signature cannot be checked: set {KEY_VARIABLE}, or pass --unsigned")
    if manifest.kind != kind:
        _reject(
            f"Winnow {manifest.winnow} made it with the model {manifest.model or '(none)'}; this"
            " installation stores other data: use the same version, extras and settings of secrets"
        )
    for name in manifest.members:
        found = MEMBER.fullmatch(name)
        if not found or found[1] != kind:
            _reject(f"it has a file with a wrong name: {name!a}")
    if sum(name.endswith(".db") for name in manifest.members) != 1:
        _reject("it has no database, or several")
    return manifest


def _reject(why: str) -> NoReturn:
    raise ArchiveRejected(why)


def _signature(manifest: Manifest, key: str) -> str:
    if len(key) < LEAST_KEY_CHARACTERS:
        raise ValueError(f"{KEY_VARIABLE} has fewer than {LEAST_KEY_CHARACTERS} characters")
    return hmac.new(
        key.encode("utf-8", "surrogateescape"), _unsigned(manifest), "sha256"
    ).hexdigest()


def _unsigned(manifest: Manifest) -> bytes:
    bare = msgspec.structs.replace(manifest, signature=None)
    return msgspec.json.encode(bare, order="deterministic")
