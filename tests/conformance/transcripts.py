"""The transcript that a client has of a session after updates have arrived."""

from __future__ import annotations

import asyncio
from typing import Any

from parley.session._transcript import Transcript

from .raw_agent import RawAgent, connected

REPORT = "_test/report"


class TranscriptReader:
    """A client of one session, to which an agent sends updates of either version."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._updates: list[Any] = []

    def receive(self, *updates: Any) -> Transcript:
        """Send all updates so far, and these, and return what a client then knows."""
        self._updates += updates
        return asyncio.run(_received(self._version, self._updates))


def transcript_after(version: int, *updates: Any) -> Transcript:
    """Return what a client knows after these updates."""
    return TranscriptReader(version).receive(*updates)


async def _received(version: int, updates: list[Any]) -> Transcript:
    agent = RawAgent(version)

    def report(params: Any) -> Any:
        agent.send_updates(*updates)
        return {}

    agent.answers[REPORT] = report
    async with connected(agent) as connection:
        session = await connection.new_session()
        await connection.request(REPORT, {})  # its response does not overtake the updates
        return session.transcript
