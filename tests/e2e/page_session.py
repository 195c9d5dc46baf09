"""The page in a browser, on a gateway with some agents, through a network that can fail."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.e2e.browser import PHONE, Browser, Page, browser
from tests.unit.transport.http.proxy import Proxy

from parley.asgi_server.server import Server
from parley.gateway import AgentHost, Gateway, page
from parley.gateway.app import GatewayApp
from parley.gateway.events import Event, Name
from parley.testing.demo import demo_agent
from parley.transport.http._app.access import Access
from parley.transport.http._app.limits import AppLimits

TOKEN = "the-token-of-ann"


class PageSession:
    """A page that is open."""

    def __init__(self, page: Page, browser: Browser, proxy: Proxy, gateway: Gateway) -> None:
        self.page = page
        self.browser = browser
        self.proxy = proxy
        self.gateway = gateway
        self.pages = [page]
        self.scheme = "http"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.proxy.port}"

    async def say(self, text: str, page: Page | None = None) -> None:
        page = page or self.page
        await page.click("textarea")
        await page.type(text)
        await page.click(".send")

    async def ready(self, page: Page | None = None) -> None:
        await (page or self.page).sees("Ready", "#status")

    async def second(self, fragment: str = "", **options: Any) -> Page:
        """Open the page once more, as another device would."""
        url = f"{self.origin}/chat/#{fragment.removeprefix('&')}"
        made = await self.browser.open(url, **options, token=TOKEN)
        self.pages.append(made)
        return made

    def happens(self, name: Name) -> asyncio.Event:
        """Return an event that is set when the first agent reports a gateway event."""
        happened = asyncio.Event()

        def see(event: Event) -> None:
            if event.event == name:
                happened.set()

        next(iter(self.gateway)).events.subscribe(see)
        return happened

    def check(self) -> None:
        """Check that the page sent nothing to other servers, and that nothing failed."""
        for each in self.pages:
            assert each.problems == []
            assert each.dialogs == []
            assert [url for url in each.requests if not url.startswith(f"{self.origin}/")] == []
            assert not any(TOKEN in url for url in each.requests)


@asynccontextmanager
async def open_page(
    folder: Path,
    *agents: Any,
    size: tuple[int, int, bool] = PHONE,
    dark: bool = False,
    path: str = "/chat/",
    token: str = TOKEN,
    limits: AppLimits | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncGenerator[PageSession]:
    """Open the page on some agents, or on the demo agent of this process."""
    names = [f"agent{number}" for number in range(len(agents) or 1)]
    hosts = [
        agent if isinstance(agent, AgentHost) else AgentHost(name, agent)
        for name, agent in zip(names, agents or [demo_agent()], strict=True)
    ]
    gateway = Gateway(hosts)
    app = GatewayApp(
        gateway, access=Access({TOKEN: "ann"}), limits=limits, page=page.Page(cwd=str(folder))
    )
    async with (
        Server(app, "127.0.0.1", 0, tls=tls) as server,
        Proxy(server.addresses[0][1]) as proxy,
        browser() as opened,
    ):
        scheme = "http" if tls is None else "https"
        url = f"{scheme}://127.0.0.1:{proxy.port}{path}"
        first = await opened.open(url, size, dark, token=token)
        session = PageSession(first, opened, proxy, gateway)
        session.scheme = scheme
        try:
            yield session
            session.check()
        finally:
            await app.aclose()
            await gateway.aclose()
