"""What the thread and the loop hand each other."""

from __future__ import annotations

import asyncio

from winnow.index.watch.channel import MOST_PATHS, WatchChannel


class Heard:
    def __init__(self) -> None:
        self.reported: list[set[str] | str] = []
        self.exchange = WatchChannel(self.reported.append, lambda: self.reported.append("lost"))


async def test_what_is_told_before_the_loop_looks_is_told_at_once() -> None:
    heard = Heard()
    heard.exchange.begin()
    answer = heard.exchange.ask()
    asked, _ = heard.exchange.requests()
    heard.exchange.tell({"a"})
    heard.exchange.tell({"a", "b"}, answered=asked)
    assert await answer
    assert heard.reported == [{"a", "b"}]


async def test_too_many_paths_are_a_loss() -> None:
    heard = Heard()
    heard.exchange.begin()
    heard.exchange.tell(f"{index}" for index in range(MOST_PATHS))
    heard.exchange.tell({"one more"})
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert heard.reported == ["lost"]


async def test_an_end_is_a_loss_and_a_no_to_who_asked() -> None:
    heard = Heard()
    heard.exchange.begin()
    await heard.exchange.begun
    taken = heard.exchange.ask()
    heard.exchange.requests()
    asked = heard.exchange.ask()
    heard.exchange.tell({"a"})
    heard.exchange.end("the reason")
    assert not await taken
    assert not await asked
    assert heard.reported == [{"a"}, "lost"]
    assert heard.exchange.reason == "the reason"
