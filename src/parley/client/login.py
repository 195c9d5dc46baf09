"""Logging in when the agent asks for it.

An agent carries out a login itself, or has its own program run in a terminal for it. After the
latter it is started again, since only then does it look who has logged in; the sessions that were
open end by that. Logins wait for each other, and who waited tries again before asking the user.

Spec: https://agentclientprotocol.com/protocol/v2/authentication
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct

from parley.errors import AuthRequired, LocalProtocolError, Unsupported
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods

from .calling import called

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["Chooser", "Launch", "LoginDesk", "RunLogin", "TerminalLogin", "run_login"]

T = TypeVar("T")

_END_GRACE = 2.0

Chooser: TypeAlias = Callable[
    [list[v2.AuthMethod]], "str | v2.AuthMethod | None | Awaitable[str | v2.AuthMethod | None]"
]
"""Gets the ways to log in; returns one of them, or its id, or None to give up."""


class TerminalLogin(Struct, frozen=True, kw_only=True):
    """What to run in a terminal, so that the user can log in."""

    method: v2.AuthMethodTerminal
    """The way that was chosen."""
    command: list[str]
    """The command of the agent, as we started it, and behind it the arguments of the method."""
    cwd: Path
    """Where to run it."""
    env: dict[str, str]
    """All its variables: those that the agent has, and the method's over them."""


RunLogin: TypeAlias = Callable[[TerminalLogin], "int | None | Awaitable[int | None]"]
"""Runs a login in a terminal and returns its exit status: 0 is a success, all else is none."""


async def run_login(login: TerminalLogin) -> int:
    """Run a login in the terminal that this program runs in; returns the exit status."""
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
    """How the agent was started, and how it is started again."""

    command: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    run: RunLogin
    """Runs a login in a terminal."""
    again: Callable[[], Awaitable[None]]
    """Ends the agent, starts it again and initializes the connection anew."""


class LoginDesk:
    """Logs in as the user chooses."""

    def __init__(
        self, connection: Connection, choose: Chooser | None, launch: Launch | None
    ) -> None:
        self._connection = connection
        self._choose = choose
        self._launch = launch
        self._one_at_a_time = asyncio.Lock()
        self._logins = 0

    async def log_in(self, method_id: v2.AuthMethodId) -> None:
        """Log in by a method that the agent offers.

        Raises:
            Unsupported: The agent offers no login at all.
            LocalProtocolError: It does not offer this one, or it is one for a terminal and we run
                none.
            AuthRequired: The login in the terminal failed.
        """
        offered = self._connection.auth_methods
        if not offered:
            raise Unsupported(f"the {self._connection.name} offers no login")
        method = next((each for each in offered if _id(each) == method_id), None)
        if method is None:
            name, ways = self._connection.name, _list(offered)
            raise LocalProtocolError(f"{method_id!r} is no login here; the {name} offers {ways}")
        if isinstance(method, v2.AuthMethodTerminal):
            await self._in_terminal(method)
        else:
            request = v2.LoginAuthRequest(method_id=method_id)
            await self._connection.surface.request(methods.LOGIN_AUTH, request)
        self._logins += 1

    async def _in_terminal(self, method: v2.AuthMethodTerminal) -> None:
        launch = self._launch
        if launch is None:
            arguments = " ".join(method.args) or "no more arguments"
            raise LocalProtocolError(
                f"{method.method_id!r} is a login in a terminal: run the agent's command there, "
                f"with {arguments}, and connect again; or connect with terminal_login="
            )
        login = TerminalLogin(
            method=method,
            command=[*launch.command, *method.args],
            cwd=launch.cwd,
            env={**launch.env, **{each.name: each.value for each in method.env}},
        )
        status = await called(launch.run, login)
        if type(status) is not int or status != 0:
            how = "it has no exit status" if status is None else f"its exit status is {status}"
            raise AuthRequired(f"The login in a terminal failed: {how}")
        await launch.again()

    async def logged_in(self, call: Callable[[], Awaitable[T]]) -> T:
        """Do something that may need a login: log in as the user chooses, and do it once more.

        Raises:
            AuthRequired: Nobody chose, the login failed, or the agent still wants one.
        """
        before = self._logins
        try:
            return await call()
        except AuthRequired as error:
            wanted = error
        async with self._one_at_a_time:
            if self._logins == before:
                await self.log_in(await self._chosen(wanted))
        try:
            return await call()
        except AuthRequired as error:
            raise self._explained(error) from error

    async def _chosen(self, wanted: AuthRequired) -> v2.AuthMethodId:
        """Have the user choose a way to log in."""
        offered = self._connection.auth_methods
        chosen: str | v2.AuthMethod | None = None
        if self._choose is not None and offered:
            chosen = await called(self._choose, list(offered))
        if chosen is None:
            raise self._explained(wanted) from wanted
        return chosen if isinstance(chosen, str) else _id(chosen) or ""

    def _explained(self, error: AuthRequired) -> AuthRequired:
        ways = _list(self._connection.auth_methods)
        wish = error.message.rstrip(". ")
        return AuthRequired(f"{wish}; the {self._connection.name} offers {ways}", error.data)


def _list(offered: Sequence[v2.AuthMethod]) -> str:
    known = [each for each in offered if not isinstance(each, Unknown)]
    listed = ", ".join(f"{each.method_id!r} ({each.name})" for each in known)
    return f"these logins: {listed}" if listed else "no login"


def _id(method: v2.AuthMethod) -> v2.AuthMethodId | None:
    return None if isinstance(method, Unknown) else method.method_id
