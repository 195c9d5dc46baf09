"""A whole gateway in this process, from its settings."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from tests.unit.transport.http import certificate as certificates

from parley.client import Remote, connect
from parley.errors import ConfigError, ConnectFailed, InternalError, Unauthorized
from parley.gateway.config import AgentSettings, Settings
from parley.gateway.events import Event
from parley.gateway.limits import GatewayLimits, HostLimits
from parley.gateway.owners import MemoryOwners
from parley.gateway.service import Service, open_service
from parley.recording import RecordedLine, RecordingLimits, RecordingStore, RecordingWriter
from parley.transport.http._tokens import load_or_create_token, new_token, token_path

from .agent_hosts import DEMO

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
        token = load_or_create_token()
        async with connect(service.url(), "/", remote=Remote(token=token)) as agent:
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
            url, "/", remote=Remote(on_state=lambda state, reason: states.append((state, reason)))
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
        assert service.auth.token_file is None
        async with connect(service.url(), tmp_path) as agent:
            assert agent.info.name == "parley-demo"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (["/usr/bin/env", "true"], "true"),
        ("env true", "true"),
        (["/bin/sh"], "sh"),
        ("https://agents.example/acp", "agents"),
    ],
)
async def test_an_agent_is_called_as_its_program(target: str | list[str], name: str) -> None:
    settings = Settings(http=HERE, agents=[AgentSettings(name="", target=target)])
    async with open_service(settings, on_event=lambda event: None) as service:
        assert [each.name for each in service.gateway] == [name]


async def test_what_cannot_be_served_is_an_error(tmp_path: Path) -> None:
    for settings, told in (
        (Settings(http="0.0.0.0:0", has_token=False), "set a token first"),
        (Settings(http="7400"), "not an address"),
        (Settings(http=HERE, agents=[*ONE, *ONE]), "two agents would be named demo"),
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


async def test_agents_that_nobody_has_named_get_names_that_differ() -> None:
    twice = [AgentSettings(name="", target=DEMO), AgentSettings(name="", target=DEMO)]
    settings = Settings(http=HERE, agents=[*twice, AgentSettings(name="parley", target=DEMO)])
    async with open_service(
        settings, on_event=lambda event: None, owners=MemoryOwners()
    ) as service:
        assert [each.name for each in service.gateway] == ["parley-2", "parley-3", "parley"]


async def test_the_log_says_which_host_and_origin_is_refused_shortly() -> None:
    told: list[Event] = []
    settings = Settings(http=HERE, agents=ONE)
    async with open_service(settings, on_event=told.append, owners=MemoryOwners()) as service:
        reader, writer = await asyncio.open_connection(*service.addresses[0])
        for path in ("/acp", "/healthz"):
            writer.write(f"GET {path} HTTP/1.1\r\nhost: agents.example:7400\r\n\r\n".encode())
        await get(service, "/acp", "origin: https://evil.example/" + "x" * 200)
        writer.write(b"GET /acp HTTP/1.1\r\nhost: last\r\nconnection: close\r\n\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()
    asked = [(each.reason, each.asked) for each in told if each.event == "refused"]
    assert sorted(asked) == [
        ("foreign_host", "agents.example:7400"),
        ("foreign_host", "agents.example:7400"),
        ("foreign_host", "last"),
        ("foreign_origin", ("https://evil.example/" + "x" * 200)[:80]),
    ]


TWO = [AgentSettings(name=name, target=DEMO) for name in ("one", "two")]


async def test_the_agents_of_a_service_share_one_limit_on_histories() -> None:
    limits = GatewayLimits(host=HostLimits(total_history_bytes=1_000))
    settings = Settings(http=HERE, agents=TWO, limits=limits)
    async with open_service(settings, on_event=lambda event: None, owners=MemoryOwners()) as it:
        first, second = it.gateway
        assert first.histories is second.histories


async def test_only_authorized_clients_learn_the_names_of_the_agents() -> None:
    settings = Settings(http=HERE, agents=TWO)
    async with open_service(settings, on_event=lambda event: None, owners=MemoryOwners()) as it:
        for path in ("/acp/three", "/", "/acp/"):
            told = await get(it, path, f"authorization: Bearer {load_or_create_token()}")
            assert "agents are at /acp/NAME, where NAME is one of one, two" in told
            told = await get(it, path)
            assert "401" in told
            assert "two" not in told


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_what_comes_late_for_a_connection_that_has_ended_is_no_refusal(scheme: str) -> None:
    told: list[Event] = []
    settings = Settings(http=HERE, agents=ONE)
    async with open_service(settings, on_event=told.append, owners=MemoryOwners()) as service:
        url, token = service.url().replace("http", scheme, 1), load_or_create_token()
        async with connect(url, "/", remote=Remote(token=token)) as agent:
            session = await agent.new_session()
            with pytest.raises(InternalError):
                await session.ask("crash")
        async with connect(url, "/", remote=Remote(token=token)) as agent:
            await agent.new_session()
        bearer = f"authorization: Bearer {token}"
        assert "404" in await get(service, "/acp", bearer, "acp-connection-id: never", *EVENTS)
    assert [each.reason for each in told if each.event == "refused"] == ["unknown_connection"]


async def test_a_late_message_is_answered_by_who_it_is() -> None:
    told: list[Event] = []
    settings = Settings(http=HERE, agents=ONE)
    async with open_service(settings, on_event=told.append, owners=MemoryOwners()) as service:
        token = load_or_create_token()
        async with connect(service.url(), "/", remote=Remote(token=token)):
            (opened,) = next(iter(service.app._apps.values())).connections  # pyright: ignore[reportPrivateUsage]
        bearer, named = f"authorization: Bearer {token}", f"acp-connection-id: {opened.id}"
        assert "connection_ended" in await get(service, "/acp", bearer, named, *EVENTS)
        assert "401" in await get(service, "/acp", named, *EVENTS)
    assert [each.reason for each in told if each.event == "refused"] == ["unauthorized"]


async def test_tokens_and_certificates_are_renewed_while_it_runs(tmp_path: Path) -> None:
    certificate, key = certificates.written(tmp_path)
    told: list[Event] = []
    settings = Settings(http=HERE, agents=ONE, tls=(certificate, key))
    async with open_service(settings, on_event=told.append, owners=MemoryOwners()) as service:
        host, port = service.addresses[0]
        url, old = f"https://localhost:{port}/acp", load_or_create_token()
        assert await shown(host, port) == certificates.CERTIFICATE
        certificate.write_text("half of")
        with pytest.raises(ConfigError, match="are not a certificate and its key"):
            service.renew()
        assert await shown(host, port) == certificates.CERTIFICATE
        certificate.write_text(certificates.OTHER_CERTIFICATE)
        key.write_text(certificates.OTHER_KEY)
        new_token(token_path())
        service.renew()
        assert await shown(host, port) == certificates.OTHER_CERTIFICATE
        async with connect(
            url, "/", remote=Remote(token=load_or_create_token(), ca_file=certificate)
        ) as agent:
            assert agent.info.name == "parley-demo"
        with pytest.raises(Unauthorized):
            async with connect(url, "/", remote=Remote(token=old, ca_file=certificate)):
                pass
    assert [each.event for each in told].count("renewed") == 1


async def shown(host: str, port: int) -> str:
    """The certificate that a server shows."""
    return await asyncio.to_thread(ssl.get_server_certificate, (host, port))


async def test_each_connection_of_a_client_is_recorded(tmp_path: Path) -> None:
    store = RecordingStore(tmp_path)
    settings = Settings(http=HERE, agents=ONE)
    writer = RecordingWriter(store, limits=RecordingLimits(), may_wait=False)
    async with open_service(
        settings, on_event=lambda event: None, owners=MemoryOwners(), recordings=writer
    ) as service:
        token = load_or_create_token()
        for _ in range(2):
            async with connect(service.url(), "/", remote=Remote(token=token)) as agent:
                assert await (await agent.new_session()).ask("Hello") == "echo: Hello"
    writer.close()
    recordings = store.recordings()
    assert [each.header.name for each in recordings] == ["demo", "demo"]
    assert recordings[0].header.command == DEMO
    for recording in recordings:
        with recording.open() as reader:
            lines = [each for each in reader if isinstance(each, RecordedLine)]
        methods = [each.message.get("method") for each in lines if each.source == "client"]
        assert methods[:3] == ["initialize", "session/new", "session/prompt"]
        assert any(b"echo: Hello" in each.data for each in lines if each.source == "agent")
        assert token.encode() not in recording.path.read_bytes()
