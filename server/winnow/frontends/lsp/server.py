"""The pygls server and the workspace of its client."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcServerNotInitialized
from pygls.lsp.server import LanguageServer

import winnow
from winnow.frontends.lsp.protocol import (
    WinnowProtocol,
    plain_converter,
)
from winnow.workspace import EngineWorkspace

logger = logging.getLogger(__name__)


class WinnowServer(LanguageServer):
    """A pygls server with the workspace of its client."""

    protocol: WinnowProtocol

    def __init__(self) -> None:
        super().__init__(
            "winnow",
            winnow.__version__,
            protocol_cls=WinnowProtocol,
            converter_factory=plain_converter,
        )
        self.engine: EngineWorkspace | None = None
        self.options: dict[str, Any] = {}
        # Refused folders that the user has been warned about.
        self.refused: set[Path] = set()
        self.has_begun = False  # the session has its settings and has started its index
        self.noticed: set[str] = set()  # notices about ignored state folders that were shown
        self.is_told_of_files = False  # the client reports changed files
        # References to background tasks: the loop itself would not keep them alive.
        self.background: set[asyncio.Task[Any]] = set()

    @property
    def position_encoding(self) -> str:
        """The units that columns count for this client: "utf-8", "utf-16" or "utf-32"."""
        agreed = self.protocol.workspace.position_encoding
        return str(types.PositionEncodingKind(agreed or "utf-16").value)

    def opened(self) -> EngineWorkspace:
        """Return the workspace, for a request that needs one. Raise JsonRpcServerNotInitialized."""
        if self.engine is None:
            raise JsonRpcServerNotInitialized("initialize first")
        return self.engine

    async def finish(self) -> None:
        """End all requests and the programs they run, when the connection is closed."""
        tasks = [*self.protocol.running, *self.background]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.engine is not None:
            await self.engine.aclose()

    def kill_children(self) -> None:
        """Kill the programs that requests started, without waiting for their end."""
        if self.engine is not None:
            self.engine.processes.close()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log the error instead of showing it to the user."""
        logger.debug("%s: %s", source, error)
