"""`parley connect`: a remote agent as a local one on stdin and stdout, for editors."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from contextlib import suppress
from dataclasses import replace

from parley.client import Remote
from parley.errors import ConnectFailed, ConnectionClosed, InternalError, Unauthorized
from parley.proxy import (
    DirectResponse,
    PendingRequest,
    Port,
    PortOptions,
    RawMessage,
    Route,
    Switch,
)
from parley.transport import StdioTransport
from parley.transport._stdio import HINT
from parley.transport._target import TargetOptions, is_remote, open_target

from .flags import add_remote_arguments, remote
from .reporting import Exit, Failure, say_state
from .targets import Resolved, resolve

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Serve a remote agent on stdin and stdout, for an editor that can only start
commands. Messages are relayed in both directions. If the connection is
interrupted, it is restored and the interruption is reported on stderr; no
message is lost or sent twice. If it cannot be restored, every pending request
fails and the command exits. When stdin ends, pending requests have 10 seconds
to complete.
"""
EXAMPLES = """\
examples:
  parley connect https://agents.example.com/acp --token-file ~/agents.token
  parley connect wss://agents.example.com/acp/claude
  parley connect work         # [agents.work] in the configuration, with a url

the token:
  comes from --token-file, else from PARLEY_TOKEN, else from the configuration

exit codes:
  0  the editor disconnected       5  the agent cannot be reached, or is gone
  2  the command line is wrong     6  the token is missing or not accepted
"""
_PATIENCE = 5.0
"""Seconds to wait for a request of the editor, whose response can report why we failed."""
_LAST_ANSWERS = 10.0
"""Seconds that pending requests have to complete after stdin has ended."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "url", metavar="URL", help="https://…, wss://…, or a configured agent with a url"
    )
    add_remote_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Relay until one side has gone."""
    agent = resolve(arguments.url)
    if not isinstance(agent.target, str) or not is_remote(agent.target):
        raise Failure(
            f"{arguments.url!r} is not an address; give https://… or wss://…, or the name of a "
            "configured agent with a url",
            Exit.USAGE,
        )
    if sys.stdin is not None and sys.stdin.isatty():
        raise Failure(f"{HINT}; try `parley run Hello -a {agent.command}`", Exit.USAGE)
    return asyncio.run(_Relay(agent, replace(agent.remote, **remote(arguments))).run())


class _Relay:
    """One run of the command."""

    def __init__(self, agent: Resolved, reached: Remote) -> None:
        self._shown = agent.command
        self._target = agent.target
        self._options: TargetOptions = {
            "token": reached.token,
            "ca_file": reached.ca_file,
            "allows_plain_token": reached.allows_plain_token,
            "on_state": self._see,
        }
        self._switch = Switch()
        self._over = asyncio.Event()
        self._remote: Port | None = None
        self._is_closing = False
        self._has_ended = False
        self._is_away = False
        self._failure: Failure | None = None

    async def run(self) -> int:
        """Relay, and return the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, self._over.set)
        stdio = StdioTransport()
        options = PortOptions(
            on_response_sent=lambda call, frame: self._check_end(editor),
            on_lost=lambda port, reason: self._over.set(),
        )
        editor = self._switch.add(stdio, "the editor", options=options)
        stdio.on_end = lambda: self._ended(editor)
        try:
            async with open_target(self._target, **self._options) as transport:
                options = PortOptions(takes_arrays=False, on_lost=self._lost)
                self._remote = self._switch.add(transport, self._shown, options=options)
                self._switch.start(
                    self._remote, lambda port, message: self._from_remote(editor, message)
                )
                self._switch.start(editor, self._from_editor)
                await self._over.wait()
                self._is_closing = True
        except ConnectFailed as error:
            self._fail(error)
            self._switch.start(editor, self._from_editor)
            with suppress(TimeoutError):
                async with asyncio.timeout(_PATIENCE):
                    await self._over.wait()
        await editor.transport.aclose()
        if self._failure is not None:
            raise self._failure
        return Exit.DONE

    def _from_editor(self, port: Port, message: RawMessage) -> Route:
        if self._failure is not None:
            if isinstance(message, PendingRequest):
                asyncio.get_running_loop().call_soon(self._over.set)
                return DirectResponse(InternalError(str(self._failure)))
            return None
        return self._remote

    def _from_remote(self, editor: Port, message: RawMessage) -> Port | DirectResponse:
        if self._has_ended and isinstance(message, PendingRequest):
            return DirectResponse(InternalError("the editor has closed its end"))
        return editor

    def _ended(self, editor: Port) -> None:
        """Record that stdin has ended; pending requests have some time to complete."""
        self._has_ended = True
        asyncio.get_running_loop().call_later(
            _LAST_ANSWERS, self._leave, f"it has not answered within {_LAST_ANSWERS:g} seconds"
        )
        self._check_end(editor)

    def _check_end(self, editor: Port) -> None:
        if self._has_ended and not editor.pending:
            self._over.set()
        elif self._has_ended and self._is_away:
            self._leave("it is disconnected")

    def _leave(self, why: str) -> None:
        """Give up the requests that were pending when stdin ended."""
        self._failure = self._failure or Failure(f"{self._shown}: {why}", Exit.DIED)
        self._over.set()

    def _lost(self, port: Port, reason: ConnectionClosed) -> None:
        """Record that the connection is lost; its pending requests have been answered."""
        if self._is_closing:
            return
        refusal: ConnectFailed | None = getattr(port.transport, "refusal", None)
        self._fail(refusal or reason)
        self._over.set()

    def _fail(self, error: ConnectFailed | ConnectionClosed) -> None:
        if isinstance(error, Unauthorized):
            hint = "give --token-file FILE, or set PARLEY_TOKEN"
            self._failure = Failure(f"{error}; {hint}", Exit.AUTH)
        else:
            self._failure = Failure(str(error), Exit.DIED)

    def _see(self, state: str, reason: str) -> None:
        """Report it on stderr; an invented update would become part of the session."""
        self._is_away = state == "away"
        say_state(self._shown, state, reason)
        if self._is_away and self._has_ended:
            self._leave("it is disconnected")
