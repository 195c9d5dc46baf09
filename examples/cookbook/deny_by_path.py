"""Keep an agent away from some files, and show why."""

import asyncio

import parley
from parley import Policy, Session
from parley.client import PermissionDecision
from parley.policy import Rule

AGENT = "python examples/cookbook/file_agent.py"
RULES = [
    Rule(decision="deny", path=[".env", "*.pem", "secrets/**"]),
    Rule(decision="allow", kind=["read", "edit"], path="."),
]


def show(decided: PermissionDecision, session: Session) -> None:
    print(f"  {decided.verdict.reason}")


async def main() -> None:
    policy = Policy(RULES, cwd=".")
    async with parley.connect(AGENT, cwd=".", policy=policy, on_decision=show) as agent:
        session = await agent.new_session()
        for prompt in ("edit README.md", "read .env", "read tests/../secrets/key"):
            print(prompt)
            await session.prompt(prompt)


asyncio.run(main())
