"""An agent in a web application: `uvicorn starlette_app:app`."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from parley import Agent, Turn

agent = Agent("web")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"From the web: {turn.text}")


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("The agent is at /agents/acp.")


acp = agent.asgi(tokens=[os.environ["AGENT_TOKEN"]])


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncGenerator[None]:
    yield
    await acp.aclose()  # let running turns end; a mounted application gets no lifespan events


app = Starlette(lifespan=lifespan, routes=[Route("/", home), Mount("/agents", acp)])
