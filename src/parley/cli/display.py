"""The output of `parley run`: readable, as JSON lines, or only the answer.

Readable means: what the agent says goes to stdout as it comes, everything else to stderr, so that
`parley run … > answer.txt` keeps the answer. All text of the agent is made inert; in JSON, control
characters are escaped anyway.
"""

from __future__ import annotations

import os
import shlex
import sys
from typing import Any, TextIO

import msgspec
from msgspec import UNSET

from parley._display_text import sanitize_text
from parley.client import PermissionDecision, Session, TurnResult
from parley.errors import RequestError
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import Unknown
from parley.session._transcript import Transcript
from parley.session._transcript_entries import ToolCallEntry

from .held_stderr import write_stderr
from .json_output import print_json
from .paint import COLOURS
from .progress_line import ProgressLine
from .render import Line, plan_lines, result_lines, tool_line

__all__ = ["SCHEMA", "Display", "JsonLines", "Quiet", "Readable"]

SCHEMA = 1
"""The version of what `--json` prints; it changes when something is taken away or means another."""


class Display:
    """The output of a turn; a subclass overrides what it shows."""

    def begin(self, session: Session, key: str | None, *, is_resumed: bool) -> None:
        """Show that a session is open, and its key in the journal."""

    def wait(self, what: str) -> None:
        """Show what is waited for while nothing else is shown; nothing if it is empty."""

    def update(self, update: v2.SessionUpdate, transcript: Transcript) -> None:
        """Show an update that the transcript has taken in."""

    def decision(self, decided: PermissionDecision) -> None:
        """Show how a question for permission ended, and why."""

    def end(self, result: TurnResult, transcript: Transcript, bound: str | None = None) -> None:
        """Show how the turn ended, and which bound of ours it was stopped at."""

    def fail(self, error: Exception) -> None:
        """Make room for an error, which stderr will show."""

    def pause(self, is_echoed: bool = False) -> None:
        """Make room for something else on the terminal, which may have begun a new line already."""


class Quiet(Display):
    """Only what the agent said, when it is done."""

    def end(self, result: TurnResult, transcript: Transcript, bound: str | None = None) -> None:
        """Print the text."""
        if result.text:
            print(sanitize_text(result.text), flush=True)


class JsonLines(Display):
    """One event a line: `session`, `update`, `permission`, and at last `end` or `error`."""

    def begin(self, session: Session, key: str | None, *, is_resumed: bool) -> None:
        """Print which session it is."""
        connection = session.connection
        info = connection.info
        _event(
            {
                "event": "session",
                "schema": SCHEMA,
                "sessionId": session.id,
                "key": key,
                "isResumed": is_resumed,
                "cwd": session.cwd,
                "protocol": connection.version,
                "agent": {"name": info.name, "version": info.version},
            }
        )

    def update(self, update: v2.SessionUpdate, transcript: Transcript) -> None:
        """Print the update as it is in version 2."""
        _event({"event": "update", "update": msgspec.Raw(encode(update))})

    def decision(self, decided: PermissionDecision) -> None:
        """Print the question and the decision."""
        _event(
            {
                "event": "permission",
                "request": msgspec.Raw(encode(decided.request)),
                "optionId": None if decided.option is None else decided.option.option_id,
                "isAllowed": decided.is_allowed,
                "by": decided.by,
                "reason": decided.verdict.reason,
            }
        )

    def end(self, result: TurnResult, transcript: Transcript, bound: str | None = None) -> None:
        """Print the stop reason, the text, and the usage."""
        stopped: dict[str, Any] = {
            "event": "end",
            "stopReason": result.stop_reason,
            "text": result.text,
        }
        if bound is not None:
            stopped["bound"] = bound
        if result.tokens is not None:
            stopped["tokens"] = msgspec.Raw(encode(result.tokens))
        if transcript.cost is not None:
            stopped["cost"] = msgspec.Raw(encode(transcript.cost))
        _event(stopped)

    def fail(self, error: Exception) -> None:
        """Print what failed."""
        described: dict[str, Any] = {"kind": type(error).__name__, "message": str(error)}
        if isinstance(error, RequestError):
            described |= {"message": error.message, "code": error.code}
            described |= {} if error.data is UNSET else {"data": error.data}
        _event({"event": "error", "error": described})


def _event(event: dict[str, Any]) -> None:
    print_json(event, is_line=True)


class Readable(Display):
    """Text as it streams, and a line or a few for whatever else happens."""

    def __init__(self, aside: TextIO | None = None) -> None:
        """Show what the agent says on stdout.

        Args:
            aside: Where everything else goes; None for stderr.
        """
        self._progress = ProgressLine(lambda: self._open is not None)
        self._out = _Pen(sys.stdout, self._progress)
        self._aside = _Pen(aside or sys.stderr, self._progress)
        self._open: tuple[_Pen, str] | None = None
        """The message whose text was written last and where, if no line was begun after it."""
        self._texts: dict[str, list[str]] = {}
        self._shown: dict[str, list[Line]] = {}

    def begin(self, session: Session, key: str | None, *, is_resumed: bool) -> None:
        """Show nothing: the user knows."""

    def wait(self, what: str) -> None:
        """Show a progress line, if there is a terminal."""
        self._progress.wait(what)

    def update(self, update: v2.SessionUpdate, transcript: Transcript) -> None:
        """Show it, if there is something to see."""
        match update:
            case v2.AgentMessageChunk():
                self._stream(self._out, update.message_id, update.content)
            case v2.AgentThoughtChunk():
                self._stream(self._aside, update.message_id, update.content)
            case v2.AgentMessage(message_id=id):
                self._whole(id, transcript)
            case v2.ToolCallUpdated(tool_call_id=id) | v2.ToolCallContentChunk(tool_call_id=id):
                self._tool_call(transcript.tool_calls[id], transcript)
            case v2.PlanUpdate(plan=plan):
                self._block("a plan", plan_lines(plan))
            case v2.Notice(severity=severity, title=title, description=description):
                words = title if description is None else f"{title}: {description}"
                self._line(f"{severity}: {words}", "yellow")
            case v2.CompactionUpdate(status=status):
                self._line(f"context compaction: {status}", "dim")
            case Unknown(tag=tag):
                self._line(f"(an update that is not known here: {tag})", "dim")
            case _:
                pass

    def decision(self, decided: PermissionDecision) -> None:
        """Show the question and the decision, unless it is what the user has just typed."""
        if decided.by == "user":
            return
        subject, reason = decided.subject, decided.verdict.reason
        if decided.by == "nobody":
            what = f":{subject.commands[0]}" if subject.commands else ""
            rule = shlex.quote(f"{subject.kind}{what}")
            reason = f"no rule allows it and nobody can be asked here; see --allow {rule}"
        answer = "no answer" if decided.option is None else decided.option.name
        about = ", ".join(subject.commands or subject.paths)
        title = decided.request.title
        if title == about:  # some agents send only the path or the command
            title = f"{subject.kind}: {title}"
        elif about not in title:
            title = f"{title} {about}"
        end = "" if title.endswith(("?", ":")) else ":"
        self._line(f"? {title}{end} {answer} ({reason})", "yellow")

    def end(self, result: TurnResult, transcript: Transcript, bound: str | None = None) -> None:
        """Finish the line; print the stop reason unless it is normal or reported elsewhere."""
        self.pause()
        if result.stop_reason != "end_turn" and bound is None:
            forgotten = "; the agent will not remember this prompt or its response"
            hint = forgotten if result.stop_reason == "refusal" else ""
            self._line(f"stopped: {result.stop_reason}{hint}", "yellow")

    def fail(self, error: Exception) -> None:
        """Finish the line."""
        self.pause()

    def pause(self, is_echoed: bool = False) -> None:
        """End the line that is being written."""
        self._progress.clear()
        if self._open is not None:
            pen, _ = self._open
            pen.finish_line(is_echoed)
            self._open = None

    def _line(self, text: str, colour: str = "") -> None:
        """Write a line that is not part of the answer."""
        self.pause()
        self._aside.write(sanitize_text(text, is_line=True) + "\n", colour)

    def _stream(self, pen: _Pen, id: str, content: v2.ContentBlock) -> None:
        text = content.text if isinstance(content, v2.TextContent) else f"[{_kind(content)}]"
        if self._open != (pen, id):
            self.pause()
            if pen is self._out and id not in self._texts and self._texts:
                pen.write("\n")
            self._open = (pen, id)
        if pen is self._out:
            self._texts.setdefault(id, []).append(text)
        pen.write(sanitize_text(text), "" if pen is self._out else "dim")

    def _whole(self, id: str, transcript: Transcript) -> None:
        """Show a message that came whole: what is new of it, or all if it was changed."""
        messages = (each for each in reversed(transcript.messages) if each.role == "agent")
        text = next(each.text for each in messages if each.id == id)
        written = "".join(self._texts.get(id, ()))
        if written and not text.startswith(written):
            self._line("(what was said before is replaced by:)", "dim")
            written = ""
        if rest := text[len(written) :]:
            self._stream(self._out, id, v2.TextContent(text=rest))
            self._texts[id] = [text]

    def _tool_call(self, call: ToolCallEntry, transcript: Transcript) -> None:
        """Show what it does, and when it is over what came of it.

        That a call waits for permission is shown by the question.
        """
        if call.status != "pending" or f"call {call.id}" not in self._shown:
            self._block(f"call {call.id}", [tool_line(call)])
        if call.status in ("completed", "failed", "cancelled"):
            self._block(f"result {call.id}", result_lines(call, transcript.terminals))

    def _block(self, thing: str, lines: list[Line]) -> None:
        """Write lines about a thing, unless they are the ones that were written last."""
        if self._shown.get(thing, []) == lines:
            return
        self._shown[thing] = lines
        self.pause()
        for text, colour in lines:
            self._aside.write(text + "\n", colour)


def _kind(content: v2.ContentBlock) -> str:
    if isinstance(content, v2.ResourceLink):
        return f"link: {content.uri}"
    return content.tag if isinstance(content, Unknown) else type(content).__name__


class _Pen:
    """A stream, in colour where that can be seen, that knows whether a line has begun."""

    def __init__(self, stream: TextIO, progress: ProgressLine) -> None:
        self._stream = stream
        self._progress = progress
        self._is_terminal = stream.isatty()
        self._is_coloured = self._is_terminal and "NO_COLOR" not in os.environ
        self._is_in_line = False

    def write(self, text: str, colour: str = "") -> None:
        if not text:
            return
        self._progress.clear()
        self._is_in_line = not text.endswith("\n")
        code = COLOURS.get(colour, "") if self._is_coloured else ""
        text = f"\x1b[{code}m{text}\x1b[0m" if code else text
        if self._stream is sys.stderr:
            write_stderr(text)
        else:
            self._stream.write(text)
            self._stream.flush()

    def finish_line(self, is_echoed: bool) -> None:
        if is_echoed and self._is_terminal:
            self._is_in_line = False
        if self._is_in_line:
            self.write("\n")
