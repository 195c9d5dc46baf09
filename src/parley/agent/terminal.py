"""A terminal of the agent's own, shown to the user; the program runs the command itself."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from msgspec import UNSET

from parley.schema import v2

from .part import Outcome, Part

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Terminal"]

_CANCELLABLE = v2.TerminalCapabilities(cancel=v2.TerminalCancelCapabilities())


class Terminal(Part):
    """One terminal, as `async with turn.terminal("make test") as terminal`.

    The program writes what the command writes and reports its exit; a block that is left without
    that, whatever the reason, is reported as an exit of which nothing is known.
    """

    def __init__(
        self, owner: Session, id: str, command: str, cwd: str, *, is_cancellable: bool
    ) -> None:
        super().__init__(owner, id, is_cancellable=is_cancellable)
        self._command = command
        self._cwd = cwd
        self._has_exited = False

    async def begin(self) -> None:
        """Report the terminal."""
        await self.tell(
            v2.TerminalUpdate(
                terminal_id=self.id,
                command=self._command,
                cwd=self._cwd,
                capabilities=_CANCELLABLE if self.is_cancellable else UNSET,
            )
        )

    async def end(self, outcome: Outcome) -> None:
        """Report that it has ended, unless the program has done that."""
        del outcome
        if not self._has_exited:
            await self.exit(None)

    def as_background(self) -> v2.BackgroundWork:
        """Return how it is called when it runs on behind the end of a turn."""
        return v2.BackgroundTerminal(terminal_id=self.id)

    async def write(self, output: bytes | str) -> None:
        """Show more output."""
        data = output.encode() if isinstance(output, str) else output
        chunk = v2.TerminalOutputChunk(terminal_id=self.id, data=b64encode(data).decode())
        await self.tell(chunk)

    async def exit(self, code: int | None, *, signal: str | None = None) -> None:
        """Report how the command ended; the signal is a name such as `SIGTERM`."""
        self._has_exited = True
        status = v2.TerminalExitStatus(exit_code=code, signal=signal)
        await self.tell(v2.TerminalUpdate(terminal_id=self.id, exit_status=status))
