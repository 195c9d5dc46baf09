"""Extensions: methods that an agent serves in addition to its sessions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Raw, structs

from parley.agent import Agent, AgentConnection, AgentFeatures, ClientFeatures
from parley.agent._agent import add_extension
from parley.agent._agent_state import AgentState
from parley.agent._extension import ConnectionExtension, route_by_session
from parley.errors import InvalidParams, LocalProtocolError
from parley.peer import RequestContext, RequestHandler, TypedHandler
from parley.schema import v2
from parley.schema.v2 import methods

from .agent_clients import connected_client, counting_agent


class Notes:
    """An extension with one session of its own, whose option can be set."""

    def __init__(self) -> None:
        self.connections: list[AgentConnection] = []
        self.values: list[str | bool] = []
        self.ended = 0

    def join(self, connection: AgentConnection, agent: AgentState) -> ConnectionExtension:
        self.connections.append(connection)
        return self

    @property
    def requests(self) -> Mapping[str, RequestHandler]:
        return {methods.SET_SESSION_CONFIG_OPTION.name: self._set}

    @property
    def notifications(self) -> Mapping[str, Any]:
        return {}

    def features(self, offered: AgentFeatures, client: ClientFeatures) -> AgentFeatures:
        return structs.replace(offered, meta={"notes": client.notices})

    def owns_session(self, session_id: str | None) -> bool:
        return session_id == "notes"

    async def aclose(self) -> None:
        self.ended += 1

    async def _set(self, params: Any, request: RequestContext) -> Any:
        self.values.append(params.value)
        return v2.SetSessionConfigOptionResponse(config_options=[])


def setting(session_id: str) -> v2.SetSessionConfigValueRequest:
    return v2.SetSessionConfigValueRequest(session_id=session_id, config_id="x", value="y")


@pytest.mark.parametrize("version", [1, 2])
async def test_an_extension_is_served_in_addition_to_the_sessions(version: int) -> None:
    notes, agent = Notes(), counting_agent()
    add_extension(agent, notes)
    async with connected_client(agent, version=version) as client:
        assert client.adapter.agent.features.meta == {"notes": version == 2}
        session = await client.new()
        await client.request(methods.SET_SESSION_CONFIG_OPTION, setting("notes"))
        assert notes.values == ["y"]
        with pytest.raises(InvalidParams):
            await client.request(methods.SET_SESSION_CONFIG_OPTION, setting(session))
        assert notes.values == ["y"]
        assert not notes.ended
    assert notes.ended
    assert len(notes.connections) == 1


@pytest.mark.parametrize("version", [1, 2])
async def test_an_extension_does_not_need_sessions(version: int) -> None:
    notes, agent = Notes(), Agent("bare")
    add_extension(agent, notes)
    async with connected_client(agent, version=version) as client:
        # What the client asks for is of a session in its eyes, so it is sent as it is.
        sent = structs.replace(methods.SET_SESSION_CONFIG_OPTION, capability=None)
        await client.request(sent, setting("notes"))
        assert notes.values == ["y"]


def test_what_the_agent_reads_in_its_own_way_cannot_be_shared() -> None:
    async def handle(params: Any, request: RequestContext) -> None:
        """Do nothing."""

    assert route_by_session(Notes(), handle, None) is handle
    with pytest.raises(LocalProtocolError):
        route_by_session(Notes(), handle, TypedHandler(handle, Raw))
