"""Hide e-mail addresses and keys from an agent."""

import asyncio
import re

import parley
from parley import Conductor, Proxy
from parley.proxy import Request, builtin
from parley.schema import v2

AGENT = "python examples/hello_agent.py"
ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
proxy = Proxy("privacy")


@proxy.from_client("session/prompt")
def hide_addresses(request: Request) -> None:
    blocks: list[v2.ContentBlock] = [
        v2.TextContent(text=ADDRESS.sub("[address]", block.text))
        if isinstance(block, v2.TextContent)
        else block
        for block in request.params.prompt
    ]
    request.change(prompt=blocks)


async def main() -> None:
    chain = Conductor(proxy, builtin.redact("correct-horse"), agent=AGENT)
    async with parley.connect(chain, cwd=".") as client:
        session = await client.new_session()
        print(await session.ask("Mail ann@example.com the password correct-horse"))


asyncio.run(main())
