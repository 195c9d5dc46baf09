"""An agent whose sessions are files, so that they survive it."""

import sys
from pathlib import Path

from parley import Agent, Turn
from parley.agent import StoredSession
from parley.schema import v2


class FileStore:
    """Keeps each session as a JSON file; implements `parley.agent.SessionStore`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    async def list(self, cwd: str | None = None) -> list[v2.SessionInfo]:
        ids = [path.stem for path in self._folder.glob("*.json")]
        return [stored.info() for id in ids if (stored := await self.get(id)) is not None]

    async def get(self, id: str) -> StoredSession | None:
        if (path := self._path(id)) is None or not path.exists():
            return None
        return StoredSession.from_json(path.read_bytes())

    def append(self, id: str, update: v2.SessionUpdate) -> None:
        pass  # each session is written whole

    async def put(self, session: StoredSession) -> None:
        if (path := self._path(session.id)) is not None:
            path.write_bytes(session.to_json())

    async def delete(self, id: str) -> None:
        if (path := self._path(id)) is not None:
            path.unlink(missing_ok=True)

    def _path(self, id: str) -> Path | None:  # ids come from the client
        return self._folder / f"{id}.json" if id.isidentifier() else None


agent = Agent("notes", store=FileStore(Path(sys.argv[1] if sys.argv[1:] else "notes")))


@agent.prompt
async def reply(turn: Turn) -> None:
    notes = turn.session.data.setdefault("notes", [])
    notes.append(turn.text)
    await turn.session.set_title(notes[0])
    await turn.say(f"Note {len(notes)} is kept.")


if __name__ == "__main__":
    agent.run()
