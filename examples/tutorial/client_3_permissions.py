import asyncio
import shutil
import sys
from tempfile import TemporaryDirectory

import parley
from parley import Policy, Session
from parley.client import PermissionDecision
from parley.policy import Rule
from parley.schema import v2

RULES = [Rule(decision="allow", kind=["read", "edit"], path="*.md")]


def show(update: v2.SessionUpdate, session: Session) -> None:
    match update:
        case v2.AgentMessageChunk(content=v2.TextContent(text=text)):
            print(text, end="", flush=True)
        case v2.ToolCallUpdated(tool_call_id=id):
            call = session.transcript.tool_calls[id]
            print(f"[{call.status}] {call.title}")
        case _:
            pass


def explain(decision: PermissionDecision, session: Session) -> None:
    print(f"{decision.request.title}: {decision.verdict.reason}")


async def work(prompt: str, target: str, directory: str) -> None:
    policy = Policy(RULES, cwd=directory)
    async with parley.connect(target, directory, policy=policy, on_decision=explain) as agent:
        session = await agent.new_session()
        async for update in session.prompt(prompt):
            show(update, session)
        print()


async def main(prompt: str, target: str) -> None:
    with TemporaryDirectory() as copy:
        shutil.copytree(".", copy, dirs_exist_ok=True)
        await work(prompt, target, copy)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
