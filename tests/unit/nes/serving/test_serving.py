from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import structs

from parley.agent import Agent
from parley.errors import (
    InvalidParams,
    LocalProtocolError,
    Overloaded,
    ResourceNotFound,
    Unsupported,
)
from parley.nes import (
    Document,
    EditProposal,
    Engine,
    Proposal,
    Question,
    Span,
    Spot,
    Suggestions,
    TextEdit,
    Workspace,
)
from parley.nes._documents.files import Files
from parley.nes.serving import ServedSession
from parley.peer import Peer
from parley.schema import v2
from parley.schema.v2 import methods
from parley.schema.v2.methods import SET_SESSION_CONFIG_OPTION
from parley.session._adapter import ClientAdapter, HandlerTable, open_client_adapter
from parley.session._capabilities import ClientFeatures
from parley.transport import memory_pair

URI = "file:///project/a.py"


@asynccontextmanager
async def joined(
    agent: Agent, version: int = 2, features: ClientFeatures | None = None
) -> AsyncGenerator[ClientAdapter, None]:
    """Serve an agent to a client of version 2's words."""
    near, far = memory_pair()
    serving = asyncio.create_task(agent.serve(far))
    async with Peer(near, "client") as peer:
        yield await open_client_adapter(
            peer,
            info=v2.Implementation(name="test", version="1"),
            features=features or ClientFeatures(),
            program=HandlerTable(),
            versions=(version,),
        )
    await serving


async def start(client: ClientAdapter) -> str:
    return (await client.request(methods.START_NES, v2.StartNesRequest())).session_id


async def open_text(client: ClientAdapter, session: str, text: str, uri: str = URI) -> None:
    note = v2.DidOpenDocumentNotification(
        session_id=session, uri=uri, language_id="python", version=1, text=text
    )
    await client.notify(methods.DID_OPEN_DOCUMENT, note)


def question(session: str, uri: str = URI) -> v2.SuggestNesRequest:
    place = v2.Position(line=0, character=0)
    return v2.SuggestNesRequest(
        session_id=session, uri=uri, version=1, position=place, trigger_kind="manual"
    )


async def ask(client: ClientAdapter, session: str, uri: str = URI) -> list[Any]:
    answer = await client.request(methods.SUGGEST_NES, question(session, uri))
    return [*answer.suggestions]


def proposing(*edits: TextEdit, cursor: Spot | None = None) -> tuple[Agent, Suggestions]:
    """An agent that always proposes the same."""
    agent = Agent("test", cancel_timeout=0.05)
    nes = Suggestions(agent)

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
        uri = question.document.uri
        proposal = EditProposal(uri=uri, edits=edits, cursor=cursor, score=0.12345, rule="x")
        return [proposal]

    return agent, nes


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> TextEdit:
    return TextEdit(Span(Spot(*start), Spot(*end)), text)


@pytest.mark.parametrize("version", [1, 2])
async def test_the_cursor_is_counted_in_the_text_that_will_be(version: int) -> None:
    edits = (edit((1, 0), (1, 1), "😀😀"), edit((0, 0), (0, 0), "new\n"), edit((1, 1), (1, 1), "é"))
    agent, _ = proposing(*edits, cursor=Spot(2, 3))
    async with joined(agent, version) as client:
        session = await start(client)
        await open_text(client, session, "a\nb\n")
        (found,) = await ask(client, session)
        assert [each.new_text for each in found.edits] == ["new\n", "😀😀", "é"]
        assert found.cursor_position == v2.Position(line=2, character=5)
        assert found.meta == {"parley": {"rule": "x", "score": 0.1235}}


@pytest.mark.parametrize(
    "edits", [(), (edit((0, 0), (0, 3), "x"), edit((0, 2), (0, 4), "y"))], ids=["none", "overlap"]
)
async def test_edits_that_are_none_or_overlap_are_left_out(edits: tuple[TextEdit, ...]) -> None:
    agent, _ = proposing(*edits)
    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        assert await ask(client, session) == []


async def test_documents_that_are_too_much_are_passed_over() -> None:
    agent, nes = proposing(edit((0, 0), (0, 0), "x"))
    nes.max_documents, nes.max_document_bytes = 1, 10
    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "01234567890")
        assert await ask(client, session) == []
        await open_text(client, session, "small")
        await open_text(client, session, "more", "file:///b")
        assert await ask(client, session, "file:///b") == []
        assert len(await ask(client, session)) == 1
        change = v2.DidChangeDocumentNotification(
            session_id=session,
            uri=URI,
            version=2,
            content_changes=[v2.TextDocumentContentChangeEvent(text="0" * 11)],
        )
        await client.notify(methods.DID_CHANGE_DOCUMENT, change)
        assert await ask(client, session) == []


async def test_the_end_of_a_connection_ends_its_sessions() -> None:
    agent, nes = proposing()
    ended: list[str] = []

    @nes.closed
    async def note(session: ServedSession) -> None:
        ended.append(session.id)
        raise RuntimeError("a mistake of the program's")

    logging.disable(logging.CRITICAL)
    try:
        async with joined(agent) as client:
            sessions = [await start(client), await start(client)]
    finally:
        logging.disable(logging.NOTSET)
    assert ended == sessions


class Stuck:
    """An engine whose sessions cannot be closed, and take nothing well."""

    context = frozenset[str]()

    def options(self) -> Sequence[Any]:
        return ()

    def begin(self, workspace: Workspace) -> Any:
        return self

    def opened(self, document: Document) -> None:
        raise RuntimeError("a mistake of the engine's")

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        return [EditProposal(uri=URI, edits=(edit((0, 0), (0, 0), "x"),), score=1, rule="x")]

    def close(self) -> None:
        raise RuntimeError("another one")


async def test_what_an_engine_gets_wrong_does_no_harm_to_the_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = Agent("stuck")
    Suggestions(agent, cast("Engine", Stuck()))
    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        assert len(await ask(client, session)) == 1
        await client.request(methods.CLOSE_NES, v2.CloseNesRequest(session_id=session))
        with pytest.raises(ResourceNotFound):
            await ask(client, session)
    assert ["failed" in each.message for each in caplog.records] == [True, True]


async def test_a_question_that_does_not_end_does_not_keep_a_session_open() -> None:
    agent, asked, go_on = Agent("stubborn", cancel_timeout=0.05), asyncio.Event(), asyncio.Event()
    nes = Suggestions(agent)

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
        asked.set()
        try:
            await go_on.wait()
        except asyncio.CancelledError:
            await go_on.wait()
        return []

    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        asking = asyncio.create_task(ask(client, session))
        await asked.wait()
        await client.request(methods.CLOSE_NES, v2.CloseNesRequest(session_id=session))
        go_on.set()
        assert await asking == []


async def test_an_agent_that_is_being_shut_down_starts_nothing() -> None:
    agent, _ = proposing()
    async with joined(agent) as client, agent._state.drained(0):
        with pytest.raises(Overloaded):
            await start(client)


async def test_what_nothing_suggests_is_not_served() -> None:
    agent = Agent("empty")
    Suggestions(agent)
    near, far = memory_pair()
    with pytest.raises(LocalProtocolError, match=r"@nes\.suggest"):
        await agent.serve(far)
    await near.aclose()


def test_mistakes_of_a_program_are_told_at_once() -> None:
    agent = Agent("wrong")
    with pytest.raises(ValueError, match="no context weather; choose from recentFiles"):
        Suggestions(agent, context=["weather"])
    nes = Suggestions(agent)
    nes.suggest(nothing)
    with pytest.raises(LocalProtocolError, match="such a function already"):
        nes.suggest(nothing)
    with pytest.raises(TypeError, match="async def"):
        nes.closed(print)  # type: ignore[type-var]  # pyright: ignore[reportArgumentType]


async def nothing(session: ServedSession, question: Question) -> Sequence[Proposal]:
    return []


async def test_a_function_reads_options_and_refuses_values() -> None:
    option = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=False)
    agent = Agent("options")
    nes = Suggestions(agent, options=[option])
    seen: list[object] = []

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
        seen.extend((session.option("loud"), session.option("none"), repr(session)))
        return []

    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        await ask(client, session)
        assert seen == [False, None, f"ServedSession({session!r}, 1 documents)"]
        sent = structs.replace(SET_SESSION_CONFIG_OPTION, params=Any, capability="nes")
        strange: Any = {"sessionId": session, "configId": "loud", "type": "later", "value": 1}
        with pytest.raises(InvalidParams, match="kind of value"):
            await client.request(sent, strange)


async def test_a_suggestion_whose_fate_is_never_told_is_forgotten_at_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.nes.serving._session.MAX_SUGGESTED", 1)
    agent, nes = proposing(edit((0, 0), (0, 0), "x"))
    taken = asyncio.Queue[Proposal]()

    @nes.accepted
    async def took(session: ServedSession, proposal: Proposal) -> None:
        taken.put_nowait(proposal)

    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        ids = [(await ask(client, session))[0].suggestion_id for _ in range(2)]
        for id in ids:
            note = v2.AcceptNesNotification(session_id=session, suggestion_id=id)
            await client.notify(methods.ACCEPT_NES, note)
        await ask(client, session)
        assert taken.qsize() == 1


def test_an_engine_suggests_alone() -> None:
    class Empty:
        context = frozenset[str]()

    nes = Suggestions(Agent("both"), Empty())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(LocalProtocolError, match="an engine"):
        nes.suggest(nothing)


async def test_a_client_asks_only_where_suggestions_are_offered() -> None:
    agent = Agent("mute")
    agent.prompt(lambda_free)
    for version in (1, 2):
        async with joined(agent, version) as client:
            with pytest.raises(Unsupported, match="does not offer nes/start"):
                await start(client)


async def lambda_free(turn: object) -> None:
    """Say nothing."""


async def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("12345")
    assert await Files([str(tmp_path)], max_bytes=4).read((tmp_path / "a").as_uri()) is None
    assert await Files([str(tmp_path)], max_bytes=5).read((tmp_path / "a").as_uri()) == "12345"
    assert await Files([]).read((tmp_path / "a").as_uri()) is None


def test_what_is_no_engine_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="is no engine"):
        Suggestions(Agent("mine"), cast(Any, object()))
