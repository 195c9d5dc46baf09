"""Version 2 connections translate nothing, and send nothing that only version 1 has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from parley.errors import LocalProtocolError, MethodNotFound, Unsupported
from parley.peer import Peer
from parley.schema import v1, v2
from parley.schema.base import Unknown
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods
from parley.session._adapter import (
    AgentAdapter,
    AgentDescription,
    ClientAdapter,
    HandlerTable,
    open_agent_adapter,
    open_client_adapter,
)
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.session._checked_adapter import CheckedClientAdapter
from parley.transport import memory_pair

from .raw_peer import US


@asynccontextmanager
async def joined(
    features: ClientFeatures,
) -> AsyncGenerator[tuple[ClientAdapter, AgentAdapter], None]:
    """Join a client that offers these with an agent; both do nothing by themselves."""
    agents: asyncio.Queue[AgentAdapter] = asyncio.Queue()

    async def describe(*_: object) -> AgentDescription:
        return AgentDescription(info=US, features=AgentFeatures(sessions=True))

    def begin(adapter: AgentAdapter) -> HandlerTable:
        agents.put_nowait(adapter)
        return HandlerTable()

    here, there = memory_pair()
    async with Peer(here, "client") as client, Peer(there, "agent") as agent:
        open_agent_adapter(agent, describe, begin, versions=(2,))
        adapter = await open_client_adapter(
            client, info=US, features=features, program=HandlerTable(), versions=(2,)
        )
        yield adapter, await agents.get()


async def test_an_agent_does_not_ask_for_what_only_version_1_has() -> None:
    features = ClientFeatures(read_files=True, write_files=True, terminals=True)
    async with joined(features) as (_, agent):
        read = v1.ReadTextFileRequest(session_id="s", path="/a")
        with pytest.raises(Unsupported, match=r"^fs/read_text_file does not exist in version 2"):
            await agent.request(methods1.READ_TEXT_FILE, read)
        run = v1.CreateTerminalRequest(session_id="s", command="ls")
        with pytest.raises(Unsupported, match=r"^terminal/create does not exist in version 2"):
            await agent.request(methods1.CREATE_TERMINAL, run)


async def test_content_of_any_kind_is_in_the_updates_and_nothing_is_left_to_be_found() -> None:
    frame = (
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
        b'{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"x_odd"}}}}'
    )
    async with joined(ClientFeatures()) as (client, _):
        assert client.unknown_content(frame) == ()


async def test_a_rejected_prompt_is_reported_and_what_follows_does_not_overtake_it() -> None:
    accepted: list[v2.PromptResponse] = []
    async with joined(ClientFeatures()) as (client, _):
        checked = CheckedClientAdapter(client)
        failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        params = v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="Hi")])
        checked.begin_prompt(params, on_accepted=accepted.append, on_failed=failed.set_result)
        note = v2.CancelSessionNotification(session_id="s")
        checked.notify_now(methods.CANCEL_SESSION, note)
        assert isinstance(await failed, MethodNotFound)  # this agent serves no prompts
        assert accepted == []
        custom = v2.PromptRequest(session_id="s", prompt=[Unknown("odd", b'{"type":"odd"}')])
        with pytest.raises(LocalProtocolError, match="underscore"):
            checked.begin_prompt(custom, on_accepted=accepted.append, on_failed=failed.set_result)
