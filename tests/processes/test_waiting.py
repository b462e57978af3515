"""Bounded waits lose no cancellation, and no slot of a semaphore."""

from __future__ import annotations

import asyncio

import pytest

from winnow.processes.waiting import acquire_within, wait_within


async def test_a_result_in_time_is_returned() -> None:
    assert await wait_within(asyncio.sleep(0, "done"), 5) == "done"


async def test_slow_work_is_cancelled() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    with pytest.raises(asyncio.TimeoutError):
        await wait_within(work(), 0.01)
    assert ended.is_set()


async def test_errors_of_the_work_are_raised() -> None:
    async def work() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await wait_within(work(), 5)


@pytest.mark.parametrize("turns_of_the_loop", range(6))
async def test_a_cancellation_together_with_a_free_slot_is_not_lost(turns_of_the_loop: int) -> None:
    """A request that waits for a slot may be canceled when another one ends (#21)."""
    slots = asyncio.Semaphore(1)
    await slots.acquire()
    request = asyncio.create_task(acquire_within(slots, 5))
    await asyncio.sleep(0.01)
    slots.release()
    for _ in range(turns_of_the_loop):
        await asyncio.sleep(0)
    cancelled = request.cancel()
    done = await asyncio.gather(request, return_exceptions=True)
    if cancelled:
        assert isinstance(done[0], asyncio.CancelledError)
        assert not slots.locked()
    else:
        assert slots.locked()


async def test_waiting_for_a_slot_times_out() -> None:
    slots = asyncio.Semaphore(1)
    await slots.acquire()
    with pytest.raises(asyncio.TimeoutError):
        await acquire_within(slots, 0.01)
    slots.release()
    await acquire_within(slots, 5)
    assert slots.locked()


@pytest.mark.parametrize("turns_of_the_loop", range(4))
async def test_a_cancellation_together_with_the_result_is_not_lost(turns_of_the_loop: int) -> None:
    """Before Python 3.12, asyncio.wait_for loses the cancellation."""
    answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    request = asyncio.create_task(wait_within(answer, 60))
    await asyncio.sleep(0.01)
    answer.set_result("done")
    for _ in range(turns_of_the_loop):
        await asyncio.sleep(0)
    cancelled = request.cancel()
    (done,) = await asyncio.gather(request, return_exceptions=True)
    assert isinstance(done, asyncio.CancelledError) if cancelled else done == "done"
