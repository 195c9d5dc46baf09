"""One call: a prompt, tools that live in this program, and an answer of a type.

`python examples/think.py "opencode acp"` has another agent think.
"""

import asyncio
import shlex
import sys
from pathlib import Path

from msgspec import Struct

import parley

AGENT = shlex.join([sys.executable, str(Path(__file__).with_name("counting_agent.py"))])


class Word(Struct):
    word: str
    count: int


async def main(target: str) -> None:
    seen: list[Word] = []

    def note(word: str, count: int) -> str:
        """Keep a word.

        Args:
            word: The word.
            count: How often it is there.
        """
        seen.append(Word(word, count))
        return "kept"

    text = "walnut pear walnut plum"
    most = await parley.think(target, text, tools=[note], result=Word)
    print(f"the most frequent: {most.word}, {most.count} times")
    print("all:", ", ".join(f"{each.word} {each.count}" for each in seen))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if sys.argv[1:] else AGENT))
