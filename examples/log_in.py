"""A client that logs in when the agent asks for it."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Session
from parley.schema import v2

AGENT = Path(__file__).with_name("login_agent.py")


def choose(methods: list[v2.AuthMethod]) -> v2.AuthMethod | None:
    for method in methods:
        print("The agent offers:", method)
    return methods[0]


def open_page(request: v2.ElicitationUrlMode, session: Session | None) -> str:
    print(f"{request.message}: {request.url}")  # ask the user, then webbrowser.open(request.url)
    return "accept"


async def main() -> None:
    with TemporaryDirectory() as directory:
        command = [sys.executable, str(AGENT), f"{directory}/token"]
        async with parley.connect(command, login=choose, elicit_url=open_page) as agent:
            session = await agent.new_session()
            print(await session.ask("Hello"))
            await agent.logout()

        async with parley.connect(command) as agent:
            try:
                await agent.new_session()
            except parley.AuthRequired as error:
                print("Without a login:", error)


if __name__ == "__main__":
    asyncio.run(main())
