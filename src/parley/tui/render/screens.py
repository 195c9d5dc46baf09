"""The terminals of a session: their output as it looks, and which card shows each.

A terminal that no tool call shows has a card of its own, until one does.
"""

from __future__ import annotations

import binascii
import codecs
from collections import deque
from collections.abc import Iterator

from msgspec import UNSET

from parley.schema import v2
from parley.session._transcript_entries import TerminalEntry

from .ansi import Output
from .cards import Card
from .tool_card import Screen, TerminalCard

__all__ = ["Screens"]

_PIECE_CHARS = 4_096
_Decoder = codecs.getincrementaldecoder("utf-8")


class Screens:
    """Every terminal that was heard of."""

    def __init__(self) -> None:
        self.by_id: dict[str, Screen] = {}
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}
        self._cards: dict[str, Card] = {}
        self._waiting: deque[tuple[Output, str]] = deque()

    def shown_by(self, id: str, card: Card) -> Card | None:
        """Note that a card shows a terminal; return the card of its own that it had, if any."""
        before = self._cards.get(id)
        self._cards[id] = card
        return before if isinstance(before, TerminalCard) else None

    def take(
        self, update: v2.TerminalUpdate | v2.TerminalOutputChunk, terminal: TerminalEntry | None
    ) -> tuple[Card, bool]:
        """Take an update of a terminal; return the card that shows it, and whether that is new.

        Its output is there when `work` is done.
        """
        id = update.terminal_id
        screen = self.by_id.get(id)
        if screen is None:
            screen = self._begin(id, terminal)
        elif terminal is not None:
            screen.terminal = terminal
        if isinstance(update, v2.TerminalOutputChunk):
            self._feed(id, update.data)
        elif update.output is not UNSET:
            screen = self._begin(id, screen.terminal)
            self._feed(id, update.output.data if update.output else "")
        card = self._cards.get(id)
        if card is not None:
            return card, False
        card = self._cards[id] = TerminalCard(self.by_id, id)
        return card, True

    def _begin(self, id: str, terminal: TerminalEntry | None) -> Screen:
        screen = self.by_id[id] = Screen(terminal or TerminalEntry(id))
        self._decoders[id] = _Decoder("replace")
        return screen

    def _feed(self, id: str, data: str) -> None:
        try:
            output = binascii.a2b_base64(data)
        except ValueError:  # the transcript has refused it too
            return
        text = self._decoders[id].decode(output)
        pieces = [text[at : at + _PIECE_CHARS] for at in range(0, len(text), _PIECE_CHARS)]
        self._waiting.extend((self.by_id[id].output, each) for each in pieces)

    def work(self) -> Iterator[None]:
        """Have the output looked at that was taken, piece by piece."""
        while self._waiting:
            output, text = self._waiting.popleft()
            output.feed(text)
            yield
