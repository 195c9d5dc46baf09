"""Messages that are being streamed to the history.

Agent messages are Markdown, user messages are plain text, thoughts are a card. Other content
appears in its place. A complete message that replaces the streamed one is rendered again only if it
differs.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import groupby
from zlib import crc32

from parley.schema import v2
from parley.session._transcript_entries import MessageRole

from .blocks import Block, UserBlock
from .cards import ContentCard, ThoughtCard
from .history import History
from .markdown_stream import MarkdownStream

__all__ = ["MessageStream", "blocks_of", "text_digest"]


class MessageStream:
    """The part of a message at the end of the history, without interruption."""

    def __init__(self, history: History, role: MessageRole, id: str) -> None:
        self.role: MessageRole = role
        self.id = id
        self.blocks: list[Block] = []
        """Its blocks in the history."""
        self.digest = 0
        """A digest of the text until now, to compare it with a complete message."""
        self._history = history
        self._stream = MarkdownStream()
        self._open: Block | None = None
        self._is_interrupted = False  # other blocks follow the existing ones

    @property
    def has_pending_text(self) -> bool:
        """Return whether text is waiting for `step`."""
        return self._stream.has_pending_text

    @property
    def is_full(self) -> bool:
        """Return whether too much text is waiting to accept more."""
        return self._stream.is_full

    def continue_from(self, blocks: list[Block], digest: int) -> None:
        """Continue a message whose earlier blocks are further up."""
        self.blocks, self.digest = blocks, digest
        self._is_interrupted = bool(blocks)

    def feed(self, content: v2.ContentBlock) -> None:
        """Append a content block of the message."""
        if not isinstance(content, v2.TextContent):
            self.finish()
            self._add(ContentCard(content))
            return
        self.digest = text_digest([content], self.digest)
        if self.role == "agent":
            self._stream.feed(content.text)
            return
        last = self.blocks[-1] if self.blocks and not self._is_interrupted else None
        self._is_interrupted = False
        if isinstance(last, UserBlock):
            self._add(*last.append(content.text))
        elif isinstance(last, ThoughtCard):
            last.append(content.text)
        else:
            self._add(*_new_blocks(self.role, content.text))

    def step(self) -> None:
        """Process some of the waiting text."""
        if self._stream.has_pending_text:
            self._put(self._stream.step(), self._stream.rest())

    def finish(self) -> None:
        """Process all waiting text; what follows is a new part."""
        if self.role == "agent":
            self._put(self._stream.finish(), None)
            self._stream = MarkdownStream()

    def _add(self, *blocks: Block) -> None:
        self.blocks += blocks
        self._history.add(*blocks)

    def _put(self, finished: Sequence[Block], rest: Block | None) -> None:
        """Replace the open block by finished ones and a new open one."""
        if not finished and rest is None and self._open is None:
            return
        old = [] if self._open is None else [self._open]
        new = [*finished, *([] if rest is None else [rest])]
        if old:
            self.blocks.pop()
        self.blocks += new
        self._history.replace(old, *new)
        self._open = rest


def _new_blocks(role: MessageRole, text: str) -> list[Block]:
    if role == "user":
        block = UserBlock("")
        return [block, *block.append(text)]
    card = ThoughtCard()
    card.append(text)
    return [card]


def text_digest(content: Sequence[v2.ContentBlock], before: int = 0) -> int:
    """Return a digest of text, continuing that of the text before it."""
    for each in content:
        if isinstance(each, v2.TextContent):
            before = crc32(each.text.encode("utf-8", "replace"), before)
    return before


def blocks_of(
    role: MessageRole, content: Sequence[v2.ContentBlock]
) -> Generator[None, None, list[Block]]:
    """Return a complete message as blocks, in many steps if it is long."""
    blocks: list[Block] = []
    for is_text, group in groupby(content, lambda each: isinstance(each, v2.TextContent)):
        if not is_text:
            blocks += [ContentCard(each) for each in group]
            continue
        text = "".join([each.text for each in group if isinstance(each, v2.TextContent)])
        if text and role == "agent":
            stream = MarkdownStream()
            stream.feed(text)
            while stream.has_pending_text:
                blocks += stream.step()
                yield
            blocks += stream.finish()
        elif text:
            blocks += _new_blocks(role, text)
    return blocks
