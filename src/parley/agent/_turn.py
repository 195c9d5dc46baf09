"""`Turn`, the object that a prompt handler receives, and `TurnQueue`, which runs the turns.

A session runs one turn at a time, and every turn ends.

A prompt gets its response when it is accepted. Then the client is sent the user's message, the
state `running`, the updates of the handler, and finally the state `idle` with the stop reason.
Prompts that arrive meanwhile wait, at most `MAX_WAITING`. Their messages are reported when their
turn begins, so that a message and the next idle state belong together.

Cancelling ends the running turn and the waiting ones, each with the reason `cancelled`, whatever
their handlers do. An exception of the handler is ignored. A handler that returns late is waited
for; one that has not ended after `cancel_timeout` is abandoned and can send nothing more. A handler
that fails without being cancelled ends the turn with the reason `error`: a `RequestError` is
reported unchanged, `Unsupported` with its text, and anything else as an internal error without
details.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, overload

from msgspec import UNSET

from parley._user_code import as_exception, reraise_if_ending
from parley.errors import (
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    RequestCancelled,
    RequestError,
    Unsupported,
    as_request_error,
)
from parley.schema import v2
from parley.schema.base import JsonObject, is_extension
from parley.session._validation import check_type

from ._config_options import ConfigOption, V
from ._elicitation import Form, UrlElicitation
from ._paths import resolve
from ._session import ALLOW_OR_REJECT, AgentSession
from ._session_state import AgentSessionState
from ._store import new_id, now
from ._terminal import Terminal
from ._tool_call import ToolCall
from ._typed_form import T

if TYPE_CHECKING:
    from ._client_methods import ClientTerminal


logger = logging.getLogger(__name__)

_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")


class StopTurn(Exception):
    """Raised by `Turn.stop` to end the turn from within its handler."""

    def __init__(self, reason: v2.StopReason) -> None:
        if reason not in _REASONS and not is_extension(reason):
            raise ValueError(
                f"{reason!r} is not a stop reason; use one of {', '.join(_REASONS)}; "
                "custom values start with an underscore"
            )
        super().__init__(f"the turn stops: {reason}")
        self.reason = reason


class Turn:
    """A prompt and the methods to reply to it; the argument of an `@agent.prompt` handler.

    ```python
    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Read a.py", kind="read") as call:
            await call.add("42 lines")
        await turn.say("Done.")
    ```

    `text` and `prompt` hold what the user sent. `say` and `think` stream messages; `plan`, `tool`
    and `terminal` show work; `ask_permission`, `ask_form`, `elicit` and `elicit_url` ask the user.
    With version 1 clients, `read_text_file`, `write_text_file` and `run` use the client's files and
    terminals.
    `session` has more, such as titles, commands and subagents.

    The turn ends when the handler returns (None or a stop reason), calls `stop`, or raises.

    The methods still work after the end of the turn, for work that continues in the background.
    Only after a cancelled turn whose handler did not end in time do they raise `RequestCancelled`.
    """

    def __init__(self, session: AgentSession, state: TurnState, request: v2.PromptRequest) -> None:
        self.session = session
        """The session that it belongs to."""
        self.prompt = list(request.prompt)
        """The content blocks of the user's message."""
        self.message_id = new_id("message")
        """The id of the user's message."""
        self.meta = request.meta
        """The `_meta` of the prompt."""
        self.response_meta: JsonObject | None = None
        """The `_meta` of the update that ends the turn; set by the program while it runs. In
        version 1, the `_meta` of the response to the prompt."""
        self._usage: v2.Usage | None = None
        self._state = state

    @property
    def usage(self) -> v2.Usage | None:
        """The tokens that it used; set by the program, reported at the end of the turn."""
        return self._usage

    @usage.setter
    def usage(self, usage: v2.Usage | None) -> None:
        if usage is not None:
            check_type(usage, "turn.usage", v2.Usage, "a version 2 Usage or None")
        self._usage = usage

    @property
    def text(self) -> str:
        """The text of the prompt; other content blocks are left out."""
        return "".join(each.text for each in self.prompt if isinstance(each, v2.TextContent))

    @property
    def message(self) -> v2.UserMessage:
        """The prompt as a message of the conversation."""
        return v2.UserMessage(message_id=self.message_id, content=self.prompt)

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled: by the user, or because the session or connection ends."""
        return self._state.is_cancelled

    @property
    def is_over(self) -> bool:
        """Whether its handler has finished; its end is reported next."""
        return self._state.is_over

    @property
    def is_running(self) -> bool:
        """Whether it is neither over nor cancelled."""
        return self._state.is_running

    @overload
    def option(self, option: ConfigOption[V]) -> V: ...

    @overload
    def option(self, option: str) -> str | bool: ...

    def option(self, option: str | ConfigOption[Any]) -> Any:
        """Return the value of a config option, by its id or by what `agent.option` returned.

        Raises:
            KeyError: There is no such option.
        """
        return self.session.option(option)

    def stop(self, reason: v2.StopReason) -> NoReturn:
        """End the turn with a stop reason, by raising `StopTurn`.

        The handler may also return the reason. If it returns None, the reason is `end_turn`.

        Args:
            reason: `end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`, or a
                custom value that starts with an underscore.

        Raises:
            StopTurn: Always; do not catch it.
            ValueError: The reason is unknown. To report a failure, raise a `RequestError`.
        """
        raise StopTurn(reason)

    def update(
        self, update: v2.SessionUpdate, *, meta: JsonObject | None = None
    ) -> Coroutine[Any, Any, None]:
        """Send an update to the client; `meta` is the `_meta` of the notification.

        Raises:
            LocalProtocolError: A value is neither in the protocol nor starts with an underscore.
        """
        self._check()
        return self.session.update(update, meta=meta)

    def forward(
        self, update: v2.SessionUpdate, *, meta: JsonObject | None = None
    ) -> Coroutine[Any, Any, None]:
        """Send an update that came from another agent, without checking its custom values."""
        self._check()
        return self.session.forward(update, meta=meta)

    def say(self, content: str | v2.ContentBlock) -> Coroutine[Any, Any, None]:
        """Append text or a content block to the current agent message.

        A thought, a plan, and the start or end of a tool call end the message.
        """
        if self._state.is_abandoned:
            self._check()
        return self.session.say(content)

    def think(self, content: str | v2.ContentBlock) -> Coroutine[Any, Any, None]:
        """Append text or a content block to the current thought."""
        self._check()
        return self.session.think(content)

    async def plan(
        self,
        entries: Sequence[v2.PlanEntry | str],
        *,
        done: int | None = None,
        plan_id: v2.PlanId = "main",
    ) -> None:
        """Show or replace the whole plan: `await turn.plan(["Read", "Write"], done=1)`.

        The first `done` steps are completed and the next one is in progress; without `done`, all
        steps are pending. A `PlanEntry` has its own status.
        """
        self._check()
        await self.session.plan(entries, done=done, plan_id=plan_id)

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
        """Report a tool call: `async with turn.tool("Read a.py", kind="read") as call`.

        The end of the block reports the outcome; see `ToolCall`.

        Args:
            title: A short description for people.
            kind: The kind of tool, such as `read`, `edit` or `execute`.
            name: The name of the tool, for programs.
            locations: The files that it works on; relative paths are resolved.
            raw_input: The arguments of the tool, as JSON values.
            is_cancellable: Whether the client may cancel this block alone.
        """
        self._check()
        return self.session.tool(
            title,
            kind=kind,
            name=name,
            locations=locations,
            raw_input=raw_input,
            is_cancellable=is_cancellable,
        )

    def terminal(
        self, command: str, *, cwd: str | None = None, is_cancellable: bool = False
    ) -> Terminal:
        """Show a command that the program runs: `async with turn.terminal("make") as terminal`.

        The program runs the command itself and reports its output and exit; see `Terminal`. Use
        `run` to run a command on the client's side.

        Args:
            command: The command, as the user would type it.
            cwd: The directory that it runs in; by default that of the session.
            is_cancellable: Whether the client may cancel this block alone.
        """
        self._check()
        return self.session.terminal(command, cwd=cwd, is_cancellable=is_cancellable)

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
            TypeError: An option is not a `v2.PermissionOption`.
        """
        self._check()
        return await self.session.ask_permission(
            title, tool=tool, command=command, description=description, options=options, meta=meta
        )

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

        ```python
        @dataclass
        class Coat:
            size: Literal["S", "M", "L"]
            pockets: Annotated[int, msgspec.Meta(ge=0)] = 2

        coat = await turn.ask_form("What shall it be?", Coat)
        if coat is not None:
            await turn.say(f"A coat in size {coat.size}.")
        ```

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
        self._check()
        return await self.session.ask_form(message, form, tool=tool, meta=meta)

    async def elicit(
        self,
        message: str,
        form: Form,
        *,
        tool: ToolCall | None = None,
        meta: JsonObject | None = None,
    ) -> v2.CreateElicitationResponse:
        """Ask the user to fill in a form, and return the response.

        If the result is a `v2.ElicitationAcceptAction`, its `content` is valid for the form.

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
        self._check()
        return await self.session.elicit(message, form, tool=tool, meta=meta)

    async def elicit_url(
        self,
        message: str,
        url: str,
        *,
        tool: ToolCall | None = None,
        meta: JsonObject | None = None,
    ) -> UrlElicitation:
        """Ask the user to open a web page.

        Args:
            message: What the user should do there.
            url: The address of the page.
            tool: The tool call that needs it.
            meta: The `_meta` of the request.

        Raises:
            Unsupported: The client does not support opening pages.
        """
        self._check()
        return await self.session.elicit_url(message, url, tool=tool, meta=meta)

    async def read_text_file(
        self,
        path: str,
        *,
        line: int | None = None,
        limit: int | None = None,
        meta: JsonObject | None = None,
    ) -> str:
        """Return the text of a file as the client has it, including unsaved changes.

        Only protocol version 1 supports this.

        Args:
            path: The file; a relative path is resolved against the session's directory.
            line: The first line to read, counted from 1.
            limit: The maximum number of lines.
            meta: The `_meta` of the request.

        Raises:
            Unsupported: The client does not read files for the agent.
        """
        self._check()
        if not self.session.client.read_files:
            raise Unsupported("the client does not offer fs/read_text_file")
        from ._client_methods import read_text_file

        file = resolve(self.session.cwd, path)
        return await read_text_file(self._state.session, file, line=line, limit=limit, meta=meta)

    async def write_text_file(
        self, path: str, text: str, *, meta: JsonObject | None = None
    ) -> None:
        """Write a file through the client; only protocol version 1 supports this.

        Raises:
            Unsupported: The client does not write files for the agent.
        """
        self._check()
        if not self.session.client.write_files:
            raise Unsupported("the client does not offer fs/write_text_file")
        from ._client_methods import write_text_file

        file = resolve(self.session.cwd, path)
        await write_text_file(self._state.session, file, text, meta=meta)

    def run(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_limit_bytes: int | None = None,
        meta: JsonObject | None = None,
    ) -> ClientTerminal:
        """Run a command in a terminal on the client's side; only protocol version 1 supports this.

        `async with turn.run("make", "test") as terminal: await terminal.wait()`

        Args:
            command: The program to run.
            args: Its arguments.
            cwd: The directory that it runs in; relative paths are resolved.
            env: Environment variables to set.
            output_limit_bytes: How much output the client keeps; the oldest is dropped.
            meta: The `_meta` of the request that starts it.

        Raises:
            Unsupported: The client does not run commands for the agent.
        """
        self._check()
        if not self.session.client.terminals:
            raise Unsupported("the client does not offer terminal/create")
        from ._client_methods import client_terminal

        return client_terminal(
            self._state.session,
            [command, *args],
            cwd=None if cwd is None else resolve(self.session.cwd, cwd),
            env=env or {},
            output_limit_bytes=output_limit_bytes,
            meta=meta,
        )

    def _check(self) -> None:
        """Raise `RequestCancelled` if the turn has ended without its handler."""
        if self._state.is_abandoned:
            raise RequestCancelled("The turn was cancelled, and has ended without its handler")


class TurnState:
    """The part of a turn that Parley drives."""

    def __init__(
        self, state: AgentSessionState, session: AgentSession, request: v2.PromptRequest
    ) -> None:
        self.session = state
        """The state of the session that it belongs to."""
        self.view = Turn(session, self, request)
        """The turn as its handler sees it."""
        self.is_accepted = False
        """Whether the response to the prompt was sent, so that the turn may begin."""
        self.is_cancelled = False
        """Whether it was cancelled: by the user, or because the session or connection ends."""
        self.is_over = False
        """Whether its handler has finished; its end is reported next."""
        self.is_abandoned = False
        """Whether it ended although its cancelled handler did not."""
        self.task: asyncio.Task[Any] | None = None
        """The task that runs its handler."""

    @property
    def is_running(self) -> bool:
        """Whether it is neither over nor cancelled."""
        return not self.is_over and not self.is_cancelled


PromptHandler: TypeAlias = Callable[[Turn], Awaitable[v2.StopReason | None]]
"""`async def reply(turn)`, which may return the stop reason."""

MAX_WAITING = 16
"""The maximum number of prompts that may wait in a session."""

CANCEL_TIMEOUT = 5.0
"""The seconds that a cancelled handler has to end before it is abandoned."""


class TurnQueue:
    """The waiting turns of one session, and the worker task that runs them one at a time.

    A turn is queued with `add` when its prompt arrives, and starts at the earliest with `begin`,
    after the response to the prompt was sent. The worker ends when the queue is empty or its first
    turn is not accepted yet; `begin` and `remove` start it again.
    """

    def __init__(
        self,
        state: AgentSessionState,
        session: AgentSession,
        handler: PromptHandler,
        *,
        save: Callable[[AgentSessionState], Awaitable[None]],
        cancel_timeout: float = CANCEL_TIMEOUT,
    ) -> None:
        self.state = state
        """The state of the session."""
        self.session = session
        """The session as the program sees it."""
        self._handler = handler
        self._save = save
        self._cancel_timeout = cancel_timeout
        self._waiting: list[TurnState] = []
        self._worker: asyncio.Task[None] | None = None
        self._done: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_working(self) -> bool:
        """Whether a turn is running or waiting, or its end is not reported yet."""
        return self._worker is not None or self.is_busy

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running or waiting."""
        turn = self.state.turn
        return bool(self._waiting) or (turn is not None and not turn.is_over)

    def add(self, turn: TurnState) -> None:
        """Queue a turn; it starts after `begin`, when the client has the response to the prompt.

        Raises:
            InvalidRequest: Too many prompts are already waiting.
        """
        # Without a worker, the first turn in the list is about to run: it is not waiting.
        if len(self._waiting) >= MAX_WAITING + (self._worker is None):
            raise InvalidRequest(f"{MAX_WAITING} prompts are already waiting")
        self._waiting.append(turn)

    def remove(self, turn: TurnState) -> None:
        """Remove a turn whose prompt was not accepted after all, and unblock the later ones."""
        self._waiting.remove(turn)
        self._start()

    def begin(self, turn: TurnState) -> None:
        """Mark a turn as accepted; it runs as soon as the earlier ones are over."""
        turn.is_accepted = True
        self._start()

    def _start(self) -> None:
        if self._worker is None:
            self._worker = asyncio.get_running_loop().create_task(self._work())

    def cancel(self) -> None:
        """Cancel the running turn and all waiting ones."""
        for waiting in self._waiting:
            waiting.is_cancelled = True  # `_run` reports its message and end, without its handler
        turn = self.state.turn
        if turn is None or turn.is_cancelled or turn.is_over:
            return
        turn.is_cancelled = True
        if turn.task is not None and self._done is not None:
            turn.task.cancel()
            # `_wait` returns when the handler ends or this timer fires, whichever comes first.
            self._timer = asyncio.get_running_loop().call_later(
                self._cancel_timeout, _finish, self._done
            )

    async def stop(self) -> None:
        """Cancel all turns and wait for the worker to end, at most twice `cancel_timeout`."""
        self.cancel()
        if self._worker is not None:
            await asyncio.wait({self._worker}, timeout=2 * self._cancel_timeout)

    async def _work(self) -> None:
        try:
            while self._waiting and self._waiting[0].is_accepted:
                self.state.turn = turn = self._waiting.pop(0)
                try:
                    await self._run(turn)
                except ConnectionClosed:
                    logger.debug("a turn ended with its connection")
                except BaseException as error:  # nothing awaits this task; the next turn must begin
                    reraise_if_ending(error)
                    logger.exception("the end of a turn could not be reported")
                finally:
                    turn.is_over = True
                    self.state.turn = None
        finally:
            self._worker = None

    async def _run(self, turn: TurnState) -> None:
        state = self.state
        state.end_message()
        await state.emit(turn.view.message)  # not update(): the blocks are the client's, unchecked
        if not turn.is_cancelled:
            await state.report_state("running")
        reason: v2.StopReason = "cancelled"
        error: RequestError | None = None
        if not turn.is_cancelled:
            turn.task = asyncio.get_running_loop().create_task(self._handle(turn))
            await self._wait(turn.task)
            reason, error = self._outcome(turn, turn.task)
            if turn.is_abandoned:
                await state.abandon_activities(turn.task)
        state.stored.updated_at = now()
        await self._save(state)
        turn.is_over = True
        await self._end(turn, reason, error)

    async def _end(
        self, turn: TurnState, reason: v2.StopReason, error: RequestError | None
    ) -> None:
        report = self.state.report_state
        usage, meta = turn.view.usage, turn.view.response_meta
        try:
            await report("idle", reason, error=_as_data(error), usage=usage, meta=meta)
        except ConnectionClosed:
            raise
        except BaseException as failure:  # encoding the program's data may raise anything
            reraise_if_ending(failure)
            logger.exception("the program's data for the end of a turn cannot be encoded")
            bare = None if error is None else v2.Error(code=error.code, message=error.message)
            await report("idle", reason, error=bare)

    async def _handle(self, turn: TurnState) -> v2.StopReason:
        try:
            return StopTurn(await self._handler(turn.view) or "end_turn").reason
        except Exception:
            raise
        except BaseException as error:  # `SystemExit` in a task would end the event loop
            raise as_exception(error) from error

    async def _wait(self, task: asyncio.Task[Any]) -> None:
        """Wait until a handler has ended, or the timer of `cancel` gives up on it."""
        self._done = done = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: _finish(done))
        await done
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _outcome(
        self, turn: TurnState, task: asyncio.Task[v2.StopReason]
    ) -> tuple[v2.StopReason, RequestError | None]:
        """Return the stop reason of a turn, and its error if the reason is `error`."""
        if not task.done():
            turn.is_abandoned = True
            logger.error(
                "%s: the prompt handler did not end within %s s of its cancellation; abandoned",
                self.state.server.name,
                self._cancel_timeout,
            )
            self.state.server.tasks.adopt(task)
            return "cancelled", None
        error = None if task.cancelled() else task.exception()
        if turn.is_cancelled or task.cancelled():
            if error is not None:
                logger.info(
                    "the prompt handler failed while it was being cancelled", exc_info=error
                )
            return "cancelled", None
        match error:
            case None:
                return task.result(), None
            case StopTurn():
                return error.reason, None
            case ConnectionClosed():
                return "cancelled", None
            case RequestError() | Unsupported():
                return "error", as_request_error(error)
            case _:
                logger.error("the prompt handler failed", exc_info=error)
                return "error", InternalError()


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)


def _as_data(error: RequestError | None) -> v2.Error | None:
    if error is None:
        return None
    data = None if error.data is UNSET else error.data
    return v2.Error(code=error.code, message=error.message, data=data)
