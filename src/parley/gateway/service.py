"""A listening gateway, built from its settings: agents, access, metrics and log."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from parley.asgi_server.server import Server
from parley.client._resolve import Resolved, resolve
from parley.config import _references as references
from parley.errors import ConfigError, ConnectFailed
from parley.recording import RecordingWriter
from parley.transport._target import TargetOptions
from parley.transport.http._app.access import Access
from parley.transport.http._app.serving import parse_address

from .agent_host import AgentHost
from .app import PATH, GatewayApp
from .auth import AuthSetup, open_auth, open_tls, warnings
from .config import AgentSettings, Settings
from .events import Event, EventBus, OnEvent
from .gateway import Gateway
from .history_budget import HistoryBudget
from .metrics import Metrics
from .names import distinct, name_of
from .operator_app import OperatorApp
from .owners import Owners, SqliteOwners
from .page import PATH as PAGE
from .page import Page
from .telemetry import span_maker

__all__ = ["Service", "open_service"]

_CLOSE_AFTER = 2.0
_LINGER = 1.0
"""The seconds for which returning clients still get a response that the shutdown is permanent."""
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}


class Service:
    """A running gateway; see `open_service`."""

    def __init__(
        self,
        settings: Settings,
        gateway: Gateway,
        app: GatewayApp,
        entered: AuthSetup,
        server: Server,
        *,
        tls: ssl.SSLContext | None,
        on_event: OnEvent,
    ) -> None:
        self.settings = settings
        self.gateway = gateway
        self.auth = entered
        self.app = app
        self.server = server
        self.tls = tls
        self.on_event = on_event
        self.is_drained = False

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """The addresses that it listens on."""
        return self.server.addresses

    @property
    def base(self) -> str:
        """The URL of the server, without a path."""
        host = self.addresses[0][0]
        return self._at(_ANYWHERE.get(host) or (f"[{host}]" if ":" in host else host))

    @property
    def public(self) -> str:
        """The URL for clients, with the host name of the certificate if there is one."""
        hosts = self.settings.hosts if self.settings.tls is not None else []
        return self._at(hosts[0].partition(":")[0]) if hosts and hosts[0][0] != "[" else self.base

    def _at(self, host: str) -> str:
        scheme = "http" if self.settings.tls is None else "https"
        return f"{scheme}://{host}:{self.addresses[0][1]}"

    def url(self, name: str = "") -> str:
        """Return the URL of an agent; of the first one without a name."""
        return f"{self.public}{PATH}/{name}" if name else f"{self.public}{PATH}"

    @property
    def page_url(self) -> str:
        """The URL of the page for browsers; empty if there is none."""
        return f"{self.public}{PAGE}" if self.settings.has_page else ""

    @property
    def warnings(self) -> list[str]:
        """Warnings for the user."""
        troubles = [f"{each.name}: {each.start_error}" for each in self.gateway if each.start_error]
        return [*troubles, *warnings(self.settings, self.addresses[0][0])]

    def renew(self) -> None:
        """Read the certificate and the tokens again, for later requests.

        Raises:
            ConfigError: One of them cannot be used; then everything stays as it is.
        """
        entered = open_auth(self.settings)
        if self.tls is not None and self.settings.tls is not None:
            open_tls(self.settings)  # one that is half written must not take the place of the old
            self.tls.load_cert_chain(*self.settings.tls)
        self.auth.access.replace_tokens(entered.access)
        self.on_event(Event(event="renewed"))

    async def drain(self) -> None:
        """Reject new clients, let pending work end within the configured time, and close."""
        self.on_event(Event(event="draining"))
        has_clients = any(each.connections for each in self.gateway)
        await self.gateway.drain(self.settings.drain_after)
        await self.app.aclose(_CLOSE_AFTER)  # before the agents: it gives the clients the reason
        if has_clients:
            await asyncio.sleep(_LINGER)
        await self.close()

    async def close(self) -> None:
        """Close all connections, end the agents, and stop listening."""
        if not self.is_drained:
            self.is_drained = True
            await self.app.aclose(_CLOSE_AFTER)
            await self.gateway.aclose()
            await self.server.shutdown(_CLOSE_AFTER)
            self.on_event(Event(event="stopped"))


@asynccontextmanager
async def open_service(
    settings: Settings,
    *,
    on_event: OnEvent,
    on_stderr: Callable[[str, bytes], None] | None = None,
    owners: Owners | None = None,
    recordings: RecordingWriter | None = None,
) -> AsyncGenerator[Service]:
    """Serve agents while the block runs.

    Args:
        settings: Which agents, to whom, where.
        on_event: Called with the events.
        on_stderr: Sees what agents write to their stderr, with their names.
        owners: Remembers the owners of sessions; in the state directory by default.
        recordings: Records each connection of a client; None records nothing. The caller closes it.

    Raises:
        ConfigError: Something in the settings cannot be used, or would let everybody in.
        ConnectFailed: No agent can be started.
        OSError: It cannot listen there.
    """
    entered = open_auth(settings)
    host, port = _address(settings, entered.access)
    tls = open_tls(settings)
    async with AsyncExitStack() as stack:
        if owners is None:
            kept = SqliteOwners()
            stack.callback(kept.close)
            owners = kept
        gateway = _gateway(settings, owners, on_stderr)
        page = Page(cwd=str(_cwd(settings))) if settings.has_page else None
        app = GatewayApp(
            gateway,
            access=entered.access,
            limits=settings.limits.app,
            page=page,
            recordings=recordings,
        )
        metrics = Metrics(gateway, app.unsent_bytes)
        events = EventBus()
        events.subscribe(metrics.record)
        events.subscribe(on_event)
        if settings.has_telemetry:
            events.subscribe(span_maker())
        for each in gateway:
            each.events.subscribe(events.emit)
        front = OperatorApp(
            app,
            gateway,
            access=entered.access,
            metrics=metrics,
            who_measures=settings.metrics,
            on_event=events.emit,
        )
        server = Server(front, host, port, tls=tls, limits=settings.limits.server)
        service = Service(settings, gateway, app, entered, server, tls=tls, on_event=events.emit)
        await _listen(service)
        stack.push_async_callback(service.close)
        yield service


def _address(settings: Settings, access: Access) -> tuple[str, int]:
    try:
        host, port = parse_address(settings.http)
        access.check_address(host)
    except ConnectFailed as error:
        raise ConfigError(str(error)) from error
    return host, port


async def _listen(service: Service) -> None:
    server = service.server
    await server.__aenter__()
    try:
        for found, _ in server.addresses:  # a name may be more than it seems
            service.auth.access.check_address(found)
    except ConnectFailed as error:
        await server.shutdown(0)
        raise ConfigError(str(error)) from error
    service.on_event(Event(event="listening", url=service.base))


# The agents


def _cwd(settings: Settings) -> Path:
    """Return the initial directory of the page: the directory of the first agent."""
    first = settings.agents[0] if settings.agents else None
    return first.cwd if first is not None and first.cwd is not None else Path.cwd()


def _gateway(
    settings: Settings, owners: Owners, on_stderr: Callable[[str, bytes], None] | None
) -> Gateway:
    wanted = settings.agents or [AgentSettings(name="", target=None)]
    resolved = [_resolved(each) for each in wanted]
    names = distinct([each.name for each in wanted], [name_of(each) for each in resolved])
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(
                f"two agents would be named {name}; choose a name with --name NAME=TARGET"
            )
    histories = HistoryBudget(settings.limits.host.total_history_bytes)
    hosts = [
        _agent_host(name, each, agent, settings, owners, histories, on_stderr)
        for name, each, agent in zip(names, resolved, wanted, strict=True)
    ]
    if all(each.start_error for each in hosts):
        raise ConnectFailed(f"{hosts[0].start_error}; is it installed and on PATH?")
    return Gateway(hosts)


def _agent_host(
    name: str,
    resolved: Resolved,
    agent: AgentSettings,
    settings: Settings,
    owners: Owners,
    histories: HistoryBudget,
    on_stderr: Callable[[str, bytes], None] | None,
) -> AgentHost:
    if agent.cwd is not None and not agent.cwd.is_dir():
        raise ConfigError(f"{name}: there is no directory {agent.cwd}")
    merged = resolved.merged(
        env=references.resolve(agent.env, os.environ, f"agents.{name}.env"),
        inherit=agent.inherit,
        protocol=agent.protocol,
    )
    options: TargetOptions = {**merged.target_options, "cwd": agent.cwd or Path.cwd()}
    if on_stderr is not None:
        options["on_stderr"] = lambda data: on_stderr(name, data)
    return AgentHost(
        name,
        resolved.target,
        is_shared=agent.is_shared,
        has_attaching=agent.has_attaching,
        versions=tuple(merged.options.get("versions", ())),
        limits=settings.limits.host,
        owners=owners,
        histories=histories,
        **options,
    )


def _resolved(agent: AgentSettings) -> Resolved:
    if isinstance(agent.target, list):
        return Resolved(target=agent.target)
    return resolve(agent.target)
