"""The terminals of a session: their rendered output, and the card that shows each.

A terminal has a card of its own until a tool call shows it.
"""

from __future__ import annotations

import binascii
import codecs
from collections import deque
from collections.abc import Iterator

from msgspec import UNSET

from parley.schema import v2
from parley.session._transcript_entries import TerminalEntry

from .ansi import AnsiOutput
from .cards import Card
from .tool_card import TerminalCard, TerminalOutput

__all__ = ["TerminalOutputs"]

_PIECE_CHARS = 4_096
_Decoder = codecs.getincrementaldecoder("utf-8")


class TerminalOutputs:
    """The outputs of all terminals of a session."""

    def __init__(self) -> None:
        self.by_id: dict[str, TerminalOutput] = {}
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}
        self._cards: dict[str, Card] = {}
        self._waiting: deque[tuple[AnsiOutput, str]] = deque()

    def shown_by(self, id: str, card: Card) -> Card | None:
        """Register the card that shows a terminal; return its own card, if it had one."""
        before = self._cards.get(id)
        self._cards[id] = card
        return before if isinstance(before, TerminalCard) else None

    def take(
        self, update: v2.TerminalUpdate | v2.TerminalOutputChunk, terminal: TerminalEntry | None
    ) -> tuple[Card, bool]:
        """Take an update of a terminal; return the card that shows it, and whether that is new.

        `work` processes the output.
        """
        id = update.terminal_id
        terminal_output = self.by_id.get(id)
        if terminal_output is None:
            terminal_output = self._begin(id, terminal)
        elif terminal is not None:
            terminal_output.terminal = terminal
        if isinstance(update, v2.TerminalOutputChunk):
            self._feed(id, update.data)
        elif update.output is not UNSET:
            terminal_output = self._begin(id, terminal_output.terminal)
            self._feed(id, update.output.data if update.output else "")
        card = self._cards.get(id)
        if card is not None:
            return card, False
        card = self._cards[id] = TerminalCard(self.by_id, id)
        return card, True

    def _begin(self, id: str, terminal: TerminalEntry | None) -> TerminalOutput:
        terminal_output = self.by_id[id] = TerminalOutput(terminal or TerminalEntry(id))
        self._decoders[id] = _Decoder("replace")
        return terminal_output

    def _feed(self, id: str, data: str) -> None:
        try:
            output = binascii.a2b_base64(data)
        except ValueError:  # the transcript has rejected it too
            return
        text = self._decoders[id].decode(output)
        pieces = [text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS)]
        self._waiting.extend((self.by_id[id].output, each) for each in pieces)

    def work(self) -> Iterator[None]:
        """Process the output of the updates piece by piece."""
        while self._waiting:
            output, text = self._waiting.popleft()
            output.feed(text)
            yield
