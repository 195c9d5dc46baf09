"""An agent as an ASGI application, for any ASGI server.

AGENT_TOKEN=… uvicorn asgi_agent:app          (HTTP/1.1 and WebSocket)
AGENT_TOKEN=… hypercorn asgi_agent:app        (HTTP/2 as well)
"""

import os

from parley import Agent, Turn

agent = Agent("asgi")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"By ASGI: {turn.text}")


app = agent.asgi(tokens=[os.environ["AGENT_TOKEN"]])
