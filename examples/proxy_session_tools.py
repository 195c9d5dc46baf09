"""A proxy that gives each session a shopping list of its own, and a tool to write on it."""

import asyncio
import shlex
import sys
from pathlib import Path

import parley
from parley import Conductor, Proxy
from parley.proxy import Request, ToolSession
from parley.schema import v2

AGENT = shlex.join([sys.executable, str(Path(__file__).with_name("counting_agent.py"))])
proxy = Proxy("shopping")


@proxy.from_client("session/new")
def begin(request: Request) -> None:
    items: list[str] = []

    async def note(word: str, count: int, session: ToolSession) -> str:
        """Note what is to be bought.

        Args:
            word: What to buy.
            count: How many.
            session: The session that calls; the agent does not see it.
        """
        items.append(f"{count} {word}")
        await session.update(v2.SessionInfoUpdate(title=", ".join(items)))
        return f"{len(items)} items are on the list of {session.id}"

    request.add_tools(note)


async def main() -> None:
    async with parley.connect(Conductor(proxy, agent=AGENT)) as client:
        one, two = await client.new_session(), await client.new_session()
        await asyncio.gather(one.ask("pear walnut pear"), two.ask("plum"))
        print("one:", one.transcript.title)
        print("two:", two.transcript.title)


if __name__ == "__main__":
    asyncio.run(main())
