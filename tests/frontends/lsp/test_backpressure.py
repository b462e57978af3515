"""The queues on both sides of the event loop: bounded, in order, and open for what ends work
(#21)."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from lsprotocol import types

from waiting_for import SECONDS
from winnow.frontends.lsp.decoding import Refusal
from winnow.frontends.lsp.framing import Frames
from winnow.frontends.lsp.incoming import ENDED, WAITING_MESSAGES, Incoming
from winnow.frontends.lsp.lifecycle import create_server
from winnow.frontends.lsp.outgoing import QUEUED_BYTES, QUEUED_MESSAGES, Outgoing
from winnow.frontends.lsp.progress import Reporter
from winnow.frontends.lsp.server import WinnowServer


class Reader:
    """A client that reads when it is let."""

    def __init__(self) -> None:
        self.reads = threading.Event()
        self.is_written_to = threading.Event()
        self.received = b""
        self._queues: list[Outgoing] = []

    def outgoing(self, news: asyncio.Event) -> Outgoing:
        """Create a queue of messages to this client."""
        self._queues.append(Outgoing(self.take, news))
        return self._queues[-1]

    def close(self) -> None:
        self.reads.set()
        for queue in self._queues:
            queue.close()

    def take(self, data: bytes) -> None:
        self.is_written_to.set()
        self.reads.wait(SECONDS)
        self.received += data


@pytest.fixture
def reader() -> Iterator[Reader]:
    reader = Reader()
    yield reader
    reader.close()


@pytest.mark.parametrize(
    ("message", "count"), [(b"x" * 100_000, QUEUED_BYTES // 100_000), (b"x", QUEUED_MESSAGES)]
)
async def test_a_queue_has_room_until_it_is_full_and_again_when_it_is_read(
    reader: Reader, message: bytes, count: int
) -> None:
    news = asyncio.Event()
    outgoing = reader.outgoing(news)
    outgoing.write(b"first")
    # Otherwise the writer would take more at once; on a busy machine, the queue would not fill up.
    assert await asyncio.to_thread(reader.is_written_to.wait, SECONDS)
    for _ in range(count // 2):
        outgoing.write(message)
    had_room = outgoing.has_room
    for _ in range(count):
        outgoing.write(message)
    assert (had_room, outgoing.has_room) == (True, False)
    assert not news.is_set()
    waiting = asyncio.create_task(outgoing.room())
    await asyncio.sleep(0.05)
    assert not waiting.done()
    reader.reads.set()
    await asyncio.wait_for(waiting, SECONDS)
    assert news.is_set()
    await outgoing.flush(SECONDS)
    # Nothing was lost.
    assert reader.received == b"first" + message * (count // 2 + count)


async def test_messages_are_written_in_order_from_many_threads_at_once(reader: Reader) -> None:
    outgoing = reader.outgoing(asyncio.Event())
    reader.reads.set()

    def write(name: int) -> None:
        for number in range(500):
            outgoing.write(f"{name} {number};".encode())

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    await outgoing.flush(SECONDS)
    found = [tuple(map(int, one.split())) for one in reader.received.decode().split(";")[:-1]]
    for name in range(4):
        assert [number for one, number in found if one == name] == list(range(500))


async def test_messages_to_a_disconnected_client_use_no_memory() -> None:
    def fail(_: bytes) -> None:
        raise BrokenPipeError

    news = asyncio.Event()
    outgoing = Outgoing(fail, news)
    outgoing.write(b"x")
    await asyncio.wait_for(news.wait(), SECONDS)
    assert outgoing.is_broken
    for _ in range(2 * QUEUED_MESSAGES):
        outgoing.write(b"x")
    assert outgoing.has_room
    await asyncio.wait_for(outgoing.room(), SECONDS)


async def test_a_flush_does_not_wait_for_a_client_that_does_not_read(reader: Reader) -> None:
    outgoing = reader.outgoing(asyncio.Event())
    outgoing.write(b"x")
    await asyncio.wait_for(outgoing.flush(0.05), SECONDS)
    assert not reader.received


def stream(*messages: Any) -> Frames:
    bodies = [json.dumps({"jsonrpc": "2.0", **one}).encode() for one in messages]
    framed = [b"Content-Length: %d\r\n\r\n" % len(body) + body for body in bodies]
    return Frames(io.BytesIO(b"".join(framed)))


async def all_of(incoming: Incoming) -> list[Any]:
    found = []
    while (message := await asyncio.wait_for(incoming.next(), SECONDS)) is not ENDED:
        found.append(message if isinstance(message, Refusal) else message.get("id"))
    return found


async def test_messages_are_handed_out_in_order(reader: Reader) -> None:
    news = asyncio.Event()
    reader.reads.set()
    incoming = Incoming(news, reader.outgoing(news), lambda: True)
    count = 3 * WAITING_MESSAGES
    incoming.read(stream(*({"id": n, "method": "m"} for n in range(count))), lambda: False)
    assert await all_of(incoming) == list(range(count))


async def test_cancellations_and_exit_overtake_waiting_requests(reader: Reader) -> None:
    news = asyncio.Event()
    may_start = False
    incoming = Incoming(news, reader.outgoing(news), lambda: may_start)
    cancel: Any = {"method": "$/cancelRequest", "params": {"id": 2}}
    answer: Any = {"id": "of the client", "result": 1}
    requests: list[Any] = [{"id": n, "method": "m", "params": {}} for n in range(3)]
    sent = [*requests, cancel, answer]
    for message in sent:
        incoming._hand_over(_waiting({"jsonrpc": "2.0", **message}))
    found = [await asyncio.wait_for(incoming.next(), SECONDS) for _ in range(3)]
    assert found[0]["method"] == "$/cancelRequest"
    assert found[1]["id"] == "of the client"
    assert (found[2].id, found[2].code) == (2, -32800)
    next_one = asyncio.create_task(incoming.next())
    await asyncio.sleep(0.05)
    assert not next_one.done()
    may_start = True
    news.set()
    assert (await asyncio.wait_for(next_one, SECONDS))["id"] == 0


async def test_exit_overtakes_everything_except_shutdown(reader: Reader) -> None:
    news = asyncio.Event()
    incoming = Incoming(news, reader.outgoing(news), lambda: False)
    for message in (
        {"id": 1, "method": "m"},
        {"id": 2, "method": "shutdown"},
        {"id": 3, "method": "m"},
        {"method": "exit"},
    ):
        incoming._hand_over(_waiting({"jsonrpc": "2.0", **message}))
    found = [await asyncio.wait_for(incoming.next(), SECONDS) for _ in range(2)]
    assert [message["method"] for message in found] == ["shutdown", "exit"]


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "1.0", "method": "$/cancelRequest", "params": {"id": 1}},
        {"jsonrpc": "2.0", "id": {}, "result": 1},
        {"jsonrpc": "2.0", "id": 1, "method": "$/cancelRequest"},
    ],
)
async def test_messages_that_get_an_answer_do_not_overtake(reader: Reader, message: Any) -> None:
    """A flood of it would fill the queue of a client that does not read."""
    news = asyncio.Event()
    incoming = Incoming(news, reader.outgoing(news), lambda: False)
    incoming._hand_over(_waiting(message))
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(incoming.next(), 0.1)


async def test_a_hang_up_ends_a_reader_that_waits_for_space(reader: Reader) -> None:
    news = asyncio.Event()
    incoming = Incoming(news, reader.outgoing(news), lambda: False)
    requests = ({"id": n, "method": "m"} for n in range(WAITING_MESSAGES + 1))
    incoming.read(stream(*requests), lambda: True)
    assert await asyncio.wait_for(incoming.next(), SECONDS) is ENDED


async def test_progress_reports_are_dropped_but_not_their_end(reader: Reader) -> None:
    server: WinnowServer = create_server()
    news = asyncio.Event()
    outgoing = reader.outgoing(news)
    server.protocol.connect(outgoing, news)
    with Reporter(server, "token", None, "title") as progress:
        progress("shown")
        for _ in range(2 * QUEUED_MESSAGES):
            outgoing.write(b" ")
        progress("dropped")
    reader.reads.set()
    await outgoing.flush(SECONDS)
    assert b"shown" in reader.received
    assert b"dropped" not in reader.received
    assert reader.received.count(types.PROGRESS.encode()) == 3


def _waiting(message: Any) -> Any:
    from winnow.frontends.lsp.incoming import _Waiting

    return _Waiting(message, 1)
