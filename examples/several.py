"""Ask several agents the same thing at once; one that fails does not disturb the others.

`python examples/several.py "What is here?" "opencode acp" "gemini --acp"` asks others.
"""

import asyncio
import sys

import parley


async def ask(target: str, question: str) -> str:
    try:
        async with parley.connect(target, name=target) as agent, asyncio.timeout(60):
            session = await agent.new_session()
            return await session.ask(question)
    except TimeoutError:
        return "took too long"
    except parley.AcpError as error:
        return f"failed: {error}"


async def main(question: str, targets: list[str]) -> None:
    answers = await asyncio.gather(*(ask(target, question) for target in targets))
    for target, answer in zip(targets, answers, strict=True):
        print(f"{target}: {answer}")


if __name__ == "__main__":
    question, *targets = sys.argv[1:] or ["Hello"]
    asyncio.run(main(question, targets or ["parley demo", "python examples/hello_agent.py", "no"]))
