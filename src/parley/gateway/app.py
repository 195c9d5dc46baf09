"""A gateway as an ASGI application: `/acp/NAME` is an agent, `/acp` the first one."""

from __future__ import annotations

from parley.recording import RecordingWriter
from parley.recording._transport import RecordedTransport
from parley.transport._base import Transport
from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp, lifespan
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.responses import path_within
from parley.transport.http._asgi_types import Receive, Scope, Send

from .agent_host import AgentHost
from .gateway import Gateway
from .page import Page, PageApp

__all__ = ["PATH", "GatewayApp"]

PATH = "/acp"
"""The path of the first agent; the others are below it."""
_SHOWN_NAMES = 20


class _Endpoint:
    """A hosted agent, as it is served to the principals of the application."""

    def __init__(
        self, host: AgentHost, *, has_one_principal: bool, recordings: RecordingWriter | None
    ) -> None:
        self._host = host
        self._has_one_principal = has_one_principal
        self._recordings = recordings

    async def serve(self, transport: Transport) -> None:
        if self._recordings is not None:
            recording = self._recordings.start(self._host.name, self._host.command)
            transport = RecordedTransport(transport, recording, peer="client")
        await self._host.serve(transport, has_one_principal=self._has_one_principal)

    async def knows_session(self, principal: str, session_id: str) -> bool:
        """Return whether a principal may have a session."""
        owner = self._host.owner_of(
            session_id, principal, has_one_principal=self._has_one_principal
        )
        return owner == principal


class GatewayApp:
    """An ASGI application that serves the agents of a gateway to authorized clients."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        access: Access | None = None,
        limits: AppLimits | None = None,
        page: Page | None = None,
        recordings: RecordingWriter | None = None,
    ) -> None:
        """Prepare to serve.

        Args:
            gateway: The agents.
            access: The access rules; by default, only the local user has access.
            limits: The limits of each agent.
            page: The settings of the page for browsers; None for no page.
            recordings: Records each connection of a client; None records nothing. The caller closes
                it.
        """
        access = access or Access()
        is_single = access.is_single
        endpoints = [
            _Endpoint(host, has_one_principal=is_single, recordings=recordings) for host in gateway
        ]
        apps = [
            HttpApp(each, access=access, path=None, limits=limits, knows_session=each.knows_session)
            for each in endpoints
        ]
        self._apps = {f"{PATH}/{host.name}": app for host, app in zip(gateway, apps, strict=True)}
        self._apps[PATH] = apps[0]
        names = [host.name for host in gateway]
        shown = ", ".join(names[:_SHOWN_NAMES])
        self._elsewhere = HttpApp(
            endpoints[0],
            access=access,
            path=PATH,
            path_hint=f"agents are at {PATH}/NAME, where NAME is one of {shown}",
            limits=limits,
        )
        self._page = None if page is None else PageApp(page, agents=names, access=access)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request; unauthorized clients do not learn which agents exist."""
        if self._page is not None and scope["type"] == "http" and self._page.serves(scope):
            await self._page(scope, receive, send)
            return
        if scope["type"] == "lifespan":
            await lifespan(receive, send, self.aclose)
            return
        app = self._apps.get(path_within(scope), self._elsewhere)
        passed_on = app(scope, receive, send)
        del scope, receive, send  # a stream is kept long, and there are many
        await passed_on

    def unsent_bytes(self, name: str) -> int:
        """Return the number of bytes that are buffered for the clients of an agent."""
        app = self._apps[f"{PATH}/{name}"]
        return sum(each.sink.unsent_bytes for each in app.connections)

    async def aclose(self, grace_after: float = 2.0) -> None:
        """Close all connections."""
        for app in {*self._apps.values(), self._elsewhere}:
            await app.aclose(grace_after)
