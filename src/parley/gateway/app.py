"""A gateway as an ASGI application: `/acp/NAME` is an agent, `/acp` the first one."""

from __future__ import annotations

from parley.transport.http._app.access import Access
from parley.transport.http._app.app import HttpApp, lifespan
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.responses import path_within
from parley.transport.http._asgi_types import Receive, Scope, Send

from .gateway import Gateway
from .page import Page, PageApp

__all__ = ["PATH", "GatewayApp"]

PATH = "/acp"
"""Where the first agent is; the others are below it."""
_SHOWN_NAMES = 20


class GatewayApp:
    """Serves the agents of a gateway, each to everybody who gets in."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        access: Access | None = None,
        limits: AppLimits | None = None,
        page: Page | None = None,
    ) -> None:
        """Prepare to serve.

        Args:
            gateway: The agents.
            access: Who gets in; the local user alone, if not given.
            limits: What is held at most, of each agent.
            page: What the page for browsers is told; without it there is none.
        """
        access = access or Access()
        for host in gateway:
            host.adopts = access.is_single
        apps = [
            HttpApp(
                host,
                access=access,
                path=None,
                limits=limits,
                knows_session=host.knows_session,
            )
            for host in gateway
        ]
        self._apps = {f"{PATH}/{host.name}": app for host, app in zip(gateway, apps, strict=True)}
        self._apps[PATH] = apps[0]
        names = [host.name for host in gateway]
        self._elsewhere = HttpApp(next(iter(gateway)), access=access, path=PATH, limits=limits)
        shown = ", ".join(names[:_SHOWN_NAMES])
        self._elsewhere.where = f"agents are at {PATH}/NAME, where NAME is one of {shown}"
        self._page = None if page is None else PageApp(page, agents=names, access=access)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; who may not get in does not learn which agents there are."""
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
        """Return how much waits for the clients of an agent."""
        app = self._apps[f"{PATH}/{name}"]
        return sum(each.sink.unsent_bytes for each in app.connections)

    async def aclose(self, grace_after: float = 2.0) -> None:
        """End all connections."""
        for app in {*self._apps.values(), self._elsewhere}:
            await app.aclose(grace_after)
