import asyncio
import difflib
import shutil
import sys
from pathlib import Path
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


def changes(old: Path, new: Path) -> str:
    lines: list[str] = []
    for name in sorted({path.name for folder in (old, new) for path in folder.glob("*.md")}):
        before, after = (read_lines(folder / name) for folder in (old, new))
        lines += difflib.unified_diff(before, after, name, name, lineterm="", n=0)
    return "\n".join(lines) or "(no changes)"


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


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
        return f"{answer}\n{changes(Path(), Path(copy))}"


async def main(prompt: str, *targets: str) -> None:
    reports = await asyncio.gather(*(report(prompt, target) for target in targets))
    for target, text in zip(targets, reports, strict=True):
        print(f"== {target}\n{text}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
