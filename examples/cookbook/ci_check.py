"""Fail a CI job if the agent refuses, or wants to do something that is not allowed."""

import asyncio
import sys

import parley
from parley import Policy, Session
from parley.client import PermissionDecision
from parley.policy import Rule

AGENT = "python examples/cookbook/file_agent.py"
RULES = [Rule(decision="allow", kind=["read", "search"], path=".")]


async def main(prompt: str) -> int:
    denied: list[str] = []

    def note(decided: PermissionDecision, session: Session) -> None:
        if decided.option is None or decided.option.kind.startswith("reject"):
            denied.append(decided.request.title)

    policy = Policy(RULES, cwd=".")
    async with parley.connect(AGENT, cwd=".", policy=policy, on_decision=note) as agent:
        session = await agent.new_session()
        result = await session.prompt(prompt)
    print(result.text)
    for title in denied:
        print("denied:", title)
    print("stop reason:", result.stop_reason)
    return 0 if result.stop_reason == "end_turn" and not denied else 1


sys.exit(asyncio.run(main(sys.argv[1])))
