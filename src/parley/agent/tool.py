"""A tool call that reports its own progress and end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session.diffs import make_diff

from .part import Outcome, Part
from .paths import below

if TYPE_CHECKING:
    from .session import Session

__all__ = ["ToolCall", "locations_of"]


class ToolCall(Part):
    """One tool call, as `async with turn.tool("Read the file", kind="read") as call`.

    It is reported as in progress when the block begins, as pending while the user is asked for
    permission, as completed when the block ends, as failed when it raises or permission was
    refused, and as cancelled when it is cancelled. A last status that the program reports itself
    stays.
    """

    def __init__(self, owner: Session, first: v2.ToolCallUpdated) -> None:
        is_cancellable = first.capabilities is not UNSET and first.capabilities is not None
        super().__init__(owner, first.tool_call_id, is_cancellable=is_cancellable)
        self.title = first.title or ""
        """What it is doing, for people."""
        self._first = first
        self._status: Any = first.status

    async def begin(self) -> None:
        """Report the tool call."""
        await self.tell(self._first)

    async def end(self, outcome: Outcome) -> None:
        """Report how it ended, unless the program has done that."""
        if self._status in ("completed", "failed", "cancelled"):
            return
        is_refused = outcome == "completed" and self._status == "pending"
        await self.update(status="failed" if is_refused else outcome)

    async def wait_for_permission(self) -> None:
        """Report that it cannot begin yet."""
        if self._status == "in_progress":
            await self.update(status="pending")

    async def get_permission(self) -> None:
        """Report that it can begin now."""
        if self._status == "pending":
            await self.update(status="in_progress")

    def as_background(self) -> v2.BackgroundWork:
        """Return how it is called when it runs on behind the end of a turn."""
        return v2.BackgroundToolCall(tool_call_id=self.id)

    def describe(self) -> v2.ToolCallUpdate:
        """Return what a question about it says of it."""
        return v2.ToolCallUpdate(
            **{
                name: getattr(self._first, name)
                for name in v2.ToolCallUpdate.__struct_fields__
                if name != "status"
            },
            status=self._status,
        )

    async def update(self, **changes: Any) -> None:
        """Change what is shown: title, kind, status, content, locations, raw_input, raw_output."""
        self._status = changes.get("status", self._status)
        self.title = changes.get("title", self.title)
        await self.tell(v2.ToolCallUpdated(tool_call_id=self.id, **changes))

    async def add(self, content: v2.ToolCallContent | v2.ContentBlock | str) -> None:
        """Add to what the tool has produced."""
        chunk = v2.ToolCallContentChunk(tool_call_id=self.id, content=_content(content))
        await self.tell(chunk)

    async def diff(self, path: str, old: str | None, new: str | None) -> None:
        """Show a change of a file; an old text of None creates it, a new one of None deletes it."""
        await self.add(make_diff(below(self.owner.cwd, path), old, new))

    async def show_terminal(self, terminal: Part | v2.TerminalId) -> None:
        """Show a terminal, one of the agent's own or one of the client's."""
        id = terminal if isinstance(terminal, str) else terminal.id
        await self.add(v2.Terminal(terminal_id=id))

    async def result(self, raw_output: Any) -> None:
        """Report what the tool has returned."""
        await self.update(raw_output=raw_output)


def _content(content: v2.ToolCallContent | v2.ContentBlock | str) -> v2.ToolCallContent:
    if isinstance(content, str):
        content = v2.TextContent(text=content)
    if isinstance(content, v2.Content | v2.Diff | v2.Terminal | Unknown):
        return content
    return v2.Content(content=content)


def locations_of(
    locations: Sequence[v2.ToolCallLocation | str], cwd: str
) -> list[v2.ToolCallLocation]:
    """Return places in files, with absolute paths; a string is a whole file."""
    places = (
        v2.ToolCallLocation(path=each) if isinstance(each, str) else each for each in locations
    )
    return [replace(each, path=below(cwd, each.path)) for each in places]
