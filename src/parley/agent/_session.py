"""`AgentSession`: the program's view of a conversation, and the methods to send updates to it."""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

from msgspec import UNSET
from msgspec.structs import replace

from parley.errors import LocalProtocolError, RemoteProtocolError, RequestError
from parley.schema import v2
from parley.schema._custom_values import check_custom_values
from parley.schema.base import JsonObject, Unknown
from parley.schema.v2 import methods
from parley.session._capabilities import ClientFeatures
from parley.session._transcript import Transcript
from parley.session._validation import as_block, as_list, check_text

from ._compaction import Compaction
from ._config_options import ConfigOption, V, check_options, find_option, suggest_option
from ._elicitation import (
    Form,
    UrlElicitation,
    form_request,
    send_form_request,
    send_url_request,
    url_request,
)
from ._paths import resolve
from ._plan import plan_entries
from ._session_state import EMPTY_TEXT, AgentSessionState
from ._store import StoredSession, new_id, now
from ._subagent import Subagent, show_message
from ._terminal import Terminal
from ._tool_call import ToolCall, absolute_locations
from ._typed_form import T, TypedForm

if TYPE_CHECKING:
    from parley.mcp._clients import McpClients

    from ._editor import Editor
    from ._turn import Turn


logger = logging.getLogger(__name__)

ALLOW_OR_REJECT = (
    v2.PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
    v2.PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
)
"""The default options of a permission request."""

Origin: TypeAlias = Literal["new", "resumed", "forked", "subagent"]
"""The way in which a session was opened; "subagent" for the session of a subagent."""

_TOOL_CANCEL = v2.ToolCallCapabilities(cancel=v2.ToolCallCancelCapabilities())


class AgentSession:
    """A conversation with a client; its methods work in a turn and outside of one.

    ```python
    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "new":
            await session.set_title(f"Work in {session.cwd}")
            session.data["prompts"] = 0
    ```

    You get one as `turn.session` in a prompt handler, and as the argument of the hooks
    `@agent.open_session`, `@agent.close_session` and `@agent.set_config_option`.

    `cwd`, `client` and `mcp_servers` describe what the client asked for and supports; `data` is a
    dict for the program's own use, saved with the session. `set_title`, `set_commands` and
    `set_config_options` describe the session to the user. `say`, `think`, `plan`, `tool`,
    `terminal`, `ask_permission`, `ask_form` and `elicit` do the same as those of `Turn`;
    `subagent`, `compaction`, `notice` and `usage` report what a `Turn` has no method for. `update`
    sends any other update.
    """

    def __init__(
        self,
        state: AgentSessionState,
        origin: Origin,
        *,
        system_prompt: v2.SystemPrompt | None = None,
        meta: JsonObject | None = None,
    ) -> None:
        self._state = state
        self.connection = state.server.connection
        """The connection to the client."""
        self.id = state.id
        """The session's id."""
        self.origin: Origin = origin
        """Whether it is new, resumed, forked from another session, or the session of a subagent."""
        self.system_prompt = system_prompt
        """The client's addition to the system prompt, or replacement for it."""
        self.transcript: Transcript = state.transcript
        """The conversation so far."""
        self.meta = meta
        """The `_meta` of the request that opened it."""
        self.response_meta: JsonObject | None = None
        """The `_meta` of the response; set by the program while the session is being opened."""

    @property
    def mcp_servers(self) -> list[v2.McpServer]:
        """The MCP servers that the client wants the agent to use; the agent may remove some."""
        return self._state.mcp_servers

    @property
    def turn(self) -> Turn | None:
        """The running turn, if there is one."""
        running = self._state.turn
        return None if running is None else running.view

    @property
    def cwd(self) -> str:
        """The working directory; relative paths are resolved against it."""
        return self._state.stored.cwd

    @property
    def additional_directories(self) -> list[str]:
        """Further directories that belong to the workspace."""
        return self._state.stored.additional_directories

    @property
    def data(self) -> dict[str, Any]:
        """The program's own data; saved with the session, and restored when it is resumed."""
        return self._state.stored.data

    @property
    def client(self) -> ClientFeatures:
        """The features that the client offers."""
        return self._state.adapter.client

    @property
    def client_info(self) -> v2.Implementation | None:
        """The name and version of the client, if it sent them."""
        return self._state.adapter.client_info

    @property
    def title(self) -> str | None:
        """The title of the session."""
        return self.transcript.title

    @property
    def commands(self) -> list[v2.AvailableCommand]:
        """The slash commands that the user can call."""
        return self.transcript.commands

    @property
    def config_options(self) -> list[v2.SessionConfigOption]:
        """The options that the user can set, with their values."""
        return self.transcript.config_options

    @property
    def editor(self) -> Editor:
        """The client's editor: its open, recent and active documents."""
        from ._editor import Editor  # imports types that few programs need

        return Editor(self._state)

    @property
    def mcp(self) -> McpClients:
        """The MCP clients of the session; a subagent shares those of its parent session."""
        return self._state.mcp_clients()

    @overload
    def option(self, option: ConfigOption[V]) -> V: ...

    @overload
    def option(self, option: str) -> str | bool: ...

    def option(self, option: str | ConfigOption[Any]) -> Any:
        """Return the value of a config option.

        Args:
            option: The id of the option, or what `agent.option` returned.

        Raises:
            KeyError: There is no such option.
        """
        config_id = option if isinstance(option, str) else option.id
        found = find_option(self.config_options, config_id)
        if found is None:
            known = suggest_option(config_id, self.config_options)
            raise KeyError(f"there is no option {config_id!r}; {known}")
        return found.current_value

    def update(
        self, update: v2.SessionUpdate, *, meta: JsonObject | None = None
    ) -> Coroutine[Any, Any, None]:
        """Send an update to the client; it is in the transcript at once.

        While the session is being opened, the update is sent after the response.

        Args:
            update: The update; its own `_meta` is stored and replayed with it.
            meta: The `_meta` of the notification around it, which is sent once and not stored.

        Raises:
            LocalProtocolError: A value is neither in the protocol nor starts with an underscore.
        """
        check_custom_values(update)
        return self._state.emit(update, meta)

    def forward(
        self, update: v2.SessionUpdate, *, meta: JsonObject | None = None
    ) -> Coroutine[Any, Any, None]:
        """Send an update that came from another agent, without checking its custom values.

        Use `update` for your own program's updates.
        """
        return self._state.emit(update, meta)

    def say(self, content: str | v2.ContentBlock) -> Coroutine[Any, Any, None]:
        """Append text or a content block to the current agent message.

        A thought, a plan, and the start or end of a tool call end the message.
        """
        state = self._state
        chunk = state.chunk
        if type(chunk) is not v2.AgentMessageChunk:
            chunk = state.begin_message(v2.AgentMessageChunk)
        if isinstance(content, str):
            return state.emit(replace(chunk, content=replace(EMPTY_TEXT, text=content)))
        return state.update(replace(chunk, content=as_block(content, "say")))

    def think(self, content: str | v2.ContentBlock) -> Coroutine[Any, Any, None]:
        """Append text or a content block to the current thought."""
        state = self._state
        chunk = state.chunk
        if type(chunk) is not v2.AgentThoughtChunk:
            chunk = state.begin_message(v2.AgentThoughtChunk)
        if isinstance(content, str):
            return state.emit(replace(chunk, content=replace(EMPTY_TEXT, text=content)))
        return state.update(replace(chunk, content=as_block(content, "think")))

    async def plan(
        self,
        entries: Sequence[v2.PlanEntry | str],
        *,
        done: int | None = None,
        plan_id: v2.PlanId = "main",
    ) -> None:
        """Show or replace the whole plan; call it again whenever a step changes.

        Args:
            entries: All steps. A `PlanEntry` has its own status; that of a string follows from
                `done`.
            done: The number of completed steps; the next one is in progress. None means that all
                are pending.
            plan_id: Distinguishes several plans.
        """
        self._state.end_message()
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
        """Report a tool call: `async with session.tool("Read a.py", kind="read") as call`.

        The end of the block reports the outcome; see `ToolCall`.

        Args:
            title: A short description for people.
            kind: The kind of tool, such as `read`, `edit` or `execute`.
            name: The name of the tool, for programs.
            locations: The files that it works on; relative paths are resolved.
            raw_input: The arguments of the tool, as JSON values.
            is_cancellable: Whether the client may cancel this block alone.
        """
        first = v2.ToolCallUpdated(
            tool_call_id=new_id("call"),
            title=title,
            kind=kind,
            name=UNSET if name is None else name,
            status="in_progress",
            locations=absolute_locations(locations, self.cwd) or UNSET,
            raw_input=raw_input,
            capabilities=_TOOL_CANCEL if is_cancellable else UNSET,
        )
        return ToolCall(self._state, first)

    def terminal(
        self, command: str, *, cwd: str | None = None, is_cancellable: bool = False
    ) -> Terminal:
        """Show a command that the program runs: `async with session.terminal("make") as terminal`.

        The program runs the command itself and reports its output and exit; see `Terminal`.

        Args:
            command: The command, as the user would type it.
            cwd: The directory that it runs in; by default that of the session.
            is_cancellable: Whether the client may cancel this block alone.
        """
        return Terminal(
            self._state,
            new_id("terminal"),
            command,
            resolve(self.cwd, cwd or "."),
            is_cancellable=is_cancellable,
        )

    def subagent(
        self, title: str, *, description: str | None = None, is_cancellable: bool = False
    ) -> Subagent:
        """Start a subagent: `async with session.subagent("Explore") as explorer`.

        `explorer.session` is its session. If the client does not support subagents, nothing about
        it is sent.

        Args:
            title: A short name for people.
            description: What the subagent does.
            is_cancellable: Whether the client may cancel this block alone.
        """
        stored = StoredSession(
            id=new_id("session"),
            cwd=self.cwd,
            additional_directories=self.additional_directories,
        )
        child = AgentSessionState(self._state.server, stored, parent=self._state)
        if not self.client.subagents:
            child.discard_updates()
        return Subagent(
            self._state,
            child,
            AgentSession(child, "subagent"),
            title=title,
            description=description,
            is_cancellable=is_cancellable,
        )

    async def message(self, recipient: AgentSession, content: str | v2.ContentBlock) -> None:
        """Show in both sessions that this one has sent a message to the other."""
        await show_message(self, recipient, as_block(content, "message"))

    async def set_title(self, title: str | None) -> None:
        """Set the title of the session; None removes it."""
        if title is not None:
            check_text(title, "a title")
        self._state.stored.updated_at = now()
        await self.update(
            v2.SessionInfoUpdate(title=title, updated_at=self._state.stored.updated_at)
        )

    async def set_commands(self, commands: Sequence[v2.AvailableCommand]) -> None:
        """Replace the slash commands that the user can call in this session.

        Commands declared with `@agent.command` are there when the session is opened. To add one:
        `await session.set_commands([*session.commands, v2.Command(name=…, description=…)])`.
        """
        listed = as_list(commands, "set_commands", "v2.Command", v2.Command, Unknown)
        update = v2.AvailableCommandsUpdate(available_commands=listed)
        await self._state.emit_unless_in_response(update)

    async def set_config_options(self, options: Sequence[v2.SessionConfigOption]) -> None:
        """Replace the config options that the user can set in this session.

        Options declared with `agent.option` are there when the session is opened.

        Raises:
            TypeError: An option is not one of `v2.SessionConfigSelect`, `v2.SessionConfigBoolean`
                and `Unknown`.
            ValueError: The current value of an option is not one of its values, or two options
                have the same id.
        """
        wanted = "v2.SessionConfigSelect and v2.SessionConfigBoolean"
        kinds = (v2.SessionConfigSelect, v2.SessionConfigBoolean, Unknown)
        listed = as_list(options, "set_config_options", wanted, *kinds)
        check_options(listed)
        update = v2.ConfigOptionUpdate(config_options=listed)
        await self._state.emit_unless_in_response(update)

    async def notice(
        self, title: str, description: str | None = None, *, severity: v2.NoticeSeverity = "info"
    ) -> None:
        """Show the user a notice that is not part of the conversation."""
        await self.update(v2.Notice(severity=severity, title=title, description=description))

    async def usage(self, used: int, size: int, cost: v2.Cost | None = None) -> None:
        """Report how full the context is, and what the session has cost.

        Args:
            used: The number of tokens in the context.
            size: The number of tokens that fit into it.
            cost: The cost of the session so far.
        """
        await self.update(v2.UsageUpdate(used=used, size=size, cost=cost or UNSET))

    async def ask_permission(
        self,
        title: str | None = None,
        *,
        tool: ToolCall | None = None,
        command: str | None = None,
        description: str | None = None,
        options: Sequence[v2.PermissionOption] = ALLOW_OR_REJECT,
        meta: JsonObject | None = None,
    ) -> v2.PermissionOptionId | None:
        """Ask the user for permission; return the id of the chosen option, or None.

        None means that nothing was allowed: the user cancelled, the request failed, or the client
        chose something that was not offered. The default options are `allow` and `reject`.

        Args:
            title: The question; by default the title of the tool call, or the command.
            tool: The tool call that needs permission. It is `pending` until the user allows it.
            command: The command that needs permission.
            description: More about the question.
            options: The options to choose from.
            meta: The `_meta` of the request.

        Raises:
            LocalProtocolError: The session is still being opened, so the client does not know it.
            TypeError: An option is not a `v2.PermissionOption`.
        """
        listed = as_list(options, "ask_permission", "v2.PermissionOption", v2.PermissionOption)
        if self._state.is_opening:
            raise LocalProtocolError(
                "the session is still being opened, so the client does not know it yet; use "
                "session.elicit, or ask for permission when it is open"
            )
        if tool is not None and tool.details.status == "in_progress":
            await tool.update(status="pending")
        request = v2.RequestPermissionRequest(
            session_id=self.id,
            title=title or (tool.title if tool is not None else command) or "Permission needed",
            description=description,
            subject=self._subject(tool, command),
            options=listed,
            meta=meta,
        )
        outcome = await self._permission_outcome(request)
        chosen = {option.option_id: option for option in listed}.get(
            outcome.option_id if isinstance(outcome, v2.SelectedPermissionOutcome) else ""
        )
        if chosen is None:
            return None
        is_allowed = not chosen.kind.startswith("reject")
        if is_allowed and tool is not None and tool.details.status == "pending":
            await tool.update(status="in_progress")
        return chosen.option_id

    async def _permission_outcome(
        self, request: v2.RequestPermissionRequest
    ) -> v2.RequestPermissionOutcome | None:
        async with self._state.requires_action():
            try:
                response = await self._state.adapter.request(methods.REQUEST_PERMISSION, request)
            except (RequestError, RemoteProtocolError) as error:
                logger.warning("%s: the permission request failed: %s", self.connection.name, error)
                return None
        return response.outcome

    def _subject(
        self, tool: ToolCall | None, command: str | None
    ) -> v2.RequestPermissionSubject | None:
        if command is not None:
            return v2.CommandPermissionSubject(
                command=command,
                cwd=self.cwd,
                tool_call_id=None if tool is None else tool.id,
            )
        return None if tool is None else v2.ToolCallPermissionSubject(tool_call=tool.details)

    @overload
    async def ask_form(
        self,
        message: str,
        form: type[T],
        *,
        tool: ToolCall | None = None,
        meta: JsonObject | None = None,
    ) -> T | None: ...

    @overload
    async def ask_form(
        self,
        message: str,
        form: Any,
        *,
        tool: ToolCall | None = None,
        meta: JsonObject | None = None,
    ) -> Any: ...

    async def ask_form(
        self,
        message: str,
        form: Any,
        *,
        tool: ToolCall | None = None,
        meta: JsonObject | None = None,
    ) -> Any:
        """Ask the user to fill in a form for a Python type, and return a value of the type.

        While the session is being opened, the form belongs to the request that opens it.

        Args:
            message: The question.
            form: A dataclass, a `TypedDict` or a `msgspec.Struct`, or a type such as `bool`, `int`,
                `Literal["S", "M"]` or `Annotated[int, msgspec.Meta(ge=0)]`. Fields with a default
                are optional; `msgspec.Meta` adds bounds, a title and a description.
            tool: The tool call that needs the input.
            meta: The `_meta` of the request.

        Returns:
            The value, or None if the user declined or dismissed the form. `elicit` tells these
            apart.

        Raises:
            Unsupported: The client does not support forms.
            RemoteProtocolError: The client's response does not match the form.
            TypeError: A form cannot show a value of this type.
            ValueError: The type itself refuses the values, for example in `__post_init__`.
        """
        typed = TypedForm[Any](form)
        return typed.read(await self.elicit(message, typed.schema, tool=tool, meta=meta))

    async def elicit(
        self,
        message: str,
        form: Form,
        *,
        tool: ToolCall | None = None,
        meta: JsonObject | None = None,
    ) -> v2.CreateElicitationResponse:
        """Ask the user to fill in a form, and return the response.

        If the result is a `v2.ElicitationAcceptAction`, its `content` is valid for the form. While
        the session is being opened, the elicitation belongs to the request that opens it.

        Args:
            message: The question.
            form: The form; a mapping is a form whose fields are all required.
            tool: The tool call that needs the input.
            meta: The `_meta` of the request.

        Raises:
            Unsupported: The client does not support forms.
            RemoteProtocolError: The client's response does not match the form.
            TypeError: A field of the form has the wrong type.
        """
        if self._state.is_opening:
            return await self.connection.elicit(message, form, meta=meta)
        request = form_request(self.client, message, form, self._scope(tool, meta))
        async with self._state.requires_action():
            return await send_form_request(self._state.adapter, request)

    async def elicit_url(
        self,
        message: str,
        url: str,
        *,
        tool: ToolCall | None = None,
        meta: JsonObject | None = None,
    ) -> UrlElicitation:
        """Ask the user to open a web page.

        While the session is being opened, the elicitation belongs to the request that opens it.

        Args:
            message: What the user should do there.
            url: The address of the page.
            tool: The tool call that needs it.
            meta: The `_meta` of the request.

        Raises:
            Unsupported: The client does not support opening pages.
        """
        if self._state.is_opening:
            return await self.connection.elicit_url(message, url, meta=meta)
        request = url_request(self.client, message, url, self._scope(tool, meta))
        async with self._state.requires_action():
            return await send_url_request(self._state.adapter, request)

    def _scope(self, tool: ToolCall | None, meta: JsonObject | None) -> dict[str, Any]:
        tool_call_id = None if tool is None else tool.id
        return {"session_id": self.id, "tool_call_id": tool_call_id, "meta": meta}

    def compaction(self) -> Compaction:
        """Report a compaction of the context: `async with session.compaction() as compaction`."""
        return Compaction(self._state, new_id("compaction"))

    def __repr__(self) -> str:
        return f"AgentSession({self.id!r}, {self.origin}, {self.transcript!r})"
