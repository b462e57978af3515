"""Requests for editors: suggest search terms, and rank with the editor's own model."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from lsprotocol import types
from msgspec import Meta, Struct
from pygls.exceptions import JsonRpcException

from winnow.frontends.lsp.progress import without_tokens
from winnow.frontends.lsp.protocol import SUGGEST_TERMS, search_errors
from winnow.tools.registry import typed_params
from winnow.types import EDITOR_REQUEST, QUERY_CHARACTERS

if TYPE_CHECKING:
    from winnow.frontends.lsp.server import WinnowServer


class SuggestTermsParams(Struct, frozen=True, forbid_unknown_fields=True):
    """A question that the user typed."""

    query: Annotated[str, Meta(max_length=QUERY_CHARACTERS)]


class CallToolParams(Struct, frozen=True, forbid_unknown_fields=True):
    """A model's call of a tool; with `short`, of one in the short list, which has other names."""

    name: Annotated[str, Meta(max_length=100)]
    arguments: dict[str, Any] = {}
    short: bool = False


def add_editor_features(server: WinnowServer) -> None:
    """Register the requests."""

    @server.feature(SUGGEST_TERMS)
    async def suggest_terms(params: Any) -> dict[str, list[str]]:
        """Return terms for a keyword search with this question, as regular expressions: the
        question's identifiers, names and words, then similar names from the index."""
        # Not needed to start a server.
        from winnow.search.keyword.suggested_terms import suggested_terms

        with search_errors():
            # Too fast to report progress.
            asked = typed_params(without_tokens(params)[0], SuggestTermsParams)
        return {"terms": await suggested_terms(server.opened(), asked.query)}


def offers_model(capabilities: types.ClientCapabilities) -> bool:
    """Return True if the client announces that it answers `$/complete`."""
    value: Any = capabilities.experimental
    for name in ("winnow", "requests"):
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return isinstance(value, (list, tuple)) and EDITOR_REQUEST in value


async def ask_editor(server: WinnowServer, params: Mapping[str, object]) -> object:
    """Send a `$/complete` request and return the client's answer. Cancel it if this is canceled.

    Raise ConnectionError with the client's error message.
    """
    protocol = server.protocol
    msg_id = f"winnow-{uuid.uuid4().hex[:12]}"
    try:
        return await protocol.send_request_async(EDITOR_REQUEST, dict(params), msg_id)
    except JsonRpcException as error:
        raise ConnectionError(error.message) from error
    except asyncio.CancelledError:
        # A late answer has no receiver.
        protocol._request_futures.pop(msg_id, None)
        protocol.tell("$/cancelRequest", {"id": msg_id})
        raise
