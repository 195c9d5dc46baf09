"""Cards: blocks for everything in a conversation besides text.

A card reads the live object of the transcript each time it is painted; after a change of that
object, call `touch`. Long parts are cut if the card is folded, and limited if it is not.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from rich.style import Style
from textual.strip import Strip

from parley._display_text import sanitize_text
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript_entries import CompactionEntry, SessionMessageEntry, SubagentEntry

from .blocks import MAX_CHARS, one_line, truncate_lines, truncate_text
from .content import content_lines, content_text, json_lines, json_text
from .lines import Line, Run, clip, indent, strips, wrap
from .markdown_block import markdown_lines
from .theme import Theme

__all__ = [
    "Card",
    "CompactionCard",
    "ContentCard",
    "ExtensionCard",
    "MessageCard",
    "PlanCard",
    "SubagentCard",
    "ThoughtCard",
    "UnknownCard",
    "step_lines",
]

MAX_UNFOLDED_LINES = 1_000
"""The maximum length of one part of an unfolded card."""
_FOLDED_LINES = 6
_MAX_EXTENSIONS = 50
"""The maximum number of extension notifications that one card keeps, and of names it shows."""
_NONE = Style.null()
_BOXES = {"completed": "[x]", "in_progress": "[>]", "cancelled": "[-]"}


class Card:
    """A block with a head and a body below it that can be folded."""

    def __init__(self) -> None:
        self.version = 0
        self.gap = 1
        self.is_folded = True

    @property
    def can_fold(self) -> bool:
        """Return whether there is something to fold."""
        return True

    def touch(self) -> None:
        """Request that it is painted again, because its content has changed."""
        self.version += 1

    def lines(self, width: int, theme: Theme) -> list[Strip]:
        """Return the painted lines."""
        return strips(self.rows(width, theme))

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the lines as segments."""
        raise NotImplementedError

    def guess(self, width: int) -> int:
        """Estimate the number of lines."""
        return 1 + _FOLDED_LINES if self.is_folded else 1 + self.plain().count("\n")

    def plain(self) -> str:
        """Return the text."""
        raise NotImplementedError

    def part(
        self,
        lines: list[Line],
        width: int,
        theme: Theme,
        most: int = _FOLDED_LINES,
        *,
        keeps_end: bool = False,
        unpainted: int = 0,
    ) -> list[Line]:
        """Indent a part of the body, and cut it if the card is folded."""
        most = most if self.is_folded else MAX_UNFOLDED_LINES
        cut = truncate_lines(
            lines, most, width - 2, theme, keeps_end=keeps_end, unpainted=unpainted
        )
        return indent(cut, ("  ", _NONE))


class ThoughtCard(Card):
    """A thought of the agent: the latest line, or all of it."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[str] = []

    def append(self, text: str) -> None:
        """Append text."""
        self._pieces.append(text)
        self.version += 1

    def plain(self) -> str:
        """Return the whole thought."""
        return sanitize_text(self._joined())

    def _joined(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return "".join(self._pieces)

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the latest line, or the whole thought."""
        text = sanitize_text(self._joined()[-MAX_CHARS:]).strip()
        if self.is_folded:
            latest = next((line for line in reversed(text.split("\n")) if line.strip()), "")
            preview = " ".join(latest.replace("**", "").strip("*#_` ").split())
            return [clip([("∴ ", theme.accent), (preview or "…", theme.faint + _ITALIC)], width)]
        body = markdown_lines(text, max(width - 2, 1), theme, style=theme.faint)
        head = clip([("∴ ", theme.accent), ("thoughts", theme.faint)], width)
        return [head, *self.part(body, width, theme)]

    def guess(self, width: int) -> int:
        """Estimate the number of lines."""
        return 1 if self.is_folded else 1 + len(self._joined()) // width


_ITALIC = Style(italic=True)


class PlanCard(Card):
    """A plan of the agent."""

    def __init__(self, plan: v2.PlanUpdateContent | None) -> None:
        super().__init__()
        self._plan = plan

    def show(self, plan: v2.PlanUpdateContent | None) -> None:
        """Show a new version of the plan; None if it was removed."""
        self._plan = plan
        self.version += 1

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the steps with their boxes."""
        match self._plan:
            case None:
                return [clip([("plan removed", theme.faint)], width)]
            case v2.PlanItems(entries=entries):
                done = sum(entry.status == "completed" for entry in entries)
                head: list[Run] = [
                    ("plan", theme.strong),
                    (f"  {done}/{len(entries)}", theme.faint),
                ]
                shown = entries[: MAX_UNFOLDED_LINES + 2]  # each has a line at least
                steps = [line for entry in shown for line in step_lines(entry, width - 2, theme)]
                others = len(entries) - len(shown)
                return [clip(head, width), *self.part(steps, width, theme, 30, unpainted=others)]
            case v2.PlanMarkdown(content=content):
                body = markdown_lines(truncate_text(content), max(width - 2, 1), theme)
                return [clip([("plan", theme.strong)], width), *self.part(body, width, theme, 30)]
            case v2.PlanFile(uri=uri):
                words = [("plan  ", theme.strong), (one_line(uri), theme.link)]
                return wrap(words, width)
            case Unknown() as plan:
                name = one_line(plan.tag)
                head = [("plan: ", theme.strong), (name, theme.warning)]
                return [
                    clip(head, width),
                    *self.part(json_lines(plan, width - 2, theme), width, theme),
                ]

    def plain(self) -> str:
        """Return the steps as text."""
        match self._plan:
            case v2.PlanItems(entries=entries):
                return "\n".join(f"{_box(each)} {sanitize_text(each.content)}" for each in entries)
            case v2.PlanMarkdown(content=content):
                return sanitize_text(content)
            case v2.PlanFile(uri=uri):
                return sanitize_text(uri)
            case None:
                return "plan removed"
            case Unknown() as plan:
                return json_text(plan)


def _box(entry: v2.PlanEntry) -> str:
    return _BOXES.get(entry.status, "[ ]")


def step_lines(entry: v2.PlanEntry, width: int, theme: Theme) -> list[Line]:
    """Return a step of a plan with its box."""
    box = {"completed": theme.good, "in_progress": theme.accent}.get(entry.status, theme.faint)
    style = theme.faint if entry.status in ("completed", "cancelled") else _NONE
    style = style + theme.strong if entry.status == "in_progress" else style
    words: list[Run] = [(one_line(entry.content), style)]
    if entry.priority == "high" and entry.status in ("pending", "in_progress"):
        words.append(("  !", theme.warning))
    return indent(wrap(words, width - 4), (f"{_box(entry)} ", box))


class ContentCard(Card):
    """An image, a sound or a resource within a message."""

    def __init__(self, content: v2.ContentBlock) -> None:
        super().__init__()
        self._content = content

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return its kind and what is known about it."""
        first, *others = content_lines(self._content, width, theme)
        return [first, *self.part(others, width, theme)]

    def plain(self) -> str:
        """Return the text."""
        return content_text(self._content)


class CompactionCard(Card):
    """A compaction of the context; the summary unfolds."""

    def __init__(self, compaction: CompactionEntry) -> None:
        super().__init__()
        self._compaction = compaction

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the status and the summary."""
        compaction = self._compaction
        words = {
            "in_progress": "compacting the context…",
            "completed": "the context was compacted",
            "failed": "the context could not be compacted",
            "cancelled": "compaction cancelled",
        }.get(compaction.status, f"compaction: {one_line(compaction.status)}")
        style = theme.bad if compaction.status == "failed" else theme.accent
        error = f"  {one_line(compaction.error)}" if compaction.error else ""
        lines = wrap([("≡ ", style), (words, theme.faint), (error, theme.bad)], width)
        body = [
            line for each in compaction.content for line in content_lines(each, width - 2, theme)
        ]
        return lines + self.part(body, width, theme, 2)

    def plain(self) -> str:
        """Return the summary."""
        return "\n".join(["compaction", *(content_text(each) for each in self._compaction.content)])


class SubagentCard(Card):
    """A session of a subagent."""

    def __init__(self, subagent: SubagentEntry) -> None:
        super().__init__()
        self._subagent = subagent

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return its title, its status and its description."""
        it = self._subagent
        title = one_line(it.title or it.id)
        head: list[Run] = [("◆ ", theme.accent), ("subagent ", theme.faint), (title, theme.strong)]
        state = self._state()
        if state:
            head.append((f"  {state}", theme.faint))
        lines = wrap(head, width)
        if it.description:
            words = wrap([(one_line(it.description), theme.faint)], width - 2)
            lines += self.part(words, width, theme, 2)
        return lines

    def _state(self) -> str:
        state = self._subagent.state
        if state is None:
            return ""
        if isinstance(state, Unknown):
            return one_line(state.tag)
        word = type(state).__name__.removesuffix("StateUpdate")
        return "".join(f" {each.lower()}" if each.isupper() else each for each in word).strip()

    def plain(self) -> str:
        """Return its title and its description."""
        it = self._subagent
        return f"subagent {sanitize_text(it.title or it.id)} {sanitize_text(it.description or '')}"


class MessageCard(Card):
    """A message between this session and another one."""

    def __init__(self, message: SessionMessageEntry) -> None:
        super().__init__()
        self._message = message

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the sender, the recipient and the text."""
        it = self._message
        ends = [
            one_line(each or "here") for each in (it.sender_session_id, it.recipient_session_id)
        ]
        lines = wrap([("⇄ ", theme.accent), (f"{ends[0]} → {ends[1]}", theme.faint)], width)
        body = [line for each in it.content for line in content_lines(each, width - 2, theme)]
        return lines + self.part(body, width, theme)

    def plain(self) -> str:
        """Return the text."""
        return "\n".join(content_text(each) for each in self._message.content)


class UnknownCard(Card):
    """An update of a kind that is not known here."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__()
        self._name = one_line(name)
        self._value = value

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return its name and its JSON."""
        head = clip([("? ", theme.warning), (self._name, theme.faint)], width)
        return [head, *self.part(json_lines(self._value, width - 2, theme), width, theme)]

    def plain(self) -> str:
        """Return its name and its JSON."""
        return f"{self._name}\n{json_text(self._value)}"


class ExtensionCard(Card):
    """Extension notifications: a quiet line with their names, or each with its JSON."""

    def __init__(self) -> None:
        super().__init__()
        self._count = 0
        self._latest: deque[Unknown] = deque(maxlen=_MAX_EXTENSIONS)
        self._names: dict[str, None] = {}

    def append(self, notification: Unknown) -> None:
        """Add a notification."""
        self._count += 1
        self._latest.append(notification)
        if len(self._names) < _MAX_EXTENSIONS:
            self._names[one_line(notification.tag)] = None
        self.version += 1

    def rows(self, width: int, theme: Theme) -> list[Line]:
        """Return the line, and the notifications where it is unfolded."""
        head = wrap([("· ", theme.faint), (self._head(), theme.faint)], width)
        if self.is_folded:
            return truncate_lines(head, 1, width, theme)
        hidden = self._count - len(self._latest)
        body = [clip([(f"… {hidden:,} earlier", theme.faint)], width - 2)] if hidden else []
        for each in self._latest:
            body += wrap([(one_line(each.tag), theme.faint)], width - 2)
            body += indent(json_lines(each, width - 4, theme), ("  ", _NONE))
        return head + self.part(body, width, theme)

    def _head(self) -> str:
        word = "notification" if self._count == 1 else "notifications"
        return f"{self._count:,} extension {word} ({', '.join(self._names)})"

    def guess(self, width: int) -> int:
        """Estimate the number of lines."""
        return 1 if self.is_folded else 1 + 3 * len(self._latest)

    def plain(self) -> str:
        """Return the names and the JSON."""
        return "\n".join(
            [self._head(), *(f"{each.tag} {json_text(each)}" for each in self._latest)]
        )
