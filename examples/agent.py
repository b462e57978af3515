"""A small agent: a language model that searches the current folder with Winnow's tools.

    OPENAI_API_KEY=… python agent.py "where are plugins loaded?" --model gpt-5-mini

It starts `winnow serve`, passes the tools of `$/tools` to the model, and runs the model's tool
calls with `$/callTool`. Any server with OpenAI's API works (OPENAI_BASE_URL). Needs the packages
winnow-ls and openai.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

TURNS = 12
# The default size limit of a tool's answer: the model reads every answer again in each turn.
MAX_TOKENS = 4_000
SYSTEM = "Answer the question about the code in the current folder, with the files and lines."


class RequestFailed(Exception):
    """An error response. Its message suggests a fix, so the model can correct its call."""


class Winnow:
    """A client of a language server: `async with Winnow(folder) as winnow`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0

    async def __aenter__(self) -> Winnow:
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-m", "winnow", "serve"]
        # Otherwise `-m` would import modules from the current folder.
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, env=environment
        )
        self._reading = asyncio.create_task(self._read())
        root = {"name": self._folder.name, "uri": self._folder.as_uri()}
        client = {"processId": os.getpid(), "capabilities": {}, "workspaceFolders": [root]}
        await self.request("initialize", {**client, "rootUri": root["uri"]})
        self._send({"method": "initialized", "params": {}})
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(RequestFailed):  # the server may have exited already
            await self.request("shutdown", None)
            self._send({"method": "exit"})
        await self._process.wait()
        await self._reading

    async def request(self, method: str, params: Any) -> Any:
        """Send a request and return its result. Raise RequestFailed for an error. Canceling the
        task cancels the request."""
        if self._reading.done():
            raise RequestFailed("The server has exited")
        self._number += 1
        number = self._number
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            self._send({"method": "$/cancelRequest", "params": {"id": number}})
            raise
        finally:
            del self._waiting[number]

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                headers = await stream.readuntil(b"\r\n\r\n")
                length = next(
                    int(line.partition(b":")[2])
                    for line in headers.splitlines()
                    if line.lower().startswith(b"content-length:")
                )
                self._handle(json.loads(await stream.readexactly(length)))
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(RequestFailed("The server has exited"))

    def _handle(self, message: dict[str, Any]) -> None:
        answer = self._waiting.get(message.get("id", -1))
        # Other messages are notifications for an editor; without client capabilities, the server
        # sends no requests.
        if answer is None or answer.done() or "method" in message:
            return
        if "error" in message:
            answer.set_exception(RequestFailed(message["error"]["message"]))
        else:
            answer.set_result(message["result"])


async def answer(question: str, model: str, winnow: Winnow) -> str:
    """Return the model's final answer."""
    descriptions = (await winnow.request("$/tools", {}))["tools"]
    limited = {
        tool["name"] for tool in descriptions if "max_tokens" in tool["input_schema"]["properties"]
    }
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool["name"],
                "description": tool["description"],
                "parameters": tool["input_schema"],
            },
        }
        for tool in descriptions
    ]

    async def call(function: Any) -> str:
        """Return a tool's answer, or the error, so that the model can correct the call."""
        try:
            arguments = json.loads(function.arguments)
            if function.name in limited:
                arguments = {"max_tokens": MAX_TOKENS, **arguments}
            params = {"name": function.name, "arguments": arguments}
            return str((await winnow.request("$/callTool", params))["text"])
        except (RequestFailed, ValueError, TypeError) as error:
            return f"Error: {error}"

    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": question},
    ]
    async with AsyncOpenAI() as client:
        for _ in range(TURNS):
            done = await client.chat.completions.create(
                model=model,
                messages=messages,
                tools=tools,  # type: ignore[arg-type]  # plain data
            )
            message = done.choices[0].message
            if not message.tool_calls:
                return message.content or ""
            messages.append(message)
            calls = message.tool_calls
            texts = await asyncio.gather(*(call(item.function) for item in calls))  # type: ignore[union-attr]
            for item, text in zip(calls, texts, strict=True):
                print(f"{item.function.name} {item.function.arguments}", file=sys.stderr)  # type: ignore[union-attr]
                messages.append({"role": "tool", "tool_call_id": item.id, "content": text})
    return f"No answer after {TURNS} turns"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("question")
    parser.add_argument("--model", default="gpt-5-mini")
    options = parser.parse_args()
    async with Winnow(Path.cwd()) as winnow:
        print(await answer(options.question, options.model, winnow))


if __name__ == "__main__":
    asyncio.run(main())
