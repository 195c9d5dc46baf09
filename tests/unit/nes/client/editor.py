"""An editor with a client, a scripted agent, and a clock that a test moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.conformance.raw_agent import RawAgent

from parley.nes._documents.change import Span, Spot
from parley.nes.client import KINDS, NesClient, NesOptions, Suggestion, Timing
from parley.nes.client._suggestion import EditSuggestion
from parley.nes.engine import TextEdit
from parley.transport._memory import MemoryTransport
from parley.transport._notifier import Notifier

URI = "file:///w/a.py"
EVERY_EVENT: dict[str, Any] = {
    "didOpen": {},
    "didChange": {"syncKind": "incremental"},
    "didClose": {},
    "didSave": {},
    "didFocus": {},
}
EVERY_CONTEXT: dict[str, Any] = {
    name: {}
    for name in (
        "recentFiles",
        "relatedSnippets",
        "editHistory",
        "userActions",
        "openFiles",
        "diagnostics",
    )
}


class _Timer:
    def __init__(self, due: float, callback: Callable[[], object]) -> None:
        self.due = due
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self._now = 100.0
        self._timers: list[_Timer] = []

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[[], object], /) -> _Timer:
        timer = _Timer(self._now + delay, callback)
        self._timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Move on, and call what is due on the way."""
        end = self._now + seconds
        while True:
            due = [each for each in self._timers if not each.is_cancelled and each.due <= end]
            if not due:
                self._now = end
                return
            first = min(due, key=lambda each: each.due)
            self._timers.remove(first)
            self._now = max(first.due, self._now)
            first.callback()


class NesAgent(RawAgent):
    """An agent without Parley that makes suggestions; a test answers what it is asked."""

    def __init__(
        self,
        version: int,
        events: dict[str, Any] | None = None,
        context: dict[str, Any] | None = None,
        **capabilities: Any,
    ) -> None:
        nes: dict[str, Any] = {} if events is None else {"events": {"document": events}}
        if context is not None:
            nes["context"] = context
        super().__init__(version, {"nes": nes, **capabilities})
        self.answers |= {
            "nes/start": lambda params: {"sessionId": "n"},
            "nes/close": lambda params: {},
            "_test/echo": lambda params: params,
        }
        self._asked = 0

    @property
    def id_key(self) -> str:
        """What the id of a suggestion is called."""
        return "id" if self.version == 1 else "suggestionId"

    async def asked(self) -> Any:
        """Wait for the next question."""
        place = await self.place(lambda each: each.get("method") == "nes/suggest", self._asked)
        self._asked = place + 1
        return self.log[place]

    def suggest(self, question: Any, *suggestions: dict[str, Any]) -> None:
        """Answer a question."""
        self.send(id=question["id"], result={"suggestions": list(suggestions)})

    def edit(self, id: str, *edits: tuple[Any, str], uri: str = URI, **more: Any) -> dict[str, Any]:
        """Return an edit: `((line, character, line, character), text)`."""
        return {
            "kind": "edit",
            self.id_key: id,
            "uri": uri,
            "edits": [{"range": range_(*place), "newText": text} for place, text in edits],
            **more,
        }

    @property
    def outcomes(self) -> list[tuple[str, str | None]]:
        """What the client has told about suggestions, in order."""
        told = [each for each in self.log if each.get("method") in ("nes/accept", "nes/reject")]
        return [
            (
                each["params"][self.id_key],
                "accepted" if each["method"] == "nes/accept" else each["params"].get("reason"),
            )
            for each in told
        ]

    async def on_outcome(self, id: str) -> None:
        """Wait until the outcome of a suggestion is told; files may have to be read before."""
        await self.place(
            lambda each: (
                each.get("method") in ("nes/accept", "nes/reject")
                and each["params"][self.id_key] == id
            )
        )

    @property
    def questions(self) -> int:
        """How many questions came."""
        return self.methods.count("nes/suggest")

    @property
    def cancelled(self) -> list[int]:
        """The ids of requests that were taken back."""
        return [each["requestId"] for each in self.got("$/cancel_request")]


def position(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def range_(line: int, character: int, end_line: int, end: int) -> dict[str, Any]:
    return {"start": position(line, character), "end": position(end_line, end)}


def span(line: int, column: int, end_line: int | None = None, end: int | None = None) -> Span:
    """Return a piece of a text; a place if only one is given."""
    start = Spot(line, column)
    return Span(start, start if end_line is None or end is None else Spot(end_line, end))


class Stalled(Notifier):
    """Those who wait for an agent that reads nothing."""

    def __init__(self, transport: MemoryTransport) -> None:
        """Have an agent read nothing, by its end of the connection."""
        super().__init__()
        self._came = asyncio.Semaphore(0)
        self._transport = transport
        transport._waiters = self
        transport.pause_reading()

    def wait(self) -> asyncio.Future[None]:
        self._came.release()
        return super().wait()

    async def another(self) -> None:
        """Wait until one more waits."""
        await self._came.acquire()

    def end(self) -> None:
        """Have the agent read again."""
        self._transport.resume_reading()


class Editor:
    """The client and its agent."""

    def __init__(self, nes: NesClient, agent: NesAgent, clock: ManualClock) -> None:
        self.nes = nes
        self.agent = agent
        self.clock = clock
        self.shows: asyncio.Queue[Suggestion | None] = asyncio.Queue()

    async def type(self, text: str, line: int, column: int, cursor: Spot | None = None) -> None:
        """Have the user insert something."""
        await self.nes.change(URI, TextEdit(span(line, column), text), cursor=cursor)

    async def question(self, pause: float = 1.0) -> Any:
        """Let the user pause, and return what the client asks then."""
        self.clock.advance(pause)
        return await self.agent.asked()

    async def settle(self) -> None:
        """Wait until both sides have done all that follows from what was said.

        What was said is behind the first answer; what follows from it, behind the others.
        """
        for number in range(3):
            echo = {"number": number}
            assert await self.nes.connection.request("_test/echo", echo) == echo

    async def shown(self, *suggestions: dict[str, Any], pause: float = 1.0) -> Suggestion | None:
        """Answer the question that is asked after a pause; returns what is shown then."""
        self.agent.suggest(await self.question(pause), *suggestions)
        await self.settle()
        return self.nes.shown

    async def suggested(self, id: str, place: tuple[int, int], text: str, letter: str) -> None:
        """Have the user type at the beginning, and an insertion suggested then."""
        await self.type(letter, 0, 0)
        await self.shown(self.agent.edit(id, ((*place, *place), text)))

    @property
    def text(self) -> str:
        """The client's copy of the document."""
        return self.nes._buffers[URI].document.text

    @property
    def target(self) -> str:
        """The text as it is if what is shown is taken."""
        shown = self.nes.shown
        assert isinstance(shown, EditSuggestion)
        copy = self.nes._buffers[shown.uri].document.copy()
        for edit in reversed(shown.edits):
            copy.edit(edit.span, edit.text)
        return copy.text


@asynccontextmanager
async def open_editor(
    text: str | None = "",
    *,
    agent: NesAgent | None = None,
    version: int = 1,
    timing: Timing | None = None,
    options: NesOptions | None = None,
    **connecting: Any,
) -> AsyncGenerator[Editor, None]:
    """Connect a client; with a text, a document is open."""
    agent = agent or NesAgent(version, EVERY_EVENT)
    clock = ManualClock()
    made: list[Editor] = []

    def show(suggestion: Suggestion | None) -> None:
        made[0].shows.put_nowait(suggestion)

    given: Any = {
        "kinds": KINDS,
        "clock": clock,
        "timing": timing or Timing(),
        "on_show": show,
        "folders": [Path("/w")],
        **(options or {}),
        **connecting,
    }
    async with NesClient.connect(agent, "/", **given) as nes:
        made.append(Editor(nes, agent, clock))
        if text is not None:
            await nes.open(URI, "python", text)
        yield made[0]
