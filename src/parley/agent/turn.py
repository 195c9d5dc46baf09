"""One turn: what the user asked, and the verbs with which the agent answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec import UNSET

from parley.errors import RemoteProtocolError, RequestCancelled, RequestError, Unsupported
from parley.schema import v2
from parley.schema.base import is_extension
from parley.schema.v2 import methods, unstable

from .elicitation import Form, UrlElicitation, fill_in, form_request, open_page, url_request
from .paths import below
from .session import Session
from .store import new_id
from .terminal import Terminal
from .tool import ToolCall

if TYPE_CHECKING:
    from .client_side import ClientTerminal

__all__ = ["StopTurn", "Turn"]

logger = logging.getLogger(__name__)

ALLOW_OR_REJECT = (
    v2.PermissionOption(option_id="allow", name="Allow", kind="allow_once"),
    v2.PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
)

_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")


class StopTurn(Exception):
    """Ends a turn from inside; raised by `Turn.stop`."""

    def __init__(self, reason: v2.StopReason) -> None:
        if reason not in _REASONS and not is_extension(reason):
            raise ValueError(f"{reason!r} is no reason to stop; take one of {_REASONS}, or `_…`")
        super().__init__(f"the turn stops: {reason}")
        self.reason = reason


class Turn:
    """What a prompt handler gets.

    Its verbs still work when the turn is over, for what goes on in the background. Only a turn that
    was cancelled and whose handler did not end in time has nothing more to say.
    """

    def __init__(self, session: Session, request: v2.PromptRequest) -> None:
        self.session = session
        """The conversation it belongs to; its verbs can be used as well."""
        self.prompt = list(request.prompt)
        """What the user asked, block by block."""
        self.message_id = new_id("message")
        """The id of the user's message."""
        self.meta = request.meta
        """The `_meta` of the prompt."""
        self.cancelled = False
        """Whether the user has cancelled it."""
        self.is_over = False
        """Whether its end has been reported."""
        self.is_accepted = False
        """Whether the client knows that it will begin."""
        self.is_given_up = False
        """Whether it ended without its handler."""
        self.usage: unstable.Usage | None = None
        """The tokens that it took; set by the program, reported at the end."""
        self.task: asyncio.Task[Any] | None = None
        """What runs its handler."""

    @property
    def text(self) -> str:
        """The text of the prompt."""
        return "".join(each.text for each in self.prompt if isinstance(each, v2.TextContent))

    @property
    def message(self) -> v2.UserMessage:
        """The prompt as the message that it is in the conversation."""
        return v2.UserMessage(message_id=self.message_id, content=self.prompt)

    @property
    def is_running(self) -> bool:
        """Whether it is neither over nor cancelled."""
        return not self.is_over and not self.cancelled

    def stop(self, reason: v2.StopReason) -> NoReturn:
        """End the turn here: `max_tokens`, `max_turn_requests`, `refusal` or a `_` word of yours.

        The handler may as well return the reason; without one, it is `end_turn`.

        Raises:
            StopTurn: Always; let it pass.
            ValueError: There is no such reason. To fail, raise a `RequestError`.
        """
        raise StopTurn(reason)

    def update(self, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        """Tell the client that something happened."""
        self._check()
        return self.session.update(update)

    def say(self, content: str | v2.ContentBlock) -> Coroutine[Any, Any, None]:
        """Say something, as one more piece of the current message.

        A thought, a tool call's begin or end and a plan end a message.
        """
        if self.is_given_up:
            self._check()
        return self.session.say(content)

    def think(self, content: str | v2.ContentBlock) -> Coroutine[Any, Any, None]:
        """Think aloud."""
        self._check()
        return self.session.think(content)

    async def plan(
        self,
        entries: Sequence[v2.PlanEntry | str],
        *,
        done: int | None = None,
        plan_id: v2.PlanId = "main",
    ) -> None:
        """Show what is going to be done, completely: `await turn.plan(["Read", "Write"], done=1)`.

        The first `done` steps are completed and the next one is in progress; without it, nothing
        has begun. A `PlanEntry` says for itself how far it is.
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
        """Report a tool call: `async with turn.tool("Read a.py", kind="read") as call`."""
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
        """Show a terminal that the program runs: `async with turn.terminal("make") as shown`."""
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
    ) -> v2.PermissionOptionId | None:
        """Ask the user; returns the id of the option that was chosen, or None.

        None means that nothing was allowed: the user cancelled, the client refused to ask, or it
        answered with something that was not offered. Without options of your own they are `allow`
        and `reject`.
        """
        self._check()
        if tool is not None:
            await tool.wait_for_permission()
        request = v2.RequestPermissionRequest(
            session_id=self.session.id,
            title=title or (tool.title if tool is not None else command) or "Permission needed",
            description=description,
            subject=self._subject(tool, command),
            options=list(options),
        )
        async with self.session.requires_action():
            try:
                answer = await self.session.connection.surface.request(
                    methods.REQUEST_PERMISSION, request
                )
            except (RequestError, RemoteProtocolError) as error:
                logger.warning("%s: no permission: %s", self.session.connection.name, error)
                return None
        outcome = answer.outcome
        chosen = {option.option_id: option for option in options}.get(
            outcome.option_id if isinstance(outcome, v2.SelectedPermissionOutcome) else ""
        )
        if chosen is None:
            return None
        if tool is not None and not chosen.kind.startswith("reject"):
            await tool.get_permission()
        return chosen.option_id

    def _subject(
        self, tool: ToolCall | None, command: str | None
    ) -> v2.RequestPermissionSubject | None:
        if command is not None:
            return v2.CommandPermissionSubject(
                command=command,
                cwd=self.session.cwd,
                tool_call_id=None if tool is None else tool.id,
            )
        return None if tool is None else v2.ToolCallPermissionSubject(tool_call=tool.describe())

    async def elicit(
        self, message: str, form: Form, *, tool: ToolCall | None = None
    ) -> v2.CreateElicitationResponse:
        """Ask the user to fill in a form; a mapping is a form whose fields are all required.

        What an `ElicitationAcceptAction` has as content fits the form.

        Raises:
            Unsupported: The client shows no forms.
            RemoteProtocolError: What it sends as filled in does not fit.
        """
        self._check()
        request = form_request(self.session.client, message, form, self._scope(tool))
        async with self.session.requires_action():
            return await fill_in(self.session.connection.surface, request)

    async def elicit_url(
        self, message: str, url: str, *, tool: ToolCall | None = None
    ) -> UrlElicitation:
        """Ask the user to open a page.

        Raises:
            Unsupported: The client opens no pages.
        """
        self._check()
        request = url_request(self.session.client, message, url, self._scope(tool))
        async with self.session.requires_action():
            return await open_page(self.session.connection.surface, request)

    def _scope(self, tool: ToolCall | None) -> dict[str, Any]:
        return {
            "session_id": self.session.id,
            "tool_call_id": None if tool is None else tool.id,
        }

    async def read_text_file(
        self, path: str, *, line: int | None = None, limit: int | None = None
    ) -> str:
        """Read a file as the client has it, unsaved changes included; only version 1 can.

        Raises:
            Unsupported: The client does not read files for the agent.
        """
        self._check()
        if not self.session.client.read_files:
            raise Unsupported("the client does not offer fs/read_text_file")
        from .client_side import read_text_file

        surface = self.session.connection.surface
        file = below(self.session.cwd, path)
        return await read_text_file(surface, self.session.id, file, line=line, limit=limit)

    async def write_text_file(self, path: str, text: str) -> None:
        """Have the client write a file; only version 1 can.

        Raises:
            Unsupported: The client does not write files for the agent.
        """
        self._check()
        if not self.session.client.write_files:
            raise Unsupported("the client does not offer fs/write_text_file")
        from .client_side import write_text_file

        surface = self.session.connection.surface
        await write_text_file(surface, self.session.id, below(self.session.cwd, path), text)

    def run(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_limit_bytes: int | None = None,
    ) -> ClientTerminal:
        """Run a command in a terminal of the client's; only version 1 can.

        `async with turn.run("make", "test") as terminal: await terminal.wait()`

        Raises:
            Unsupported: The client runs no commands for the agent.
        """
        self._check()
        if not self.session.client.terminals:
            raise Unsupported("the client does not offer terminal/create")
        from .client_side import ClientTerminal

        return ClientTerminal.of(
            self.session.connection,
            self.session.id,
            [command, *args],
            cwd=None if cwd is None else below(self.session.cwd, cwd),
            env=env or {},
            output_limit_bytes=output_limit_bytes,
        )

    def _check(self) -> None:
        if self.is_given_up:
            raise RequestCancelled("The turn was cancelled and has ended without its handler")
