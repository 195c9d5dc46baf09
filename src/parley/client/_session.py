"""A session as the client sees it: prompts, transcript and config options."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from parley.errors import InvalidParams, LocalProtocolError, OptionRefused, Unsupported
from parley.peer._peer_name import with_article
from parley.schema import v2
from parley.schema.base import JsonObject
from parley.schema.v2 import methods
from parley.session._transcript_entries import ToolCallEntry

from ._prompt_content import check_option, prompt_blocks, suggest_option
from ._turn import PromptTurn
from ._turn_state import PromptTurnState

if TYPE_CHECKING:
    from ._connection import Connection
    from ._session_state import SessionState


class Session:
    """One conversation with an agent.

    `Connection.new_session`, `resume_session` and `fork_session` return one. Use `prompt` to send a
    prompt and follow its updates, or `ask` to get only the agent's text:

        session = await connection.new_session()
        print(await session.ask("What does this project do?"))

    `transcript` holds the conversation so far. `set_config_option` changes an option such as the
    mode or the model, `cancel` stops the agent's work, and `close` closes the session.
    """

    def __init__(
        self,
        state: SessionState,
        *,
        cwd: str | None = None,
        additional_directories: Sequence[str] = (),
    ) -> None:
        self._state = state
        self.connection: Connection = state.connection.connection
        """The connection to the agent."""
        self.id = state.id
        """The id that the agent gave the session."""
        self.opening = token_hex(16)
        """A random token for this opening of the session. Permissions remembered "for this session"
        are bound to it, because an agent may give several sessions the same id."""
        self.cwd = cwd
        """The working directory; None for a session that the agent started by itself."""
        self.additional_directories = list(additional_directories)
        """Further directories that the session may work in."""
        self.transcript = state.transcript
        """The conversation so far, with commands, config options, usage and title."""

    @property
    def is_closed(self) -> bool:
        """Whether the session was closed or deleted here, or the connection has ended."""
        return self._state.is_closed

    @property
    def is_replaying(self) -> bool:
        """Whether the agent is still replaying the history of a resumed session."""
        return self._state.is_replaying

    def prompt(
        self, *content: str | v2.ContentBlock, meta: dict[str, Any] | None = None
    ) -> PromptTurn:
        """Create a turn: await it for its result, or loop over its updates with `async for`.

        `async for text in session.prompt("…").text_stream()` gets only the agent's text, and
        `async with session.prompt("…") as turn` ends the turn with the block.

        It is sent in the step in which you await it, enter it or start a loop, even while another
        prompt is running. The agent then queues or refuses it; updates belong to the prompts in the
        order in which the agent accepted them. A turn that is never sent causes a `RuntimeWarning`.

        Args:
            content: Texts and other content blocks, in order.
            meta: The `_meta` of the request.

        Raises:
            LocalProtocolError: The session is closed, or there is no content.
            Unsupported: The agent does not accept a block of this kind.
        """
        if self.is_closed:
            raise LocalProtocolError(f"the session {self.id} is closed")
        blocks = prompt_blocks(content, self.connection.features, self.connection.name)
        request = v2.PromptRequest(session_id=self.id, prompt=blocks, meta=meta)
        return PromptTurn(PromptTurnState(self._state, request))

    async def ask(self, *content: str | v2.ContentBlock, meta: dict[str, Any] | None = None) -> str:
        """Send a prompt, wait for its end, and return the agent's text.

        The stop reason is ignored; await `prompt` if you need it.

        Args:
            content: Texts and other content blocks, in order.
            meta: The `_meta` of the request.

        Raises:
            AcpError: Anything that `prompt` and awaiting it raise.
        """
        return (await self.prompt(*content, meta=meta)).text

    async def until_idle(self) -> None:
        """Wait until the session is idle.

        This includes work that did not start here, such as a turn that a resumed session was in.

        Raises:
            AcpError: The session or its connection ended first.
        """
        await self._state.until_idle()

    async def cancel(self, *, meta: JsonObject | None = None) -> None:
        """Stop the session's work; its turns then end with the stop reason `cancelled`.

        Open questions to the user are answered as cancelled immediately.
        """
        await self._state.cancel(meta=meta)

    async def close(self, *, meta: JsonObject | None = None) -> None:
        """Close the session: the agent stops its work and frees its resources."""
        connection = self._state.connection
        connection.questions.cancel(self)
        request = v2.CloseSessionRequest(session_id=self.id, meta=meta)
        await connection.adapter.request(methods.CLOSE_SESSION, request)
        connection.forget(self._state)

    async def set_config_option(
        self, config_id: str, value: str | bool, *, meta: JsonObject | None = None
    ) -> list[v2.SessionConfigOption]:
        """Set a config option and return all options with their new values.

        Args:
            config_id: The id of one of `transcript.config_options`, such as `mode` or `model`.
            value: The id of one of its values, or a boolean for an option that is on or off.
            meta: The `_meta` of the request.

        Raises:
            OptionRefused: The agent does not have this option, the option does not have this
                value, or the agent does not accept it now.
        """
        check_option(self.transcript.config_options, config_id, value)
        kind = (
            v2.SetSessionConfigBooleanRequest
            if isinstance(value, bool)
            else v2.SetSessionConfigValueRequest
        )
        params: Any = {"session_id": self.id, "config_id": config_id, "value": value, "meta": meta}
        request = self._state.connection.adapter.request
        try:
            response = await request(
                methods.SET_SESSION_CONFIG_OPTION, kind(**params), on_result=self._options_set
            )
        except InvalidParams as error:
            name = self.connection.name
            problem = error.message
            if problem == InvalidParams().message:  # the agent does not explain it
                problem += suggest_option(self.transcript.config_options, config_id)
            raise OptionRefused(
                f"{with_article(name)} does not accept {config_id}={value!r}: {problem}"
            ) from error
        return response.config_options

    def _options_set(self, response: v2.SetSessionConfigOptionResponse) -> None:
        """Fold the options of the response, in order with the updates around it."""
        update = v2.ConfigOptionUpdate(config_options=response.config_options)
        state = self._state
        state.connection.peer.enqueue(self.id, state.turns.handle_update, update)

    def tool_call_of(self, request: v2.RequestPermissionRequest) -> ToolCallEntry | None:
        """Return the tool call that a permission request is about, as known so far.

        While the request is open, this is the call as it was when the request arrived: later
        updates of the call are not what the user was asked about.
        """
        return self._state.connection.questions.tool_call_of(request, self)

    async def cancel_tool_call(
        self, tool_call_id: v2.ToolCallId, *, meta: JsonObject | None = None
    ) -> None:
        """Cancel one tool call.

        Raises:
            Unsupported: The agent did not declare that this one can be cancelled.
        """
        call = self.transcript.tool_calls.get(tool_call_id)
        if call is None or not (call.capabilities and call.capabilities.cancel):
            raise Unsupported(f"the tool call {tool_call_id} cannot be cancelled by itself")
        request = v2.CancelToolCallRequest(session_id=self.id, tool_call_id=tool_call_id, meta=meta)
        await self._state.connection.adapter.request(methods.CANCEL_TOOL_CALL, request)

    async def cancel_terminal(
        self, terminal_id: v2.TerminalId, *, meta: JsonObject | None = None
    ) -> None:
        """Cancel the command in one of the agent's terminals.

        Raises:
            Unsupported: The agent did not declare that this one can be cancelled.
        """
        terminal = self.transcript.terminals.get(terminal_id)
        if terminal is None or not (terminal.capabilities and terminal.capabilities.cancel):
            raise Unsupported(f"the terminal {terminal_id} cannot be cancelled by itself")
        request = v2.CancelTerminalRequest(session_id=self.id, terminal_id=terminal_id, meta=meta)
        await self._state.connection.adapter.request(methods.CANCEL_TERMINAL, request)

    def __repr__(self) -> str:
        return f"Session({self.id!r}, {self.transcript!r})"
