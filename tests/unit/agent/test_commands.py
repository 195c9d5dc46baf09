"""Slash commands that a program declares: announced, dispatched, replaced in one session."""

from __future__ import annotations

from typing import Any

import pytest

from parley.agent import Agent, AgentSession, Turn
from parley.errors import LocalProtocolError
from parley.schema import v2
from parley.schema.v2 import methods
from parley.testing import pair

from .agent_clients import connected_client, counting_agent, stop_reason, texts

VERSIONS = pytest.mark.parametrize("version", [1, 2])
REVIEW = v2.Command(
    name="review", description="Review a file.", input=v2.TextCommandInput(hint="which file")
)
CLEAR = v2.Command(name="clear", description="Forget everything")


def agent_with_commands() -> Agent:
    agent = Agent("reviewer")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"prompt: {turn.text}")

    @agent.command("review", hint="which file")
    async def review(turn: Turn, argument: str) -> None:
        """Review a file.

        More about it.
        """
        await turn.say(f"review: {argument!r}")

    @agent.command("clear", description="Forget everything")
    async def clear(turn: Turn, argument: str) -> v2.StopReason:
        return "refusal"

    return agent


async def test_commands_are_in_the_response_that_opens_a_session() -> None:
    async with connected_client(agent_with_commands()) as client:
        params = v2.NewSessionRequest(cwd="/project")
        opened = await client.request(methods.NEW_SESSION, params)
        assert opened.available_commands == [REVIEW, CLEAR]
        await client.close(opened.session_id)
        assert (await client.resume(opened.session_id)).available_commands == [REVIEW, CLEAR]


@VERSIONS
@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("/review a.py", "review: 'a.py'"),
        ("/review", "review: ''"),
        ("/review  two\nlines\n", "review: 'two\\nlines'"),
        ("/reviews a.py", "prompt: /reviews a.py"),
        ("/unknown", "prompt: /unknown"),
        ("/ review", "prompt: / review"),
        ("please /review", "prompt: please /review"),
    ],
)
async def test_a_prompt_that_starts_with_a_command_calls_its_handler(
    version: int, prompt: str, reply: str
) -> None:
    async with pair(agent_with_commands(), versions=(version,)) as client:
        session = await client.new_session()
        assert await session.ask(prompt) == reply


async def test_a_command_may_return_a_stop_reason() -> None:
    async with connected_client(agent_with_commands()) as client:
        assert stop_reason(await client.turn(await client.new(), "/clear")) == "refusal"


async def test_the_commands_of_a_session_decide_what_is_called() -> None:
    agent = agent_with_commands()
    extra = v2.Command(name="extra", description="Only in this session")

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        assert session.commands == [REVIEW, CLEAR]
        await session.set_commands([CLEAR, extra])

    async with connected_client(agent) as client:
        session = await client.new()
        assert texts(await client.turn(session, "/review a.py")) == ["prompt: /review a.py"]
        assert texts(await client.turn(session, "/extra")) == ["prompt: /extra"]
        assert stop_reason(await client.turn(session, "/clear")) == "refusal"


async def test_a_resumed_session_has_the_commands_that_the_program_declares_now() -> None:
    agent = agent_with_commands()
    async with connected_client(agent) as client:
        session = await client.new()
    later = counting_agent(store=agent.store)

    @later.command("fresh", description="New in this version")
    async def fresh(turn: Turn, argument: str) -> None: ...

    async with connected_client(later) as client:
        commands = (await client.resume(session)).available_commands
        assert [each.name for each in commands if isinstance(each, v2.Command)] == ["fresh"]


@pytest.mark.parametrize("name", ["", "/review", "two words"])
def test_a_name_that_no_prompt_could_start_with_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a command"):
        Agent("x").command(name)


def test_a_command_needs_a_name_a_description_and_a_name_of_its_own() -> None:
    agent: Any = agent_with_commands()

    async def nothing(turn: Turn, argument: str) -> None: ...

    with pytest.raises(TypeError, match=r'takes the name of a command: @agent.command\("review"\)'):
        agent.command(nothing)
    with pytest.raises(TypeError, match="the command 'x' needs description= or a docstring"):
        agent.command("x")(nothing)
    with pytest.raises(TypeError, match="description= must be a string, not int"):
        agent.command("x", description=5)(nothing)
    with pytest.raises(TypeError, match="hint= must be a string, not int"):
        agent.command("x", description="X", hint=5)(nothing)
    with pytest.raises(LocalProtocolError, match="already has a command 'review'"):
        agent.command("review", description="Again")


async def test_commands_and_options_need_a_prompt_handler() -> None:
    agent = Agent("x")
    agent.option("loud", bool)
    with pytest.raises(LocalProtocolError, match="also needs a prompt handler"):
        agent.run()
