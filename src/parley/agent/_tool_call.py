"""`ToolCall`: a tool call that reports its own progress and end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._diffs import make_diff

from ._activity import Activity, Outcome
from ._paths import resolve
from ._session_state import AgentSessionState, OpenActivity


class ToolCall(Activity):
    """A tool call shown to the user, used as an async context manager.

    ```python
    async with turn.tool("Edit a.py", kind="edit", locations=["a.py"]) as call:
        if await turn.ask_permission(tool=call) == "allow":
            await call.diff("a.py", old, new)
    ```

    `turn.tool` and `session.tool` return one. `add`, `diff` and `show_terminal` add content,
    `result` reports the raw output, and `update` changes any other field.

    The status is reported for you: `in_progress` when the block begins, `pending` while the user is
    asked for permission, `completed` when the block ends, `failed` when it raises or permission was
    refused, and `cancelled` when it is cancelled. A final status that you report with `update` is
    kept.
    """

    _noun = "tool call"

    def __init__(self, session: AgentSessionState, first: v2.ToolCallUpdated) -> None:
        is_cancellable = first.capabilities is not UNSET and first.capabilities is not None
        super().__init__(session, first.tool_call_id, is_cancellable=is_cancellable)
        self.title = first.title or ""
        """A short description for people."""
        self._first = first
        self._details = v2.ToolCallUpdate(
            **{name: getattr(first, name) for name in v2.ToolCallUpdate.__struct_fields__}
        )

    @property
    def details(self) -> v2.ToolCallUpdate:
        """The tool call as it is now; permission requests show this.

        Its content is what the tool call began with or was updated to, and what was added to that.
        Content that was only added is not repeated.
        """
        return self._details

    async def _begin(self) -> None:
        await self._report(self._first)

    async def _end(self, outcome: Outcome) -> None:
        """Report the final status, unless the program has already reported one."""
        status = self._details.status
        if status in ("completed", "failed", "cancelled"):
            return
        # Still pending at the end of its block: the user was asked for permission and refused.
        is_refused = outcome == "completed" and status == "pending"
        await self.update(status="failed" if is_refused else outcome)

    def _open(self, task: asyncio.Task[Any] | None) -> OpenActivity:
        background = v2.BackgroundToolCall(tool_call_id=self.id)
        return OpenActivity(self, task, background, self._abandon)

    async def update(self, **changes: Any) -> None:
        """Change fields: `await call.update(title="Read b.py", raw_output={"lines": 3})`.

        Args:
            changes: New values for fields of `v2.ToolCallUpdated`: `title`, `kind`, `status`,
                `content`, `locations`, `raw_input`, `raw_output`.

        Raises:
            RequestCancelled: The turn was cancelled, and has ended without the tool call.
        """
        update = v2.ToolCallUpdated(tool_call_id=self.id, **changes)
        self.title = changes.get("title", self.title)
        changes.pop("meta", None)  # belongs to one message
        known = {name: value for name, value in changes.items() if value is not UNSET}
        self._details = replace(self._details, **known)
        await self._report(update)

    async def add(self, content: v2.ToolCallContent | v2.ContentBlock | str) -> None:
        """Append content to the output of the tool call; a string is text."""
        chunk = v2.ToolCallContentChunk(tool_call_id=self.id, content=_content(content))
        if shown := self._details.content:
            self._details = replace(self._details, content=[*shown, chunk.content])
        await self._report(chunk)

    async def diff(self, path: str, old: str | None, new: str | None) -> None:
        """Show a file change; `old` is None for a created file, `new` is None for a deleted one."""
        await self.add(make_diff(resolve(self._session.stored.cwd, path), old, new))

    async def show_terminal(self, terminal: Activity | v2.TerminalId) -> None:
        """Show a terminal in the tool call: a `Terminal` of the agent, or one of the client."""
        id = terminal if isinstance(terminal, str) else terminal.id
        await self.add(v2.Terminal(terminal_id=id))

    async def result(self, raw_output: Any) -> None:
        """Report the raw output of the tool."""
        await self.update(raw_output=raw_output)


def _content(content: v2.ToolCallContent | v2.ContentBlock | str) -> v2.ToolCallContent:
    if isinstance(content, str):
        content = v2.TextContent(text=content)
    if isinstance(content, v2.Content | v2.Diff | v2.Terminal | Unknown):
        return content
    return v2.Content(content=content)


def absolute_locations(
    locations: Sequence[v2.ToolCallLocation | str], cwd: str
) -> list[v2.ToolCallLocation]:
    """Return the locations with absolute paths; a string means the whole file."""
    typed = (
        v2.ToolCallLocation(path=each) if isinstance(each, str) else each for each in locations
    )
    return [replace(each, path=resolve(cwd, each.path)) for each in typed]
