"""Downloads of archives: continued where they broke off, over safe addresses, with the reason of a
failure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from winnow.index.archive.download import TOKEN_VARIABLE, download
from winnow.index.archive.manifest import ArchiveRejected

DATA = bytes(range(256)) * 4_000


class FileServer:
    """Serves `data` at every address; `answer` may do something else instead."""

    def __init__(self) -> None:
        self.data, self.tag = DATA, '"1"'
        self.breaks_after: int | None = None
        self.answer: Callable[[BaseHTTPRequestHandler], bool] = lambda handler: False
        self.ranges: list[str | None] = []
        self.tokens: list[str | None] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.ranges.append(self.headers["Range"])
                server.tokens.append(self.headers["Authorization"])
                if not server.answer(self):
                    server.send(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/main.winnow"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def send(self, handler: BaseHTTPRequestHandler) -> None:
        start = 0
        if (wanted := handler.headers["Range"]) and handler.headers["If-Range"] == self.tag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(self.data):
                handler.send_error(416)
                return
        handler.send_response(206 if start else 200)
        handler.send_header("ETag", self.tag)
        handler.send_header("Content-Length", str(len(self.data) - start))
        handler.end_headers()
        end = len(self.data) if self.breaks_after is None else start + self.breaks_after
        handler.wfile.write(self.data[start:end])

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[FileServer]:
    started = FileServer()
    yield started
    started.stop()


def test_a_file_is_downloaded_with_progress(server: FileServer, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    file = download(server.address, tmp_path / "new", {}, lambda *now: seen.append(now))
    assert file.read_bytes() == DATA
    assert seen[-1] == (len(DATA), len(DATA))


def test_a_broken_download_is_continued(server: FileServer, tmp_path: Path) -> None:
    server.breaks_after = 300_000
    with pytest.raises(ArchiveRejected, match="broke off after 300000 of 1024000 bytes"):
        download(server.address, tmp_path, {})
    server.breaks_after = None
    assert download(server.address, tmp_path, {}).read_bytes() == DATA
    assert server.ranges == [None, "bytes=300000-"]


def test_a_file_that_has_changed_is_downloaded_from_its_start(
    server: FileServer, tmp_path: Path
) -> None:
    server.breaks_after = 300_000
    with pytest.raises(ArchiveRejected):
        download(server.address, tmp_path, {})
    server.breaks_after, server.data, server.tag = None, DATA[::-1], '"2"'
    assert download(server.address, tmp_path, {}).read_bytes() == DATA[::-1]


def test_a_file_that_is_shorter_now_is_downloaded_from_its_start(
    server: FileServer, tmp_path: Path
) -> None:
    download(server.address, tmp_path, {})
    server.data = DATA[:1000]
    assert download(server.address, tmp_path, {}).read_bytes() == DATA[:1000]


def test_a_server_without_versions_sends_everything_again(
    server: FileServer, tmp_path: Path
) -> None:
    server.breaks_after, server.tag = 300_000, 'W/"weak"'
    with pytest.raises(ArchiveRejected):
        download(server.address, tmp_path, {})
    server.breaks_after = None
    assert download(server.address, tmp_path, {}).read_bytes() == DATA
    assert server.ranges == [None, None]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.com/main.winnow", "http://example.com is not an https address"),
        ("file:///etc/passwd", "is not an https address"),
        ("ftp://example.com/x", "is not an https address"),
        ("https:///x", "is not an https address"),
        ("https://me:secret@example.com/x", "put a token for https://example.com into"),
    ],
)
def test_an_unsafe_address_is_refused(tmp_path: Path, url: str, why: str) -> None:
    with pytest.raises(ArchiveRejected) as error:
        download(url, tmp_path, {})
    assert why in str(error.value)
    assert "secret@" not in str(error.value)


def test_a_redirect_to_an_unsafe_address_is_refused(server: FileServer, tmp_path: Path) -> None:
    def redirect(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(302)
        handler.send_header("Location", "http://example.com/main.winnow")
        handler.end_headers()
        return True

    server.answer = redirect
    with pytest.raises(ArchiveRejected, match=r"http://example\.com is not an https address"):
        download(server.address, tmp_path, {})


def test_a_token_is_sent_to_the_named_host_only(server: FileServer, tmp_path: Path) -> None:
    store = FileServer()

    def redirect(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(302)
        handler.send_header("Location", store.address)
        handler.end_headers()
        return True

    server.answer = redirect
    try:
        download(server.address, tmp_path, {TOKEN_VARIABLE: "abc"})
    finally:
        store.stop()
    assert server.tokens == ["Bearer abc"]
    assert store.tokens == [None]


def test_an_error_of_the_server_is_reported_without_the_address(
    server: FileServer, tmp_path: Path
) -> None:
    def refuse(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_error(403)
        return True

    server.answer = refuse
    with pytest.raises(ArchiveRejected, match="answers 403 Forbidden") as error:
        download(f"{server.address}?signature=s3cret", tmp_path, {})
    assert "s3cret" not in str(error.value)


def test_a_server_that_is_not_there_or_silent_is_reported(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.index.archive.download.SILENT_SECONDS", 0.2)
    silent = threading.Event()
    server.answer = lambda handler: silent.wait(20) or True
    with pytest.raises(
        ArchiveRejected, match=r"cannot download it from http://127\.0\.0\.1: .*timed"
    ):
        download(server.address, tmp_path, {})
    silent.set()
    with pytest.raises(ArchiveRejected, match="cannot download it from"):
        download("http://127.0.0.1:9/x", tmp_path, {})


def test_more_than_the_limit_is_not_written(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.index.archive.download.MOST_ARCHIVE_BYTES", 500_000)
    with pytest.raises(ArchiveRejected, match="more than 500000 bytes"):
        download(server.address, tmp_path, {})
