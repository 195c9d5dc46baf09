"""AgentHost agents as an application for any ASGI server: `AGENT_TOKEN=… uvicorn asgi_app:app`."""

import os

from parley import Agent, Turn
from parley.gateway import Access, AgentHost, Gateway, GatewayApp

agent = Agent("here")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"In this process: {turn.text}")


app = GatewayApp(
    Gateway([AgentHost("here", agent), AgentHost("demo", "parley demo")]),
    access=Access({os.environ["AGENT_TOKEN"]: "ann"}),
)
