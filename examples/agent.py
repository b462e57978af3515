"""A small agent: a language model that searches the current folder by Winnow's tools.

    OPENAI_API_KEY=… python agent.py "where are plugins loaded?" --model gpt-5-mini

It starts `winnow serve`, hands the tools of `$/tools` to the model, and calls by `$/callTool` what
the model asks for. Any server that speaks OpenAI's API will do (OPENAI_BASE_URL). Needs the
packages winnow-ls and openai.
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
# What a tool may answer, unless the model wants more: it reads every answer again in each turn.
MAX_TOKENS = 4_000
SYSTEM = "Answer the question about the code in the current folder, with the files and lines."


class RequestFailed(Exception):
    """The server's message says what would help; a model can act on it."""


class Winnow:
    """A language server, and its answers: `async with Winnow(folder) as winnow`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0

    async def __aenter__(self) -> Winnow:
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-m", "winnow", "serve"]
        # Else `-m` would run modules of the folder that happen to have a name that it looks for.
        environment = {**os.environ, "PYTHONSAFEPATH": "1"}
        self._process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, env=environment
        )
        self._reading = asyncio.create_task(self._read())
        root = {"name": self._folder.name, "uri": self._folder.as_uri()}
        client = {"processId": os.getpid(), "capabilities": {}, "workspaceFolders": [root]}
        await self.ask("initialize", {**client, "rootUri": root["uri"]})
        self._send({"method": "initialized", "params": {}})
        return self

    async def __aexit__(self, *_: object) -> None:
        with contextlib.suppress(RequestFailed):  # it may have ended already
            await self.ask("shutdown", None)
            self._send({"method": "exit"})
        await self._process.wait()
        await self._reading

    async def ask(self, method: str, params: Any) -> Any:
        """The result of a request. Raises RequestFailed. Cancelled here, it is cancelled there."""
        if self._reading.done():
            raise RequestFailed("the server has ended")
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
                self._hear(json.loads(await stream.readexactly(length)))
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(RequestFailed("the server has ended"))

    def _hear(self, message: dict[str, Any]) -> None:
        answer = self._waiting.get(message.get("id", -1))
        # What else it says is news for an editor; it asks nothing of a client without capabilities.
        if answer is None or answer.done() or "method" in message:
            return
        if "error" in message:
            answer.set_exception(RequestFailed(message["error"]["message"]))
        else:
            answer.set_result(message["result"])


async def answer(question: str, model: str, winnow: Winnow) -> str:
    """What the model says in the end."""
    described = (await winnow.ask("$/tools", {}))["tools"]
    limited = {
        one["name"] for one in described if "max_tokens" in one["input_schema"]["properties"]
    }
    tools = [
        {
            "type": "function",
            "function": {
                "name": one["name"],
                "description": one["description"],
                "parameters": one["input_schema"],
            },
        }
        for one in described
    ]

    async def call(function: Any) -> str:
        """A tool's answer, or what is wrong with the call: the model can do better then."""
        try:
            arguments = json.loads(function.arguments)
            if function.name in limited:
                arguments = {"max_tokens": MAX_TOKENS, **arguments}
            called = {"name": function.name, "arguments": arguments}
            return str((await winnow.ask("$/callTool", called))["text"])
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
            said = done.choices[0].message
            if not said.tool_calls:
                return said.content or ""
            messages.append(said)
            texts = await asyncio.gather(*(call(one.function) for one in said.tool_calls))  # type: ignore[union-attr]
            for one, text in zip(said.tool_calls, texts, strict=True):
                print(f"{one.function.name} {one.function.arguments}", file=sys.stderr)  # type: ignore[union-attr]
                messages.append({"role": "tool", "tool_call_id": one.id, "content": text})
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
