"""Keep what a request has resolved for the next one.

Names such as `create` occur thousands of times in a project, with the receivers and classes that
other names have, too. What was found is valid until a file changes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from msgspec import Struct

from winnow.symbols.resolve.resolver import Resolver
from winnow.symbols.view import SymbolView

# A resolver with more files, and names in files, is not kept: about 10 MB.
MOST_CACHED = 30_000


class _Kept(Struct, frozen=True):
    resolver: Resolver
    version: object
    manifests: Mapping[str, bytes | None]


class ResolverCache:
    """Keeps the resolver of the last request; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: _Kept | None = None

    def take(self, view: SymbolView) -> Resolver:
        """Return a resolver for a view that no other request uses: the last one if no file has
        changed since, or a new one."""
        with self._lock:
            kept, self._kept = self._kept, None
        version = view.version  # read now: the view may be closed when the request ends
        if kept is None or kept.version != version:
            return Resolver(view)
        if any(view.manifest(path) != known for path, known in kept.manifests.items()):
            return Resolver(view)
        kept.resolver.renew(view)
        return kept.resolver

    def keep(self, resolver: Resolver) -> None:
        """Keep the resolver of a request that has ended, and was not interrupted."""
        view = resolver.view
        if resolver.session.size <= MOST_CACHED:
            kept = _Kept(resolver, view.version, view.manifests())
            with self._lock:
                self._kept = kept

    def clear(self) -> None:
        """Free the memory of the resolver."""
        with self._lock:
            self._kept = None
