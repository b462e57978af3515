"""The pygls server with the workspace of its client."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

import winnow
from winnow.frontends.lsp.protocol import (
    WinnowProtocol,
    plain_converter,
)
from winnow.workspace import Workspace

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
        self.engine: Workspace | None = None
        self.options: dict[str, Any] = {}
        self.refused: set[Path] = (
            set()
        )  # folders of which the user knows that they are not searched
        self.has_begun = False  # the session: its settings are known, and its index is begun
        self.noticed: set[str] = set()  # what was said of folders that are ignored
        self.is_told_of_files = False  # by the client, of each that changes
        # Tasks that nobody awaits: the loop itself would not keep them alive.
        self.background: set[asyncio.Task[Any]] = set()

    @property
    def position_encoding(self) -> str:
        """What columns count for this client: units of "utf-8", "utf-16" or "utf-32"."""
        agreed = self.protocol.workspace.position_encoding
        return str(types.PositionEncodingKind(agreed or "utf-16").value)

    async def finish(self) -> None:
        """End every request and what it runs; the connection is over."""
        tasks = [*self.protocol.running, *self.background]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.engine is not None:
            await self.engine.aclose()

    def kill_children(self) -> None:
        """Kill what the requests have started, without waiting for its end."""
        if self.engine is not None:
            self.engine.processes.close()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """To the log, not as a message on the user's screen."""
        logger.debug("%s: %s", source, error)
