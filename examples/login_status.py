"""A login whose state the client asks for, and which the agent reports when it changes."""

import asyncio

import parley
from parley import Agent, Turn
from parley.agent import AgentConnection, Login
from parley.schema import v2

agent = Agent("members-only")
status = v2.AuthStatusResponse(state="unauthenticated")


@agent.auth_status
async def report_status(connection: AgentConnection) -> v2.AuthStatusResponse:
    return status


@agent.login("key", name="Use the key of this machine")
async def log_in(login: Login) -> None:
    global status
    status = v2.AuthStatusResponse(state="authenticated")


@agent.logout
async def log_out(connection: AgentConnection) -> None:
    global status
    status = v2.AuthStatusResponse(state="unauthenticated")


@agent.prompt
async def reply(turn: Turn) -> None:
    await log_out(turn.session.connection)
    await turn.session.connection.report_auth_status(status)
    await turn.say("The key has just expired.")


def show(update: v2.AuthStatusUpdateNotification) -> None:
    print("reported:", update.state)


async def main() -> None:
    async with parley.connect(agent, on_auth_status=show) as client:
        print("before:", (await client.auth_status()).state)
        await client.login("key")
        print("after:", (await client.auth_status()).state)
        print(await (await client.new_session()).ask("Hello"))


if __name__ == "__main__":
    asyncio.run(main())
