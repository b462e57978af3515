"""What only an editor needs: its own model as a ranker, words to search for, and tools by name."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from lsprotocol import types
from msgspec import Meta, Struct
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcServerNotInitialized

from winnow.errors import InvalidParams
from winnow.frontends.lsp.progress import without_tokens
from winnow.frontends.lsp.protocol import SUGGEST_TERMS
from winnow.ranking.providers import ModelError
from winnow.ranking.providers.editor import COMPLETE
from winnow.tools.registry import check_texts

if TYPE_CHECKING:
    from winnow.frontends.lsp.server import WinnowServer

# Names of the index that are proposed beside the words of a question.
MOST_NAMES = 5


class SuggestTermsParams(Struct, frozen=True, forbid_unknown_fields=True):
    """A question, as somebody types it."""

    query: Annotated[str, Meta(max_length=20_000)]


class CallToolParams(Struct, frozen=True, forbid_unknown_fields=True):
    """A tool by the name that a model knows it by, and what the model has said."""

    name: Annotated[str, Meta(max_length=100)]
    arguments: dict[str, Any] = {}


def add_editor_features(server: WinnowServer) -> None:
    """Register the requests."""

    @server.feature(SUGGEST_TERMS)
    async def suggest_terms(params: Any) -> dict[str, list[str]]:
        """Terms for a keyword search by somebody who has typed a question only: its identifiers,
        then its names, then its words, then names of the index that are near these, as regular
        expressions."""
        # Not needed to start a server.
        from winnow.search.code.ranked_text import MOST_TERMS, escaped, is_identifier, search_terms
        from winnow.search.code.semantic import names_near

        try:
            # It takes no time that progress could be told of.
            raw = without_tokens(params)[0]
            check_texts(raw, "")
            asked = msgspec.convert(raw, SuggestTermsParams)
        except (msgspec.ValidationError, InvalidParams) as error:
            raise JsonRpcInvalidParams(str(error)) from None
        if server.engine is None:
            raise JsonRpcServerNotInitialized("initialize first")
        words = search_terms(asked.query)[:MOST_TERMS]
        # A name that is a plain word is in many places, and most likely one of the words.
        near = [one for one in await names_near(server.engine, asked.query) if is_identifier(one)]
        return {"terms": [escaped(one) for one in dict.fromkeys([*words, *near[:MOST_NAMES]])]}


def offers_model(capabilities: types.ClientCapabilities) -> bool:
    """Whether the client has announced that it answers `$/complete`."""
    told: Any = capabilities.experimental
    for name in ("winnow", "requests"):
        told = told.get(name) if isinstance(told, dict) else getattr(told, name, None)
    return isinstance(told, (list, tuple)) and COMPLETE in told


async def ask_editor(server: WinnowServer, params: Mapping[str, object]) -> object:
    """The client's answer to a `$/complete`; one that nobody waits for any more is cancelled.

    Raises ModelError with what the client says of a failure.
    """
    protocol = server.protocol
    msg_id = f"winnow-{uuid.uuid4().hex[:12]}"
    try:
        return await protocol.send_request_async(COMPLETE, dict(params), msg_id)
    except JsonRpcException as error:
        raise ModelError(error.message, 424) from error
    except asyncio.CancelledError:
        # An answer that comes all the same has nobody to go to.
        protocol._request_futures.pop(msg_id, None)
        protocol.tell("$/cancelRequest", {"id": msg_id})
        raise
