"""A client that prints the agent's text as it arrives, and stops the agent when it has enough.

`python examples/stream_text.py "What is here?" "opencode acp"` asks another agent.
"""

import asyncio
import sys

import parley


async def main(prompt: str, target: str) -> None:
    async with parley.connect(target, cwd=".") as agent:
        session = await agent.new_session()
        async for text in session.prompt(prompt).text_stream():
            print(text, end="", flush=True)
        print()

        async with session.prompt("slow") as turn:
            async for text in turn.text_stream():
                print("first text:", text)
                break
        print("then:", (await turn).stop_reason)


if __name__ == "__main__":
    prompt, target, *_ = [*sys.argv[1:], *("Hello", "parley demo")[len(sys.argv) - 1 :]]
    asyncio.run(main(prompt, target))
