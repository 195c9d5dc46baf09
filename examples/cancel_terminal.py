"""An agent's command that the client cancels by itself; the turn continues."""

import asyncio

import parley
from parley import Agent, Turn
from parley.schema import v2

agent = Agent("builder")


@agent.prompt
async def build(turn: Turn) -> None:
    async with turn.terminal("make all", is_cancellable=True) as terminal:
        await terminal.write("compiling 1 of 1000\n")
        await asyncio.Event().wait()  # a real agent runs the command here
    await turn.say("I have stopped the build.")


async def main() -> None:
    async with parley.connect(agent) as client:
        session = await client.new_session()
        turn = session.prompt("Build everything")
        async for update in turn:
            match update:
                case v2.TerminalOutputChunk(terminal_id=id):
                    terminal = session.transcript.terminals[id]
                    print(f"$ {terminal.command}")
                    if terminal.capabilities and terminal.capabilities.cancel:
                        await session.cancel_terminal(id)
                case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
                    print(text)
                case _:
                    pass
        print("stopped:", (await turn).stop_reason)


if __name__ == "__main__":
    asyncio.run(main())
