import asyncio
import shutil
import sys
from tempfile import TemporaryDirectory

import parley
from parley import Policy, Session
from parley.policy import Rule
from parley.schema import v2

RULES = [Rule(decision="allow", kind=["read", "edit"], path="*.md")]
TIME_LIMIT = 120


def show(update: v2.SessionUpdate, session: Session, name: str) -> None:
    if isinstance(update, v2.ToolCallUpdated):
        call = session.transcript.tool_calls[update.tool_call_id]
        print(f"{name}: [{call.status}] {call.title}", file=sys.stderr)


async def work(prompt: str, target: str, directory: str) -> str:
    policy = Policy(RULES, cwd=directory)
    async with parley.connect(target, directory, policy=policy, name=target) as agent:
        session = await agent.new_session()
        turn = session.prompt(prompt)
        async for update in turn:
            show(update, session, target)
        return (await turn).text


async def report(prompt: str, target: str) -> str:
    with TemporaryDirectory() as copy:
        shutil.copytree(".", copy, dirs_exist_ok=True)
        try:
            async with asyncio.timeout(TIME_LIMIT):
                answer = await work(prompt, target, copy)
        except TimeoutError:
            answer = f"No answer within {TIME_LIMIT} seconds."
        except parley.AcpError as error:
            answer = f"Failed: {error}"
        return answer


async def main(prompt: str, *targets: str) -> None:
    reports = await asyncio.gather(*(report(prompt, target) for target in targets))
    for target, text in zip(targets, reports, strict=True):
        print(f"== {target}\n{text}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
