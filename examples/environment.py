"""A client that lets agents of version 1 use its files, and tells which file is in front."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley.agent import Agent, Turn
from parley.schema.v2 import unstable


class Files:
    """The files below one directory and no others."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def read_text_file(self, path: str, line: int | None, limit: int | None) -> str:
        lines = self._checked(path).read_text().splitlines(keepends=True)
        first = (line or 1) - 1
        return "".join(lines[first : None if limit is None else first + limit])

    def write_text_file(self, path: str, content: str) -> None:
        self._checked(path).write_text(content)

    def _checked(self, path: str) -> Path:
        real = Path(path).resolve()
        if not real.is_relative_to(self._root):
            raise parley.InvalidParams("This file is not in the workspace", {"path": path})
        return real


class Editor:
    def __init__(self, front: Path) -> None:
        self._front = unstable.WorkspaceDocument(uri=front.as_uri(), language_id="plaintext")

    def active_document(self) -> unstable.WorkspaceDocument | None:
        return self._front


agent = Agent("reader")


@agent.prompt
async def reply(turn: Turn) -> None:
    document = await turn.session.editor.active_document()
    path = document.uri.removeprefix("file://") if document else turn.text
    await turn.say(await turn.read_text_file(path, limit=1))


async def main(root: Path, path: Path) -> None:
    files, editor = Files(root), Editor(path)
    async with parley.connect(agent, root, versions=(1,), files=files, editor=editor) as client:
        print(await (await client.new_session()).ask("What is in the first line?"))


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        (path := Path(directory, "a.txt")).write_text("first\nsecond\n")
        asyncio.run(main(Path(directory), path))
