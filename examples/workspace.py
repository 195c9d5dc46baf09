"""A client that lends a directory to an agent of version 1 and is asked before it is used."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Agent, Session, Turn, Workspace
from parley.policy import Subject


def allow(subject: Subject, session: Session) -> bool:
    what = subject.commands or [Path(path).name for path in subject.paths]
    print(f"May it {subject.kind} {' '.join(what)}?")  # a real client asks the user here
    return subject.kind != "execute" or subject.commands == ("cat notes.txt",)


def show(session: Session, terminal: str, data: bytes) -> None:
    print("output:", data.decode(errors="replace").strip())


agent = Agent("worker")


@agent.prompt
async def work(turn: Turn) -> None:
    path = f"{turn.session.cwd}/notes.txt"
    await turn.write_text_file(path, "one\ntwo\n")
    await turn.say(await turn.read_text_file(path, line=2, limit=1))
    async with turn.run("cat", "notes.txt") as terminal:
        await turn.say(f"exit code {(await terminal.wait()).exit_code}\n")
    try:
        await turn.read_text_file("/etc/passwd")
    except parley.InvalidParams as error:
        await turn.say(error.message.partition(",")[0] + "\n")
    try:
        async with turn.run("rm", "notes.txt") as terminal:
            await terminal.wait()
    except parley.RequestError as error:
        await turn.say(error.message + "\n")


async def main(directory: str) -> None:
    workspace = Workspace(guard=allow, on_output=show)
    async with parley.connect(agent, directory, versions=(1,), workspace=workspace) as client:
        session = await client.new_session()
        print(await session.ask("Take notes."), end="")


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        asyncio.run(main(directory))
