"""Tools, resources and a whole MCP server of this program, given to an agent for a session."""

import asyncio
import shlex
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer

import parley
from parley import ToolError
from parley.mcp import resource
from parley.schema import v2

AGENT = shlex.join([sys.executable, str(Path(__file__).with_name("counting_agent.py"))])
prices = {"walnut": 3, "pear": 1}


async def note(word: str, count: int, context: Context) -> str:
    """Note what is to be bought.

    Args:
        word: What to buy.
        count: How many.
        context: Reports progress; the agent does not see it.
    """
    await context.report_progress(1, 2)
    if word not in prices:
        raise ToolError(f"there is no {word} today")
    print(f"{count} {word}: {count * prices[word]}")
    return "noted"


def picture() -> v2.ImageContent:
    """Show the shop."""
    return v2.ImageContent(data="AAAA", mime_type="image/png")


@resource("shop://{name}")
def price(name: str) -> str:
    """What something costs."""
    return str(prices[name])


shop = MCPServer("shop", log_level="ERROR")


async def main(target: str) -> None:
    async with parley.connect(target, mcp_servers=[shop]) as agent:
        session = await agent.new_session(tools=[note, picture, price])
        print(await session.ask("walnut pear walnut plum"))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if sys.argv[1:] else AGENT))
