"""Both sides in one process: an agent asks the user to fill in a form."""

import asyncio

import parley
from parley import Agent, Session, Turn
from parley.schema import v2

agent = Agent("tailor")


@agent.prompt
async def reply(turn: Turn) -> None:
    form = {
        "size": v2.StringPropertySchema(title="Size", enum=["S", "M", "L"]),
        "pockets": v2.IntegerPropertySchema(title="Pockets", minimum=0),
    }
    try:
        answer = await turn.elicit("What shall it be?", form)
    except parley.Unsupported:
        await turn.say("This editor has no forms. Tell me size and pockets in a prompt.")
        return
    match answer:
        case v2.ElicitationAcceptAction(content=content):
            await turn.say(f"I am on it: {content}")
        case _:
            await turn.say("Some other time, then.")


def fill_in(form: v2.ElicitationFormMode, session: Session | None) -> dict[str, str | int]:
    for name, field in form.requested_schema.properties.items():
        print(f"{form.message} {name}: {type(field).__name__}")
    return {"size": "M", "pockets": 7}  # or "decline", or None for no answer


async def main() -> None:
    async with parley.connect(agent, elicit=fill_in) as client:
        session = await client.new_session()
        print(await session.ask("A coat, please"))
    async with parley.connect(agent) as client:
        session = await client.new_session()
        print(await session.ask("A coat, please"))


if __name__ == "__main__":
    asyncio.run(main())
