"""The agent of the pictures, which repairs a report always in the same way."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from tests.unit.tui.running_app import Talk, talking

from parley.agent import Agent, AgentSession, Turn
from parley.schema import v2
from parley.schema.v2 import methods

WIDE, NARROW, README = (120, 40), (80, 24), (100, 40)
PROMPT = "The report of December 31 is missing. Find out why, and mend it."
FILE = "/home/ada/shop/report.py"
OLD = """\
from datetime import date


def name_of(day: date) -> str:
    year = day.isocalendar().year
    return f"report-{year}-{day:%m-%d}.pdf"
"""
NEW = OLD.replace("day.isocalendar().year", "day.year")
COMMAND = "pytest -q"
FAILED = (
    "\x1b[32m...........\x1b[31mF\x1b[0m                                       [100%]\n"
    "\x1b[31;1mFAILED\x1b[0m test_report.py::test_the_last_day_of_the_year\n"
    "\x1b[31m1 failed\x1b[0m, \x1b[32m11 passed\x1b[0m in 0.31s\n"
)
PASSED = "\x1b[32m............\x1b[0m\n\x1b[32;1m12 passed\x1b[0m in 0.29s\n"
ANSWER = """\
The year came from the **ISO week**: December 31 can be in week 1 of the *next* year.

```python
year = day.year  # not day.isocalendar().year
```

- `report.py` takes the year of the calendar now
- all 12 tests pass
"""
STEPS = ("Find what is wrong", "Mend it", "Run the tests again")
OPTIONS = (
    v2.PermissionOption(option_id="once", name="Allow", kind="allow_once"),
    v2.PermissionOption(option_id="always", name="Always allow pytest", kind="allow_always"),
    v2.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
)
Before: TypeAlias = Callable[[Talk], Awaitable[None]]


def mender() -> Agent:
    """An agent with modes, commands, and one story to tell."""
    agent = Agent("mender", title="Mender", version="1.0")

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        await session.set_config_options([_choice("mode", "Mode", "Code", "Ask", "Plan")])
        await session.set_commands([v2.Command(name="review", description="look at the changes")])

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "form":
            await turn.elicit("Where should the report go?", _form())
            return
        await _tell(turn)

    return agent


async def _tell(turn: Turn) -> None:
    await turn.session.usage(18_400, 200_000, v2.Cost(amount=0.0312, currency="USD"))
    await turn.think("A day at the end of a year: I suspect the week, and run the tests first.")
    await turn.plan(STEPS, done=0)
    await _test(turn, FAILED, 1)
    await turn.plan(STEPS, done=1)
    place = v2.ToolCallLocation(path=FILE, line=5)
    async with turn.tool("Read report.py", kind="read", locations=[place]):
        pass
    async with turn.tool("Edit report.py", kind="edit", locations=[FILE]) as call:
        await call.diff(FILE, OLD, NEW)
    await turn.plan(STEPS, done=2)
    request = v2.RequestPermissionRequest(
        session_id=turn.session.id,
        title="Run the tests again?",
        subject=v2.CommandPermissionSubject(command=COMMAND, cwd=str(Path(FILE).parent)),
        options=list(OPTIONS),
    )
    async with turn.session._state.requires_action():
        await turn.session._state.adapter.request(methods.REQUEST_PERMISSION, request)
    await _test(turn, PASSED, 0)
    await turn.plan(STEPS, done=3)
    await turn.say(ANSWER)


async def _test(turn: Turn, output: str, code: int) -> None:
    async with turn.tool(COMMAND, kind="execute") as call, turn.terminal(COMMAND) as terminal:
        await call.show_terminal(terminal)
        await terminal.write(output)
        await terminal.exit(code)
        await call.update(status="failed" if code else "completed")


def _choice(id: str, name: str, *values: str) -> v2.SessionConfigSelect:
    options = [v2.SessionConfigSelectOption(value=each.lower(), name=each) for each in values]
    return v2.SessionConfigSelect(
        config_id=id, name=name, category=id, current_value=values[0].lower(), options=options
    )


def _form() -> dict[str, v2.ElicitationPropertySchema]:
    return {
        "folder": v2.StringPropertySchema(title="Folder", description="It is made if need be"),
        "copies": v2.IntegerPropertySchema(title="Copies", minimum=1, maximum=9),
        "mail": v2.BooleanPropertySchema(title="Send a mail", default=True),
    }


@asynccontextmanager
async def scene(
    home: Path,
    size: tuple[int, int] = NARROW,
    target: Any = mender,
    theme: str = "dark",
) -> AsyncGenerator[Talk]:
    """Run the app in a project at home; what is shown depends on nothing else."""
    project = home / "shop"
    agent = mender() if target is mender else target
    async with talking(agent, cwd=project, size=size) as talk:
        talk.app.theme = f"parley-{theme}"
        await talk.until_state("idle")
        yield talk


async def ask(talk: Talk) -> None:
    """Let the agent tell its story, up to its question."""
    await say(talk, PROMPT)
    await talk.until_state("waiting")
    await talk.until(lambda: talk.chat.dock.card is not None and talk.chat.dock.card.has_focus)


async def tell(talk: Talk) -> None:
    """Let it tell everything."""
    await ask(talk)
    await talk.answer("y")
    await talk.until_shown("all 12 tests pass")
    await talk.until_state("idle")


async def fill_in(talk: Talk) -> None:
    """Open the form of the agent in the tutorial, and fill it in."""
    await say(talk, "/teach")
    await talk.until(lambda: talk.chat.dock.card is not None and talk.chat.dock.card.has_focus)
    await talk.answer(*"mail", "tab", *"post")


async def say(talk: Talk, text: str) -> None:
    """Send a prompt, without typing each letter."""
    talk.chat.composer.text = text
    await talk.press("enter")


async def svg(talk: Talk) -> str:
    """The screen as a picture, once all is on it.

    How high things are that were never in view is a guess, which is another one after they were;
    so all is laid out anew.
    """
    width, height = talk.app.size
    for each in (width + 1, width):
        await talk.pilot.resize_terminal(each, height)
        await talk.app.tab.shown.paint()
        talk.app.tab.tick()
        for _ in range(3):
            await talk.pilot.pause()
    return plain_svg(talk.app.export_screenshot(title="parley chat"))


def plain_svg(picture: str) -> str:
    """A picture without fonts from elsewhere, and with names that are the same each time."""
    picture = re.sub(r"\s*@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    picture = picture.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")
    return re.sub(r"\bterminal-\d+-([\w-]+)", r"terminal-\1", picture)


FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"
