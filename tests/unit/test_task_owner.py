"""The owner of an object's background tasks."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from parley._task_owner import TaskOwner


async def fail(error: BaseException) -> None:
    raise error


async def test_a_task_is_kept_until_it_is_done_and_its_failure_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    owner = TaskOwner("connection", expected=(KeyError,))
    expected = owner.create_task(fail(KeyError()))
    failing = owner.create_task(fail(ValueError("broken")))
    assert len(owner) == 2
    await asyncio.wait({expected, failing})
    await owner.aclose(1)
    assert len(owner) == 0
    [record] = caplog.records
    assert record.getMessage() == "connection: a background task failed"
    assert "broken" in caplog.text


async def test_closing_cancels_the_tasks_and_waits_for_their_end() -> None:
    ended: list[str] = []
    started = asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("work")

    owner = TaskOwner("connection")
    owner.create_task(work())
    await started.wait()
    await owner.aclose(60)
    assert ended == ["work"]


async def test_a_task_that_ignores_its_cancellation_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release, started = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()

    owner = TaskOwner("connection")
    working = owner.create_task(work())
    await started.wait()
    await owner.aclose(0)
    assert "1 background tasks are still running" in caplog.text
    release.set()
    await working


async def test_a_task_may_close_its_owner() -> None:
    owner = TaskOwner("connection")
    closing = owner.create_task(owner.aclose(60))
    await closing
    assert not closing.cancelled()


async def test_a_block_cancels_and_awaits_its_tasks() -> None:
    async with TaskOwner("block") as owner:
        endless = owner.create_task(asyncio.Event().wait())
    assert endless.cancelled()


async def test_waiting_ends_with_the_last_task_or_after_the_grace_period() -> None:
    owner = TaskOwner("connection")
    await owner.wait(60)
    short = owner.create_task(asyncio.sleep(0, "done"))
    await owner.wait(60)
    assert short.result() == "done"
    endless = owner.create_task(asyncio.Event().wait())
    await owner.wait(0)
    assert not endless.done()
    await owner.aclose()
