"""A client that runs the commands of agents of version 1 inside of something else."""

import asyncio
from typing import Any

from msgspec.structs import replace

import parley
from parley import Session, Workspace
from parley.schema import v1
from parley.testing.demo import demo_agent


class Boxed:
    """Puts a program before each command: here `nice`, in earnest `docker exec` or the like."""

    is_guarded = True  # what is inside asks the workspace's guard, about the whole command

    def __init__(self, inside: Any, *box: str) -> None:
        self._inside = inside
        self._box = box

    def create_terminal(self, request: v1.CreateTerminalRequest, session: Session) -> Any:
        words = [*self._box, request.command, *request.args]
        print("$", *words)
        boxed = replace(request, command=words[0], args=words[1:])
        return self._inside.create_terminal(boxed, session)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inside, name)  # output, wait, kill and release stay as they are


async def main() -> None:
    workspace = Workspace(files=None)
    workspace.terminals = Boxed(workspace.terminals, "nice", "-n", "5")
    async with parley.connect(demo_agent(), versions=(1,), workspace=workspace) as client:
        print(await (await client.new_session()).ask("term"))


if __name__ == "__main__":
    asyncio.run(main())
