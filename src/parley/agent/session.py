"""A session as the agent has it: who asked, where, and what can be said at any time."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from parley.schema import v2
from parley.schema.base import JsonObject, Unknown
from parley.schema.v2 import unstable
from parley.session.features import ClientFeatures
from parley.session.given import as_block, as_list, check_text
from parley.session.transcript import Transcript

from .compaction import Compaction
from .config import find_option, known_options
from .part import Part
from .paths import below
from .plan import plan_entries
from .store import StoredSession, new_id, now
from .subagent import Subagent, show_message
from .terminal import Terminal
from .tool import ToolCall, locations_of

if TYPE_CHECKING:
    from parley.mcp.clients import McpClients

    from .connection import Connection
    from .editor import Editor
    from .turn import Turn

__all__ = ["Origin", "Session"]

C = TypeVar("C", v2.AgentMessageChunk, v2.AgentThoughtChunk)

Origin: TypeAlias = Literal["new", "resumed", "forked", "subagent"]
"""How a session came to be open."""

_NO_TEXT = v2.TextContent(text="")
_TOOL_CANCEL = v2.ToolCallCapabilities(cancel=v2.ToolCallCancelCapabilities())


class Session:
    """One conversation; its verbs may be used at any time, in a turn or outside."""

    def __init__(
        self,
        connection: Connection,
        stored: StoredSession,
        origin: Origin,
        *,
        mcp_servers: Sequence[v2.McpServer] = (),
        system_prompt: unstable.SystemPrompt | None = None,
        meta: JsonObject | None = None,
    ) -> None:
        self.connection = connection
        """The connection, and with it the client."""
        self.stored = stored
        self.origin: Origin = origin
        """Whether it is new, was opened again, is a copy of another, or a subagent's."""
        self.mcp_servers = list(mcp_servers)
        """The MCP servers that the client wants the agent to use."""
        self.system_prompt = system_prompt
        """What the client wants to be added to the system prompt, or to stand instead of it."""
        self.meta = meta
        """The `_meta` of the request that opened it."""
        self.answer_meta: JsonObject | None = None
        """The `_meta` of its answer; set by the program while the session is being opened."""
        self.id = stored.id
        """The session's id."""
        self.transcript: Transcript = stored.transcript
        """What was said so far."""
        self.turn: Turn | None = None
        """The turn that runs."""
        self.parts: dict[str, Part] = {}
        """The tool calls, terminals and subagents that run, by id."""
        is_stored = origin != "subagent"
        self._keep = connection.agent.store.append if is_stored else _forget
        self._held: deque[v2.SessionUpdate] | None = None
        self._piece: v2.AgentMessageChunk | v2.AgentThoughtChunk | None = None
        self.message_id: v2.MessageId = ""
        """The id of the message that was spoken last."""
        self._owner = self
        self._mcp: McpClients | None = None
        self._asking = 0
        self._tells_background = False

    @property
    def cwd(self) -> str:
        """The directory to work in; relative paths are below it."""
        return self.stored.cwd

    @property
    def additional_directories(self) -> list[str]:
        """Further directories that belong to the workspace."""
        return self.stored.additional_directories

    @property
    def data(self) -> dict[str, Any]:
        """What the program keeps for itself; it stays when the session is opened again."""
        return self.stored.data

    @property
    def client(self) -> ClientFeatures:
        """What the client offers."""
        return self.connection.surface.client

    @property
    def client_info(self) -> v2.Implementation | None:
        """Who the client is."""
        return self.connection.surface.client_info

    @property
    def title(self) -> str | None:
        """What the session is called."""
        return self.transcript.title

    @property
    def config_options(self) -> list[v2.SessionConfigOption]:
        """The options that the user can set, with their values."""
        return self.transcript.config_options

    @property
    def editor(self) -> Editor:
        """The client's editor."""
        from .editor import Editor  # it brings types that few programs need

        return Editor(self)

    @property
    def mcp(self) -> McpClients:
        """The MCP servers of the session; a subagent has those of the session that it works for."""
        if self._owner._mcp is None:
            self._owner._mcp = self.connection.mcp.clients(self._owner)
        return self._owner._mcp

    async def close_mcp(self) -> None:
        """End the MCP clients that were opened."""
        if self._mcp is not None:
            await self._mcp.aclose()

    def option(self, config_id: str) -> str | bool:
        """Return the value of an option.

        Raises:
            KeyError: There is no such option.
        """
        found = find_option(self.config_options, config_id)
        if found is None:
            known = known_options(self.config_options)
            raise KeyError(f"there is no option {config_id!r}; {known}")
        return found.current_value

    def update(self, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        """Tell the client that something happened; it is in the transcript at once.

        While the session is being opened, this is sent behind the answer.
        """
        self.transcript.fold(update)
        self._keep(self.id, update)
        if self._held is not None:
            self._held.append(update)
            return _nothing()
        return self.connection.surface.update(self.id, update)

    def fold(self, update: v2.SessionUpdate) -> None:
        """Take something into the transcript that the client learns in another way."""
        self.transcript.fold(update)
        self._keep(self.id, update)

    def send(self, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        """Send an update that is in the transcript already."""
        return self.connection.surface.update(self.id, update)

    def say(self, content: str | v2.ContentBlock) -> Coroutine[Any, Any, None]:
        """Say something, as one more piece of the current message.

        A thought, a tool call's begin or end and a plan end a message.
        """
        piece = self._piece
        if type(piece) is not v2.AgentMessageChunk:
            piece = self._begin_message(v2.AgentMessageChunk)
        block = (
            replace(_NO_TEXT, text=content)
            if isinstance(content, str)
            else as_block(content, "say")
        )
        return self.update(replace(piece, content=block))

    def think(self, content: str | v2.ContentBlock) -> Coroutine[Any, Any, None]:
        """Think aloud."""
        piece = self._piece
        if type(piece) is not v2.AgentThoughtChunk:
            piece = self._begin_message(v2.AgentThoughtChunk)
        block = (
            replace(_NO_TEXT, text=content)
            if isinstance(content, str)
            else as_block(content, "think")
        )
        return self.update(replace(piece, content=block))

    def _begin_message(self, kind: type[C]) -> C:
        """Return an empty piece; to copy it takes half the time of making a new one."""
        self.message_id = new_id("message")
        piece = self._piece = kind(message_id=self.message_id, content=_NO_TEXT)
        return piece

    def end_message(self) -> None:
        """Begin a new message with what is said next."""
        self._piece = None

    async def plan(
        self,
        entries: Sequence[v2.PlanEntry | str],
        *,
        done: int | None = None,
        plan_id: v2.PlanId = "main",
    ) -> None:
        """Show what is going to be done, completely, each time something about it changes.

        Args:
            entries: The steps; a string is one of which `done` says how far it is.
            done: How many steps are completed; the next one is in progress. None: nothing has
                begun.
            plan_id: Tells several plans apart.
        """
        self.end_message()
        full = plan_entries(entries, done)
        await self.update(v2.PlanUpdate(plan=v2.PlanItems(plan_id=plan_id, entries=full)))

    def tool(
        self,
        title: str,
        *,
        kind: v2.ToolKind = "other",
        name: str | None = None,
        locations: Sequence[v2.ToolCallLocation | str] = (),
        raw_input: Any = UNSET,
        is_cancellable: bool = False,
    ) -> ToolCall:
        """Report a tool call: `async with session.tool("Read a.py", kind="read") as call`."""
        first = v2.ToolCallUpdated(
            tool_call_id=new_id("call"),
            title=title,
            kind=kind,
            name=UNSET if name is None else name,
            status="in_progress",
            locations=locations_of(locations, self.cwd) or UNSET,
            raw_input=raw_input,
            capabilities=_TOOL_CANCEL if is_cancellable else UNSET,
        )
        return ToolCall(self, first)

    def terminal(
        self, command: str, *, cwd: str | None = None, is_cancellable: bool = False
    ) -> Terminal:
        """Show a terminal that the program runs: `async with session.terminal("make") as shown`."""
        id = new_id("terminal")
        return Terminal(
            self, id, command, below(self.cwd, cwd or "."), is_cancellable=is_cancellable
        )

    def subagent(
        self, title: str, *, description: str | None = None, is_cancellable: bool = False
    ) -> Subagent:
        """Let another agent work below this session: `async with session.subagent("Explore")`."""
        stored = StoredSession(
            id=new_id("session"),
            cwd=self.cwd,
            additional_directories=self.additional_directories,
        )
        child = Session(self.connection, stored, "subagent")
        child._owner = self._owner
        if not self.client.subagents:
            child.mute()
        return Subagent(
            self, child, title=title, description=description, is_cancellable=is_cancellable
        )

    async def message(self, recipient: Session, content: str | v2.ContentBlock) -> None:
        """Show that this session has sent a message to another one, in both of them."""
        await show_message(self, recipient, as_block(content, "message"))

    async def set_title(self, title: str | None) -> None:
        """Name the session."""
        if title is not None:
            check_text(title, "a title")
        self.stored.updated_at = now()
        await self.update(v2.SessionInfoUpdate(title=title, updated_at=self.stored.updated_at))

    async def set_commands(self, commands: Sequence[v2.AvailableCommand]) -> None:
        """Replace the commands that the user can call."""
        listed = as_list(commands, "set_commands", "v2.Command", v2.Command, Unknown)
        update = v2.AvailableCommandsUpdate(available_commands=listed)
        await self._tell_unless_answered(update)

    async def set_config_options(self, options: Sequence[v2.SessionConfigOption]) -> None:
        """Replace the options that the user can set."""
        wanted = "v2.SessionConfigSelect and v2.SessionConfigBoolean"
        kinds = (v2.SessionConfigSelect, v2.SessionConfigBoolean, Unknown)
        listed = as_list(options, "set_config_options", wanted, *kinds)
        update = v2.ConfigOptionUpdate(config_options=listed)
        await self._tell_unless_answered(update)

    async def _tell_unless_answered(self, update: v2.SessionUpdate) -> None:
        """Send this, except while the session is being opened: the answer has it."""
        if self._held is None:
            await self.update(update)
        else:
            self.fold(update)

    async def notice(
        self, title: str, description: str | None = None, *, severity: v2.NoticeSeverity = "info"
    ) -> None:
        """Tell the user something that is not part of the conversation."""
        await self.update(v2.Notice(severity=severity, title=title, description=description))

    async def usage(self, used: int, size: int, cost: v2.Cost | None = None) -> None:
        """Report how full the context is, and what the session has cost."""
        await self.update(v2.UsageUpdate(used=used, size=size, cost=cost or UNSET))

    def compaction(self) -> Compaction:
        """Report that the context is compacted: `async with session.compaction() as summary`."""
        return Compaction(self, new_id("compaction"))

    @asynccontextmanager
    async def requires_action(self) -> AsyncGenerator[None, None]:
        """Report that the work waits for the user, while it does."""
        turn = self.turn
        self._asking += 1
        try:
            if self._asking == 1 and turn is not None:
                await self.enter("requires_action")
            yield
        finally:
            self._asking -= 1
            if not self._asking and turn is not None and turn.is_running:
                await self.enter("running")

    async def enter(
        self,
        state: Literal["running", "requires_action", "idle"],
        stop_reason: v2.StopReason | None = None,
        *,
        error: v2.Error | None = None,
        usage: unstable.Usage | None = None,
    ) -> None:
        """Report what the session is doing now, and what runs beside that."""
        running = [] if self.turn is None else [self.turn.task]
        background = [
            part.as_background() for part in self.parts.values() if part.task not in running
        ]
        update = v2.StateUpdated(
            state=state,
            stop_reason=stop_reason,
            error=error,
            usage=usage,
            background=background if background or self._tells_background else None,
        )
        self._tells_background = bool(background)
        await self.update(update)

    async def part_ended(self) -> None:
        """Report that something that ran in the background runs no more."""
        if self.turn is None and self._tells_background:
            await self.enter("idle")

    def hold(self) -> None:
        """Keep what is said until the answer that names the session has been sent."""
        self._held = deque()

    def mute(self) -> None:
        """Send nothing: the client does not know this session."""
        self._held = deque(maxlen=0)

    async def release(self) -> None:
        """Send what was kept."""
        while self._held:  # what is said meanwhile goes to its end
            await self.send(self._held.popleft())
        self._held = None

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {self.origin}, {self.transcript!r})"


async def _nothing() -> None:
    pass


def _forget(id: str, update: v2.SessionUpdate) -> None:
    pass
