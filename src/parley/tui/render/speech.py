"""Messages on their way to the history: a stretch of one message that nothing interrupts.

An agent's words are Markdown, the user's are shown as they are, thoughts are a card. What is not
text stands where it came. A whole message that replaces what was streamed is shown anew, unless it
says the same.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from itertools import groupby
from zlib import crc32

from parley.schema import v2
from parley.session._transcript_entries import MessageRole

from .blocks import Block, Said
from .cards import ContentCard, ThoughtCard
from .history import History
from .markdown import Stream

__all__ = ["Speech", "blocks_of", "digest_of"]


class Speech:
    """A stretch of a message at the end of the history."""

    def __init__(self, history: History, role: MessageRole, id: str) -> None:
        self.role: MessageRole = role
        self.id = id
        self.blocks: list[Block] = []
        """What of it is in the history."""
        self.digest = 0
        """Of the text so far, to compare it with."""
        self._history = history
        self._stream = Stream()
        self._open: Block | None = None
        self._is_further = False  # what was said before stands further up

    @property
    def is_behind(self) -> bool:
        """Whether text waits for `step`."""
        return self._stream.is_behind

    @property
    def is_full(self) -> bool:
        """Whether so much waits that more should not be taken."""
        return self._stream.is_full

    def continue_from(self, blocks: list[Block], digest: int) -> None:
        """Go on with a message of which these blocks are shown, further up."""
        self.blocks, self.digest = blocks, digest
        self._is_further = bool(blocks)

    def feed(self, content: v2.ContentBlock) -> None:
        """Take one more block of the message."""
        if not isinstance(content, v2.TextContent):
            self.finish()
            self._add(ContentCard(content))
            return
        self.digest = digest_of([content], self.digest)
        if self.role == "agent":
            self._stream.feed(content.text)
            return
        last = self.blocks[-1] if self.blocks and not self._is_further else None
        self._is_further = False
        if isinstance(last, Said):
            self._add(*last.append(content.text))
        elif isinstance(last, ThoughtCard):
            last.append(content.text)
        else:
            self._add(*_begun(self.role, content.text))

    def step(self) -> None:
        """Work off some of the text."""
        if self._stream.is_behind:
            self._put(self._stream.step(), self._stream.rest())

    def finish(self) -> None:
        """Work off all of the text; what follows is another stretch."""
        if self.role == "agent":
            self._put(self._stream.finish(), None)
            self._stream = Stream()

    def _add(self, *blocks: Block) -> None:
        self.blocks += blocks
        self._history.add(*blocks)

    def _put(self, finished: Sequence[Block], rest: Block | None) -> None:
        """Put finished blocks, and the open one, in the place of the block that was open."""
        if not finished and rest is None and self._open is None:
            return
        old = [] if self._open is None else [self._open]
        new = [*finished, *([] if rest is None else [rest])]
        if old:
            self.blocks.pop()
        self.blocks += new
        self._history.replace(old, *new)
        self._open = rest


def _begun(role: MessageRole, text: str) -> list[Block]:
    if role == "user":
        said = Said("")
        return [said, *said.append(text)]
    card = ThoughtCard()
    card.append(text)
    return [card]


def digest_of(content: Sequence[v2.ContentBlock], before: int = 0) -> int:
    """Return a digest of some text, behind that of what stands before it."""
    for each in content:
        if isinstance(each, v2.TextContent):
            before = crc32(each.text.encode("utf-8", "replace"), before)
    return before


def blocks_of(
    role: MessageRole, content: Sequence[v2.ContentBlock]
) -> Generator[None, None, list[Block]]:
    """Return a whole message as blocks; a long one takes many steps."""
    blocks: list[Block] = []
    for is_text, group in groupby(content, lambda each: isinstance(each, v2.TextContent)):
        if not is_text:
            blocks += [ContentCard(each) for each in group]
            continue
        text = "".join([each.text for each in group if isinstance(each, v2.TextContent)])
        if text and role == "agent":
            stream = Stream()
            stream.feed(text)
            while stream.is_behind:
                blocks += stream.step()
                yield
            blocks += stream.finish()
        elif text:
            blocks += _begun(role, text)
    return blocks
