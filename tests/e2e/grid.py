"""What a terminal shows after the bytes it was sent: enough of one for what Textual paints."""

from __future__ import annotations

import codecs
import re

from rich.cells import cell_len

STRINGS = re.compile(r"\x1b[\]P_^X].*?(?:\x07|\x1b\\)", re.DOTALL)
SEQUENCE = re.compile(r"\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[ -/]*[0-~]")
MAYBE_MORE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[ -/]*|[\]P_^X][^\x07]*)?\Z", re.DOTALL)

_STEPS = {"A": (-1, 0), "B": (1, 0), "C": (0, 1), "D": (0, -1)}


class Grid:
    """Rows of cells, and a cursor."""

    def __init__(self, columns: int, lines: int) -> None:
        self._columns, self._lines = columns, lines
        self._cells = [[" "] * columns for _ in range(lines)]
        self._row = self._column = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    @property
    def text(self) -> str:
        """What can be read, row by row."""
        return "\n".join("".join(row).rstrip() for row in self._cells)

    @property
    def cursor(self) -> tuple[int, int]:
        """The row and the column of the cursor, from 0 on."""
        return self._row, self._column

    def feed(self, data: bytes) -> None:
        """Paint bytes; a sequence that is cut waits for its end."""
        text = self._rest + self._decoder.decode(data)
        cut = MAYBE_MORE.search(text)
        whole, self._rest = (text[: cut.start()], cut[0]) if cut else (text, "")
        whole = STRINGS.sub("", whole)
        at = 0
        for found in SEQUENCE.finditer(whole):
            self._write(whole[at : found.start()])
            self._obey(found[2], found[1])
            at = found.end()
        self._write(whole[at:])

    def _obey(self, command: str | None, argument: str) -> None:
        numbers = [int(each) if each.isdigit() else 0 for each in (argument or "").split(";")]
        first = max(1, numbers[0])
        match command:
            case "H" | "f":
                self._row, self._column = first - 1, max(1, (*numbers, 0)[1]) - 1
            case "A" | "B" | "C" | "D":
                down, right = _STEPS[command]
                self._row += down * first
                self._column += right * first
            case "G":
                self._column = first - 1
            case "J" if numbers[0] == 2:
                self._cells = [[" "] * self._columns for _ in range(self._lines)]
            case "J" if numbers[0] == 0:
                self._blank(self._row, self._column)
                for row in range(self._row + 1, self._lines):
                    self._blank(row, 0)
            case "K":
                self._blank(self._row, self._column)
            case _:
                return
        self._row = min(max(self._row, 0), self._lines - 1)
        self._column = min(max(self._column, 0), self._columns - 1)

    def _blank(self, row: int, start: int) -> None:
        self._cells[row][start:] = [" "] * (self._columns - start)

    def _write(self, text: str) -> None:
        for each in text:
            match each:
                case "\r":
                    self._column = 0
                case "\n":
                    self._feed_line()
                case "\b":
                    self._column = max(0, self._column - 1)
                case _ if each >= " ":
                    self._put(each)
                case _:
                    pass

    def _feed_line(self) -> None:
        if self._row < self._lines - 1:
            self._row += 1
        else:
            self._cells = [*self._cells[1:], [" "] * self._columns]

    def _put(self, character: str) -> None:
        width = cell_len(character)
        if self._column + width > self._columns:
            self._column = 0
            self._feed_line()
        row = self._cells[self._row]
        if not width:  # it belongs to the cell before
            row[max(0, self._column - 1)] += character
            return
        row[self._column : self._column + width] = [character, *[""] * (width - 1)]
        self._column += width
