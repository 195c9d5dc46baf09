"""Terminals that an agent runs and a client shows, in version 2.

https://agentclientprotocol.com/protocol/v2/tool-calls
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

from parley.client import Workspace
from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema.v1 import methods as v1_methods
from parley.schema.v2 import methods
from parley.session._transcript import Transcript
from parley.session._transcript_entries import TerminalEntry

from .raw_agent import RawAgent, opened
from .transcripts import TranscriptReader, transcript_after
from .wire_values import read, tool, update

requirement = pytest.mark.requirement
MENTION = {"type": "terminal", "terminalId": "s"}


def terminal(id: str = "s", **fields: Any) -> Any:
    return update("terminal_update", terminalId=id, **fields)


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def snapshot(data: bytes) -> Any:
    return terminal(output={"data": b64(data)})


def output(data: bytes, id: str = "s") -> Any:
    return update("terminal_output_chunk", terminalId=id, data=b64(data))


def shown(*updates: Any) -> TerminalEntry:
    (only,) = transcript_after(2, *updates).terminals.values()
    return only


@requirement("V2-TERM-02")
def test_a_terminal_and_a_tool_call_of_one_name_have_nothing_to_do_with_each_other() -> None:
    seen = transcript_after(2, tool("s", title="T"), output(b"x"), tool("s", status="failed"))
    assert (seen.tool_calls["s"].status, seen.terminals["s"].output) == ("failed", b"x")
    assert seen.terminals["s"].exit_status is None


@requirement("V2-TERM-03")
def test_a_terminal_and_its_mention_come_in_any_order() -> None:
    mention, details = tool(content=[MENTION]), (output(b"a"), terminal(command="ls"))
    for updates in ((mention, *details), (*details, mention), (details[0], mention, details[1])):
        seen = transcript_after(2, *updates)
        assert (seen.terminals["s"].output, seen.terminals["s"].command) == (b"a", "ls")


@requirement("V2-TERM-05")
def test_a_snapshot_replaces_and_chunks_append() -> None:
    assert shown(snapshot(b"AB"), output(b"C")).output == b"ABC"
    assert shown(snapshot(b"AB"), output(b"C"), snapshot(b"Z"), output(b"Y")).output == b"ZY"


@requirement("V2-TERM-06", "V2-TERM-07")
def test_chunks_are_decoded_one_by_one_and_characters_may_be_cut() -> None:
    parts = ["€".encode()[:1], "€".encode()[1:] + b"\xff", b"!"]
    assert all(b64(part).endswith("=") for part in parts[::2])
    seen = shown(*(output(part) for part in parts))
    assert seen.output == b"".join(parts)
    assert seen.text == "€\ufffd!"


@requirement("V2-TERM-08")
@pytest.mark.parametrize("data", ["A", "AA=A", "é", "AAA", "A\nAA"])
def test_what_is_no_base64_is_refused_and_changes_nothing(data: str) -> None:
    wrong = [
        update("terminal_output_chunk", terminalId="s", data=data),
        terminal(command="rm", output={"data": data}),
    ]
    for each in wrong:
        with pytest.raises(MalformedValue):
            Transcript().fold(read(v2.SessionUpdate, each))
    seen = shown(output(b"kept"), *wrong)
    assert (seen.output, seen.command) == (b"kept", None)


@requirement("V2-TERM-09")
def test_an_exit_status_comes_and_goes_and_leaves_the_tool_alone() -> None:
    client = TranscriptReader(2)
    client.receive(tool(status="in_progress", content=[MENTION]))
    steps: list[tuple[Any, Any]] = [
        ({"exitStatus": {"exitCode": 2}}, (2, None)),
        ({}, (2, None)),
        ({"exitStatus": {"exitCode": None, "signal": "SIGKILL"}}, (None, "SIGKILL")),
        ({"exitStatus": {}}, (None, None)),
        ({"exitStatus": None}, None),
    ]
    for step, expected in steps:
        known = client.receive(terminal(**step))
        status = known.terminals["s"].exit_status
        assert (None if status is None else (status.exit_code, status.signal)) == expected
        assert known.tool_calls["t"].status == "in_progress"


@requirement("V2-TERM-10", "V2-EXT-07")
async def test_a_client_of_version_2_has_no_terminals_and_no_files() -> None:
    agent = RawAgent(2)
    async with opened(agent, workspace=Workspace("/")):
        (hello,) = agent.got("initialize")
        assert not {"fs", "terminal"} & hello["capabilities"].keys()
        for method in v1_methods.TABLE.methods:
            if method.name.startswith(("terminal/", "fs/")):
                assert await agent.refusal(method.name, {"sessionId": "s"}) == -32601
    of_agent = {method.name for method in methods.TABLE.methods if method.to == "agent"}
    assert [name for name in of_agent if name.startswith("terminal/")] == ["terminal/cancel"]
