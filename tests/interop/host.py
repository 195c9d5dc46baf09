"""What a client of ours does for agents in these tests: files, terminals, answers to questions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parley.client import Session, Workspace
from parley.client._handlers import ClientHandlers
from parley.schema import v1, v2

__all__ = ["Host"]


class Host:
    """Does what is asked for, and notes it."""

    def __init__(
        self,
        choices: Iterable[str | None] = (),
        forms: Iterable[dict[str, Any] | str] = (),
    ) -> None:
        """Begin.

        Args:
            choices: The options to choose, question by question; without them, the first one that
                allows something once.
            forms: What to do with each form.
        """
        self.asked: list[Any] = []
        """What was asked for since this was last emptied."""
        self._choices = list(choices)
        self._forms = list(forms)
        self._terminals: dict[str, asyncio.subprocess.Process] = {}

    def offers(self) -> ClientHandlers:
        """Return what to tell `connect`."""
        return {
            "permission": self.permit,
            "elicit": self.fill_in,
            "workspace": Workspace(files=self, terminals=self),
            "extensions": {"_demo/value": self.value},
        }

    def permit(self, request: v2.RequestPermissionRequest, session: Session) -> str | None:
        self.asked.append("permission")
        if self._choices:
            return self._choices.pop(0)
        return next(each.option_id for each in request.options if each.kind == "allow_once")

    def fill_in(
        self, form: v2.ElicitationFormMode, session: Session | None
    ) -> dict[str, Any] | str:
        self.asked.append(form.message)
        return self._forms.pop(0)

    def value(self, params: Any) -> dict[str, int]:
        self.asked.append("_demo/value")
        return {"value": 7}

    def read_text_file(
        self, path: str, line: int | None, limit: int | None, session: Session
    ) -> str:
        self.asked.append(f"read {Path(path).name}")
        return Path(path).read_text()

    def write_text_file(self, path: str, content: str, session: Session) -> None:
        self.asked.append(f"write {Path(path).name}")
        Path(path).write_text(content)

    async def create_terminal(
        self, request: v1.CreateTerminalRequest, session: Session
    ) -> v1.CreateTerminalResponse:
        self.asked.append("run")
        id = f"terminal-{len(self._terminals)}"
        self._terminals[id] = await asyncio.create_subprocess_exec(
            request.command, *request.args, cwd=request.cwd, stdout=asyncio.subprocess.PIPE
        )
        return v1.CreateTerminalResponse(terminal_id=id)

    async def wait_for_terminal_exit(
        self, request: v1.WaitForTerminalExitRequest, session: Session
    ) -> v1.WaitForTerminalExitResponse:
        code = await self._terminals[request.terminal_id].wait()
        return v1.WaitForTerminalExitResponse(exit_code=code)

    async def terminal_output(
        self, request: v1.TerminalOutputRequest, session: Session
    ) -> v1.TerminalOutputResponse:
        stdout = self._terminals[request.terminal_id].stdout
        assert stdout is not None
        return v1.TerminalOutputResponse(output=(await stdout.read()).decode(), truncated=False)

    async def kill_terminal(self, request: v1.KillTerminalRequest, session: Session) -> None:
        self._terminals[request.terminal_id].kill()

    async def release_terminal(self, request: v1.ReleaseTerminalRequest, session: Session) -> None:
        self.asked.append("release")
        await self._terminals[request.terminal_id].wait()
