"""A whole gateway in this process, from its settings."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from parley.client import connect
from parley.errors import ConfigError, ConnectFailed
from parley.gateway.config import AgentSettings, Settings
from parley.gateway.events import Event
from parley.gateway.owners import MemoryOwners
from parley.gateway.service import Service, open_service
from parley.transport.http.tokens import kept_token

from .hosting import DEMO

HERE = "127.0.0.1:0"
EVENTS = ("accept: text/event-stream",)
ONE = [AgentSettings(name="demo", target=DEMO)]


async def get(service: Service, path: str, *headers: str) -> str:
    """Ask for something; returns all of the answer."""
    reader, writer = await asyncio.open_connection(*service.addresses[0])
    lines = [f"GET {path} HTTP/1.1", "host: localhost", "connection: close", *headers, "", ""]
    writer.write("\r\n".join(lines).encode())
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()
        await writer.wait_closed()


async def test_it_serves_and_drains() -> None:
    told: list[Event] = []
    settings = Settings(http=HERE, agents=ONE, drain_after=1.0)
    async with open_service(settings, on_event=told.append, owners=MemoryOwners()) as service:
        assert service.url("demo") == f"{service.base}/acp/demo"
        assert (service.warnings, service.page_url) == ([], "")
        token = kept_token()
        async with connect(service.url(), "/", token=token) as agent:
            assert await (await agent.new_session()).ask("Hello") == "echo: Hello"
            figures = await get(service, "/metrics", f"authorization: Bearer {token}")
            assert 'parley_connections{agent="demo"} 1' in figures
        assert "401" in await get(service, "/metrics")
        assert "200" in await get(service, "/readyz")
        assert "404" in await get(service, "/elsewhere", f"authorization: Bearer {token}")
        await service.drain()
    events = [each.event for each in told]
    assert events[0] == "listening"
    assert [each.reason for each in told if each.event == "refused"] == [
        "unauthorized",
        "not_found",
    ]
    assert "draining" in events
    assert events[-1] == "stopped"


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_clients_learn_at_once_that_it_is_shut_down(scheme: str) -> None:
    settings = Settings(http=HERE, agents=ONE, drain_after=5.0, has_token=False)
    async with open_service(
        settings, on_event=lambda event: None, owners=MemoryOwners()
    ) as service:
        url = service.url().replace("http", scheme, 1)
        states: list[tuple[str, str]] = []
        async with connect(
            url, "/", on_state=lambda state, reason: states.append((state, reason))
        ) as agent:
            assert await (await agent.new_session()).ask("hello") == "echo: hello"
            draining = asyncio.create_task(service.drain())
            reason = await agent.peer.wait_closed()
            assert "the server is going away" in str(reason)
            assert not draining.done(), "it still answers for a moment"
            assert "410" in await get(service, "/acp", "acp-connection-id: x", *EVENTS)
            assert [state for state, _ in states] == ["gone"]
            await draining


async def test_without_agents_it_is_the_default_one(tmp_path: Path) -> None:
    settings = Settings(http=HERE, has_page=True, has_telemetry=True, has_token=False)
    async with open_service(settings, on_event=lambda event: None) as service:
        assert [each.name for each in service.gateway] == ["demo"]
        assert service.page_url == f"{service.base}/chat/"
        assert service.entrance.token_file is None
        async with connect(service.url(), tmp_path) as agent:
            assert agent.info.name == "parley-demo"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (["/usr/bin/env", "x"], "env"),
        ("env x", "env"),
        (["/bin/sh"], "sh"),
        ("https://agents.example/acp", "remote"),
    ],
)
async def test_an_agent_is_called_as_its_program(target: str | list[str], name: str) -> None:
    settings = Settings(http=HERE, agents=[AgentSettings(name="", target=target)])
    async with open_service(settings, on_event=lambda event: None) as service:
        assert [each.name for each in service.gateway] == [name]


async def test_what_cannot_be_served_is_an_error(tmp_path: Path) -> None:
    for settings, told in (
        (Settings(http="0.0.0.0:0", has_token=False), "set a token first"),
        (Settings(http="7400"), "no address"),
        (Settings(http=HERE, agents=[*ONE, *ONE]), "two agents would be called demo"),
        (
            Settings(
                http=HERE,
                agents=[AgentSettings(name="x", target=DEMO, cwd=tmp_path / "none")],
            ),
            "x: there is no directory",
        ),
        (
            Settings(http=HERE, agents=[AgentSettings(name="x", target=DEMO, env={"A": "$NONE_"})]),
            r"agents\.x\.env\.A refers to \$NONE_",
        ),
    ):
        with pytest.raises(ConfigError, match=told):
            async with open_service(settings, on_event=lambda event: None):
                pass
    missing = Settings(http=HERE, agents=[AgentSettings(name="x", target=["/none"])])
    with pytest.raises(ConnectFailed, match="/none was not found"):
        async with open_service(missing, on_event=lambda event: None):
            pass
    async with open_service(Settings(http=HERE, agents=ONE), on_event=lambda event: None) as taken:
        again = Settings(http=f"127.0.0.1:{taken.addresses[0][1]}", agents=ONE)
        with pytest.raises(OSError, match="in use"):
            async with open_service(again, on_event=lambda event: None):
                pass
