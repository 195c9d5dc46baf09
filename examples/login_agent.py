"""An agent that wants a login: on a page in the browser, or in a terminal."""

import asyncio
import sys
from pathlib import Path

from parley import Agent, AuthRequired, Turn, Unsupported
from parley.agent import AgentConnection, AgentSession, Login

agent = Agent("members-only")
WORDS = [word for word in sys.argv[1:] if word != "--login"]
TOKEN = Path(WORDS[0] if WORDS else ".members-only-token")


def is_logged_in() -> bool:
    return TOKEN.exists()


@agent.open_session
async def prepare(session: AgentSession) -> None:
    if not is_logged_in():
        raise AuthRequired("Log in first")


@agent.login("browser", name="Log in with the browser")
async def log_in(login: Login) -> None:
    try:
        page = await login.elicit_url("Please log in", "https://example.com/login?code=1234")
    except Unsupported:
        raise AuthRequired("This login needs a client that opens pages") from None
    if not page.is_accepted:
        raise AuthRequired("Without the page there is no login")
    # Here a real agent waits for its server to say that the user is done.
    await asyncio.to_thread(TOKEN.write_text, "token")
    await page.complete()


agent.terminal_login("terminal", name="Log in on the terminal", args=["--login"])


@agent.logout
async def log_out(connection: AgentConnection) -> None:
    await asyncio.to_thread(TOKEN.unlink, missing_ok=True)


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say("Welcome, member.")


if __name__ == "__main__":
    if "--login" in sys.argv:
        TOKEN.write_text(input("Token: "))
    else:
        agent.run()
