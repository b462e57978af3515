"""A request takes over what the last one has resolved, unless something has changed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import write_files
from indexed import MAX_BYTES, fill, indexed
from winnow.index.builder.extraction import extract_file
from winnow.index.snapshot import Overlay, Snapshot
from winnow.index.store.file_record import IndexJob
from winnow.index.store.store import Store
from winnow.search.symbols.navigation import Navigation
from winnow.symbols.resolve import resolver_cache
from winnow.symbols.resolve.resolver_cache import ResolverCache
from winnow.text.lines import SourceTexts

FILES = {
    "net.py": "class Client:\n    def send(self):\n        pass\n",
    "use.py": "from net import Client\nclient = Client()\nclient.send()\nclient.close()\n",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    write_files(tmp_path, FILES)
    store = Store.temporary()
    fill(store, tmp_path)
    yield store
    store.close()


@contextlib.contextmanager
def snapshot(store: Store, folder: Path, overlay: Overlay | None = None) -> Iterator[Snapshot]:
    with Snapshot([folder.as_posix()], [store.reader()], overlay) as view:
        yield view


def uses_of_send(view: Snapshot, folder: Path, resolvers: ResolverCache) -> list[tuple[str, int]]:
    """Return the uses of a method in a request of its own."""
    navigation = Navigation(view, SourceTexts([folder], {}, 1_000_000), resolvers)
    net = (folder / "net.py").as_posix()
    symbol = navigation.at(net, FILES["net.py"].index("send"))
    assert symbol is not None
    found = sorted((Path(use.path).name, use.at) for use in navigation.references(symbol))
    assert "send" in navigation.searched_names
    navigation.end()
    return found


def test_a_second_request_gets_the_same_answer_from_the_same_resolver(
    store: Store, tmp_path: Path
) -> None:
    resolvers = ResolverCache()
    with snapshot(store, tmp_path) as view:
        first = uses_of_send(view, tmp_path, resolvers)
        resolver = resolvers.take(view)
        resolvers.keep(resolver)
    with snapshot(store, tmp_path) as view:
        assert uses_of_send(view, tmp_path, resolvers) == first
        assert resolvers.take(view) is resolver
        assert resolver.view is resolver.session.view is view
        assert first == [("net.py", 22), ("use.py", 48)]


def test_concurrent_requests_do_not_share_a_resolver(store: Store, tmp_path: Path) -> None:
    resolvers = ResolverCache()
    with snapshot(store, tmp_path) as view, snapshot(store, tmp_path) as other:
        resolvers.keep(resolvers.take(view))
        assert resolvers.take(view) is not resolvers.take(other)


def test_a_changed_file_is_resolved_again(store: Store, tmp_path: Path) -> None:
    resolvers = ResolverCache()
    with snapshot(store, tmp_path) as view:
        uses_of_send(view, tmp_path, resolvers)
    (tmp_path / "use.py").write_text("from net import Client\nClient().send()\n")
    fill(store, tmp_path)
    with snapshot(store, tmp_path) as view:
        assert uses_of_send(view, tmp_path, resolvers) == [("net.py", 22), ("use.py", 32)]


def test_an_unsaved_document_is_resolved(store: Store, tmp_path: Path) -> None:
    resolvers = ResolverCache()
    with snapshot(store, tmp_path) as view:
        uses_of_send(view, tmp_path, resolvers)
    with snapshot(store, tmp_path, {(tmp_path / "use.py").as_posix(): None}) as view:
        assert uses_of_send(view, tmp_path, resolvers) == [("net.py", 22)]


def test_a_changed_project_file_is_read_again(store: Store, tmp_path: Path) -> None:
    resolvers = ResolverCache()
    manifest = tmp_path / "go.mod"
    with snapshot(store, tmp_path) as view:
        resolver = resolvers.take(view)
        assert view.manifest(manifest.as_posix()) is None
        resolvers.keep(resolver)
    with snapshot(store, tmp_path) as view:
        assert resolvers.take(view) is resolver
        assert view.manifest(manifest.as_posix()) is None
        resolvers.keep(resolver)
    manifest.write_text("module example.org/a\n")
    with snapshot(store, tmp_path) as view:
        assert resolvers.take(view) is not resolver


def test_occurrences_that_are_added_are_seen(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    store = Store.temporary()
    resolvers = ResolverCache()
    try:
        fill(store, tmp_path, "definitions")
        with snapshot(store, tmp_path) as view:
            assert uses_of_send(view, tmp_path, resolvers) == [("net.py", 22)]
        job = IndexJob(os.fsencode(tmp_path), b"use.py", MAX_BYTES, part="occurrences")
        record = extract_file(job)
        assert record is not None
        assert store.add_occurrences({"use.py": record}) == []
        with snapshot(store, tmp_path) as view:
            assert uses_of_send(view, tmp_path, resolvers) == [("net.py", 22), ("use.py", 48)]
    finally:
        store.close()


def test_a_large_resolver_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver_cache, "MOST_CACHED", 1)
    write_files(tmp_path, FILES)
    resolvers = ResolverCache()
    with indexed(tmp_path) as view:
        resolver = resolvers.take(view)
        resolver.session.size = 2
        resolvers.keep(resolver)
        assert resolvers.take(view) is not resolver
