"""A client that decides by a function what the agent may do."""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Session
from parley.schema import v2

AGENT = Path(__file__).with_name("tools_agent.py")


def decide(request: v2.RequestPermissionRequest, session: Session) -> v2.PermissionOption | None:
    """Let the agent edit text files, this once; anything else is refused."""
    wanted = "reject_once"
    call = session.tool_call_of(request)
    if call is not None and call.kind == "edit":
        paths = [Path(each.path) for each in call.locations]
        if paths and all(path.suffix == ".txt" for path in paths):
            wanted = "allow_once"
    print(f"{request.title}: {wanted}")
    return next((option for option in request.options if option.kind == wanted), None)


async def main(directory: Path) -> None:
    for name in ("notes.txt", "program.py"):
        (directory / name).write_text("quiet")
    target = [sys.executable, str(AGENT)]
    async with parley.connect(target, directory, permission=decide) as agent:
        session = await agent.new_session()
        for name in ("notes.txt", "program.py"):
            answer = await session.ask(name)
            print(f"{answer} ({name}: {(directory / name).read_text()})")


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        asyncio.run(main(Path(directory)))
