"""Recordings of a chain: one for each hop, from the client to the agent."""

from __future__ import annotations

import secrets
from pathlib import PurePath

from parley._redaction import hide_in_command
from parley.recording import RecordingWriter
from parley.recording._format import Source
from parley.recording._transport import RecordedTransport
from parley.transport._base import Transport


class HopRecorder:
    """Records the hops of one connection through a chain; the recordings share a chain id."""

    def __init__(self, writer: RecordingWriter, name: str) -> None:
        """Prepare to record.

        Args:
            writer: Writes the recordings.
            name: The name or the command of the agent.
        """
        self._writer = writer
        self._name = PurePath(_masked(name).partition(" ")[0]).name
        self._chain = secrets.token_hex(8)

    def record(
        self, transport: Transport, above: str, below: str, *, peer: Source
    ) -> RecordedTransport:
        """Return a transport whose frames are recorded.

        Args:
            transport: One end of the hop.
            above: The name of the component on the side of the client.
            below: The name of the component on the side of the agent.
            peer: Whether the transport leads towards the client or the agent.
        """
        hop = f"{_masked(above)} → {_masked(below)}"
        recording = self._writer.start(self._name, hop=hop, chain=self._chain)
        return RecordedTransport(transport, recording, peer=peer)


def _masked(name: str) -> str:
    """Return a name, which may be a command line or a URL, without the secrets in it."""
    return " ".join(hide_in_command(name.split())[0])
