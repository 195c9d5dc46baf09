"""Cards: what a conversation shows besides words.

A card looks at the live object of the transcript each time it is painted, so whoever changes that
object only calls `touch`. Long parts are cut when the card is folded, and bounded when it is not.
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

from .blocks import MAX_CHARS, bounded, capped, one_line
from .content import content_lines, content_text, json_lines, json_text
from .lines import Line, Run, clip, indent, strips, wrap
from .painting import Look
from .prose import prose_lines

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

WHOLE_LINES = 1_000
"""How much of one part an unfolded card shows."""
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
        """Whether there is something to fold."""
        return True

    def touch(self) -> None:
        """Paint it anew: what it shows has changed."""
        self.version += 1

    def lines(self, width: int, look: Look) -> list[Strip]:
        """Return it painted."""
        return strips(self.rows(width, look))

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return the lines, not yet as strips."""
        raise NotImplementedError

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return 1 + _FOLDED_LINES if self.is_folded else 1 + self.plain().count("\n")

    def plain(self) -> str:
        """Return its words."""
        raise NotImplementedError

    def part(
        self,
        lines: list[Line],
        width: int,
        look: Look,
        most: int = _FOLDED_LINES,
        *,
        keeps_end: bool = False,
        unpainted: int = 0,
    ) -> list[Line]:
        """Indent a part of the body and cut it to what is shown of it."""
        most = most if self.is_folded else WHOLE_LINES
        cut = capped(lines, most, width - 2, look, keeps_end=keeps_end, unpainted=unpainted)
        return indent(cut, ("  ", _NONE))


class ThoughtCard(Card):
    """What the agent thinks: a line, or everything."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[str] = []

    def append(self, text: str) -> None:
        """Add what else it thinks."""
        self._pieces.append(text)
        self.version += 1

    def plain(self) -> str:
        """Return all its thoughts."""
        return sanitize_text(self._joined())

    def _joined(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return "".join(self._pieces)

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return one line with the latest words, or all."""
        text = sanitize_text(self._joined()[-MAX_CHARS:]).strip()
        if self.is_folded:
            latest = next((line for line in reversed(text.split("\n")) if line.strip()), "")
            preview = " ".join(latest.replace("**", "").strip("*#_` ").split())
            return [clip([("∴ ", look.accent), (preview or "…", look.faint + _ITALIC)], width)]
        body = prose_lines(text, max(width - 2, 1), look, style=look.faint)
        head = clip([("∴ ", look.accent), ("thoughts", look.faint)], width)
        return [head, *self.part(body, width, look)]

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return 1 if self.is_folded else 1 + len(self._joined()) // width


_ITALIC = Style(italic=True)


class PlanCard(Card):
    """What the agent intends to do."""

    def __init__(self, plan: v2.PlanUpdateContent | None) -> None:
        super().__init__()
        self._plan = plan

    def show(self, plan: v2.PlanUpdateContent | None) -> None:
        """Show it as it is now; None: it was removed."""
        self._plan = plan
        self.version += 1

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return the steps with their boxes."""
        match self._plan:
            case None:
                return [clip([("plan removed", look.faint)], width)]
            case v2.PlanItems(entries=entries):
                done = sum(entry.status == "completed" for entry in entries)
                head: list[Run] = [("plan", look.strong), (f"  {done}/{len(entries)}", look.faint)]
                shown = entries[: WHOLE_LINES + 2]  # each has a line at least
                steps = [line for entry in shown for line in step_lines(entry, width - 2, look)]
                others = len(entries) - len(shown)
                return [clip(head, width), *self.part(steps, width, look, 30, unpainted=others)]
            case v2.PlanMarkdown(content=content):
                body = prose_lines(bounded(content), max(width - 2, 1), look)
                return [clip([("plan", look.strong)], width), *self.part(body, width, look, 30)]
            case v2.PlanFile(uri=uri):
                words = [("plan  ", look.strong), (one_line(uri), look.link)]
                return wrap(words, width)
            case Unknown() as plan:
                name = one_line(plan.tag)
                head = [("plan: ", look.strong), (name, look.warning)]
                return [
                    clip(head, width),
                    *self.part(json_lines(plan, width - 2, look), width, look),
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


def step_lines(entry: v2.PlanEntry, width: int, look: Look) -> list[Line]:
    """Paint a step of a plan with its box."""
    box = {"completed": look.good, "in_progress": look.accent}.get(entry.status, look.faint)
    style = look.faint if entry.status in ("completed", "cancelled") else _NONE
    style = style + look.strong if entry.status == "in_progress" else style
    words: list[Run] = [(one_line(entry.content), style)]
    if entry.priority == "high" and entry.status in ("pending", "in_progress"):
        words.append(("  !", look.warning))
    return indent(wrap(words, width - 4), (f"{_box(entry)} ", box))


class ContentCard(Card):
    """A picture, a sound, a resource within a message."""

    def __init__(self, content: v2.ContentBlock) -> None:
        super().__init__()
        self._content = content

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return what it is."""
        first, *others = content_lines(self._content, width, look)
        return [first, *self.part(others, width, look)]

    def plain(self) -> str:
        """Return its words."""
        return content_text(self._content)


class CompactionCard(Card):
    """A compaction of the context; the summary unfolds."""

    def __init__(self, compaction: CompactionEntry) -> None:
        super().__init__()
        self._compaction = compaction

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return how far it is, and the summary."""
        what = self._compaction
        words = {
            "in_progress": "compacting the context…",
            "completed": "the context was compacted",
            "failed": "the context could not be compacted",
            "cancelled": "compaction cancelled",
        }.get(what.status, f"compaction: {one_line(what.status)}")
        style = look.bad if what.status == "failed" else look.accent
        error = f"  {one_line(what.error)}" if what.error else ""
        lines = wrap([("≡ ", style), (words, look.faint), (error, look.bad)], width)
        body = [line for each in what.content for line in content_lines(each, width - 2, look)]
        return lines + self.part(body, width, look, 2)

    def plain(self) -> str:
        """Return the summary."""
        return "\n".join(["compaction", *(content_text(each) for each in self._compaction.content)])


class SubagentCard(Card):
    """A session that the agent has started below this one."""

    def __init__(self, subagent: SubagentEntry) -> None:
        super().__init__()
        self._subagent = subagent

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return what it is there for and what it does."""
        it = self._subagent
        title = one_line(it.title or it.id)
        head: list[Run] = [("◆ ", look.accent), ("subagent ", look.faint), (title, look.strong)]
        state = self._state()
        if state:
            head.append((f"  {state}", look.faint))
        lines = wrap(head, width)
        if it.description:
            words = wrap([(one_line(it.description), look.faint)], width - 2)
            lines += self.part(words, width, look, 2)
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
        """Return its title and what it is there for."""
        it = self._subagent
        return f"subagent {sanitize_text(it.title or it.id)} {sanitize_text(it.description or '')}"


class MessageCard(Card):
    """A message between this session and another one."""

    def __init__(self, message: SessionMessageEntry) -> None:
        super().__init__()
        self._message = message

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return from whom to whom, and the text."""
        it = self._message
        ends = [
            one_line(each or "here") for each in (it.sender_session_id, it.recipient_session_id)
        ]
        lines = wrap([("⇄ ", look.accent), (f"{ends[0]} → {ends[1]}", look.faint)], width)
        body = [line for each in it.content for line in content_lines(each, width - 2, look)]
        return lines + self.part(body, width, look)

    def plain(self) -> str:
        """Return the text."""
        return "\n".join(content_text(each) for each in self._message.content)


class UnknownCard(Card):
    """Something that nobody here has a name for."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__()
        self._name = one_line(name)
        self._value = value

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return its name and its JSON."""
        head = clip([("? ", look.warning), (self._name, look.faint)], width)
        return [head, *self.part(json_lines(self._value, width - 2, look), width, look)]

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

    def rows(self, width: int, look: Look) -> list[Line]:
        """Return the line, and the notifications where it is unfolded."""
        head = wrap([("· ", look.faint), (self._head(), look.faint)], width)
        if self.is_folded:
            return capped(head, 1, width, look)
        hidden = self._count - len(self._latest)
        body = [clip([(f"… {hidden:,} earlier", look.faint)], width - 2)] if hidden else []
        for each in self._latest:
            body += wrap([(one_line(each.tag), look.faint)], width - 2)
            body += indent(json_lines(each, width - 4, look), ("  ", _NONE))
        return head + self.part(body, width, look)

    def _head(self) -> str:
        word = "notification" if self._count == 1 else "notifications"
        return f"{self._count:,} extension {word} ({', '.join(self._names)})"

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return 1 if self.is_folded else 1 + 3 * len(self._latest)

    def plain(self) -> str:
        """Return the names and the JSON."""
        return "\n".join(
            [self._head(), *(f"{each.tag} {json_text(each)}" for each in self._latest)]
        )
