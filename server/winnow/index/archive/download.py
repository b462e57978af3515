"""Download an archive over HTTPS; continue where an earlier download broke off."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from winnow import __version__
from winnow.index.archive.manifest import MOST_ARCHIVE_BYTES, ArchiveRejected
from winnow.privacy.outbound import is_this_machine
from winnow.storage.untrusted import UnusableFile, read_untrusted
from winnow.storage.writing import private_folder, replace_file

TOKEN_VARIABLE = "WINNOW_SOURCE_TOKEN"  # noqa: S105 - its name
# A server that sends nothing for this time has failed.
SILENT_SECONDS = 30.0
PIECE_BYTES = 256 * 1024
# Characters of a header that identifies a version of a file.
MOST_TAG = 500

Report = Callable[[int, int | None], None]


def is_url(source: str) -> bool:
    """Return True for the address of a download."""
    return "://" in source


def download(
    url: str,
    folder: Path,
    environment: Mapping[str, str],
    report: Report = lambda done, total: None,
) -> Path:
    """Return the file at an address, downloaded into a folder. ``report`` gets the number of bytes
    so far and in total.

    A partial file of the same version is continued. The token in WINNOW_SOURCE_TOKEN is sent to
    this host only. Raises ArchiveRejected, with the reason, and OSError for a full disk.
    """
    _require_safe(url)
    private_folder(folder)
    file = folder / hashlib.sha256(url.encode()).hexdigest()[:32]
    tag_file = file.with_suffix(".tag")
    tag = _known_tag(file, tag_file)
    have = file.stat().st_size if tag else 0
    request = urllib.request.Request(  # noqa: S310 - _require_safe allows only these
        url, headers={"User-Agent": f"winnow/{__version__}"}
    )
    if token := environment.get(TOKEN_VARIABLE):
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag)
    try:
        with _opener().open(request, timeout=SILENT_SECONDS) as answer:
            if answer.status != http.client.PARTIAL_CONTENT:
                have = 0
            version = (
                answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
            ).strip()
            # A weak tag does not identify the bytes.
            is_strong = version and len(version) <= MOST_TAG and not version.startswith("W/")
            replace_file(tag_file, version.encode("latin-1", "replace") if is_strong else b"")
            _write(answer, file, have, report)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and have:
            return _again(url, folder, file, environment, report)
        raise ArchiveRejected(f"{host_of(url)} answers {error.code} {error.reason}") from error
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        TimeoutError,
        ConnectionError,
    ) as error:
        why = getattr(error, "reason", None) or error
        raise ArchiveRejected(f"cannot download it from {host_of(url)}: {why}") from error
    return file


def forget(file: Path) -> None:
    """Delete a download."""
    for part in (file, file.with_suffix(".tag")):
        with contextlib.suppress(OSError):
            part.unlink()


def _again(
    url: str, folder: Path, file: Path, environment: Mapping[str, str], report: Report
) -> Path:
    """Download everything: the partial file is longer than the file is now."""
    forget(file)
    return download(url, folder, environment, report)


def _known_tag(file: Path, tag_file: Path) -> str:
    """Return the version of a partial file; empty if there is none that can be continued."""
    try:
        return read_untrusted(tag_file).decode("latin-1") if file.stat().st_size else ""
    except (OSError, UnusableFile):
        return ""


def _write(answer: IO[bytes], file: Path, have: int, report: Report) -> None:
    length = getattr(answer, "length", None)
    total = have + length if length is not None else None
    done = have
    with file.open("r+b" if have else "wb") as opened:
        opened.seek(have)
        opened.truncate()
        while piece := answer.read(PIECE_BYTES):
            done += len(piece)
            if done > MOST_ARCHIVE_BYTES:
                raise ArchiveRejected(f"it has more than {MOST_ARCHIVE_BYTES} bytes")
            opened.write(piece)
            report(done, total)
    if total is not None and done < total:
        raise ConnectionError(f"the connection broke off after {done} of {total} bytes")


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follow redirects, for example of object stores, only to safe addresses."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        try:
            _require_safe(newurl)
        except ArchiveRejected:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener without files, FTP and data addresses."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _SafeRedirects(),
    ):
        opener.add_handler(handler)
    return opener


def _require_safe(url: str) -> None:
    """Raise ArchiveRejected unless an address is encrypted, or on this machine."""
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and is_this_machine(url)
    if not (parts.scheme == "https" or is_local) or not parts.hostname:
        raise ArchiveRejected(f"{host_of(url)} is not an https address")
    if parts.username or parts.password:
        raise ArchiveRejected(
            f"put a token for {host_of(url)} into {TOKEN_VARIABLE}, not the address"
        )


def host_of(url: str) -> str:
    """Return the scheme and the host of an address: the rest may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}"
