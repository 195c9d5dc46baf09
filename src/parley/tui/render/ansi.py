"""The output of a command as lines with colours and nothing else.

`AnsiOutput` keeps colours (SGR), carriage return, backspace, tab, newline and the clearing of a
line, which progress bars need. Every other sequence is dropped whole: cursor movements, titles,
clipboard, device strings, queries, in their short and their long form, also when one is cut between
two pieces; where the output is cut makes no difference. Programs that draw on the whole screen are
not emulated, and `is_screen` is true if there was one. The lines and their number are bounded.

Reference: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
"""

from __future__ import annotations

import re
from collections import deque

from rich.color import Color
from rich.style import Style

from parley._display_text import sanitize_text

from .lines import Run

__all__ = ["AnsiOutput"]

MAX_LINES = 2_000
MAX_LINE_CHARS = 2_000
_MAX_PARAMETER_CHARS = 128
_MAX_STRING_CHARS = 1 << 20
"""The maximum length of a control string; a longer one is shown as text."""
_TAB_CELLS = 8

_SPECIAL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SGR = re.compile(r"\x1b\[([0-9;:]{0,64})m")
_STRING_END = re.compile("[\x07\x18\x1a\x1b\x9c]")
_STRINGS = {"]": "osc", "P": "string", "X": "string", "^": "string", "_": "string"}
_C1_STRINGS = {chr(ord(letter) + 0x40): name for letter, name in _STRINGS.items()}
_NONE = Style.null()
_SWITCHES = {
    1: Style(bold=True),
    2: Style(dim=True),
    3: Style(italic=True),
    4: Style(underline=True),
    7: Style(reverse=True),
    22: Style(bold=False, dim=False),
    23: Style(italic=False),
    24: Style(underline=False),
    27: Style(reverse=False),
    39: Style(color="default"),
    49: Style(bgcolor="default"),
    **{30 + n: Style.from_color(Color.from_ansi(n)) for n in range(8)},
    **{90 + n: Style.from_color(Color.from_ansi(8 + n)) for n in range(8)},
    **{40 + n: Style.from_color(None, Color.from_ansi(n)) for n in range(8)},
    **{100 + n: Style.from_color(None, Color.from_ansi(8 + n)) for n in range(8)},
}


class AnsiOutput:
    """The lines that a command has written."""

    def __init__(self, *, max_lines: int = MAX_LINES) -> None:
        self.lines: deque[list[Run]] = deque(maxlen=max_lines)
        """The finished lines, the newest at the end."""
        self.dropped = 0
        """The number of lines at the beginning that are no longer kept."""
        self.is_screen = False
        """Whether a sequence came that moves on the screen or clears it."""
        self.style = _NONE
        self._row: list[Run] = []  # the line that is being written
        self._length = 0  # its characters
        self._cells: list[Run] | None = None  # the same, one by one, once it is overwritten
        self._column = 0  # where the next character goes
        self._state = "text"  # or escape, between, sequence, osc, string
        self._read = ""  # the parameters of a sequence so far
        self._string_chars = 0

    @property
    def last(self) -> list[Run]:
        """The line that is being written; empty after a newline."""
        return self._row if self._cells is None else _joined(self._cells)

    def feed(self, text: str) -> None:
        """Take more output."""
        position = 0
        while position < len(text):
            if self._state == "text":
                position = self._feed_text(text, position)
            elif self._state in ("osc", "string"):
                position = self._skip_string(text, position)
            else:
                self._step(text[position])
                position += 1

    def _feed_text(self, text: str, position: int) -> int:
        """Take text up to a sequence that is not all there, or to the end."""
        search, colours = _SPECIAL.search, _SGR.match
        while found := search(text, position):
            start = found.start()
            if position < start:
                self._put(text[position:start])
            if sgr := colours(text, start):
                self._colour(sgr[1])
                position = sgr.end()
                continue
            position = start + 1
            self._control(found[0])
            if self._state != "text":
                return position
        if position < len(text):
            self._put(text[position:])
        return len(text)

    def _control(self, character: str) -> None:
        match character:
            case "\n":
                self._end_line()
            case "\r":
                self._column = 0
            case "\b":
                self._column = max(self._column - 1, 0)
            case "\t":
                self._put(" " * (_TAB_CELLS - self._column % _TAB_CELLS))
            case "\x1b":
                self._state = "escape"
            case "\x9b":
                self._state, self._read = "sequence", ""
            case _ if character in _C1_STRINGS:
                self._begin_string(_C1_STRINGS[character])
            case _:
                pass

    def _begin_string(self, kind: str) -> None:
        self._state, self._string_chars = kind, 0

    def _step(self, character: str) -> None:
        """Take one character within a sequence."""
        if character in "\x18\x1a":
            self._state = "text"
        elif character == "\x1b":
            self._state = "escape"
        elif character < " ":
            self._state, state = "text", self._state  # a control within a sequence has its effect
            self._control(character)
            self._state = state if self._state == "text" else self._state
        elif self._state == "escape":
            self._step_escape(character)
        elif self._state == "between":
            self._state = "between" if character < "0" else "text"
        elif "@" <= character <= "~":
            self._state = "text"
            self._finish(character)
        elif character > "~":  # no sequence has this; it ends here
            self._state = "text"
            self._control(character) if character <= "\x9f" else self._put(character)
        elif len(self._read) < _MAX_PARAMETER_CHARS:
            self._read += character

    def _step_escape(self, character: str) -> None:
        if character == "[":
            self._state, self._read = "sequence", ""
        elif character in _STRINGS:
            self._begin_string(_STRINGS[character])
        elif character < "0":
            self._state = "between"
        else:
            self._state = "text"
            if character in "cDEM78":
                self.is_screen = self.is_screen or character in "cM"
            elif character > "~":
                self._control(character) if character <= "\x9f" else self._put(character)

    def _finish(self, letter: str) -> None:
        """Carry out a sequence that concerns this line; only record any other."""
        if letter == "m" and not self._read.strip("0123456789;:"):
            self._colour(self._read)
        elif letter == "K":
            self._erase(self._read)
        elif letter in "ABHJfdLMST" or (letter in "hl" and self._read in ("?1049", "?47", "?1047")):
            self.is_screen = True

    def _skip_string(self, text: str, position: int) -> int:
        found = _STRING_END.search(text, position)
        end = found.start() if found else len(text)
        room = _MAX_STRING_CHARS - self._string_chars
        if end - position > room:
            self._state = "text"
            return position + room
        self._string_chars += end - position
        if found is None:
            return end
        if found[0] == "\x07" and self._state != "osc":
            self._string_chars += 1
        else:
            self._state = "escape" if found[0] == "\x1b" else "text"
        return end + 1

    def _colour(self, parameters: str) -> None:
        self.style = _coloured(self.style, parameters)

    def _split(self) -> list[Run]:
        """Keep the line character by character from now on, as something in it changes."""
        if self._cells is None:
            self._cells = [(each, style) for text, style in self._row for each in text]
            self._row = []
        return self._cells

    def _put(self, text: str) -> None:
        if not text.isascii():
            text = sanitize_text(text)
        text = text[: MAX_LINE_CHARS - self._column]
        end = self._column + len(text)
        if self._cells is not None or self._column != self._length:
            self._split()[self._column : end] = [(each, self.style) for each in text]
        else:
            self._length = end
            if self._row and self._row[-1][1] is self.style:
                self._row[-1] = (self._row[-1][0] + text, self.style)
            elif text:
                self._row.append((text, self.style))
        self._column = end

    def _erase(self, mode: str) -> None:
        """Clear the line: after the cursor, up to it, or all of it."""
        cells = self._split()
        if mode in ("", "0", "2"):
            del cells[self._column :]
        if mode in ("1", "2"):
            erased = min(self._column + (mode == "1"), len(cells))
            cells[:erased] = [(" ", _NONE)] * erased

    def _end_line(self) -> None:
        if len(self.lines) == self.lines.maxlen:
            self.dropped += 1
        self.lines.append(self._row if self._cells is None else _joined(self._cells))
        self._row, self._cells, self._length, self._column = [], None, 0, 0


def _joined(cells: list[Run]) -> list[Run]:
    row: list[Run] = []
    for text, style in cells:
        if row and row[-1][1] == style:
            row[-1] = (row[-1][0] + text, style)
        else:
            row.append((text, style))
    return row


_known: dict[tuple[Style, str], Style] = {}


def _coloured(style: Style, parameters: str) -> Style:
    key = (style, parameters)
    found = _known.get(key)
    if found is None:
        if len(_known) > 4096:
            _known.clear()
        found = _known[key] = _apply(style, parameters)
    return found


def _apply(style: Style, parameters: str) -> Style:
    """Return the style after a sequence; unknown parameters are ignored."""
    codes = [
        [int(each or 0) for each in part.split(":") if len(each) < 6]
        for part in parameters.split(";")
    ]
    position = 0
    while position < len(codes):
        code = codes[position] or [0]
        position += 1
        if code[0] in (38, 48):
            if len(code) == 1:
                code = [code[0], *(each[0] if each else 0 for each in codes[position:][:4])]
                position += {5: 2, 2: 4}.get(code[1] if len(code) > 1 else 0, 1)
            elif len(code) == 6:  # with a colour space, which is rare
                code = [*code[:2], *code[3:]]
            colour = _colour_of(code[1:])
            if colour is not None:
                is_front = code[0] == 38
                style += Style.from_color(
                    colour if is_front else None, None if is_front else colour
                )
        elif code[0] == 0:
            style = _NONE
        else:
            style += _SWITCHES.get(code[0], _NONE)
    return style


def _colour_of(code: list[int]) -> Color | None:
    if any(each > 255 for each in code):
        return None
    match code:
        case [5, number, *_]:
            return Color.from_ansi(number)
        case [2, red, green, blue, *_]:
            return Color.from_rgb(red, green, blue)
        case _:
            return None
