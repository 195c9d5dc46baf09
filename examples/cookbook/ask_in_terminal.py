"""Ask the person at the terminal about each permission."""

import asyncio

import parley
from parley import Session
from parley.schema import v2

AGENT = "python examples/cookbook/file_agent.py"


async def ask(request: v2.RequestPermissionRequest, session: Session) -> v2.PermissionOption | None:
    call = session.tool_call_of(request)
    if call is not None:
        print(call.kind, *(location.path for location in call.locations))
    for number, option in enumerate(request.options, 1):
        print(f"{number}) {option.name}")
    answer = await asyncio.to_thread(input, "Number: ")
    print()
    is_valid = answer.isdecimal() and 0 < int(answer) <= len(request.options)
    return request.options[int(answer) - 1] if is_valid else None


async def main() -> None:
    async with parley.connect(AGENT, cwd="/", permission=ask) as agent:
        session = await agent.new_session()
        print(await session.ask("edit notes.txt"))


asyncio.run(main())
