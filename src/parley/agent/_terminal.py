"""`Terminal`: shows the user a command that the program runs itself."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any

from msgspec import UNSET

from parley.schema import v2

from ._activity import Activity, Outcome
from ._session_state import AgentSessionState, OpenActivity

_CANCELLABLE = v2.TerminalCapabilities(cancel=v2.TerminalCancelCapabilities())


class Terminal(Activity):
    """A terminal shown to the user, for a command that the program runs itself.

    ```python
    async with turn.terminal("make test") as terminal:
        await terminal.write(b"ok")
        await terminal.exit(0)
    ```

    `turn.terminal` and `session.terminal` return one. Copy the command's output with `write`, and
    report its end with `exit`. If the block ends without `exit`, for any reason, the terminal is
    reported as ended with an unknown exit status.
    """

    _noun = "terminal"

    def __init__(
        self, session: AgentSessionState, id: str, command: str, cwd: str, *, is_cancellable: bool
    ) -> None:
        super().__init__(session, id, is_cancellable=is_cancellable)
        self._command = command
        self._cwd = cwd
        self._has_exited = False

    async def _begin(self) -> None:
        await self._report(
            v2.TerminalUpdate(
                terminal_id=self.id,
                command=self._command,
                cwd=self._cwd,
                capabilities=_CANCELLABLE if self.is_cancellable else UNSET,
            )
        )

    async def _end(self, outcome: Outcome) -> None:
        """Report an unknown exit status, unless the program has already reported the exit."""
        del outcome
        if not self._has_exited:
            await self.exit(None)

    def _open(self, task: asyncio.Task[Any] | None) -> OpenActivity:
        background = v2.BackgroundTerminal(terminal_id=self.id)
        return OpenActivity(self, task, background, self._abandon)

    async def write(self, output: bytes | str) -> None:
        """Append output to the terminal."""
        data = output.encode() if isinstance(output, str) else output
        chunk = v2.TerminalOutputChunk(terminal_id=self.id, data=b64encode(data).decode())
        await self._report(chunk)

    async def exit(self, code: int | None, *, signal: str | None = None) -> None:
        """Report the exit of the command; `signal` is a name such as `SIGTERM`."""
        self._has_exited = True
        status = v2.TerminalExitStatus(exit_code=code, signal=signal)
        await self._report(v2.TerminalUpdate(terminal_id=self.id, exit_status=status))
