"""An agent with a scripted engine for next edit suggestions, and a raw client for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from parley.agent import Agent
from parley.nes import EditProposal, Proposal, Question, Span, Spot, Suggestions, TextEdit
from parley.nes._documents.change import Change
from parley.nes._documents.document import Document
from parley.nes.engine import Outcome, Predictor, Workspace
from parley.schema import v2
from parley.transport import memory_pair

from .raw_client import RawClient

URI = "file:///project/a.py"
ALL_CONTEXT = frozenset(
    ("recentFiles", "relatedSnippets", "editHistory", "userActions", "openFiles", "diagnostics")
)
ALL_KINDS: Any = {"nes": {"jump": {}, "rename": {}, "searchAndReplace": {}}}
OPTIONS: list[v2.SessionConfigOption] = [
    v2.SessionConfigSelect(
        config_id="pace",
        name="RequestScheduler",
        current_value="calm",
        options=[v2.SessionConfigSelectOption(value=each, name=each) for each in ("calm", "eager")],
    ),
    v2.SessionConfigBoolean(config_id="jumps", name="Jumps", current_value=True),
]

SuggestFunction = Callable[[Question], Awaitable[Sequence[Proposal]]]


async def silence(question: Question) -> Sequence[Proposal]:
    return []


def insert(text: str, line: int = 0, column: int = 0, uri: str = URI) -> EditProposal:
    """Propose to insert something."""
    place = Spot(line, column)
    edits = (TextEdit(Span(place, place), text),)
    return EditProposal(uri=uri, edits=edits, score=0.75, rule="test")


class RecordingPredictor(Predictor):
    """A session of the engine that records its calls."""

    def __init__(self, engine: ScriptedEngine, workspace: Workspace) -> None:
        self.engine = engine
        self.workspace = workspace
        self.events: list[tuple[Any, ...]] = []
        self.outcomes: list[tuple[Proposal, Outcome]] = []
        self.questions: list[Question] = []
        self.options: dict[str, str | bool] = {}
        self.is_closed = False

    def opened(self, document: Document) -> None:
        self.events.append(("opened", document.uri, document.text))

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        self.events.append(("changed", document.uri, document.text, [*changes]))
        self.engine.changed.set()

    def closed(self, document: Document) -> None:
        self.events.append(("closed", document.uri))

    def saved(self, document: Document) -> None:
        self.events.append(("saved", document.uri))

    def focused(self, document: Document, spot: Spot, visible: Span) -> None:
        self.events.append(("focused", document.uri, spot, visible))

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        self.questions.append(question)
        self.engine.asked.set()
        return await self.engine.answer(question)

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        self.outcomes.append((proposal, outcome))

    def set_option(self, config_id: str, value: str | bool) -> None:
        self.options[config_id] = value

    def close(self) -> None:
        self.is_closed = True


class ScriptedEngine:
    """An engine whose suggestions are set by a test."""

    def __init__(self, context: frozenset[str] = ALL_CONTEXT, *, has_options: bool = True) -> None:
        self.context = context
        self.answer: SuggestFunction = silence
        self.sessions: list[RecordingPredictor] = []
        self.asked = asyncio.Event()
        self.changed = asyncio.Event()
        self._has_options = has_options

    def options(self) -> Sequence[v2.SessionConfigOption]:
        return OPTIONS if self._has_options else []

    def begin(self, workspace: Workspace) -> Predictor:
        self.sessions.append(RecordingPredictor(self, workspace))
        return self.sessions[-1]

    @property
    def predictor(self) -> RecordingPredictor:
        """The latest session."""
        return self.sessions[-1]

    def says(self, *proposals: Proposal) -> None:
        """Propose this to every question."""

        async def suggest(question: Question) -> Sequence[Proposal]:
            return proposals

        self.answer = suggest

    def hangs(self) -> None:
        """Never return a suggestion."""

        async def suggest(question: Question) -> Sequence[Proposal]:
            await asyncio.Event().wait()
            return []

        self.answer = suggest


class RawNesClient(RawClient):
    """A client that asks for suggestions."""

    nes = ""
    """The id of the session of suggestions."""

    async def begin(self, params: Any = None) -> Any:
        """Begin a session of suggestions."""
        result = await self.call("nes/start", params or {})
        self.nes = result["sessionId"]
        return result

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification in the session."""
        self.send(method=method, params={"sessionId": self.nes, **params})

    def open(self, text: str, version: int = 1, uri: str = URI) -> None:
        """Report that a document was opened."""
        self.notify("document/didOpen", uri=uri, languageId="python", version=version, text=text)

    def change(self, version: int, *changes: Any, uri: str = URI) -> None:
        """Report that a document was changed."""
        self.notify("document/didChange", uri=uri, version=version, contentChanges=[*changes])

    def question(self, version: int = 1, **more: Any) -> dict[str, Any]:
        """Return the params of a question."""
        return {
            "sessionId": self.nes,
            "uri": URI,
            "version": version,
            "position": position(0, 0),
            "triggerKind": "automatic",
            **more,
        }

    async def suggest(self, version: int = 1, **more: Any) -> list[Any]:
        """Request suggestions and return them."""
        result = await self.call("nes/suggest", self.question(version, **more))
        assert result.keys() == {"suggestions"}
        suggestions: list[Any] = result["suggestions"]
        return suggestions

    @property
    def id_key(self) -> str:
        """The name of the member with the id of a suggestion."""
        return "id" if self.version == 1 else "suggestionId"

    def outcome(self, what: str, id: str, **more: Any) -> None:
        """Report the outcome of a suggestion."""
        self.notify(f"nes/{what}", **{self.id_key: id}, **more)

    def capabilities_of(self, response: Any) -> Any:
        """Return the agent's capabilities in its response to initialize."""
        return response["agentCapabilities" if self.version == 1 else "capabilities"]


def position(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def range_at(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": position(line, start), "end": position(line, end)}


def agent_of(engine: ScriptedEngine) -> Agent:
    """An agent with this engine and no conversations."""
    agent = Agent("suggests", cancel_timeout=0.2)
    Suggestions(agent, engine)
    return agent


@asynccontextmanager
async def served(agent: Agent) -> AsyncGenerator[RawNesClient, None]:
    """Serve an agent to a raw client that is not initialized."""
    local, remote = memory_pair()
    serving = asyncio.create_task(agent.serve(remote))
    try:
        yield RawNesClient(local)
    finally:
        await local.aclose()
        await serving


@asynccontextmanager
async def serve_engine(
    version: int,
    engine: ScriptedEngine | Agent,
    capabilities: Mapping[str, Any] | None = None,
) -> AsyncGenerator[RawNesClient, None]:
    """Serve an engine to a raw client that has begun a session."""
    agent = engine if isinstance(engine, Agent) else agent_of(engine)
    async with served(agent) as client:
        await client.initialize(version, capabilities)
        await client.begin()
        yield client
