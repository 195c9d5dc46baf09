from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.client import Session, Workspace
from parley.errors import InvalidParams, InvalidRequest, RequestError, ResourceNotFound
from parley.schema import v2
from parley.testing.demo import demo_agent

from .agent_hosts import (
    DEMO,
    OBSERVER,
    VERSION_MATRIX,
    attach,
    client,
    open_host,
    texts,
    versions,
    wait_until,
)


@VERSION_MATRIX
@pytest.mark.parametrize("is_process", [False, True], ids=["in process", "as process"])
async def test_a_further_client_sees_the_history_and_what_follows(
    agent: int, owner: int, other: int, is_process: bool
) -> None:
    target = DEMO if is_process and agent == 2 else None
    async with (
        open_host(target, version=agent) as host,
        client(host, "ann", versions=versions(owner)) as one,
        client(host, "ann", versions=versions(other)) as two,
    ):
        session = await one.new_session()
        await session.ask("hello")
        await session.ask("tool")
        followed = await attach(two, session)
        assert texts(followed) == ["hello", "echo: hello", "tool", "tool:done"]
        assert [call.status for call in followed.transcript.tool_calls.values()] == ["completed"]
        assert await session.ask("more") == "echo: more"
        await wait_until(lambda: len(texts(followed)) == 6 and followed.transcript.state == "idle")
        assert texts(followed)[4:] == ["more", "echo: more"]
        assert await followed.ask("from the other") == "echo: from the other"
        await wait_until(lambda: len(texts(session)) == 8 and session.transcript.state == "idle")
        assert texts(session)[6:] == ["from the other", "echo: from the other"]
        assert texts(followed) == texts(session)
        assert await session.ask("and back") == "echo: and back"


@VERSION_MATRIX
async def test_who_comes_in_the_middle_of_a_flood_misses_nothing_and_gets_nothing_twice(
    agent: int, owner: int, other: int
) -> None:
    served = Agent("chatty", versions=versions(agent))

    @served.prompt
    async def reply(turn: Turn) -> None:
        for number in range(1000):
            await turn.say(f"chunk {number}")
            await asyncio.sleep(0)

    async with (
        open_host(served) as host,
        client(host, versions=versions(owner)) as one,
        client(host, versions=versions(other)) as two,
    ):
        session = await one.new_session()
        flood = asyncio.create_task(session.ask("flood"))
        await wait_until(lambda: len(session.transcript.text) > 100)
        followed = await attach(two, session)
        assert not flood.done()
        assert followed.transcript.state == "running" or two.version == 1
        said = await flood
        await wait_until(lambda: len(followed.transcript.text) >= len(said))
        assert texts(followed) == ["flood", said]
        assert said == "".join(f"chunk {number}" for number in range(1000))


@VERSION_MATRIX
async def test_a_prompt_while_the_owner_s_turn_runs_gets_its_own_end(
    agent: int, owner: int, other: int
) -> None:
    served, may_end = Agent("slow", versions=versions(agent)), asyncio.Event()

    @served.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "first":
            await may_end.wait()
        await turn.say(f"{turn.text} is done")

    async with (
        open_host(served) as host,
        client(host, versions=versions(owner)) as one,
        client(host, versions=versions(other)) as two,
    ):
        session = await one.new_session()
        first = asyncio.create_task(session.ask("first"))
        await wait_until(lambda: session.transcript.state == "running")
        followed = await attach(two, session)
        second = asyncio.create_task(followed.ask("second"))
        third = asyncio.create_task(followed.ask("third"))
        await wait_until(lambda: len(followed._state.turns._queue) == 2)
        may_end.set()
        assert await first == "first is done"
        said = [await second, await third]
        if two.version == 1:  # which has no words for the turns of others
            said = [each.removeprefix("first is done\n\n") for each in said]
        assert said == ["second is done", "third is done"]
        await wait_until(lambda: texts(session)[-1:] == ["third is done"])
        assert sorted(texts(session)) == sorted(texts(followed))
        if two.version != 1:  # there, a message stands where it was sent
            assert texts(session) == texts(followed)


async def test_an_observer_looks_on_and_no_more() -> None:
    async with (
        open_host() as host,
        client(host) as one,
        client(host) as two,
        client(host) as three,
    ):
        session = await one.new_session()
        followed = await attach(two, session, meta=OBSERVER)
        with pytest.raises(InvalidRequest, match="may not send session/prompt") as caught:
            await followed.ask("mine")
        assert caught.value.code == -32600
        slow = asyncio.create_task(session.ask("slow"))
        await wait_until(lambda: followed.transcript.state == "running")
        await followed.cancel()
        with pytest.raises(InvalidRequest):  # so the gateway has seen what came before it
            await followed.ask("mine")
        assert [each async for each in one.list_sessions()]  # and so would the agent have
        assert not slow.done()
        await session.cancel()
        await slow
        await wait_until(lambda: followed.transcript.state == "idle")
        assert followed.transcript.stop_reason == "cancelled"
        with pytest.raises(InvalidParams, match="neither observer nor controller"):
            await attach(three, session, meta={"parley": {"role": "god"}})


@VERSION_MATRIX
async def test_a_controller_cancels_and_sets_options_for_everybody(
    agent: int, owner: int, other: int
) -> None:
    served = demo_agent(versions=versions(agent))

    @served.open_session
    async def prepare(session: Any) -> None:
        choices = [v2.SessionConfigSelectOption(value=each, name=each) for each in ("a", "b")]
        option = v2.SessionConfigSelect(
            config_id="letter", name="Letter", current_value="a", options=choices
        )
        await session.set_config_options([option])

    async with (
        open_host(served) as host,
        client(host, versions=versions(owner)) as one,
        client(host, versions=versions(other)) as two,
    ):
        session = await one.new_session()
        followed = await attach(two, session)
        await followed.set_config_option("letter", "b")
        await wait_until(lambda: _letter(session) == _letter(followed) == "b")
        await session.set_config_option("letter", "a")
        await wait_until(lambda: _letter(followed) == "a")
        slow = asyncio.create_task(session.prompt("slow")._state.wait())
        await wait_until(lambda: session.transcript.state == "running")
        await followed.cancel()
        assert (await slow).stop_reason == "cancelled"


def _letter(session: Session) -> Any:
    (option,) = session.transcript.config_options
    assert isinstance(option, v2.SessionConfigSelect)
    return option.current_value


@pytest.mark.parametrize("is_process", [False, True])
async def test_another_principal_gets_nothing(is_process: bool) -> None:
    async with (
        open_host(DEMO if is_process else None) as host,
        client(host, "ann") as ann,
        client(host, "bob") as bob,
    ):
        session = await ann.new_session()
        await session.ask("secret")
        with pytest.raises(ResourceNotFound):
            await bob.resume_session(session.id)
        assert not next(iter(host.sessions)).attached


@pytest.mark.parametrize("other", [1, 2])
@pytest.mark.parametrize("is_process", [False, True])
async def test_a_session_lives_on_for_those_who_are_attached(other: int, is_process: bool) -> None:
    async with (
        open_host(DEMO if is_process else None) as host,
        client(host, versions=versions(other)) as two,
    ):
        async with client(host) as one:
            session = await one.new_session()
            await session.ask("hello")
            followed = await attach(two, session)
        await wait_until(lambda: len(host.connections) == 1)
        assert await followed.ask("still there?") == "echo: still there?"
        assert texts(followed) == ["hello", "echo: hello", "still there?", "echo: still there?"]
        assert len(host.sessions) == 1
        await followed.close()
        await wait_until(lambda: len(host.sessions) == 0)
        assert len(host._processes) == 1, "the agent of the one who has left has ended"


@VERSION_MATRIX
async def test_a_turn_goes_on_when_its_client_leaves_and_another_looks_on(
    agent: int, owner: int, other: int
) -> None:
    served, may_end = Agent("slow", versions=versions(agent)), asyncio.Event()

    @served.prompt
    async def reply(turn: Turn) -> None:
        await may_end.wait()
        await turn.say("done")

    async with open_host(served) as host, client(host, versions=versions(other)) as two:
        async with client(host, versions=versions(owner)) as one:
            session = await one.new_session()
            turn = session.prompt("work")._state.begin()
            await wait_until(lambda: session.transcript.state == "running")
            followed = await attach(two, session)
        await wait_until(lambda: len(host.connections) == 1)
        turn.exception()
        may_end.set()
        await wait_until(lambda: "done" in texts(followed))
        assert await followed.ask("next") == "done"


async def test_files_of_a_client_that_has_left_are_a_clear_error() -> None:
    async with open_host() as host, client(host, versions=(1,)) as two:
        async with client(host, versions=(1,), workspace=Workspace()) as one:
            session = await one.new_session()
            followed = await attach(two, session)
        await wait_until(lambda: len(host.connections) == 1)
        with pytest.raises(RequestError, match="The client that opened the session has left"):
            await followed.ask("fs /x")


@pytest.mark.parametrize("other", [1, 2])
async def test_those_who_are_attached_learn_that_the_agent_has_died(other: int) -> None:
    async with (
        open_host(DEMO) as host,
        client(host) as one,
        client(host, versions=versions(other)) as two,
    ):
        session = await one.new_session()
        followed = await attach(two, session)
        with pytest.raises(RequestError, match="the agent exited with code 3"):
            await followed.ask("crash")
        assert await (await two.new_session()).ask("mine lives") == "echo: mine lives"
        with pytest.raises(RequestError):
            await followed.ask("gone")


async def test_who_attaches_to_a_fork_sees_what_was_said_before_it() -> None:
    async with open_host() as host, client(host) as one, client(host) as two:
        session = await one.new_session()
        await session.ask("before")
        fork = await one.fork_session(session.id)
        await fork.ask("after")
        followed = await attach(two, fork)
        assert texts(followed) == ["before", "echo: before", "after", "echo: after"]


async def test_a_session_that_its_owner_closes_is_over_for_everybody() -> None:
    async with open_host() as host, client(host) as one, client(host) as two:
        session = await one.new_session()
        followed = await attach(two, session)
        await session.close()
        await wait_until(lambda: len(host.sessions) == 0)
        with pytest.raises(RequestError):
            await followed.ask("anybody?")


async def test_what_belongs_to_another_session_goes_to_the_client_s_own_agent() -> None:
    async with open_host(DEMO) as host, client(host) as one, client(host) as two:
        session = await one.new_session()
        followed = await attach(two, session)
        own = await two.new_session()
        said = await asyncio.gather(own.ask("own"), followed.ask("other's"))
        assert list(said) == [
            "echo: own",
            "echo: other's",
        ]
        assert texts(own) == ["own", "echo: own"]
