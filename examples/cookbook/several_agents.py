"""Send one prompt to several agents at the same time, and compare their answers."""

import asyncio

import parley

AGENTS = {
    "demo": "parley demo",
    "hello": "python examples/hello_agent.py",
    "missing": "no-such-agent",
}


async def ask(name: str, target: str, prompt: str) -> str:
    try:
        async with asyncio.timeout(60), parley.connect(target, name=name) as agent:
            session = await agent.new_session()
            return await session.ask(prompt)
    except (parley.AcpError, TimeoutError) as error:
        return f"failed: {type(error).__name__}"


async def main() -> None:
    asked = (ask(name, target, "Hello") for name, target in AGENTS.items())
    for name, answer in zip(AGENTS, await asyncio.gather(*asked), strict=True):
        print(f"{name}: {answer}")


asyncio.run(main())
