"""Progress and partial results, sent to the client's tokens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from winnow.errors import InvalidParams
from winnow.types import Progress, Result

if TYPE_CHECKING:
    from winnow.frontends.lsp.server import WinnowServer

Token = str | int

CLIENT_SECONDS = 5.0

logger = logging.getLogger(__name__)


class Reporter(Progress):
    """Sends the progress of one request to the client's tokens, if it has any.

    Canceling a token cancels the request, which pygls doesn't do.
    """

    def __init__(
        self, server: WinnowServer, work_done: Token | None, partial: Token | None, title: str
    ) -> None:
        self._server = server
        self._work_done = work_done
        self._partial = partial
        self._title = title
        self.streaming = partial is not None
        self._notes: list[str] = []

    def __enter__(self) -> Reporter:
        if self._work_done is not None:
            progress = self._server.work_done_progress
            begin = types.WorkDoneProgressBegin(title=self._title, cancellable=True)
            progress.begin(self._work_done, begin)
            task = asyncio.current_task()
            assert task is not None
            progress.tokens[self._work_done].add_done_callback(lambda _: task.cancel())
        return self

    def __exit__(self, *error: object) -> None:
        if self._work_done is not None:
            progress = self._server.work_done_progress
            progress.tokens.pop(self._work_done, None)
            outcome = "; ".join(self._notes) or None
            progress.end(self._work_done, types.WorkDoneProgressEnd(message=outcome))

    def note(self, text: str) -> None:
        """Log why the answer may be incomplete, which LSP's results can't express. The progress
        ends with it."""
        self._notes.append(text)
        message = {"type": int(types.MessageType.Info), "message": f"Winnow: {text}"}
        self._server.protocol.tell("window/logMessage", message)

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        # Dropped while the client doesn't read: it would be outdated later.
        if self._work_done is not None and self._server.protocol.has_room:
            report = types.WorkDoneProgressReport(message=message, percentage=percentage)
            self._server.work_done_progress.report(self._work_done, report)
        if partial is not None and self._partial is not None:
            value = msgspec.to_builtins(partial)
            self._server.protocol.tell("$/progress", {"token": self._partial, "value": value})

    async def drain(self) -> None:
        await self._server.protocol.room()
        await asyncio.sleep(0)


def without_tokens(params: Any) -> tuple[Any, Token | None, Token | None]:
    """Split params into those of the tool and the tokens for progress and partial results."""
    if not isinstance(params, dict):
        return params, None, None
    raw = dict(params)
    tokens = []
    for name in ("workDoneToken", "partialResultToken"):
        token = raw.pop(name, None)
        if token is not None and (isinstance(token, bool) or not isinstance(token, (str, int))):
            raise InvalidParams(name, "expected string or integer")
        tokens.append(token)
    return raw, tokens[0], tokens[1]


@contextlib.asynccontextmanager
async def background_progress(
    server: WinnowServer, title: str, what: str
) -> AsyncIterator[Callable[[int, int], None]]:
    """Show the progress of background work, if the client supports that.

    Yield a function that accepts the number of finished items and the total.
    """
    window = server.client_capabilities.window
    progress = server.work_done_progress
    token = f"winnow-{uuid.uuid4().hex[:12]}"
    shown = bool(window and window.work_done_progress)
    if shown:
        try:
            await asyncio.wait_for(progress.create_async(token), CLIENT_SECONDS)
        except (JsonRpcException, asyncio.TimeoutError) as error:
            logger.warning("The client does not show progress: %s", error)
            shown = False
    if not shown:
        yield lambda done, total: None
        return
    progress.begin(token, types.WorkDoneProgressBegin(title=title, percentage=0))

    def report(done: int, total: int) -> None:
        if not server.protocol.has_room:
            return
        progress_report = types.WorkDoneProgressReport(
            message=f"{done:,} of {total:,} {what}", percentage=100 * done // max(total, 1)
        )
        progress.report(token, progress_report)

    try:
        yield report
    finally:
        progress.tokens.pop(token, None)
        progress.end(token, types.WorkDoneProgressEnd())
