"""A client whose rules decide first, and whose user is asked about the rest."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Policy, Session
from parley.client import PermissionDecision
from parley.policy import Rule
from parley.schema import v2

AGENT = Path(__file__).with_name("tools_agent.py")
RULES = [
    Rule(decision="deny", path="*.lock"),
    Rule(decision="allow", kind=["read", "edit"], path="docs/**"),
]


def ask(request: v2.RequestPermissionRequest, session: Session) -> None:
    print(f"{request.title}? (The user says nothing.)")


def show(decided: PermissionDecision, session: Session) -> None:
    answer = "no answer" if decided.option is None else decided.option.kind
    print(f"{decided.request.title}: {answer}; {decided.verdict.reason}")


async def main(directory: Path) -> None:
    policy = Policy(RULES, cwd=directory)
    target = [sys.executable, str(AGENT)]
    async with parley.connect(
        target, directory, policy=policy, permission=ask, on_decision=show
    ) as agent:
        session = await agent.new_session()
        for name in ("docs/guide.md", "uv.lock", "program.py"):
            (directory / name).write_text("quiet")
            await session.ask(name)


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        Path(directory, "docs").mkdir()
        asyncio.run(main(Path(directory)))
