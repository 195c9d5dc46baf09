"""Commands that only some agents support: fork a session, cancel one tool call, set a provider."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from parley.client import Connection, Session
from parley.errors import AcpError
from parley.journal import Record, new_key
from parley.schema import v2
from parley.session._transcript import Transcript

from .dialogs.picker import ListPicker
from .dialogs.rows import Row

if TYPE_CHECKING:
    from .app import ChatApp
    from .chat import Chat

__all__ = ["cancel_one", "fork_session", "set_provider"]

_OPEN = ("pending", "in_progress")
_CLOSE_TIMEOUT = 5.0
"""The seconds that an agent has to close a session that is resumed in another tab."""


async def fork_session(app: ChatApp, chat: Chat) -> Record | None:
    """Fork the session, and return the record of the new one.

    The new session is closed on this connection, because it is resumed in a tab of its own.
    """
    connection, session = chat.conversation.connection, chat.conversation.session
    if connection is None or session is None:
        app.say("there is no session yet; wait until there is")
        return None
    if not connection.features.fork:
        app.say(f"{chat.conversation.name} cannot fork sessions")
        return None
    forked = await connection.fork_session(session.id, session.cwd)
    if connection.features.close:
        # The fork exists; an agent that keeps it open, or does not respond, may still resume it.
        with suppress(AcpError, TimeoutError):
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                await forked.close()
    recorder = connection.recorder
    known = None if recorder is None else recorder.record_of(forked.id)
    return known or Record(
        key=new_key(),
        agent=chat.conversation.setup.agent.command,
        session_id=forked.id,
        cwd=forked.cwd or "",
    )


async def cancel_one(app: ChatApp, chat: Chat) -> None:
    """Show a list of the agent's tool calls and commands, and cancel the one that is chosen."""
    session = chat.conversation.session
    rows = [] if session is None else list(_cancellable_rows(session))
    nothing = "Nothing that is running can be cancelled by itself. Esc cancels the whole turn."
    cancel = await app.push_screen_wait(ListPicker("Cancel one", rows, nothing=nothing))
    if cancel is not None:
        await cancel()


def _cancellable_rows(session: Session) -> Iterator[Row[Callable[[], Awaitable[None]]]]:
    """Yield a row for each tool call and terminal that the agent allows to cancel."""
    transcript: Transcript = session.transcript
    for id, call in transcript.tool_calls.items():
        if call.status in _OPEN and call.capabilities and call.capabilities.cancel:

            async def cancel_call(id: str = id) -> None:
                await session.cancel_tool_call(id)

            yield Row(cancel_call, call.title or id, call.kind)
    for id, terminal in transcript.terminals.items():
        is_open = terminal.exit_status is None
        if is_open and terminal.capabilities and terminal.capabilities.cancel:

            async def cancel_terminal(id: str = id) -> None:
                await session.cancel_terminal(id)

            yield Row(cancel_terminal, terminal.command or id, "terminal")


async def set_provider(app: ChatApp, chat: Chat) -> None:
    """Show a list of the agent's model providers; configure or disable the one that is chosen."""
    connection = chat.conversation.connection
    if connection is None or not connection.features.providers:
        app.say(f"{chat.conversation.name} does not let its providers be configured")
        return
    providers = await connection.list_providers()
    rows = [_provider_row(each) for each in providers]
    nothing = "The agent has no providers."
    provider = await app.push_screen_wait(ListPicker("Providers", rows, nothing=nothing))
    if provider is None:
        return
    if provider.current is not None and not provider.required:
        choices = [Row(True, "Configure"), Row(False, "Disable")]
        configures = await app.push_screen_wait(ListPicker(provider.provider_id, choices))
        if configures is None:
            return
        if not configures:
            await connection.disable_provider(provider.provider_id)
            chat.noted(f"{provider.provider_id} is disabled")
            return
    await _configure(chat, connection, provider)


def _provider_row(provider: v2.ProviderInfo) -> Row[v2.ProviderInfo]:
    current = provider.current
    state = "disabled" if current is None else f"{current.api_type} at {current.base_url}"
    below = f"APIs: {', '.join(provider.supported) or 'none'}"
    mark = "required" if provider.required else ""
    return Row(provider, f"{provider.provider_id}: {state}", mark, below=below)


async def _configure(chat: Chat, connection: Connection, provider: v2.ProviderInfo) -> None:
    """Ask for the configuration of a provider in a form, and send it."""
    current = provider.current
    supported = list(provider.supported)
    api = next(iter(supported), None) if current is None else current.api_type
    schema = v2.ElicitationSchema(
        type="object",
        properties={
            "api": v2.StringPropertySchema(title="API", enum=supported or None, default=api),
            "url": v2.StringPropertySchema(
                title="Base URL", default=None if current is None else current.base_url
            ),
            "authorization": v2.StringPropertySchema(
                title="Authorization header", description="For example: Bearer KEY"
            ),
        },
        required=["api", "url"],
    )
    session = chat.conversation.session
    form = v2.ElicitationFormMode(
        session_id="" if session is None else session.id,
        message=f"Where should the calls for {provider.provider_id} go?",
        requested_schema=schema,
    )
    reply = await chat.ask_form(form, session)
    if not isinstance(reply, v2.ElicitationAcceptAction):
        return
    values = {name: str(value) for name, value in (reply.content or {}).items()}
    key = values.get("authorization", "")
    await connection.set_provider(
        v2.SetProviderRequest(
            provider_id=provider.provider_id,
            api_type=values["api"],
            base_url=values["url"],
            headers={"Authorization": key} if key else {},
        )
    )
    chat.noted(f"{provider.provider_id} now uses {values['api']} at {values['url']}")
