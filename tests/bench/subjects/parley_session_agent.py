"""The agent under test, on the whole of Parley: an `Agent` that says things, in either version.

The prompt `updates N` says N pieces of one message; any other prompt writes to the report file
what it cost: seconds of CPU since the last prompt for updates, the end of that turn included.
"""

import argparse
import asyncio
import json
import time
from pathlib import Path

from parley import Agent
from parley.agent import Turn
from parley.transport import StdioTransport

FILLER = "the quick brown fox jumps over the lazy dog, again."


def texts(count: int) -> list[str]:
    """Make what is said beforehand, which is none of the SDK's work."""
    return [f"{number:08d} {FILLER}" for number in range(count)]


class BenchAgent:
    def __init__(self, report: Path) -> None:
        self.report = report
        self.cpu = time.process_time()

    async def reply(self, turn: Turn) -> None:
        if not turn.text.startswith("updates "):
            self.report.write_text(json.dumps({"cpu": time.process_time() - self.cpu}))
            return
        said = texts(int(turn.text.split()[1]))
        self.cpu = time.process_time()
        for text in said:
            await turn.say(text)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--report", type=Path, default=Path("/dev/null"))
    options = parser.parse_args()
    agent = Agent("bench")
    agent.prompt(BenchAgent(options.report).reply)

    async def serve() -> None:
        await agent.serve(StdioTransport())

    asyncio.run(serve())  # `agent.run` takes uvloop where it is installed; nobody else has it here


if __name__ == "__main__":
    main()
