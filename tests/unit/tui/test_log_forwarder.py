from __future__ import annotations

import asyncio
import logging

from parley.tui.log_forwarder import MAX_LINES, LogForwarder
from parley.tui.render.blocks import Kind

logger = logging.getLogger("parley.peer._inbound")


async def test_the_log_is_shown_and_what_took_it_before_takes_it_again() -> None:
    said: list[tuple[str, Kind]] = []
    before = logging.getLogger("parley").handlers
    with LogForwarder(lambda text, kind: said.append((text, kind))):
        logger.info("nothing of note")
        logger.warning("%s: ignored a message", "agent")
        await asyncio.to_thread(logger.error, "from a thread")
        try:
            raise ValueError("deep down")
        except ValueError:
            logger.exception("it failed")
    assert logging.getLogger("parley").handlers is before
    await asyncio.sleep(0)
    assert said == [
        ("agent: ignored a message", "warning"),
        ("from a thread", "error"),
        ("it failed: ValueError('deep down')", "error"),
    ]


async def test_a_flood_of_warnings_is_a_few_lines() -> None:
    said: list[str] = []
    with LogForwarder(lambda text, kind: said.append(text)):
        for _ in range(10):
            logger.warning("the same")
        for number in range(10 * MAX_LINES):
            logger.warning("line %d", number)
    await asyncio.sleep(0)
    assert said[:3] == ["the same", "line 0", "line 1"]
    assert len(said) == MAX_LINES + 1
    assert "further" in said[-1]
