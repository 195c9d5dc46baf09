"""How sessions of suggestions begin and end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.nes.lsp.scripted_engine import Rules

from parley.agent import Agent
from parley.agent._config_options import find_option
from parley.errors import AuthRequired, Overloaded, RequestCancelled
from parley.nes import Proposal, Question, Suggestions, Workspace
from parley.nes.serving import ServedSession
from parley.schema import v2
from parley.schema.v2 import methods

from .test_serving import ask, edit, joined, open_text, proposing, start


@pytest.mark.parametrize(
    "name", ["a" * 300, "a/" * 3000, "gone", "%00"], ids=["long", "deep", "gone", "nul"]
)
async def test_a_folder_that_there_cannot_be_is_none(name: str, tmp_path: Path) -> None:
    agent, rules = Agent("test"), Rules()
    Suggestions(agent, rules)
    async with joined(agent) as client:
        uri = f"{tmp_path.as_uri()}/{name}"
        await client.request(methods.START_NES, v2.StartNesRequest(workspace_uri=uri))
    assert rules.workspace == Workspace(uri=uri)


@pytest.mark.parametrize("reads", [True, False])
async def test_an_engine_that_may_read_no_files_is_told_of_no_folders(
    reads: bool, tmp_path: Path
) -> None:
    agent, rules = Agent("test"), Rules()
    Suggestions(agent, rules, files=reads)
    async with joined(agent) as client:
        params = v2.StartNesRequest(
            workspace_uri=tmp_path.as_uri(),
            repository=v2.NesRepository(name="r", owner="o", remote_url="https://x.org/o/r"),
        )
        await client.request(methods.START_NES, params)
    folders = (str(tmp_path),) if reads else ()
    assert rules.workspace == Workspace(
        folders=folders, repository="o/r", remote_url="https://x.org/o/r", uri=tmp_path.as_uri()
    )


async def test_a_workspace_has_so_many_folders_and_no_more(tmp_path: Path) -> None:
    agent, rules = Agent("test"), Rules()
    Suggestions(agent, rules)
    paths = [tmp_path / str(number) for number in range(40)]
    for each in paths:
        each.mkdir()
    folders = [v2.WorkspaceFolder(uri=each.as_uri(), name="") for each in paths]
    async with joined(agent) as client:
        await client.request(methods.START_NES, v2.StartNesRequest(workspace_folders=folders))
    assert rules.workspace is not None
    assert rules.workspace.folders == tuple(map(str, paths[:32]))
    assert [each.uri for each in rules.workspace.named_folders] == [
        each.as_uri() for each in paths[:32]
    ]


async def test_there_are_so_many_sessions_and_no_more() -> None:
    agent, nes = proposing(edit((0, 0), (0, 0), "x"))
    nes.max_sessions = 1
    async with joined(agent) as client:
        session = await start(client)
        with pytest.raises(Overloaded, match="1 sessions"):
            await start(client)
        await client.request(methods.CLOSE_NES, v2.CloseNesRequest(session_id=session))
        await start(client)


async def test_those_that_begin_at_once_are_counted_too() -> None:
    agent, nes = proposing(edit((0, 0), (0, 0), "x"))
    nes.max_sessions = 3
    begun: list[str] = []

    @nes.started
    async def note(session: ServedSession) -> None:
        begun.append(session.id)

    async with joined(agent) as client:
        found = await asyncio.gather(*(start(client) for _ in range(10)), return_exceptions=True)
        assert len([each for each in found if isinstance(each, Overloaded)]) == 7
        assert {each for each in found if isinstance(each, str)} == {*begun}
        assert len(begun) == 3


async def test_a_session_that_does_not_begin_keeps_no_room() -> None:
    agent, rules = Agent("locked"), Rules()
    nes = Suggestions(agent, rules)
    nes.max_sessions = 1
    users: set[str] = set()

    @nes.started
    async def check(session: ServedSession) -> None:
        if not users:
            raise AuthRequired()

    async with joined(agent) as client:
        with pytest.raises(AuthRequired):
            await start(client)
        assert rules.heard == ["close"]
        users.add("ann")
        await start(client)
        assert rules.heard == ["close"]


async def test_a_close_that_is_cancelled_closes_all_the_same() -> None:
    agent, rules = Agent("slow", cancel_timeout=20), Rules()
    nes = Suggestions(agent, rules)
    asked, cancelled, go_on, closed = (asyncio.Event() for _ in range(4))
    ended: list[str] = []

    async def suggest(question: Question) -> Sequence[Proposal]:
        asked.set()
        try:
            await go_on.wait()
        except asyncio.CancelledError:
            cancelled.set()
            await go_on.wait()
        return []

    rules.suggest = suggest  # type: ignore[method-assign]

    @nes.closed
    async def note(session: ServedSession) -> None:
        ended.append(session.id)
        closed.set()

    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        asking = asyncio.create_task(ask(client, session))
        await asked.wait()
        ending = v2.CloseNesRequest(session_id=session)
        closing = asyncio.create_task(client.request(methods.CLOSE_NES, ending))
        await cancelled.wait()
        closing.cancel()
        with pytest.raises((asyncio.CancelledError, RequestCancelled)):
            await closing
        await start(client)  # answered behind the cancelling
        go_on.set()
        assert await asking == []
        await closed.wait()
        assert rules.heard[-1] == "close"
        assert ended == [session]


async def test_a_session_that_ends_is_waited_for_when_the_connection_ends() -> None:
    agent, nes = proposing()
    ending, ended = asyncio.Event(), list[str]()
    go_on = asyncio.Event()

    @nes.closed
    async def note(session: ServedSession) -> None:
        ending.set()
        await go_on.wait()
        ended.append(session.id)

    async with joined(agent) as client:
        session = await start(client)
        params = v2.CloseNesRequest(session_id=session)
        closing = asyncio.create_task(client.request(methods.CLOSE_NES, params))
        await ending.wait()
        closing.cancel()
        asyncio.get_running_loop().call_later(0.05, go_on.set)  # when nobody is connected
    assert ended == [session]


async def test_options_can_be_set_when_a_session_begins() -> None:
    agent, rules = Agent("options"), Rules()
    nes = Suggestions(agent, rules)

    @nes.started
    async def choose(session: ServedSession) -> None:
        session.set_option("nes_on", False)

    async with joined(agent) as client:
        answer = await client.request(methods.START_NES, v2.StartNesRequest())
        found = find_option(answer.config_options or [], "nes_on")
        assert found is not None
        assert found.current_value is False
        assert rules.heard == [("nes_on", False)]


async def test_a_session_answers_so_many_questions_at_once_and_no_more() -> None:
    agent, rules, go_on = Agent("slow"), Rules(), asyncio.Event()
    nes = Suggestions(agent, rules)
    nes.max_questions = 2
    asked = asyncio.Queue[Question]()

    async def suggest(question: Question) -> Sequence[Proposal]:
        asked.put_nowait(question)
        await go_on.wait()
        return []

    rules.suggest = suggest  # type: ignore[method-assign]
    async with joined(agent) as client:
        sessions = [await start(client), await start(client)]
        for session in sessions:
            await open_text(client, session, "text")
        asking = [asyncio.create_task(ask(client, sessions[0])) for _ in range(2)]
        for _ in asking:
            await asked.get()
        with pytest.raises(Overloaded, match="2 questions"):
            await ask(client, sessions[0])
        elsewhere = asyncio.create_task(ask(client, sessions[1]))
        await asked.get()
        go_on.set()
        assert await asyncio.gather(*asking, elsewhere) == [[], [], []]
        assert await ask(client, sessions[0]) == []
