"""The card of a tool call: how far it is, what it is about, what it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, cast

import msgspec
from rich.style import Style

from parley._display_text import sanitize_text
from parley.client._patch_reader import has_every_change
from parley.client._tool_call_display import clean_title, raw_output_text, without_fence
from parley.schema import v2
from parley.schema.base import JsonObject
from parley.session._transcript_entries import TerminalEntry, ToolCallEntry

from .ansi import Output
from .blocks import bounded, one_line
from .cards import WHOLE_LINES, Card, step_lines
from .content import content_lines, content_text, json_lines, json_text
from .diff import first_lines
from .lines import Line, Run, chop, clip, indent, wrap
from .painting import Look
from .syntax import coloured, lexer_for

__all__ = ["Screen", "TerminalCard", "ToolCard"]

_NONE = Style.null()
_MARKS = {
    "pending": "○",
    "in_progress": "▸",
    "paused": "‖",
    "completed": "✓",
    "failed": "✗",
    "cancelled": "■",
}
_SHORT = {"read": 3, "search": 3, "fetch": 3, "think": 3}
_MOST_COMPARED = 20_000
_MOST = {"diff": 24, "terminal": 10, "text": 8, "input": 5, "items": 20}
_WHOLE_ITEMS = 200
_MOST_FIELDS = 500
_MOST_OUTPUT = 50_000


class Screen:
    """A terminal as the transcript knows it, and its output as it looks."""

    def __init__(self, terminal: TerminalEntry) -> None:
        self.terminal = terminal
        self.output = Output()

    def rows(self, width: int, look: Look, most: int) -> list[Line]:
        """Return the last lines of the output, and how it ended."""
        kept = [*self.output.lines, self.output.last]
        if not kept[-1]:
            kept.pop()
        shown: list[list[Line]] = []
        room = most
        while kept and room > 0:
            shown.append(chop(_inked(kept.pop(), look), width)[:WHOLE_LINES])
            room -= len(shown[-1])
        hidden = len(kept) + self.output.dropped
        told = [clip([(f"… {hidden:,} more lines", look.faint)], width)] if hidden else []
        lines = [*told, *(line for part in reversed(shown) for line in part)]
        if self.output.is_screen:
            remark = "(it draws on the whole screen, which is not shown here)"
            lines += wrap([(remark, look.faint)], width)
        return lines + self._end(look)

    def _end(self, look: Look) -> list[Line]:
        status = self.terminal.exit_status
        if status is None or (status.exit_code == 0 and status.signal is None):
            return []
        word = f"exit code {status.exit_code}"
        if status.signal is not None:
            word = f"ended by {one_line(status.signal)}"
        return wrap([(word, look.bad)], 60)

    def plain(self) -> str:
        """Return the output as text."""
        rows = [*self.output.lines, self.output.last]
        return "\n".join("".join([text for text, _ in row]) for row in rows).rstrip("\n")


class ToolCard(Card):
    """A tool call."""

    def __init__(self, call: ToolCallEntry, screens: Mapping[str, Screen]) -> None:
        super().__init__()
        self.call = call
        self._screens = screens
        self._diffs: list[v2.Diff] = []

    def see(self, content: Iterable[v2.ToolCallContent]) -> None:
        """Keep the diffs of an update; later ones often show less, or nothing at all."""
        new = [each for each in content if isinstance(each, v2.Diff)]
        if new and new != self._diffs:
            old = self._diffs
            self._diffs = [
                next((it for it in old if has_every_change(it, each)), each) for each in new
            ]

    @property
    def _content(self) -> list[v2.ToolCallContent]:
        content, given = self.call.content, self.call.raw_input
        others = [each for each in content if not isinstance(each, v2.Diff) and not _is_blank(each)]
        return [*self._diffs, *(each for each in others if not _repeats(each, given))]

    @property
    def can_fold(self) -> bool:
        """Whether it shows anything below its title."""
        call = self.call
        return bool(self._content) or call.raw_input is not None or call.raw_output is not None

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return the head, the places and what it shows."""
        mark, *words = self._head(look)
        lines = indent(wrap(words, width - 2), mark)
        lines += self._places(width, look)
        if self._tells_input():
            lines += self.part(_given(self._input(), width - 2, look), width, look, _MOST["input"])
        items = self._content
        hidden = max(len(items) - (_MOST["items"] if self.is_folded else _WHOLE_ITEMS), 0)
        if hidden:
            told = clip([(f"… {hidden:,} earlier parts", look.faint)], width - 2)
            lines += self.part([told], width, look)
        for item in items[hidden:]:
            lines += self._item(item, width, look)
        if self._shows_raw_output():
            lines += self._raw_output_lines(width, look)
        return lines

    def _shows_raw_output(self) -> bool:
        """Whether the raw output is all that the agent sends of a result."""
        if self.call.raw_output in (None, "", {}, []) or self._diffs:
            return False
        return not any(self._shows_text(item) for item in self.call.content)

    def _shows_text(self, item: v2.ToolCallContent) -> bool:
        match item:
            case v2.Terminal(terminal_id=id):
                return id in self._screens and bool(self._screens[id].plain())
            case _:
                return not _is_blank(item)

    def _raw_output_lines(self, width: int, look: Look) -> list[Line]:
        """Paint the raw output: its text, or else its fields."""
        inner = max(width - 2, 1)
        if text := raw_output_text(self.call.raw_output):
            most = _SHORT.get(self.call.kind, _MOST["text"])
            is_output = self.call.kind == "execute"
            return self.part(self._text(text, inner, look), width, look, most, keeps_end=is_output)
        return self.part(_given(self.call.raw_output, inner, look), width, look)

    def _head(self, look: Look) -> list[Run]:
        call = self.call
        colour = {
            "in_progress": look.accent,
            "paused": look.warning,
            "completed": look.good,
            "failed": look.bad,
            "cancelled": look.warning,
        }.get(call.status, look.faint)
        runs: list[Run] = [(f"{_MARKS.get(call.status, '?')} ", colour)]
        if call.kind not in ("other", _title(call).lower().partition(" ")[0]):
            runs.append((f"{one_line(call.kind)} ", look.accent))
        runs.append((_title(call), look.strong))
        if call.status not in ("completed", "in_progress", "pending"):
            runs.append((f"  {one_line(call.status)}", colour))
        return runs

    def _places(self, width: int, look: Look) -> list[Line]:
        title = _title(self.call)
        places = [
            one_line(f"{each.path}:{each.line}" if each.line else each.path)
            for each in self.call.locations
            if each.path.rpartition("/")[2] not in title or each.line
        ]
        if not places:
            return []
        shown = places if not self.is_folded else places[:3]
        more = f"  +{len(places) - len(shown)}" if len(shown) < len(places) else ""
        words = [(place, look.faint) for place in shown]
        rows = [line for each in words for line in wrap([each], width - 2)]
        if more:
            rows[-1] = clip(
                [*((s.text, look.faint) for s in rows[-1]), (more, look.faint)], width - 2
            )
        return self.part(rows, width, look, len(rows))

    def _tells_input(self) -> bool:
        """Whether what the tool was given says more than its title and what it shows."""
        given = self.call.raw_input
        if given in (None, "", {}, []):
            return False
        if self._diffs:
            return False
        values = cast("JsonObject", given).values() if isinstance(given, dict) else [given]
        title = _title(self.call)
        return any(one_line(str(value)) not in title for value in values)

    def _input(self) -> Any:
        """Return what the tool was given, without the fields that the head and the places have."""
        given = self.call.raw_input
        if not isinstance(given, dict):
            return given
        told = {_title(self.call), *(each.path for each in self.call.locations)}
        fields = cast("JsonObject", given).items()
        return {name: value for name, value in fields if str(value) not in told}

    def _item(self, item: v2.ToolCallContent, width: int, look: Look) -> list[Line]:
        most = _SHORT.get(self.call.kind, _MOST["text"])
        inner = max(width - 2, 1)
        match item:
            case v2.Diff():
                rows, others = first_lines(item, inner, look, WHOLE_LINES + 2)
                return self.part(rows, width, look, _MOST["diff"], unpainted=others)
            case v2.Terminal(terminal_id=id):
                screen = self._screens.get(id)
                if screen is None:
                    return []
                shown = _MOST["terminal"] if self.is_folded else WHOLE_LINES
                rows = screen.rows(inner, look, shown)
                return self.part(rows, width, look, len(rows))
            case v2.Content(content=v2.TextContent(text=text)):
                is_output = self.call.kind == "execute"
                rows = self._text(text, inner, look)
                return self.part(rows, width, look, most, keeps_end=is_output)
            case v2.Content(content=content):
                return self.part(content_lines(content, inner, look), width, look, most)
            case _:
                head = clip([(f"content: {one_line(item.tag)}", look.warning)], inner)
                return self.part([head, *json_lines(item, inner, look)], width, look)

    def _text(self, text: str, width: int, look: Look) -> list[Line]:
        """Paint text as it is: output with its colours, a fence as code."""
        if self.call.kind == "execute":
            text = _end_of(text)
        if self.call.kind == "execute" and "\x1b" in text:
            output = Output()
            output.feed(text.rstrip("\n"))
            rows = [_inked(row, look) for row in (*output.lines, output.last)]
            return [line for row in rows for line in chop(row, width)]
        text = bounded(text).strip("\n")
        code, language = without_fence(text)
        if code != text:
            rows = coloured(code, lexer_for(language), look)
            return [line for row in rows for line in chop(row, width)]
        return [
            line
            for row in text.expandtabs(4).split("\n")
            for line in wrap([(row, look.faint)], width)
        ]

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return 1 + 4 * len(self._content)

    def plain(self) -> str:
        """Return the title and what is shown."""
        parts = [_title(self.call)]
        if self._shows_raw_output():
            parts.append(sanitize_text(raw_output_text(self.call.raw_output)))
        for item in self._content:
            match item:
                case v2.Content(content=content):
                    parts.append(content_text(content))
                case v2.Diff():
                    parts.append(sanitize_text(item.patch.text if item.patch else ""))
                case v2.Terminal(terminal_id=id):
                    screen = self._screens.get(id)
                    parts.append(screen.plain() if screen else "")
                case _:
                    parts.append(json_text(item))
        return "\n".join(parts)


def _inked(row: list[Run], look: Look) -> list[Run]:
    """Take a command's colours away where the user wants none."""
    return row if look.has_colours else [(text, style.without_color) for text, style in row]


def _end_of(output: str) -> str:
    """Return the last lines of output that is longer than anybody reads."""
    hidden = len(output) - _MOST_OUTPUT
    if hidden <= 0:
        return output
    first, _, rest = output[hidden:].partition("\n")  # a sequence may be cut in the first line
    return f"… {hidden + len(first) + 1:,} more characters\n{rest}" if rest else output[hidden:]


def _title(call: ToolCallEntry) -> str:
    return one_line(clean_title(call.title or call.name or call.id))


def _given(value: Any, width: int, look: Look) -> list[Line]:
    """Paint what a tool was given or gave back: the fields of an object, else JSON."""
    if isinstance(value, str):
        return [
            line for row in bounded(value).split("\n") for line in wrap([(row, look.faint)], width)
        ]
    if not isinstance(value, dict):
        return json_lines(value, width, look)
    lines: list[Line] = []
    fields = cast("JsonObject", value)
    for name, each in islice(fields.items(), _MOST_FIELDS):
        label = one_line(name)
        if steps := _steps(each):
            lines += [line for step in steps for line in step_lines(step, width, look)]
            continue
        text = bounded(each) if isinstance(each, str) else json_text(each)
        first, *others = text.expandtabs(4).split("\n")
        lines += wrap([(f"{label}: ", look.faint), (first, _NONE)], width)
        lines += [line for other in others for line in wrap([(f"  {other}", _NONE)], width)]
    if len(fields) > _MOST_FIELDS:
        told = f"… {len(fields) - _MOST_FIELDS:,} more fields"
        lines.append(clip([(told, look.faint)], width))
    return lines


def _steps(value: Any) -> list[v2.PlanEntry]:
    """Return the steps if a value is a plan, as tools that keep one are given it."""
    entries = cast("list[dict[str, Any]]", value) if isinstance(value, list) else []
    try:
        words = [(each["content"], each["status"]) for each in entries]
    except (KeyError, TypeError):
        return []
    if not all(isinstance(each, str) for pair in words for each in pair):
        return []
    return [v2.PlanEntry(content=what, status=how, priority="medium") for what, how in words]


def _is_blank(item: v2.ToolCallContent) -> bool:
    match item:
        case v2.Content(content=v2.TextContent(text=text)):
            return not text or text.isspace()
        case _:
            return False


def _repeats(item: v2.ToolCallContent, given: Any) -> bool:
    """Return whether an item is nothing but the JSON of what the tool was given."""
    match item:
        case v2.Content(content=v2.TextContent(text=text)) if text[:1] in ("{", "["):
            try:
                value = msgspec.json.decode(text[:_MOST_COMPARED])
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return False
            values = cast("JsonObject", given).values() if isinstance(given, dict) else ()
            return value == given or value in values
        case _:
            return False


class TerminalCard(Card):
    """A terminal that no tool call shows."""

    def __init__(self, screens: Mapping[str, Screen], id: str) -> None:
        super().__init__()
        self._screens = screens
        self._id = id

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return the command and its output."""
        screen = self._screens[self._id]
        command = one_line(screen.terminal.command or self._id)
        head = wrap([("$ ", look.accent), (command, look.strong)], width)
        most = _MOST["terminal"] if self.is_folded else WHOLE_LINES
        rows = screen.rows(max(width - 2, 1), look, most)
        return head + self.part(rows, width, look, len(rows))

    def plain(self) -> str:
        """Return the command and its output."""
        screen = self._screens[self._id]
        return f"$ {sanitize_text(screen.terminal.command or '')}\n{screen.plain()}"
