"""Get a value of a Python type from an agent instead of text."""

import asyncio
from dataclasses import dataclass

import parley

AGENT = "python examples/counting_agent.py"


@dataclass
class Frequency:
    word: str
    count: int


async def main() -> None:
    text = "walnut pear walnut plum"
    frequent = await parley.think(AGENT, text, result=Frequency)
    print(frequent)


asyncio.run(main())
