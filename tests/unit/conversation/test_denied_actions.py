"""Actions that a rule denies and that the agent carried out all the same."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest

import parley
from parley import Agent, Turn
from parley.client import ConnectOptions, Session
from parley.conversation.denied_actions import ADVICE, DeniedActions
from parley.errors import RequestError
from parley.policy import Policy, parse_flags
from parley.schema import v2

from .recording_view import conversing


def policy(tmp_path: Path) -> Policy:
    return Policy(parse_flags(["execute:rm *", "read:**/.env"], "deny"), cwd=tmp_path)


async def reports(
    agent: Agent, tmp_path: Path, *, version: Literal[1, 2] = 2, turns: int = 1
) -> list[str]:
    """Return what is reported after some turns of an agent."""
    rules = policy(tmp_path)
    denied = DeniedActions(rules)
    options: ConnectOptions = {
        "policy": rules,
        "versions": (version,),
        "on_decision": lambda decision, session: denied.add_decision(decision),
        "on_update": lambda session, update: denied.add_update(update),
    }
    found: list[str] = []
    async with parley.connect(agent, tmp_path, **options) as client:
        session: Session = await client.new_session()
        for _ in range(turns):
            await session.ask("Go")
            found += await denied.report(session, "the agent")
    return found


@pytest.mark.parametrize("version", [1, 2])
async def test_a_denied_command_that_ran_unasked_is_reported(
    version: Literal[1, 2], tmp_path: Path
) -> None:
    agent = Agent("bold")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Clean up", kind="execute", raw_input={"command": "rm -rf build"}):
            pass
        async with turn.tool("Look", kind="execute", raw_input={"command": "ls"}):
            pass

    first, second = await reports(agent, tmp_path, version=version)
    assert first.startswith(
        "the agent did this without asking, although a rule denies it: rm -rf build ("
    )
    assert "execute:rm *" in first
    assert second == ADVICE


async def test_a_denied_command_that_failed_was_tried(tmp_path: Path) -> None:
    agent = Agent("bold")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Clean", kind="execute", raw_input={"command": "rm x"}) as call:
            await call.update(status="failed")

    found = await reports(agent, tmp_path)
    assert found[0].startswith("the agent tried this without asking")


async def test_an_agent_that_asks_and_obeys_is_not_reported(tmp_path: Path) -> None:
    agent = Agent("polite")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Clean", kind="execute", raw_input={"command": "rm x"}) as call:
            assert await turn.ask_permission(tool=call) == "reject"

    assert await reports(agent, tmp_path) == []


async def test_an_agent_that_asks_and_does_not_obey_is_reported(tmp_path: Path) -> None:
    agent = Agent("deaf")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Clean", kind="execute", raw_input={"command": "rm x"}) as call:
            await turn.ask_permission(tool=call)
            await call.update(status="completed")

    found = await reports(agent, tmp_path)
    assert found[0].startswith("the agent did this, although it was denied: rm x (")


async def test_each_turn_is_reported_once_and_the_advice_only_the_first_time(
    tmp_path: Path,
) -> None:
    agent = Agent("bold")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Read", kind="read", raw_input={"path": "config/.env"}):
            pass

    found = await reports(agent, tmp_path, turns=2)
    assert len(found) == 3
    assert found.count(ADVICE) == 1
    assert f"{tmp_path}/config/.env" in found[0]


async def test_the_rest_of_many_paths_is_counted(tmp_path: Path) -> None:
    agent = Agent("bold")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        locations = [v2.ToolCallLocation(path=f"{tmp_path}/{name}/.env") for name in "abcde"]
        async with turn.tool("Read", kind="read", locations=locations):
            pass

    found = await reports(agent, tmp_path)
    assert "and 2 more (" in found[0]


async def test_a_view_is_notified_before_the_turn_ends(tmp_path: Path) -> None:
    agent = Agent("bold")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Clean up", kind="execute", raw_input={"command": "rm -rf build"}):
            pass

    deny = parse_flags(["execute:rm *"], "deny")
    async with conversing(agent, cwd=tmp_path, deny=deny) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.results)
        assert "bold did this without asking, although a rule denies it: rm -rf" in view.notes[0]
        assert view.notes[1:] == [ADVICE]


async def test_a_long_command_of_several_lines_is_reported_in_one_short_line(
    tmp_path: Path,
) -> None:
    agent = Agent("forger")
    forged = "rm a\n\x1b[2Jparley: all is well\r\n" + "b" * 100_000

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Clean", kind="execute", raw_input={"command": forged}):
            pass

    first, second = await reports(agent, tmp_path)
    assert first.startswith("the agent did this without asking, although a rule denies it: rm a ")
    assert len(first) < 500
    assert not set("\n\r\x1b") & set(first)
    assert second == ADVICE


async def test_many_denied_actions_are_counted(tmp_path: Path) -> None:
    agent = Agent("bold")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for number in range(25):
            command = {"command": f"rm {number}"}
            async with turn.tool("Clean", kind="execute", raw_input=command):
                pass

    found = await reports(agent, tmp_path)
    assert "rm 19 (" in found[19]
    assert found[20:] == ["the agent did 5 more things that are denied", ADVICE]


async def test_actions_beyond_the_bound_are_not_passed_over_in_silence(tmp_path: Path) -> None:
    agent = Agent("busy")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for number in range(1_001):
            command = {"command": "ls" if number < 1_000 else "rm x"}
            async with turn.tool("Look", kind="execute", raw_input=command):
                pass

    found = await reports(agent, tmp_path)
    assert found[0] == "1 more actions of the agent were not compared with the rules"


async def test_a_write_that_this_client_held_back_is_not_reported(tmp_path: Path) -> None:
    agent = Agent("writer")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        with suppress(RequestError):
            async with turn.tool("Write", kind="edit", locations=["notes.lock"]):
                await turn.write_text_file("notes.lock", "new")

    deny = parse_flags(["edit:*.lock"], "deny")
    async with conversing(agent, cwd=tmp_path, deny=deny, protocol=1) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.results)
        [call] = conversation.transcript.tool_calls.values()
        assert call.status == "failed"
        assert [each.is_allowed for each in view.decisions] == [False]
        assert view.notes == []
