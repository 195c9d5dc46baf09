r"""One open document: its text by lines, its version, and changes in place.

A line ends with `\n`, `\r\n` or `\r` and with nothing else, as editors count; the last line has no
end and may be empty. An edit replaces only the lines that it touches, so its cost does not depend
on the length of the document, except that a changed number of lines moves the list's tail.
"""

from __future__ import annotations

from io import StringIO

from .change import Change, Span, Spot
from .ends import same_ends, same_head, same_tail


def split_lines(text: str) -> list[str]:
    r"""Split at `\n`, `\r\n` and `\r` only; each line keeps its end, the last one has none."""
    lines = list(StringIO(text, newline=""))
    if not lines or lines[-1].endswith(("\n", "\r")):
        lines.append("")
    return lines


def content(line: str) -> str:
    """Return a line without its end."""
    return line.rstrip("\r\n")


class Document:
    """A file that is open in the editor."""

    def __init__(self, uri: str, language_id: str, version: int, text: str) -> None:
        self.uri = uri
        self.language_id = language_id
        self.version = version
        self.lines: list[str] = split_lines(text)
        """The lines, each with its end; the last one has none. Only `edit` may change them."""
        self._text: str | None = text

    @property
    def text(self) -> str:
        """The whole text."""
        if self._text is None:
            self._text = "".join(self.lines)
        return self._text

    @property
    def end(self) -> Spot:
        """The place after the last character."""
        return Spot(len(self.lines) - 1, len(self.lines[-1]))

    def copy(self) -> Document:
        """Return another document with the same text; the lines themselves are shared."""
        twin = Document(self.uri, self.language_id, self.version, "")
        twin.lines, twin._text = self.lines.copy(), self._text
        return twin

    def clamp(self, spot: Spot) -> Spot:
        """Return the nearest place that exists: before the line's end, or the text's end."""
        line, column = spot
        if line < 0:
            return Spot(0, 0)
        if line >= len(self.lines):
            return self.end
        return Spot(line, max(0, min(column, len(content(self.lines[line])))))

    def between(self, span: Span) -> str:
        """Return the text of a span, clamped."""
        start, end = sorted((self.clamp(span.start), self.clamp(span.end)))
        return self._between(start, end)

    def _between(self, start: Spot, end: Spot) -> str:
        if start.line == end.line:
            return self.lines[start.line][start.column : end.column]
        first = self.lines[start.line][start.column :]
        last = self.lines[end.line][: end.column]
        return "".join((first, *self.lines[start.line + 1 : end.line], last))

    def edit(self, span: Span, text: str) -> Change:
        """Replace a span, clamped, and return what was changed."""
        start, end = sorted((self.clamp(span.start), self.clamp(span.end)))
        old = self._between(start, end)
        top = start.line
        block = "".join((self.lines[top][: start.column], text, self.lines[end.line][end.column :]))
        if block.startswith("\n") and top and self.lines[top - 1].endswith("\r"):
            # What was alone is one line end now.
            top -= 1
            block = self.lines[top] + block
        if top == end.line and "\n" not in text and "\r" not in text:
            self.lines[top] = block
        else:
            fresh = split_lines(block)
            if end.line < len(self.lines) - 1:
                # The block ends as the last touched line did, and the next line follows.
                fresh.pop()
            self.lines[top : end.line + 1] = fresh
        self._text = None
        return Change(Span(start, end), old, text)

    def replace(self, text: str) -> Change:
        """Replace the whole text; the change that is returned says only what differs."""
        old, new = self.lines, split_lines(text)
        most = min(len(old), len(new)) - 1
        head, rest = same_ends(old, new)
        top = min(head, most)
        tail = min(rest, most - top)
        start, end = self._differs(top, tail, new)
        first = old[top][: start.column]
        last = old[end.line][end.column :] if end.line < len(old) - tail else ""
        block = "".join(new[top : len(new) - tail])
        change = self.edit(Span(start, end), block[len(first) : len(block) - len(last)])
        self._text = text
        return change

    def _differs(self, top: int, tail: int, new: list[str]) -> Span:
        """Return what differs, given how many lines are the same above and below."""
        bottom = len(self.lines) - 1 - tail
        before, after = content(self.lines[top]), content(new[top])
        column = same_head(before, after)
        old_last, new_last = self.lines[bottom], new[len(new) - 1 - tail]
        room = min(
            len(old_last) - (column if bottom == top else 0),
            len(new_last) - (column if len(new) - 1 - tail == top else 0),
        )
        same = min(room, same_tail(old_last, new_last))
        start = Spot(top, column)
        if same < len(old_last) - len(content(old_last)):
            return Span(start, Spot(bottom + 1, 0))
        return Span(start, Spot(bottom, len(old_last) - same))
