"""How long an answer is thought about is counted in work, not in time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from parley.nes._documents.document import Document
from parley.nes.embedded import EmbeddedEngine
from parley.nes.engine import Question, Span, Spot, Workspace

TEXT = "log.debug(1)\nstart()\nlog.debug(2)\nwork()\nlog.debug(3)\nstop()\nlog.debug(4)\n"
Clock = Callable[[], float]


async def suggested(clock: Clock, cpu_clock: Clock) -> bool:
    """Tell whether there is a suggestion after the same change was made twice."""
    predictor = EmbeddedEngine(clock=clock, cpu_clock=cpu_clock).begin(Workspace())
    document = Document("file:///w/clocks.py", "python", 1, TEXT)
    predictor.opened(document)
    await predictor.settled()
    for line in (0, 2):
        change = document.edit(Span(Spot(line, 4), Spot(line, 9)), "info")
        predictor.changed(document, [change])
    question = Question(document=document, spot=Spot(2, 8), kinds=frozenset({"edit"}))
    found = await predictor.suggest(question)
    predictor.close()
    return bool(found)


def fast() -> Clock:
    """Return a clock on which each look is ten seconds later than the last one."""
    ticks = count(0, 10)
    return lambda: float(next(ticks))


async def test_on_a_busy_machine_the_answer_is_the_same() -> None:
    assert await suggested(fast(), lambda: 0.0)


async def test_who_has_worked_long_enough_says_what_was_found_by_then() -> None:
    assert not await suggested(lambda: 0.0, fast())
