"""The card of a tool call: its status, its subject and its content."""

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

from .ansi import AnsiOutput
from .blocks import one_line, truncate_text
from .cards import MAX_UNFOLDED_LINES, Card, step_lines
from .content import content_lines, content_text, json_lines, json_text
from .diff import first_lines
from .lines import Line, Run, chop, clip, indent, wrap
from .syntax import highlight_code, lexer_for_language
from .theme import Theme

__all__ = ["TerminalCard", "TerminalOutput", "ToolCard"]

_NONE = Style.null()
_MARKS = {
    "pending": "○",
    "in_progress": "▸",
    "paused": "‖",
    "completed": "✓",
    "failed": "✗",
    "cancelled": "■",
}
_MAX_LINES_BY_KIND = {"read": 3, "search": 3, "fetch": 3, "think": 3}
_MAX_COMPARED_CHARS = 20_000
_MAX_LINES = {"diff": 24, "terminal": 10, "text": 8, "input": 5, "items": 20}
_MAX_UNFOLDED_ITEMS = 200
_MAX_FIELDS = 500
_MAX_OUTPUT_CHARS = 50_000


class TerminalOutput:
    """A terminal of the transcript and its rendered output."""

    def __init__(self, terminal: TerminalEntry) -> None:
        self.terminal = terminal
        self.output = AnsiOutput()

    def rows(self, width: int, theme: Theme, most: int) -> list[Line]:
        """Return the last lines of the output, and the exit status if it is not 0."""
        kept = [*self.output.lines, self.output.last]
        if not kept[-1]:
            kept.pop()
        shown: list[list[Line]] = []
        room = most
        while kept and room > 0:
            shown.append(chop(_without_colours(kept.pop(), theme), width)[:MAX_UNFOLDED_LINES])
            room -= len(shown[-1])
        hidden = len(kept) + self.output.dropped
        hint = [clip([(f"… {hidden:,} more lines", theme.faint)], width)] if hidden else []
        lines = [*hint, *(line for part in reversed(shown) for line in part)]
        if self.output.is_screen:
            remark = "(it draws on the whole screen, which is not shown here)"
            lines += wrap([(remark, theme.faint)], width)
        return lines + self._end(theme)

    def _end(self, theme: Theme) -> list[Line]:
        status = self.terminal.exit_status
        if status is None or (status.exit_code == 0 and status.signal is None):
            return []
        word = f"exit code {status.exit_code}"
        if status.signal is not None:
            word = f"ended by {one_line(status.signal)}"
        return wrap([(word, theme.bad)], 60)

    def plain(self) -> str:
        """Return the output as text."""
        rows = [*self.output.lines, self.output.last]
        return "\n".join("".join([text for text, _ in row]) for row in rows).rstrip("\n")


class ToolCard(Card):
    """A tool call."""

    def __init__(self, call: ToolCallEntry, terminal_outputs: Mapping[str, TerminalOutput]) -> None:
        super().__init__()
        self.call = call
        self._terminal_outputs = terminal_outputs
        self._diffs: list[v2.Diff] = []

    def keep_diffs(self, content: Iterable[v2.ToolCallContent]) -> None:
        """Keep the diffs of an update; later updates often have fewer, or none."""
        new = [each for each in content if isinstance(each, v2.Diff)]
        if new and new != self._diffs:
            old = self._diffs
            self._diffs = [
                next((it for it in old if has_every_change(it, each)), each) for each in new
            ]

    @property
    def _content(self) -> list[v2.ToolCallContent]:
        content, raw_input = self.call.content, self.call.raw_input
        others = [each for each in content if not isinstance(each, v2.Diff) and not _is_blank(each)]
        return [*self._diffs, *(each for each in others if not _repeats_input(each, raw_input))]

    @property
    def can_fold(self) -> bool:
        """Return whether there is anything below its title."""
        call = self.call
        return bool(self._content) or call.raw_input is not None or call.raw_output is not None

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the title, the locations and the content."""
        mark, *words = self._head(theme)
        lines = indent(wrap(words, width - 2), mark)
        lines += self._location_lines(width, theme)
        if self._shows_input():
            lines += self.part(
                _value_lines(self._input(), width - 2, theme), width, theme, _MAX_LINES["input"]
            )
        items = self._content
        hidden = max(
            len(items) - (_MAX_LINES["items"] if self.is_folded else _MAX_UNFOLDED_ITEMS), 0
        )
        if hidden:
            hint = clip([(f"… {hidden:,} earlier parts", theme.faint)], width - 2)
            lines += self.part([hint], width, theme)
        for item in items[hidden:]:
            lines += self._item(item, width, theme)
        if self._shows_raw_output():
            lines += self._raw_output_lines(width, theme)
        return lines

    def _shows_raw_output(self) -> bool:
        """Return whether the raw output is all that the agent sends of a result."""
        if self.call.raw_output in (None, "", {}, []) or self._diffs:
            return False
        return not any(self._shows_text(item) for item in self.call.content)

    def _shows_text(self, item: v2.ToolCallContent) -> bool:
        match item:
            case v2.Terminal(terminal_id=id):
                return id in self._terminal_outputs and bool(self._terminal_outputs[id].plain())
            case _:
                return not _is_blank(item)

    def _raw_output_lines(self, width: int, theme: Theme) -> list[Line]:
        """Return the raw output as lines: its text, or else its fields."""
        inner = max(width - 2, 1)
        if text := raw_output_text(self.call.raw_output):
            most = _MAX_LINES_BY_KIND.get(self.call.kind, _MAX_LINES["text"])
            is_output = self.call.kind == "execute"
            return self.part(
                self._text(text, inner, theme), width, theme, most, keeps_end=is_output
            )
        return self.part(_value_lines(self.call.raw_output, inner, theme), width, theme)

    def _head(self, theme: Theme) -> list[Run]:
        call = self.call
        colour = {
            "in_progress": theme.accent,
            "paused": theme.warning,
            "completed": theme.good,
            "failed": theme.bad,
            "cancelled": theme.warning,
        }.get(call.status, theme.faint)
        runs: list[Run] = [(f"{_MARKS.get(call.status, '?')} ", colour)]
        if call.kind not in ("other", _title(call).lower().partition(" ")[0]):
            runs.append((f"{one_line(call.kind)} ", theme.accent))
        runs.append((_title(call), theme.strong))
        if call.status not in ("completed", "in_progress", "pending"):
            runs.append((f"  {one_line(call.status)}", colour))
        return runs

    def _location_lines(self, width: int, theme: Theme) -> list[Line]:
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
        words = [(place, theme.faint) for place in shown]
        rows = [line for each in words for line in wrap([each], width - 2)]
        if more:
            rows[-1] = clip(
                [*((s.text, theme.faint) for s in rows[-1]), (more, theme.faint)], width - 2
            )
        return self.part(rows, width, theme, len(rows))

    def _shows_input(self) -> bool:
        """Return whether the input contains more than the title and the content."""
        raw_input = self.call.raw_input
        if raw_input in (None, "", {}, []):
            return False
        if self._diffs:
            return False
        values = (
            cast("JsonObject", raw_input).values() if isinstance(raw_input, dict) else [raw_input]
        )
        title = _title(self.call)
        return any(one_line(str(value)) not in title for value in values)

    def _input(self) -> Any:
        """Return the input without the fields that repeat the title or the locations."""
        raw_input = self.call.raw_input
        if not isinstance(raw_input, dict):
            return raw_input
        hint = {_title(self.call), *(each.path for each in self.call.locations)}
        fields = cast("JsonObject", raw_input).items()
        return {name: value for name, value in fields if str(value) not in hint}

    def _item(self, item: v2.ToolCallContent, width: int, theme: Theme) -> list[Line]:
        most = _MAX_LINES_BY_KIND.get(self.call.kind, _MAX_LINES["text"])
        inner = max(width - 2, 1)
        match item:
            case v2.Diff():
                rows, others = first_lines(item, inner, theme, MAX_UNFOLDED_LINES + 2)
                return self.part(rows, width, theme, _MAX_LINES["diff"], unpainted=others)
            case v2.Terminal(terminal_id=id):
                terminal_output = self._terminal_outputs.get(id)
                if terminal_output is None:
                    return []
                shown = _MAX_LINES["terminal"] if self.is_folded else MAX_UNFOLDED_LINES
                rows = terminal_output.rows(inner, theme, shown)
                return self.part(rows, width, theme, len(rows))
            case v2.Content(content=v2.TextContent(text=text)):
                is_output = self.call.kind == "execute"
                rows = self._text(text, inner, theme)
                return self.part(rows, width, theme, most, keeps_end=is_output)
            case v2.Content(content=content):
                return self.part(content_lines(content, inner, theme), width, theme, most)
            case _:
                head = clip([(f"content: {one_line(item.tag)}", theme.warning)], inner)
                return self.part([head, *json_lines(item, inner, theme)], width, theme)

    def _text(self, text: str, width: int, theme: Theme) -> list[Line]:
        """Return text as lines: output with its colours, a fence as code."""
        if self.call.kind == "execute":
            text = _last_part(text)
        if self.call.kind == "execute" and "\x1b" in text:
            output = AnsiOutput()
            output.feed(text.rstrip("\n"))
            rows = [_without_colours(row, theme) for row in (*output.lines, output.last)]
            return [line for row in rows for line in chop(row, width)]
        text = truncate_text(text).strip("\n")
        code, language = without_fence(text)
        if code != text:
            rows = highlight_code(code, lexer_for_language(language), theme)
            return [line for row in rows for line in chop(row, width)]
        return [
            line
            for row in text.expandtabs(4).split("\n")
            for line in wrap([(row, theme.faint)], width)
        ]

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return 1 + 4 * len(self._content)

    def plain(self) -> str:
        """Return the title and the content."""
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
                    terminal_output = self._terminal_outputs.get(id)
                    parts.append(terminal_output.plain() if terminal_output else "")
                case _:
                    parts.append(json_text(item))
        return "\n".join(parts)


def _without_colours(row: list[Run], theme: Theme) -> list[Run]:
    """Remove the colours of a command if the user wants none."""
    return row if theme.has_colours else [(text, style.without_color) for text, style in row]


def _last_part(output: str) -> str:
    """Return the end of very long output."""
    hidden = len(output) - _MAX_OUTPUT_CHARS
    if hidden <= 0:
        return output
    first, _, rest = output[hidden:].partition(
        "\n"
    )  # the first line may begin within a control sequence
    return f"… {hidden + len(first) + 1:,} more characters\n{rest}" if rest else output[hidden:]


def _title(call: ToolCallEntry) -> str:
    return one_line(clean_title(call.title or call.name or call.id))


def _value_lines(value: Any, width: int, theme: Theme) -> list[Line]:
    """Return an input or a raw output as lines: the fields of an object, or else JSON."""
    if isinstance(value, str):
        return [
            line
            for row in truncate_text(value).split("\n")
            for line in wrap([(row, theme.faint)], width)
        ]
    if not isinstance(value, dict):
        return json_lines(value, width, theme)
    lines: list[Line] = []
    fields = cast("JsonObject", value)
    for name, each in islice(fields.items(), _MAX_FIELDS):
        label = one_line(name)
        if steps := _steps(each):
            lines += [line for step in steps for line in step_lines(step, width, theme)]
            continue
        text = truncate_text(each) if isinstance(each, str) else json_text(each)
        first, *others = text.expandtabs(4).split("\n")
        lines += wrap([(f"{label}: ", theme.faint), (first, _NONE)], width)
        lines += [line for other in others for line in wrap([(f"  {other}", _NONE)], width)]
    if len(fields) > _MAX_FIELDS:
        hint = f"… {len(fields) - _MAX_FIELDS:,} more fields"
        lines.append(clip([(hint, theme.faint)], width))
    return lines


def _steps(value: Any) -> list[v2.PlanEntry]:
    """Return the steps if a value has the form of a plan, as the input of plan tools does."""
    entries = cast("list[dict[str, Any]]", value) if isinstance(value, list) else []
    try:
        steps = [(each["content"], each["status"]) for each in entries]
    except (KeyError, TypeError):
        return []
    if not all(isinstance(each, str) for pair in steps for each in pair):
        return []
    return [
        v2.PlanEntry(content=content, status=status, priority="medium") for content, status in steps
    ]


def _is_blank(item: v2.ToolCallContent) -> bool:
    match item:
        case v2.Content(content=v2.TextContent(text=text)):
            return not text or text.isspace()
        case _:
            return False


def _repeats_input(item: v2.ToolCallContent, raw_input: Any) -> bool:
    """Return whether an item is only the JSON of the input."""
    match item:
        case v2.Content(content=v2.TextContent(text=text)) if text[:1] in ("{", "["):
            try:
                value = msgspec.json.decode(text[:_MAX_COMPARED_CHARS])
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return False
            values = cast("JsonObject", raw_input).values() if isinstance(raw_input, dict) else ()
            return value == raw_input or value in values
        case _:
            return False


class TerminalCard(Card):
    """A terminal that no tool call shows."""

    def __init__(self, terminal_outputs: Mapping[str, TerminalOutput], id: str) -> None:
        super().__init__()
        self._terminal_outputs = terminal_outputs
        self._id = id

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the command and its output."""
        terminal_output = self._terminal_outputs[self._id]
        command = one_line(terminal_output.terminal.command or self._id)
        head = wrap([("$ ", theme.accent), (command, theme.strong)], width)
        most = _MAX_LINES["terminal"] if self.is_folded else MAX_UNFOLDED_LINES
        rows = terminal_output.rows(max(width - 2, 1), theme, most)
        return head + self.part(rows, width, theme, len(rows))

    def plain(self) -> str:
        """Return the command and its output."""
        terminal_output = self._terminal_outputs[self._id]
        return (
            f"$ {sanitize_text(terminal_output.terminal.command or '')}\n{terminal_output.plain()}"
        )
