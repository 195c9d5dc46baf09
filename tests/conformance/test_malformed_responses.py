"""Responses that an agent gets wrong: what the client makes of them.

https://agentclientprotocol.com/protocol/v1/overview#error-handling
https://www.jsonrpc.org/specification#response_object
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import parley.client
from parley.errors import ConnectFailed, ProcessExited, RemoteProtocolError
from parley.rpc._framing import Frame

from .raw_agent import RawAgent, connected, opened
from .raw_client import in_both_versions

requirement = pytest.mark.requirement
RESULT = {"stopReason": "end_turn", "messageId": "u"}
ERROR = {"code": -32000, "message": "no"}
MALFORMED: dict[str, dict[str, Any]] = {
    "wrong type": {"result": [RESULT]},
    "null": {"result": None},
    "missing member": {"result": {}},
    "neither": {},
    "both": {"result": RESULT, "error": ERROR},
    "error without code": {"error": {"message": "no"}},
}
malformed_responses = pytest.mark.parametrize("members", MALFORMED.values(), ids=MALFORMED)


class Malformed(RawAgent):
    """An agent whose responses to one method have these members."""

    def __init__(self, version: int, method: str, **members: Any) -> None:
        super().__init__(version)
        self.method = method
        self.members = members
        self.answers.pop(method, None)

    def received(self, message: Any) -> None:
        if message.get("method") == self.method:
            self.say("before")
            self.send(id=self.repeated(message["id"]), **self.members)
        else:
            super().received(message)

    def repeated(self, id: int) -> Any:
        return id


class Mistyped(Malformed):
    """An agent that responds with the id as a string."""

    def repeated(self, id: int) -> Any:
        return str(id)


@in_both_versions
@malformed_responses
async def test_a_malformed_response_to_a_prompt_raises_remote_protocol_error(
    version: int, members: dict[str, Any]
) -> None:
    async with opened(Malformed(version, "session/prompt", **members)) as session:
        with pytest.raises(RemoteProtocolError):
            await session.prompt("go")


@in_both_versions
@malformed_responses
async def test_a_malformed_response_to_another_request_raises_remote_protocol_error(
    version: int, members: dict[str, Any]
) -> None:
    async with connected(Malformed(version, "session/new", **members)) as connection:
        with pytest.raises(RemoteProtocolError):
            await connection.new_session()


@in_both_versions
async def test_a_response_whose_id_has_another_type_is_named(version: int) -> None:
    agent = Mistyped(version, "session/prompt", result=RESULT)
    async with opened(agent) as session:
        with pytest.raises(RemoteProtocolError, match=r'the string "\d" as its id'):
            await session.prompt("go")


@in_both_versions
async def test_an_unknown_stop_reason_ends_the_turn_with_its_text_and_the_reason(
    version: int,
) -> None:
    agent = RawAgent(version)
    agent.stop_reason = "_out_of_coffee" if version == 2 else "out_of_coffee"

    async def scene(agent: RawAgent) -> None:
        agent.say("All there is.")

    agent.scene = scene
    async with opened(agent) as session:
        result = await session.prompt("go")
    assert (result.text, result.stop_reason) == ("All there is.", agent.stop_reason)


PRETTY = """
import json, sys
asked = json.loads(sys.stdin.readline())
response = {"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": 1}}
print(json.dumps(response, indent=2), flush=True)
"""
SPREAD = "JSON spread over several lines; each message must be one line"


def pretty_agent(folder: Path, then: str) -> list[str]:
    """Write an agent that pretty-prints its response, and return its command."""
    program = folder / "agent.py"
    program.write_text(PRETTY + then)
    return [sys.executable, str(program)]


async def test_a_pretty_printed_response_is_named_when_the_agent_exits(tmp_path: Path) -> None:
    with pytest.raises(ProcessExited, match=f"exited with code 0; it sends {SPREAD}"):
        async with parley.client.connect(pretty_agent(tmp_path, "")):
            pass


async def test_a_pretty_printed_response_is_named_when_the_client_gives_up(tmp_path: Path) -> None:
    command = pretty_agent(tmp_path, "sys.stdin.read()")
    seen: list[str] = []

    def observe(direction: str, frame: Frame) -> None:
        if direction == "inbound":
            seen.append(bytes(frame).decode())

    given_up_after = 0.5
    while True:  # on a busy machine the agent may start slower than this
        with pytest.raises(ConnectFailed) as failed:
            async with parley.client.connect(
                command, give_up_after=given_up_after, observer=observe
            ):
                pass
        if seen:
            break
        given_up_after *= 2
    expected = f"did not respond to initialize within {given_up_after:g} seconds; it sends {SPREAD}"
    assert expected in str(failed.value)
