"""A client is held to limits, and told which one it has reached."""

import asyncio
import sys

import parley
from parley import Conductor
from parley.errors import Overloaded
from parley.proxy import builtin

AGENT = [sys.executable, "-m", "parley", "demo"]


async def main() -> None:
    chain = Conductor(builtin.limits(message_bytes=4096, sessions=1), agent=AGENT)
    async with parley.connect(chain) as client:
        session = await client.new_session()
        for prompt in ("Hello", "x" * 5000):
            try:
                print(await session.ask(prompt))
            except Overloaded as refused:
                print(refused.message.partition(", and")[0])
        try:
            await client.new_session()
        except Overloaded as refused:
            print(refused.message)


if __name__ == "__main__":
    asyncio.run(main())
