"""Let an agent call a function of your program."""

import asyncio

import parley
from parley import ToolError

AGENT = "parley demo"
PRICES = {"pear": 3, "plum": 1}


def price(fruit: str, count: int = 1) -> int:
    """Look up what fruit costs.

    Args:
        fruit: The name of the fruit, in the singular.
        count: How many to buy.
    """
    if fruit not in PRICES:
        raise ToolError(f"We have no {fruit}, only {', '.join(PRICES)}.")
    return PRICES[fruit] * count


async def main() -> None:
    async with parley.connect(AGENT, cwd=".") as agent:
        session = await agent.new_session(tools=[price])
        # The demo agent calls the tool with these arguments. A model chooses them itself.
        print(await session.ask('call {"fruit": "pear", "count": 2}'))
        print(await session.ask('call {"fruit": "walnut"}'))


asyncio.run(main())
