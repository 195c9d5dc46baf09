"""Two clients in one session: both see everything, and either can answer a question."""

import asyncio
import secrets

import parley
from parley import Remote, Session
from parley.asgi_server.server import Server
from parley.gateway import Access, AgentHost, Gateway, GatewayApp
from parley.schema import v2

TOKEN = secrets.token_urlsafe(32)
REMOTE = Remote(token=TOKEN)


def allow(request: v2.RequestPermissionRequest, session: Session) -> str:
    print("the second client allows:", request.title)
    return "yes"


async def wait(request: v2.RequestPermissionRequest, session: Session) -> None:
    await asyncio.Event().wait()  # nobody is at this screen; cancelled when the other one answers


async def main() -> None:
    app = GatewayApp(Gateway([AgentHost("demo", "parley demo")]), access=Access({TOKEN: "ann"}))
    async with Server(app) as server:
        url = f"http://127.0.0.1:{server.addresses[0][1]}/acp"
        async with (
            parley.connect(url, "/", remote=REMOTE, permission=wait) as first,
            parley.connect(url, "/", remote=REMOTE, permission=allow) as second,
        ):
            session = await first.new_session()
            joined = await second.resume_session(session.id)
            print("the first client:", await session.ask("perm"))
            await joined.until_idle()
            print("the second client:", joined.transcript.text)
        await app.aclose()


asyncio.run(main())
