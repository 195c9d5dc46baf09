"""An agent sends the user to a page, and notifies the client when the user is done there."""

import asyncio

import parley
from parley import Agent, Session, Turn
from parley.schema import v2

agent = Agent("connector")


@agent.prompt
async def reply(turn: Turn) -> None:
    page = await turn.elicit_url("Please connect your account", "https://example.com/connect")
    if not page.is_accepted:
        await turn.say("Then I continue without your account.")
        return
    # Here a real agent waits for its server to report that the user is done.
    await page.complete()
    await turn.say("Your account is connected.")


async def main() -> None:
    pages: dict[str, str] = {}

    async def open_page(request: v2.ElicitationUrlMode, session: Session | None) -> str:
        print(f"{request.message}: {request.url}")
        pages[request.elicitation_id] = request.url  # a real client asks, and opens a browser
        return "accept"

    def close_page(elicitation_id: str) -> None:
        print("done:", pages.pop(elicitation_id))

    async with parley.connect(
        agent, elicit_url=open_page, on_elicitation_complete=close_page
    ) as client:
        print(await (await client.new_session()).ask("Connect my account"))


if __name__ == "__main__":
    asyncio.run(main())
