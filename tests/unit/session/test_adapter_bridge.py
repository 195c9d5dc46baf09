"""A bridge between the versions needs only two adapters that forward what they receive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from parley.peer import Peer, RequestContext
from parley.schema.base import Method
from parley.schema.v2 import methods
from parley.session._adapter import (
    AgentAdapter,
    AgentDescription,
    ClientAdapter,
    HandlerTable,
    open_agent_adapter,
    open_client_adapter,
)
from parley.session._capabilities import ClientFeatures
from parley.transport import memory_pair

from .raw_peer import US, RawPeer

TEXT = {"type": "text", "text": "Hi"}
INFO = {"name": "raw", "version": "1"}


class Bridge:
    """Passes on what either side says, in version 2's words."""

    def __init__(self) -> None:
        self.to_agent: ClientAdapter | None = None
        self.to_client: AgentAdapter | None = None

    def requests(self, to: str, rows: Mapping[str, Method[Any, Any]]) -> dict[str, Any]:
        def passing(row: Method[Any, Any]) -> Any:
            async def pass_on(params: Any, request: RequestContext) -> Any:
                adapter = getattr(self, to)
                return await adapter.request(row, params)

            return pass_on

        return {name: passing(row) for name, row in rows.items() if name != "initialize"}

    def notifications(self, to: str, rows: Mapping[str, Method[Any, Any]]) -> dict[str, Any]:
        def passing(row: Method[Any, Any]) -> Any:
            async def pass_on(params: Any) -> None:
                await getattr(self, to).notify(row, params)

            return pass_on

        return {name: passing(row) for name, row in rows.items() if not name.startswith("$")}

    def for_role(self, role: Any) -> HandlerTable:
        to = "to_agent" if role == "agent" else "to_client"
        table = methods.TABLE
        return HandlerTable(
            requests=self.requests(to, table.requests(role)),
            notifications=self.notifications(to, table.notifications(role)),
        )


@asynccontextmanager
async def bridged(
    client_version: int, agent_version: int
) -> AsyncGenerator[tuple[RawPeer, RawPeer], None]:
    """Join a raw client of one version with a raw agent of another."""
    bridge = Bridge()
    front, client_end = memory_pair()
    back, agent_end = memory_pair()
    client, agent = RawPeer(client_end), RawPeer(agent_end)

    async def describe(features: ClientFeatures, info: Any) -> AgentDescription:
        assert bridge.to_agent is not None
        return AgentDescription(info=US, features=bridge.to_agent.agent.features)

    def begin(adapter: AgentAdapter) -> HandlerTable:
        bridge.to_client = adapter
        return bridge.for_role("agent")

    responses: dict[int, dict[str, Any]] = {
        1: {"protocolVersion": 1},
        2: {"protocolVersion": 2, "info": INFO, "capabilities": {"session": {}}},
    }
    hellos: dict[int, dict[str, Any]] = {
        1: {"protocolVersion": 1},
        2: {"protocolVersion": 2, "info": INFO},
    }
    async with Peer(front, "agent") as to_client, Peer(back, "client") as to_agent:
        opening = asyncio.create_task(
            open_client_adapter(
                to_agent,
                info=US,
                features=ClientFeatures(),
                program=bridge.for_role("client"),
                versions=(agent_version,),
            )
        )
        await agent.serve("initialize", responses[agent_version])
        bridge.to_agent = await opening
        open_agent_adapter(to_client, describe, begin, versions=(client_version,))
        await client.ask("initialize", hellos[client_version], "initialize")
        yield client, agent
    assert client.unread == agent.unread == 0


async def test_a_version_1_client_talks_to_a_version_2_agent() -> None:
    async with bridged(1, 2) as (client, agent):
        client.send(id=1, method="session/prompt", params={"sessionId": "s", "prompt": [TEXT]})
        prompt = await agent.expect("session/prompt")
        agent.send(id=prompt["id"], result={"messageId": "m"})
        agent.update("user_message", messageId="m", content=[TEXT])
        agent.update("state_update", state="running")
        agent.update("tool_call_update", toolCallId="t", title="Look")
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        subject = {"type": "tool_call", "toolCall": {"toolCallId": "t"}}
        request = {"sessionId": "s", "title": "Look", "subject": subject, "options": options}
        agent.send(id="p", method="session/request_permission", params=request)
        assert (await client.next_update())["sessionUpdate"] == "tool_call"
        permission = await client.expect("session/request_permission")
        assert permission["params"]["toolCall"] == {"toolCallId": "t"}
        response = {"outcome": {"outcome": "selected", "optionId": "yes"}}
        client.send(id=permission["id"], result=response)
        assert await agent.result("p") == response
        client.send(method="session/cancel", params={"sessionId": "s"})
        await agent.expect("session/cancel")
        agent.update("tool_call_update", toolCallId="t", status="cancelled")
        agent.update("state_update", state="idle", stopReason="cancelled")
        assert (await client.next_update())["status"] == "failed"
        assert await client.result(1) == {"stopReason": "cancelled"}


async def test_a_version_2_client_talks_to_a_version_1_agent() -> None:
    async with bridged(2, 1) as (client, agent):
        client.send(id=1, method="session/prompt", params={"sessionId": "s", "prompt": [TEXT]})
        message_id = (await client.result(1))["messageId"]
        prompt = await agent.expect("session/prompt")
        chunk = await client.next_update()
        assert (chunk["sessionUpdate"], chunk["messageId"]) == ("user_message", message_id)
        assert (await client.next_update())["state"] == "running"
        agent.update("tool_call", toolCallId="t", title="Look")
        request = {
            "sessionId": "s",
            "toolCall": {"toolCallId": "t"},
            "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
        }
        agent.send(id="p", method="session/request_permission", params=request)
        assert (await client.next_update())["sessionUpdate"] == "tool_call_update"
        messages = [await client.next(), await client.next()]
        (permission,) = [each for each in messages if "id" in each]
        assert permission["params"]["title"] == "Look"
        response = {"outcome": {"outcome": "cancelled"}}
        client.send(id=permission["id"], result=response)
        assert await agent.result("p") == response
        assert (await client.next_update())["state"] == "running"
        agent.send(id=prompt["id"], result={"stopReason": "cancelled"})
        end = await client.next_update()
        assert (end["state"], end["stopReason"]) == ("idle", "cancelled")
