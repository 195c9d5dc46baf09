"""An editor: agents read what is not saved yet, and learn which file is in front."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import parley
from parley import Agent, Session, Turn, Workspace
from parley.schema import v2


class Editor:
    """Has one file open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.text = path.read_text()

    def active_document(self, session: Session) -> v2.WorkspaceDocument | None:
        return v2.WorkspaceDocument(uri=self._path.as_uri(), language_id="plaintext")

    def read(self, path: str) -> str | None:
        return self.text if path == str(self._path) else None

    def write(self, path: str, content: str) -> bool:
        if path != str(self._path):
            return False
        self.text = content
        return True


agent = Agent("reader")


@agent.prompt
async def reply(turn: Turn) -> None:
    document = await turn.session.editor.active_document()
    path = document.uri.removeprefix("file://") if document else turn.text
    text = await turn.read_text_file(path)
    await turn.write_text_file(path, text.upper())
    await turn.say(text)


async def main(path: Path) -> None:
    editor = Editor(path)
    editor.text = "typed and not saved\n"
    lent = Workspace(buffers=editor)
    async with parley.connect(agent, versions=(1,), workspace=lent, editor=editor) as client:
        session = await client.new_session(path.parent)
        print(await session.ask("What is in this file?"), end="")
    print("in the editor:", editor.text, end="")


if __name__ == "__main__":
    with TemporaryDirectory() as directory:
        (path := Path(directory).resolve() / "a.txt").write_text("saved\n")
        asyncio.run(main(path))
        print("on the disk:", path.read_text(), end="")
