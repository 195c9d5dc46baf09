"""A client that was written with the official Python SDK, moved to Parley."""

import asyncio
import sys

import parley
from parley import Session
from parley.schema import v2


def allow(request: v2.RequestPermissionRequest, session: Session) -> v2.PermissionOption | None:
    allowing = (option for option in request.options if option.kind == "allow_once")
    return next(allowing, None)


async def main(target: str) -> None:
    async with parley.connect(target, permission=allow) as agent:
        session = await agent.new_session("/tmp")
        turn = session.prompt("notes.txt")
        async for text in turn.text_stream():
            print(text)
        print((await turn).stop_reason)


asyncio.run(main(sys.argv[1]))
