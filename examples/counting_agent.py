"""An agent that uses its client's tools: it counts words, and tells whoever wants to know."""

from collections import Counter

from parley import Agent, Turn
from parley.schema import v2

agent = Agent("counter", mcp=True)


@agent.prompt
async def reply(turn: Turn) -> None:
    first = turn.prompt[0]
    words = Counter(first.text.split() if isinstance(first, v2.TextContent) else [])
    tools = turn.session.mcp
    names = {tool.name for tool in await tools.list_tools()}
    if "note" in names:
        for word, count in words.items():
            await tools.call_tool("note", {"word": word, "count": count})
    if "give_result" in names:
        word, count = words.most_common(1)[0]
        await tools.call_tool("give_result", {"result": {"word": word, "count": count}})
    await turn.say(f"There are {len(words)} words.")


if __name__ == "__main__":
    agent.run()
