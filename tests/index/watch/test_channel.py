"""The channel between the watching thread and the event loop."""

from __future__ import annotations

import asyncio

from winnow.index.watch.channel import MOST_PATHS, WatchChannel


class Heard:
    def __init__(self) -> None:
        self.reported: list[set[str] | str] = []
        self.channel = WatchChannel(self.reported.append, lambda: self.reported.append("lost"))


async def test_changes_before_the_loop_runs_are_reported_together() -> None:
    heard = Heard()
    heard.channel.begin()
    answer = heard.channel.request_sync()
    asked, _ = heard.channel.requests()
    heard.channel.report({"a"})
    heard.channel.report({"a", "b"}, answered=asked)
    assert await answer
    assert heard.reported == [{"a", "b"}]


async def test_too_many_paths_count_as_lost_events() -> None:
    heard = Heard()
    heard.channel.begin()
    heard.channel.report(f"{index}" for index in range(MOST_PATHS))
    heard.channel.report({"one more"})
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert heard.reported == ["lost"]


async def test_an_end_reports_lost_events_and_answers_requests_with_false() -> None:
    heard = Heard()
    heard.channel.begin()
    await heard.channel.begun
    taken = heard.channel.request_sync()
    heard.channel.requests()
    asked = heard.channel.request_sync()
    heard.channel.report({"a"})
    heard.channel.end("the reason")
    assert not await taken
    assert not await asked
    assert heard.reported == [{"a"}, "lost"]
    assert heard.channel.reason == "the reason"


async def test_changes_that_the_loop_has_not_heard_of_are_not_current() -> None:
    heard = Heard()
    heard.channel.connect(lambda: None, lambda: True)
    assert not heard.channel.is_current()
    heard.channel.report(())
    assert heard.channel.is_current()
    heard.channel.requests()
    assert not heard.channel.is_current()
    heard.channel.report({"a"})
    assert not heard.channel.is_current()
    await asyncio.sleep(0)
    assert heard.channel.is_current()
    heard.channel.refresh()
    assert not heard.channel.is_current()
    heard.channel.requests()
    heard.channel.report(())
    assert heard.channel.is_current()
    heard.channel.end("the reason")
    assert not heard.channel.is_current()
