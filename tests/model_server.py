"""A fake server for remote models, with the wire formats of both APIs.

It answers ``POST /v1/chat/completions`` like OpenAI's API and ``POST /v1/messages`` like
Anthropic's, with streaming. Its mode selects success or one of the failures of such servers. The
mode is a single value for all requests, or a list with one value for each request in turn.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODES = (
    "ok",
    "plain",
    "thinking",
    "no_schema",
    "rate_limited_short",
    "rate_limited_long",
    "error_500",
    "unauthorized",
    "hang",
    "drip",
    "cut",
    "bad_json",
    "unknown_ids",
    "refusal",
    "empty",
    "nothing",
    "length",
    "odd_usage",
    "odd_content",
    "odd_finish",
    "deep",
    "error_in_stream",
    "endless",
    "flood",
    "bomb",
    "redirect",
)
# A value that parsers can't read, because it is nested too deep.
DEEP = "[" * 100_000


class ModelServer:
    """The server: set ``mode`` before the requests, and read ``requests`` afterwards.

    In successful modes, ``choose`` creates the answer from the ids and paths in the prompt, or
    ``reply``, if set, from the complete prompt. For requests with tools, ``act`` creates the next
    message from the previous messages.
    """

    def __init__(self) -> None:
        self.mode: str | list[str] = "ok"
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.closed = threading.Event()
        self.sent_megabytes = 0
        self.drip_seconds = 0.05
        self.redirect = ""
        self.choose: Callable[[dict[str, str]], list[dict[str, str]]] = lambda files: [
            {"id": name, "lines": "1-2", "reason": f"because of {path}"}
            for name, path in list(files.items())[:2]
        ]
        self.act: Callable[[list[dict[str, Any]]], dict[str, Any]] = lambda messages: {}
        self.reply: Callable[[str], str] | None = None
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                raw = self.rfile.read(length)
                body = json.loads(raw)
                server.bodies.append(raw)
                server.requests.append(body)
                server.headers.append({k.lower(): v for k, v in self.headers.items()})
                server._answer(self, body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    # --- one request -----------------------------------------------------------------------

    def _answer(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        if "tools" in body:
            return self._act(handler, body)
        mode = self.mode if isinstance(self.mode, str) else self.mode.pop(0)
        anthropic = handler.path.endswith("/messages")
        structured = "output_config" in body or "response_format" in body
        if mode == "no_schema" and structured:
            return self._error(handler, 400, "response_format is not supported")
        if mode.startswith("rate_limited"):
            after = "1" if mode.endswith("short") else "3600"
            return self._error(handler, 429, "slow down", {"retry-after": after})
        if mode == "redirect":
            return self._error(handler, 307, "over there", {"location": self.redirect})
        if mode == "error_500":
            return self._error(handler, 500, "oops")
        if mode == "unauthorized":
            return self._error(handler, 401, f"bad key {handler.headers['authorization']}")
        if mode == "hang":
            self._wait_until_closed(handler)
            return None
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        if mode == "bomb":
            handler.send_header("content-encoding", "gzip")
        handler.end_headers()
        if mode == "flood":
            self._flood(handler)
            return None
        if mode == "bomb":
            with contextlib.suppress(OSError):
                handler.wfile.write(gzip.compress(b"\n" * 50_000_000))
            handler.close_connection = True
            return None
        events = _anthropic_events if anthropic else _openai_events
        try:
            for event in events(self._pieces(mode, body), mode):
                handler.wfile.write(event.encode())
                handler.wfile.flush()
                if mode == "drip" and self.released.wait(self.drip_seconds):
                    break
        except OSError:
            self.closed.set()
        handler.close_connection = True
        return None

    def _act(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Send the complete message of an agent's model in the format of OpenAI's API."""
        message = {"role": "assistant", "content": None, **self.act(body["messages"])}
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        answer = {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        }
        _send_json(handler, 200, answer)

    def _flood(self, handler: BaseHTTPRequestHandler) -> None:
        """Send a line without an end, up to 200 MB."""
        handler.close_connection = True
        try:
            handler.wfile.write(b"data: ")
            for _ in range(200):
                handler.wfile.write(b"x" * 1_000_000)
                self.sent_megabytes += 1
        except OSError:
            self.closed.set()

    def _pieces(self, mode: str, body: dict[str, Any]) -> list[str]:
        prompt = body["messages"][-1]["content"]
        files = dict(re.findall(r"^\[(f\d+)\] (.*)$", prompt, re.M))
        chosen = self.choose(files)
        plain = mode == "plain" or (
            mode == "no_schema" and not ("output_config" in body or "response_format" in body)
        )
        if plain:
            text = "".join(f"{file['id']}: {file['reason']}\n" for file in chosen)
        elif mode == "bad_json":
            text = '{"files": [{"id": "f01" "lines": oh no'
        elif mode == "unknown_ids":
            text = json.dumps({"files": [{"id": "f99", "lines": "1", "reason": "no"}, *chosen]})
        elif mode == "nothing":
            text = '{"files": []}'
        elif mode in ("empty", "refusal"):
            text = ""
        else:
            text = self.reply(prompt) if self.reply else json.dumps({"files": chosen})
        if mode == "drip":
            text += " " * 400
        if mode == "endless":
            text = "x" * 200_000
        if mode in ("cut", "length"):
            text = text[: text.index("}") + 3]
        size = 7 if mode != "drip" else 1
        return [text[i : i + size] for i in range(0, len(text), size)]

    def _error(
        self,
        handler: BaseHTTPRequestHandler,
        status: int,
        message: str,
        headers: dict[str, str] | None = None,
    ) -> None:
        _send_json(handler, status, {"error": {"message": message, "type": "error"}}, headers)

    def _wait_until_closed(self, handler: BaseHTTPRequestHandler) -> None:
        handler.connection.settimeout(0.05)
        end = time.monotonic() + 30
        while time.monotonic() < end and not self.released.is_set():
            try:
                if handler.connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        self.closed.set()
        handler.close_connection = True


def _send_json(
    handler: BaseHTTPRequestHandler,
    status: int,
    answer: object,
    headers: dict[str, str] | None = None,
) -> None:
    body = json.dumps(answer).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def _openai_events(pieces: list[str], mode: str) -> Iterator[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        data = {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            **more,
        }
        return f"data: {json.dumps(data)}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    if mode == "thinking":
        yield chunk({"reasoning_content": "hmm"})
        yield chunk({"content": "<think>f01? or {f02}: "})
        yield chunk({"content": 'no, {"id": "f03"}</think>\n'})
    if mode == "refusal":
        yield chunk({"refusal": "I cannot do that"})
    if mode == "odd_content":
        yield chunk({"content": 5})
        yield chunk({"content": [{"type": "text", "text": "x"}]})
    if mode == "deep":
        yield f"data: {DEEP}\n\n"
    if mode == "error_in_stream":
        message = (
            "bad key Bearer sk-fake-0123456789abcdef \x1b]0;PWNED\x07\u202e https://evil.example"
        )
        yield f"data: {json.dumps({'error': {'message': message}})}\n\n"
    for piece in pieces:
        yield chunk({"content": piece})
    if mode == "cut":
        return
    finishes: dict[str, Any] = {"length": "length", "odd_finish": ["stop"]}
    yield chunk({}, finishes.get(mode, "stop"))
    usage: dict[str, Any] = {
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "total_tokens": 1050,
        "prompt_tokens_details": {"cached_tokens": 200},
    }
    if mode == "odd_usage":
        usage = {"prompt_tokens": None, "completion_tokens": "12", "total_tokens": {}}
    yield chunk({}, usage=usage)
    yield "data: [DONE]\n\n"


def _anthropic_events(pieces: list[str], mode: str) -> Iterator[str]:
    def event(kind: str, **data: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    message: dict[str, Any] = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 800, "output_tokens": 1, "cache_read_input_tokens": 200},
    }
    yield event("message_start", message=message)
    if mode == "deep":
        yield f"event: message_start\ndata: {DEEP}\n\n"
    if mode == "error_in_stream":
        text = "bad key sk-fake-0123456789abcdef \x1b]0;PWNED\x07 https://evil.example"
        yield event("error", error={"type": "overloaded_error", "message": text})
    index = 0
    if mode == "thinking":
        thinking = {"type": "thinking", "thinking": "", "signature": ""}
        yield event("content_block_start", index=0, content_block=thinking)
        delta = {"type": "thinking_delta", "thinking": 'f01: {"id": "f03"}'}
        yield event("content_block_delta", index=0, delta=delta)
        yield event("content_block_stop", index=0)
        index = 1
    yield event("content_block_start", index=index, content_block={"type": "text", "text": ""})
    odd: list[Any] = [5] if mode == "odd_content" else []
    for piece in [*odd, *pieces]:
        delta = {"type": "text_delta", "text": piece}
        yield event("content_block_delta", index=index, delta=delta)
    if mode == "cut":
        return
    yield event("content_block_stop", index=index)
    stops: dict[str, Any] = {"refusal": "refusal", "length": "max_tokens"}
    stop = ["end_turn"] if mode == "odd_finish" else stops.get(mode, "end_turn")
    yield event(
        "message_delta",
        delta={"stop_reason": stop, "stop_sequence": None},
        usage={"output_tokens": 50},
    )
    yield event("message_stop")
