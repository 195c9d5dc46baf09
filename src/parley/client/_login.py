"""Login, when the agent requires it.

An agent performs a login itself, or the client runs the agent's program in a terminal for it. After
a login in a terminal the agent is restarted, because it reads the new credentials only at the
start; this ends all open sessions. Logins run one at a time, and a call that waited for another
login is tried again before the user is asked.

Spec: https://agentclientprotocol.com/protocol/v2/authentication
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct

from parley._display_text import sanitize_text
from parley._env_vars import dangerous_variables
from parley.errors import AuthRequired, LocalProtocolError, Unsupported
from parley.peer._peer_name import with_article
from parley.schema import v2
from parley.schema.base import JsonObject, Unknown
from parley.schema.v2 import methods

from ._calling import call_maybe_async

if TYPE_CHECKING:
    from ._connection_state import ConnectionState


T = TypeVar("T")

_END_GRACE = 2.0

Chooser: TypeAlias = Callable[
    [list[v2.AuthMethod]], "str | v2.AuthMethod | None | Awaitable[str | v2.AuthMethod | None]"
]
"""Gets the login methods; returns one of them, or its id, or None to give up."""


class TerminalLogin(Struct, frozen=True, kw_only=True):
    """A command to run in a terminal so that the user can log in.

    The function given to `connect` as `terminal_login` gets one. `run_login` runs it in the current
    terminal.
    """

    method: v2.AuthMethodTerminal
    """The chosen login method."""
    command: list[str]
    """The command that started the agent, followed by the arguments of the method."""
    cwd: Path
    """The directory to run it in."""
    env: dict[str, str]
    """The complete environment: the agent's variables, overridden by those of the method."""

    @property
    def line(self) -> str:
        """The command for display, after the variables that the agent chose."""
        chosen = (f"{each.name}={each.value}" for each in self.method.env)
        return sanitize_text(shlex.join([*chosen, *self.command]), is_line=True)


RunLogin: TypeAlias = Callable[[TerminalLogin], "int | None | Awaitable[int | None]"]
"""Runs a login in a terminal and returns its exit status; only 0 is a success."""


async def run_login(login: TerminalLogin) -> int:
    """Run a login in the terminal of this program and return the exit status.

    Pass it to `connect` as `terminal_login`. If it is cancelled, the login process is ended.
    """
    process = await asyncio.create_subprocess_exec(*login.command, cwd=login.cwd, env=login.env)
    try:
        return await process.wait()
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _END_GRACE)
            except TimeoutError:
                process.kill()
                await process.wait()


class Launch(Struct, frozen=True, kw_only=True):
    """The command that started the agent, and how to restart it."""

    command: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    run: RunLogin
    """Runs a login in a terminal."""
    again: Callable[[], Awaitable[None]]
    """Ends the agent, starts it again and initializes the connection again."""


class LoginHandler:
    """Performs the logins of one connection, with the method that the user chooses."""

    def __init__(
        self, connection: ConnectionState, choose: Chooser | None, launch: Launch | None
    ) -> None:
        self._connection = connection
        self._choose = choose
        self._launch = launch
        self._one_at_a_time = asyncio.Lock()
        self._logins = 0
        self._terminal = asyncio.Lock()
        """Held during a login in a terminal, until the agent has been started again."""
        self._restarts = 0

    async def log_in(self, method_id: v2.AuthMethodId, *, meta: JsonObject | None = None) -> None:
        """Log in with a method that the agent offers.

        Raises:
            Unsupported: The agent does not offer any login.
            LocalProtocolError: The agent does not offer this method, or the method needs a terminal
                and the program cannot run one.
            AuthRequired: The login in the terminal failed, or was refused because of the
                environment variables that the agent wants to set.
        """
        offered = self._connection.adapter.agent.auth_methods
        if not offered:
            raise Unsupported(f"{with_article(self._connection.name)} does not offer any login")
        method = next((each for each in offered if _id(each) == method_id), None)
        if method is None:
            name, logins = self._connection.name, _list(offered)
            raise LocalProtocolError(
                f"there is no login method {method_id!r}; {with_article(name)} offers {logins}"
            )
        if isinstance(method, v2.AuthMethodTerminal):
            await self._in_terminal(method)
        else:
            request = v2.LoginAuthRequest(method_id=method_id, meta=meta)
            await self._connection.adapter.request(methods.LOGIN_AUTH, request)
        self._logins += 1

    async def _in_terminal(self, method: v2.AuthMethodTerminal) -> None:
        """Run a login in a terminal, then restart the agent.

        The command is always ours; the agent adds arguments, and variables that are not dangerous.
        """
        launch = self._launch
        if launch is None:
            arguments = " ".join(method.args) or "no further arguments"
            raise LocalProtocolError(
                f"{method.method_id!r} is a login in a terminal. Run the agent's command there "
                f"with {arguments} and connect again, or pass terminal_login= to connect"
            )
        chosen = {each.name: each.value for each in method.env}
        if refused := dangerous_variables(chosen):
            raise AuthRequired(
                f"The login {method.method_id!r} is refused: the agent wants to set "
                f"{', '.join(refused)}, which would let it run other programs as you. "
                "If you trust it, run its login yourself"
            )
        login = TerminalLogin(
            method=method,
            command=[*launch.command, *method.args],
            cwd=launch.cwd,
            env={**launch.env, **chosen},
        )
        async with self._terminal:
            status = await call_maybe_async(launch.run, login)
            if type(status) is not int or status != 0:
                outcome = (
                    "it has no exit status" if status is None else f"its exit status is {status}"
                )
                raise AuthRequired(f"The login in a terminal failed: {outcome}")
            await launch.again()
            self._restarts += 1

    async def with_login(self, call: Callable[[], Awaitable[T]]) -> T:
        """Await `call()`; if it raises `AuthRequired`, let the user log in and call it once more.

        Raises:
            AuthRequired: No login was chosen, the login failed, or the agent still requires one.
        """
        before, restarts = self._logins, self._restarts
        try:
            result = await call()
        except AuthRequired as error:
            required = error
        else:
            # While another call logs in, the old agent may already let this one through. If the
            # agent is then started again, what this call opened is gone.
            async with self._terminal:
                is_valid = self._restarts == restarts
            return result if is_valid else await call()
        async with self._one_at_a_time:
            if self._logins == before:  # else another call has logged in meanwhile
                await self.log_in(await self._choose_method(required))
        try:
            return await call()
        except AuthRequired as error:
            raise self._with_login_methods(error) from error

    async def _choose_method(self, required: AuthRequired) -> v2.AuthMethodId:
        """Return the id of the login method that the user chooses.

        Raises:
            AuthRequired: None was chosen; the message lists the methods.
        """
        offered = self._connection.adapter.agent.auth_methods
        chosen: str | v2.AuthMethod | None = None
        if self._choose is not None and offered:
            chosen = await call_maybe_async(self._choose, list(offered))
        if chosen is None:
            raise self._with_login_methods(required) from required
        return chosen if isinstance(chosen, str) else _id(chosen) or ""

    def _with_login_methods(self, error: AuthRequired) -> AuthRequired:
        logins = _list(self._connection.adapter.agent.auth_methods)
        reason = error.message.rstrip(". ")
        name = with_article(self._connection.name)
        return AuthRequired(f"{reason}; {name} offers {logins}", error.data)


def _list(offered: Sequence[v2.AuthMethod]) -> str:
    known = [each for each in offered if not isinstance(each, Unknown)]
    listed = ", ".join(f"{each.method_id!r} ({each.name})" for each in known)
    return f"these logins: {listed}" if listed else "no login"


def _id(method: v2.AuthMethod) -> v2.AuthMethodId | None:
    return None if isinstance(method, Unknown) else method.method_id
