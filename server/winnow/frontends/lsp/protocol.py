"""JSON-RPC with untrusted clients: every request gets an answer, even an invalid one.

pygls converts messages to typed objects while it parses them and never answers a request that
doesn't fit (docs/pygls.md). Here a message is parsed as plain data and converted afterwards, so an
invalid request gets an error. The params of custom requests stay plain data; tools validate them.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import functools
import json
import logging
from collections.abc import Generator, Iterator, Sequence
from typing import Any, get_args, get_origin

import msgspec
from cattrs import Converter, transform_error
from cattrs.errors import IterableValidationError, IterableValidationNote
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
    default_converter,
    lsp_method,
)

import winnow
from winnow.errors import InvalidParams, SearchError
from winnow.frontends.incidents import new_incident
from winnow.frontends.lsp.admission import TOKEN_OPTION
from winnow.frontends.lsp.decoding import INVALID_REQUEST, Refusal, id_of
from winnow.frontends.lsp.documents import OpenDocuments
from winnow.frontends.lsp.outgoing import Outgoing
from winnow.tools import TOOLS

logger = logging.getLogger(__name__)

# Requests that are not tools.
SUGGEST_TERMS = "$/suggestTerms"
CALL_TOOL = "$/callTool"
REQUESTS = (CALL_TOOL, SUGGEST_TERMS)

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_FAILED = -32803
MESSAGE_CHARACTERS = 1000


def plain_converter() -> Converter:
    """Return pygls' converter, changed to be strict and to leave custom params as plain data."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]

    def request(data: Any, _: Any) -> JsonRPCRequestMessage:
        return JsonRPCRequestMessage(
            data["id"], data["method"], data["jsonrpc"], data.get("params")
        )

    def notification(data: Any, _: Any) -> JsonRPCNotification:
        return JsonRPCNotification(data["method"], data["jsonrpc"], data.get("params"))

    def response(data: Any, _: Any) -> JsonRPCResponseMessage:
        return JsonRPCResponseMessage(data["id"], data["jsonrpc"], data.get("result"))

    # cattrs would convert a number to a string, and Winnow would search for that.
    for kind in (str, int, bool):
        converter.register_structure_hook(kind, _plain)
    # lsprotocol accepts anything as an id or a token, and pygls fails when it looks it up.
    for name in (int | str, int | str | None):
        converter.register_structure_hook(name, _name)
    converter.register_structure_hook_func(_is_list, functools.partial(_list, converter))
    converter.register_structure_hook(JsonRPCRequestMessage, request)
    converter.register_structure_hook(JsonRPCNotification, notification)
    converter.register_structure_hook(JsonRPCResponseMessage, response)
    return converter


def _plain(value: Any, kind: Any) -> Any:
    """Return the value if it has exactly this plain type, or convert it to an enumeration."""
    if issubclass(kind, enum.Enum):
        return kind(value)
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def _name(value: Any, kind: Any) -> Any:
    """Return the value if it may be an id or a token."""
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    raise TypeError(f"expected a string or an integer, got {type(value).__name__}")


def _is_list(kind: Any) -> bool:
    origin: Any = get_origin(kind)
    return origin is Sequence or origin is list


def _list(converter: Converter, value: Any, kind: Any) -> list[Any]:
    """Convert a list, stopping at the first invalid element. cattrs creates an exception for each,
    which takes seconds for thousands, and accepts a string as a list of letters."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"expected a list, got {type(value).__name__}")
    (of,) = get_args(kind)
    converted = []
    for index, element in enumerate(value):
        try:
            converted.append(converter.structure(element, of))
        except Exception as error:
            note = f"While structuring {kind} @ index {index}"
            # The types of Python 3.10 don't have this attribute.
            vars(error)["__notes__"] = [IterableValidationNote(note, index, of)]
            raise IterableValidationError(note, [error], kind) from error
    return converted


class WinnowProtocol(LanguageServerProtocol):
    """pygls' protocol, which also answers invalid requests.

    ``documents`` holds the open documents instead of pygls' workspace.
    """

    # pygls reads every property during its setup.
    _outgoing: Outgoing | None = None

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.documents = OpenDocuments()
        # Running tasks of requests and notifications. pygls forgets a request when it is canceled,
        # and never forgets a notification.
        self.running: set[asyncio.Task[Any]] = set()
        self._has_begun = False
        self._is_ending = False  # `shutdown` has arrived; pygls notes it only when it has finished
        self._news = asyncio.Event()

    def connect(self, outgoing: Outgoing, news: asyncio.Event) -> None:
        """Send messages to this queue, and set the event whenever a request ends."""
        self._outgoing = outgoing
        self._news = news
        self.set_writer(outgoing)

    @property
    def has_room(self) -> bool:
        """True while the client reads its messages."""
        return self._outgoing is None or self._outgoing.has_room

    async def room(self) -> None:
        """Wait until the client reads its messages."""
        if self._outgoing is not None:
            await self._outgoing.room()

    def handle(self, message: Any) -> None:
        """Handle a decoded message, or answer one that was refused."""
        if not isinstance(message, Refusal):
            self.handle_message(message)
        elif not message.is_notification:
            self.refuse(message.id, message.code, message.problem)
        elif message.uri:
            self._lose_document(message.uri, message.problem)
        else:
            logger.warning("Refused a notification: %s", message.problem)

    def _execute_handler(
        self, msg_id: Any, handler: Any, callback: Any, args: Any = None, kwargs: Any = None
    ) -> None:
        super()._execute_handler(msg_id, handler, callback, args, kwargs)
        future: Any = self._request_futures.get(msg_id)
        if future is None:
            return
        if isinstance(future, asyncio.Task):
            self.running.add(future)
        future.add_done_callback(functools.partial(self._forget, msg_id))

    def _forget(self, msg_id: Any, future: Any) -> None:
        if self._request_futures.get(msg_id) is future:
            del self._request_futures[msg_id]
        self.running.discard(future)
        self._news.set()

    def handle_message(self, message: Any) -> None:
        """Validate a message, convert it to its types, and handle it."""
        problem = self._problem(message)
        if problem:
            self.refuse(id_of(message), INVALID_REQUEST, problem)
            return
        _drop_token(message)
        try:
            typed = self.structure_message(message)
        except Exception as error:
            logger.debug("Invalid message", exc_info=True)
            if "id" in message and "method" in message:
                self.refuse(message["id"], INVALID_PARAMS, _misfit(error))
            elif message.get("method") == types.TEXT_DOCUMENT_DID_CHANGE:
                self._lose_document(_uri(message.get("params")), _misfit(error))
            return
        if {"id", "method"} <= message.keys() and not hasattr(typed, "id"):
            self.refuse(message["id"], INVALID_REQUEST, f"{message['method']} is a notification")
            return
        method = message.get("method")
        self._is_ending |= method == types.SHUTDOWN
        if method == types.EXIT:  # it may overtake the end of `shutdown`, which determines the code
            self._shutdown |= self._is_ending
        super().handle_message(typed)

    def _handle_response(
        self, msg_id: Any, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        """Handle the client's response to a request of the server. pygls keeps the client's own
        requests, which are tasks, in the same dictionary: ignore a response with such an id."""
        if not isinstance(self._request_futures.get(msg_id), asyncio.Task):
            super()._handle_response(msg_id, result, error)

    def _lose_document(self, uri: Any, problem: str) -> None:
        """Forget a document after an invalid change, because its text is now unknown."""
        if isinstance(uri, str) and self.documents.get(uri):
            self.documents.close(uri)
            text = (
                f"Winnow got an invalid change of {uri} ({problem}). Searches use the file on disk"
                " until you open the document again."
            )
            self.tell("window/showMessage", {"type": types.MessageType.Warning, "message": text})

    def _problem(self, message: Any) -> str | None:
        if not isinstance(message, dict):
            return "a message must be an object"
        if message.get("jsonrpc") != self.VERSION:
            return "`jsonrpc` must be '2.0'"
        # A client that couldn't parse a message reports that with an id of null.
        unread = message.get("id") is None and "error" in message
        if "id" in message and id_of(message) is None and not unread:
            return "`id` must be a string or an integer"
        if "method" not in message:
            return None if {"result", "error"} & message.keys() else "`method` is missing"
        if not isinstance(message["method"], str):
            return "`method` must be a string"
        if self._is_ending and "id" in message:
            return "the server is shutting down"
        if message["method"] == types.INITIALIZE and "id" in message and self._has_begun:
            return "the server is already initialized"
        return None

    def refuse(self, msg_id: str | int | None, code: int, problem: str) -> None:
        """Answer a message with an error. An unknown id is null."""
        logger.info("Refused a message: %s", problem)
        error = {"code": code, "message": problem[:MESSAGE_CHARACTERS]}
        # lsprotocol's type would omit an id of null.
        self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "error": error})

    def _send_response(
        self,
        msg_id: str | int,
        result: Any | None = None,
        error: types.ResponseError | None = None,
    ) -> None:
        if error is not None:
            if error.code == INTERNAL_ERROR:
                error = without_traceback(error)
            # The message may quote a param, which may be a megabyte.
            error.message = error.message[:MESSAGE_CHARACTERS]
        if error is None and isinstance(result, msgspec.Raw):
            self._send_encoded(msg_id, bytes(result))
        elif error is None and isinstance(result, (dict, list)):
            # Plain data: pygls would search all of it for typed objects.
            self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "result": result})
        else:
            super()._send_response(msg_id, result, error)

    def _send_encoded(self, msg_id: str | int, result: bytes) -> None:
        """Send a result that is already JSON. As plain data, a result of 8 MB takes 50 MB more."""
        if self.writer is None:
            return
        body = b'{"jsonrpc":"%b","id":%b,"result":%b}' % (
            self.VERSION.encode(),
            json.dumps(msg_id).encode(),  # it may contain a lone surrogate
            result,
        )
        kind = f"{self.CONTENT_TYPE}; charset={self.CHARSET}"
        header = f"Content-Length: {len(body)}\r\nContent-Type: {kind}\r\n\r\n".encode()
        self.writer.write(header + body if self._include_headers else body)

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification with plain params."""
        self._send_data({"jsonrpc": self.VERSION, "method": method, "params": params})

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[Any, Any, types.InitializeResult]:
        """Add the custom requests to the standard capabilities."""
        self._has_begun = True
        result = yield from super().lsp_initialize(params)
        result.capabilities.experimental = {
            "winnow": {
                "version": winnow.__version__,
                "requests": [*(tool.method for tool in TOOLS.values()), *REQUESTS],
            }
        }
        return result

    # These replace pygls' own handlers, which split lines differently; see `documents.py`.

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Store the text of a document that the editor opened."""
        document = params.text_document
        self.documents.open(document.uri, document.version, document.text)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Apply the editor's changes, in the position encoding negotiated by `initialize`."""
        document = params.text_document
        encoding = self.workspace.position_encoding or types.PositionEncodingKind.Utf16
        self.documents.change(document.uri, document.version, params.content_changes, encoding)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Use the file on disk again."""
        self.documents.close(params.text_document.uri)


@contextlib.contextmanager
def search_errors() -> Iterator[None]:
    """Answer a request with the errors that its caller can act on."""
    try:
        yield
    except SearchError as error:
        code = INVALID_PARAMS if isinstance(error, InvalidParams) else REQUEST_FAILED
        raise JsonRpcException(error.message, code, error.data) from None


def without_traceback(error: types.ResponseError) -> types.ResponseError:
    """Log an internal error and return what the client gets: an incident id to find it there."""
    incident = new_incident()
    trace = error.data.get("traceback", []) if isinstance(error.data, dict) else []
    logger.error("Incident %s: %s\n%s", incident.id, error.message, "".join(trace))
    return types.ResponseError(INTERNAL_ERROR, incident.message, {"incident": incident.id})


def _uri(params: Any) -> Any:
    document = params.get("textDocument") if isinstance(params, dict) else None
    return document.get("uri") if isinstance(document, dict) else None


def _drop_token(message: Any) -> None:
    """Remove the token from `initialize`, so that it's never logged or stored."""
    params = message.get("params")
    options = params.get("initializationOptions") if isinstance(params, dict) else None
    if message.get("method") == types.INITIALIZE and isinstance(options, dict):
        options.pop(TOKEN_OPTION, None)


def _misfit(error: Exception) -> str:
    """Describe the invalid fields of a standard request."""
    cause = error.__cause__ or error
    try:
        problems = transform_error(cause, path="params")
    except Exception:
        return "the params don't fit the method"
    # cattrs writes "required field missing @ params.params.query".
    problems = [problem.replace("params.params", "params") for problem in problems[:3]]
    return "; ".join(problems)[:500]
