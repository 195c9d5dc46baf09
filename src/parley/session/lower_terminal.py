"""A terminal that the agent runs itself, for a client that knows only its own: as text.

Spec: https://agentclientprotocol.com/protocol/v2/tool-calls#content
"""

from __future__ import annotations

import re

from parley.schema import v1, v2

from .entries import read_base64

__all__ = ["SHOWN_BYTES", "LoweredTerminal", "fenced"]

SHOWN_BYTES = 32 * 1024
"""How much of the output is shown, the newest."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor, clearing
    r"|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|\r(?=\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


class LoweredTerminal:
    """What is known about one terminal."""

    def __init__(self) -> None:
        self.shown_in: dict[str, None] = {}
        """The tool calls that show it, in the order in which they began to."""
        self.is_over = False
        """Whether its process has ended."""
        self._command = ""
        self._cwd = ""
        self._output = bytearray()
        self._is_cut = False
        self._end = ""

    def update(self, update: v2.TerminalUpdate) -> bool:
        """Take a change; return whether it changes what is shown."""
        before = (self._command, self._cwd, self._end)
        if isinstance(update.command, str):
            self._command = update.command
        if isinstance(update.cwd, str):
            self._cwd = update.cwd
        if isinstance(update.exit_status, v2.TerminalExitStatus):
            self.is_over = True
            self._end = _ended(update.exit_status)
        elif update.exit_status is None:
            self.is_over = False
            self._end = ""
        has_output = update.output is None or isinstance(update.output, v2.TerminalOutput)
        if has_output:
            self._output.clear()
            self._is_cut = False
        if isinstance(update.output, v2.TerminalOutput):
            self.append(update.output.data)
        return has_output or before != (self._command, self._cwd, self._end)

    def append(self, data: str) -> int:
        """Take more output, as base64; return how much it is."""
        added = read_base64(data, "terminal output")
        self._output.extend(added)
        if len(self._output) > 2 * SHOWN_BYTES:  # not at every chunk
            del self._output[:-SHOWN_BYTES]
            self._is_cut = True
        return len(added)

    def content(self) -> v1.Content:
        """Return what to show in a tool call."""
        shown = bytes(self._output[-SHOWN_BYTES:])
        is_cut = self._is_cut or len(self._output) > SHOWN_BYTES
        text = _ESCAPES.sub("", shown.decode(errors="replace"))
        parts = [
            f"{self._cwd}$ {self._command}\n" if self._command else "",
            "…\n" if is_cut else "",
            text,
            "" if text.endswith("\n") or not text else "\n",
            self._end,
        ]
        return v1.Content(content=v1.TextContent(text=fenced("".join(parts))))


def fenced(text: str) -> str:
    """Return text as a Markdown code block that nothing in it can end."""
    runs = (len(run) for run in re.findall("`+", text))
    fence = "`" * max(3, 1 + max(runs, default=0))
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def _ended(status: v2.TerminalExitStatus) -> str:
    if status.signal is not None:
        return f"[ended by {status.signal}]\n"
    return "[ended]\n" if status.exit_code is None else f"[exit code {status.exit_code}]\n"
