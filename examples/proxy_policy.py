"""A policy decides in front of any client; the client is asked about the rest."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Conductor, Policy, Session
from parley.policy import Rule
from parley.proxy import builtin
from parley.schema import v2

AGENT = [sys.executable, str(Path(__file__).with_name("tools_agent.py"))]
RULES = [Rule(decision="deny", path="*.lock"), Rule(decision="allow", path="docs/**")]


def ask(request: v2.RequestPermissionRequest, session: Session) -> str:
    print(f"{request.title}? The user says yes.")
    return "allow"


async def main(directory: Path) -> None:
    chain = Conductor(builtin.policy(Policy(RULES, cwd=directory)), agent=AGENT)
    async with parley.connect(chain, directory, permission=ask) as client:
        session = await client.new_session()
        for name in ("docs/guide.md", "uv.lock", "program.py"):
            (directory / name).write_text("quiet")
            print(name, "->", await session.ask(name))


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        Path(directory, "docs").mkdir()
        asyncio.run(main(Path(directory)))
