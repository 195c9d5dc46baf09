"""What an asynchronous test says that waits for something that does not come."""

from __future__ import annotations

import asyncio

import pytest
from tests.async_tests import within


async def wait_for_nothing(never: asyncio.Event) -> None:
    await never.wait()


async def test_a_test_that_waits_for_ever_fails_with_the_line_it_waits_in() -> None:
    with pytest.raises(AssertionError) as failure:
        await within(0.01, wait_for_nothing(asyncio.Event()))
    place = r"waits in tests/unit/test_async_tests\.py, line \d+: await never\.wait\(\)$"
    assert failure.match(place)


async def test_a_timeout_of_the_code_is_not_that_of_the_test() -> None:
    async def fail() -> None:
        raise TimeoutError("the agent has not answered")

    with pytest.raises(TimeoutError, match="has not answered"):
        await within(300, fail())
