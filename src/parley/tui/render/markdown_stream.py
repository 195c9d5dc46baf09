"""Streamed Markdown, converted to blocks that do not change afterwards.

A `MarkdownStream` parses its tail only. As soon as a paragraph, a heading or a list item is
followed by something else, it is finished: it becomes a block and is not parsed again. The rest is
the open block, which changes with each piece. Code is finished every `FENCE_LINES` lines, so that a
long file stays cheap. The blocks do not depend on where the text was cut, so decisions are made on
whole lines only; the last, incomplete line is only shown.

Lists are split at their items, so each knows its number. Very long paragraphs and lines are cut, to
limit the time of one step.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.token import Token

from parley._display_text import sanitize_text

from .blocks import CodeBlock
from .markdown_block import MAX_NESTING, MarkdownBlock

__all__ = ["FENCE_LINES", "MarkdownPiece", "MarkdownStream"]

FENCE_LINES = 60
_LINE_CHARS = 2_000
_MAX_SIZE = (4_000, 100)
"""The maximum size of a paragraph or a table in one block: characters and lines."""
_MAX_NESTED_SIZE = (16_000, 400)
"""The same for nested blocks; after a cut their rest would be parsed differently."""
_TABLE_HEAD = 2
_SLICE_CHARS = 4_096
_MARK = re.compile(r"( {0,3}(?:[-+*]|\d{1,9}[.)]))([ \t]*)")
_CLOSE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")

MarkdownPiece: TypeAlias = MarkdownBlock | CodeBlock
"""The kinds of blocks in a message."""

_OUTLINE = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING})
_OUTLINE.enable("table").disable(["reference"])
_OUTLINE.core.ruler.enableOnly(["normalize", "block"])


@dataclass
class _Fence:
    """A code block whose end has not arrived."""

    mark: str
    indent: int
    language: str
    gap: int
    lines: list[str] = field(default_factory=list[str])

    def is_closed_by(self, line: str) -> bool:
        found = _CLOSE.fullmatch(line)
        return found is not None and found[1].startswith(self.mark)

    def take(self, line: str) -> None:
        blanks = len(line) - len(line.lstrip(" "))
        self.lines.append(line[min(blanks, self.indent) :])

    def cut(self) -> CodeBlock:
        return CodeBlock("\n".join(self.lines), self.language, gap=self.gap)


class MarkdownStream:
    """Converts Markdown that arrives in pieces to blocks."""

    def __init__(self) -> None:
        self._pending: deque[str] = deque()
        self._waiting = 0  # how many characters that are
        self._pending_return = ""  # a carriage return whose line feed may come
        self._column = 0  # how long the last line is
        self._tail = ""  # what is not finished
        self._gap = 1  # before the next block
        self._number: int | None = None  # of the next item, while the tail begins within a list
        self._item: str | None = None  # the beginning of the item before that
        self._fence: _Fence | None = None
        self._finished: list[MarkdownPiece] = []
        self._left: list[str] = []  # whole lines of the tail, while it is worked on

    @property
    def has_pending_text(self) -> bool:
        """Return whether text is waiting for `step`."""
        return bool(self._pending)

    @property
    def is_full(self) -> bool:
        """Return whether more text is waiting than one step processes."""
        return self._waiting > _SLICE_CHARS

    def feed(self, text: str) -> None:
        """Append text; `step` processes it."""
        for start in range(0, len(text), _SLICE_CHARS):
            self._pending.append(text[start : start + _SLICE_CHARS])
        self._waiting += len(text)

    def step(self) -> list[MarkdownPiece]:
        """Process some of the waiting text and return the blocks that are finished now."""
        pending: list[str] = []
        room = _SLICE_CHARS
        while self._pending and len(self._pending[0]) <= room:
            pending.append(self._pending.popleft())
            room -= len(pending[-1])
        self._waiting -= _SLICE_CHARS - room
        self._take("".join(pending))
        self._work(is_end=False)
        finished, self._finished = self._finished, []
        return finished

    def finish(self) -> list[MarkdownPiece]:
        """Process all text and return the blocks; the stream has ended."""
        finished: list[MarkdownPiece] = []
        while self.has_pending_text:
            finished += self.step()
        self._tail += sanitize_text(self._pending_return)
        self._pending_return = ""
        if self._tail and not self._tail.endswith("\n"):
            self._tail += "\n"
        self._work(is_end=True)
        finished += self._finished
        self._finished, self._fence = [], None
        return finished

    def rest(self) -> MarkdownPiece | None:
        """Return the unfinished rest as the block that it will probably become."""
        if self._fence is not None:
            fence = self._fence
            last = self._tail.strip(" ")
            is_closing = bool(last) and not last.strip(fence.mark[0])
            shown = fence.lines if is_closing or not self._tail else [*fence.lines, self._tail]
            if not shown:
                return None
            return CodeBlock("\n".join(shown), fence.language, is_open=True, gap=fence.gap)
        source = self._tail.rstrip()
        return MarkdownBlock(source, number=self._number, gap=self._gap) if source.strip() else None

    def _take(self, text: str) -> None:
        """Append inert text to the tail, and break lines that are too long."""
        text = self._pending_return + text
        self._pending_return = "\r" if text.endswith("\r") else ""
        text = sanitize_text(text[:-1] if self._pending_return else text)
        pieces: list[str] = []
        for number, line in enumerate(text.split("\n")):
            if number:
                pieces.append("\n")
                self._column = 0
            while self._column + len(line) > _LINE_CHARS:
                room = _LINE_CHARS - self._column
                pieces += [line[:room], "\n"]
                line, self._column = line[room:], 0
            pieces.append(line)
            self._column += len(line)
        self._tail += "".join(pieces)

    def _work(self, *, is_end: bool) -> None:
        """Finish all blocks that are complete."""
        whole, newline, partial = self._tail.rpartition("\n")
        lines = whole.split("\n") if newline else []
        start: int | None = 0
        if self._fence is not None:
            start = self._take_code(lines, 0)
        while start is not None and start < len(lines):
            lines = lines[start:]
            start = self._take_outline(lines, is_end=is_end)
        self._tail = "\n".join([*self._left, partial])
        self._left = []
        if is_end and self._fence is not None and self._fence.lines:
            self._finished.append(self._fence.cut())

    def _take_code(self, lines: list[str], start: int) -> int | None:
        """Consume lines of code; return the line after its end, None if that has not arrived."""
        fence = self._fence
        assert fence is not None
        for number in range(start, len(lines)):
            if fence.is_closed_by(lines[number]):
                if fence.lines or fence.gap:  # an empty one is shown as such
                    self._finished.append(fence.cut())
                self._fence, self._gap = None, 1
                return number + 1
            fence.take(lines[number])
            if len(fence.lines) == FENCE_LINES:
                self._finished.append(fence.cut())
                fence.lines, fence.gap = [], 0
        return None

    def _take_outline(self, lines: list[str], *, is_end: bool) -> int | None:
        """Finish blocks; return the line to continue with, None if nothing more is complete."""
        parts = _parts(lines, self._item)
        # The next line decides about a line: it may turn it into the header of a table.
        last = len(lines) if is_end else len(lines) - 1
        for position, part in enumerate(parts):
            after = parts[position + 1] if position + 1 < len(parts) else None
            if part.kind == "fence" and part.start < last:
                self._open_fence(part, lines[part.start])
                next_line = self._take_code(lines, part.start + 1)
                if next_line is None or next_line != part.end:
                    return next_line
                continue
            cut = _cut(part, lines)
            if cut is None and not (is_end or (after is not None and after.start < last)):
                self._left = lines[part.start :]
                return None
            end = part.end if cut is None else cut
            source = "\n".join(lines[part.start : end]).rstrip()
            number = part.number if self._number is None else self._number
            self._finished.append(MarkdownBlock(source, number=number, gap=self._gap))
            self._pass(part, cut, lines, after)
            if cut is not None and part.kind == "table_open":  # the rest has the same head
                cut -= _TABLE_HEAD
                lines[cut : cut + _TABLE_HEAD] = lines[part.start : part.start + _TABLE_HEAD]
            if cut is not None:
                return cut
        return None

    def _pass(self, part: _Part, cut: int | None, lines: list[str], after: _Part | None) -> None:
        """Keep the list state for the block after a finished one."""
        number = part.number if self._number is None else self._number
        self._gap, self._number, self._item = 1, None, None
        if cut is not None:
            self._gap = 0
        elif after is not None and after.is_in_same_list:
            self._gap = 1 if not lines[after.start - 1].strip() else 0
            self._number = None if number is None else number + 1
            self._item = _bare(lines[part.start])

    def _open_fence(self, part: _Part, first: str) -> None:
        indent = len(first) - len(first.lstrip(" "))
        language = part.info.split(maxsplit=1)[0] if part.info.strip() else ""
        self._fence = _Fence(part.markup, indent, language, self._gap)
        self._number = None


@dataclass(frozen=True, slots=True)
class _Part:
    """A block of the outline, or an item of a list that is one."""

    kind: str
    start: int
    end: int
    number: int | None = None
    is_in_same_list: bool = False
    """Whether it is an item that follows another one."""
    markup: str = ""
    info: str = ""


def _parts(lines: list[str], item: str | None) -> list[_Part]:
    """Return the blocks of some lines, which may follow an item of a list."""
    if item is not None:
        parts = _parts([item, *lines], None)[1:]
        if parts and parts[0].is_in_same_list and parts[0].start == 1:
            return [replace(each, start=each.start - 1, end=each.end - 1) for each in parts]
    parts = list[_Part]()
    number: int | None = None
    is_first = True
    for token in _OUTLINE.parse("\n".join(lines)):
        if token.map is None or token.nesting == -1:
            continue
        start, end = token.map
        if token.level == 0 and token.type.endswith("list_open"):
            is_first = True
            number = _start(token)
        elif token.level == 0:
            kind, markup, info = token.type, token.markup, token.info
            parts.append(_Part(kind, start, end, markup=markup, info=info))
        elif token.level == 1 and token.type == "list_item_open":
            parts.append(_Part("item", start, end, number, not is_first))
            number = None if number is None else number + 1
            is_first = False
    return parts


def _bare(line: str) -> str:
    """Return the beginning of an item with a placeholder, as context for the lines after it."""
    found = _MARK.match(line)
    if found is None:
        return ""
    return f"{found[0]}x" if 1 <= len(found[2]) <= 4 else f"{found[1]} x"


def _start(token: Token) -> int | None:
    return int(token.attrs.get("start", 1)) if token.type == "ordered_list_open" else None


def _cut(part: _Part, lines: list[str]) -> int | None:
    """Return where to cut a block that is too long: after a line that is not the last."""
    is_flat = part.kind in ("paragraph_open", "code_block", "table_open")
    room, count = _MAX_SIZE if is_flat else _MAX_NESTED_SIZE
    least = part.start + (_TABLE_HEAD if part.kind == "table_open" else 0)
    for number in range(part.start, part.end - 1):
        room -= len(lines[number]) + 1
        if (room < 0 or number - part.start >= count) and number >= least:
            return number + 1
    return None
