"""Both versions side by side: kept apart, bridged where a program speaks one and a peer the other.

https://agentclientprotocol.com/protocol/v2/migration
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.schema_types import exported_types

from parley.schema import v1, v2
from parley.schema.base import Patch
from parley.session._capabilities import ClientFeatures
from parley.session._v1_session_downgrader import SessionDowngrader
from parley.session._v1_session_upgrader import SessionUpgrader

from .raw_client import initialized
from .wire_values import chunk, read, text, tool, update, write

requirement = pytest.mark.requirement


@requirement("V2-DUAL-08")
@pytest.mark.parametrize(("loaded", "other"), [("v1", "v2"), ("v2", "v1")])
def test_the_models_of_one_version_do_not_load_the_others(loaded: str, other: str) -> None:
    program = f"import sys, parley.schema.{loaded}.methods; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=True
    )
    assert f"parley.schema.{loaded}.methods" in done.stdout.split()
    assert not [name for name in done.stdout.split() if f"schema.{other}" in name]


@requirement("V2-DUAL-09")
def test_only_version_2_has_fields_of_three_states() -> None:
    assert issubclass(v2.ToolCallUpdate, Patch)
    known = exported_types(1).values()
    patches = {each for each in known if isinstance(each, type) and issubclass(each, Patch)}
    names = {each.__name__ for each in patches}
    stated = {"SessionInfoUpdate", "CompactionUpdate", "SubagentUpdate", "SessionMessage"}
    assert names <= stated


@requirement("V2-DUAL-12")
async def test_an_array_is_read_in_version_1_too() -> None:
    async with initialized(1) as client:
        calls = [{"jsonrpc": "2.0", "id": f"{n}", "method": "session/list"} for n in range(2)]
        client.transport.send(json.dumps(calls).encode())
        responses = await client.until(lambda message: isinstance(message, list))
        assert {each["id"] for each in responses} == {"0", "1"}
        assert all(each["result"] == {"sessions": []} for each in responses)


def lowered(*updates: Any) -> list[Any]:
    """Return what a client of version 1 is told."""
    lowering = SessionDowngrader(ClientFeatures())
    return [
        write(each) for one in updates for each in lowering.downgrade(read(v2.SessionUpdate, one))
    ]


@requirement("V2-DUAL-10")
def test_a_whole_message_becomes_chunks_if_none_was_sent() -> None:
    whole = update("agent_message", messageId="m", content=[text("a"), text("b")])
    sent = lowered(whole)
    assert {each["sessionUpdate"] for each in sent} == {"agent_message_chunk"}
    assert "".join(each["content"]["text"] for each in sent) == "ab"
    assert lowered(chunk("ab"), update("agent_message", messageId="m")) == lowered(chunk("ab"))


@requirement("V2-DUAL-10")
def test_chunks_of_a_tools_content_are_put_together() -> None:
    def piece(words: str) -> Any:
        item = {"type": "content", "content": text(words)}
        return tool(sessionUpdate="tool_call_content_chunk", content=item)

    sent = lowered(tool(title="T"), piece("a"), piece("b"), tool(status="completed"))
    assert sent[0]["sessionUpdate"] == "tool_call"
    shown = [each["content"] for each in sent if each.get("content")]
    assert [item["content"]["text"] for item in shown[-1]] == ["a", "b"]
    assert sent[-1]["status"] == "completed"


@requirement("V2-DUAL-10")
def test_what_version_1_says_of_tools_and_plans_is_said_in_version_2() -> None:
    lifting = SessionUpgrader(prefix="p")
    call = {**tool(title="T"), "sessionUpdate": "tool_call"}
    (seen,) = lifting.upgrade(read(v1.SessionUpdate, call))
    assert isinstance(seen, v2.ToolCallUpdated)
    plan = update("plan", entries=[{"content": "a", "priority": "low", "status": "pending"}])
    (known,) = lifting.upgrade(read(v1.SessionUpdate, plan))
    assert isinstance(known, v2.PlanUpdate)
    assert isinstance(known.plan, v2.PlanItems)
    assert known.plan.plan_id == "main"
