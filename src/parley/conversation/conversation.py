"""One agent, one session, and the prompts that wait for it.

Theory of operation. A conversation is a row of lives (`life.py`). In each the agent is started, the
session opened, anew or again, and then the queue worked off, one prompt after the other. A life
ends by an error: the agent has died, could not be started, or wants a login that nobody gave it.
The view learns why, the queue stays, and `restart` begins the next life, in which the session is
opened again where the agent can do that. Nothing that an agent does is raised here.

The state is not kept but read off what there is: a session, a turn, an open question, an error.
"""

from __future__ import annotations

import asyncio
from typing import Literal, TypeAlias

from msgspec import Struct

from parley.client import Connection, Session, subject_in
from parley.errors import AcpError, ConnectFailed, LocalProtocolError
from parley.journal import Record
from parley.policy import Scope
from parley.schema import v2
from parley.session._transcript import Transcript
from parley.transport._child_process import SIGKILL, signal_group

from .agent_run import Life, Past
from .setup import Setup
from .view import View

__all__ = ["PATIENCE_AFTER", "Conversation", "Prompt", "State"]

State: TypeAlias = Literal["starting", "idle", "running", "waiting", "dead", "closed"]

PATIENCE_AFTER = 5.0
"""How many seconds a cancelled turn has to end before the user is told that it does not."""

_LONGEST_TITLE = 80


class Prompt(Struct):
    """What the user wants to say."""

    content: tuple[str | v2.ContentBlock, ...]
    is_second: bool = False
    """Whether it was sent before, and a login was wanted for it."""

    @property
    def text(self) -> str:
        """Its words."""
        return "\n".join(each for each in self.content if isinstance(each, str))


class Conversation:
    """A conversation with an agent, for a view."""

    def __init__(self, setup: Setup, view: View, *, record: Record | None = None) -> None:
        """Prepare it; `run` begins it.

        Args:
            setup: Which agent, where, with what.
            view: Who shows it.
            record: The session of the journal to go on with; `setup.for_record` fits it.
        """
        self.setup = setup
        self.view = view
        self.queue: list[Prompt] = []
        """The prompts that wait, the next one first."""
        self.error: AcpError | None = None
        """Why the agent is dead."""
        self.away = ""
        """Why a remote agent is not there now, while it is waited for; else empty."""
        self.session: Session | None = None
        """The session; that of the last life until the next one has its own."""
        self.past = None if record is None else Past(record.session_id, record.cwd or None)
        """The session to go on with."""
        self.is_shown = False
        """Whether the view has what was said in it."""
        self.given: set[str] = set()
        """Pictures outside of the workspace that the user has dropped into a prompt."""
        self.patience_after = PATIENCE_AFTER
        self._record = record
        self._life: Life | None = None
        self._is_closing = self._is_over = False
        self._is_given_up = False
        self._again = asyncio.Event()
        self._ended = asyncio.Event()

    # What there is to know

    @property
    def state(self) -> State:
        """What goes on."""
        if self._is_over:
            return "closed"
        if self.error is not None:
            return "dead"
        if self._life is not None and self._life.asking.open:
            return "waiting"
        if self._life is None or not self._life.is_open:
            return "starting"
        return "running" if self._life.is_busy else "idle"

    @property
    def is_cancelling(self) -> bool:
        """Whether a turn was cancelled and has not ended yet."""
        return self._life is not None and self._life.is_cancelling

    @property
    def connection(self) -> Connection | None:
        """The connection to the agent; that of the last life until the next one has its own."""
        return None if self._life is None else self._life.connection

    @property
    def name(self) -> str:
        """What to call the agent."""
        info = None if self.connection is None else self.connection.info
        own = "" if info is None else info.title or info.name
        return self.setup.agent.name or own or self.setup.label

    @property
    def transcript(self) -> Transcript:
        """What was said, with title, usage, cost, options and commands."""
        return Transcript() if self.session is None else self.session.transcript

    @property
    def goes_on(self) -> bool:
        """Whether the session is the one that there was before."""
        past, session = self.past, self.session
        return past is not None and session is not None and past.session_id == session.id

    @property
    def title(self) -> str:
        """What to call the conversation; without a name it is how the first prompt begins."""
        record, transcript = self.record, self.transcript
        name, title = (None, None) if record is None else (record.name, record.title)
        first = next((each.text for each in transcript.messages if each.role == "user"), "")
        begin = " ".join(first[: 10 * _LONGEST_TITLE].split())  # asked often, and it may be long
        return name or transcript.title or title or begin[:_LONGEST_TITLE]

    @property
    def record(self) -> Record | None:
        """What the journal knows of the session; None where there is none."""
        if self.connection is not None and self.session is not None:
            recorder = self.connection.recorder
            known = None if recorder is None else recorder.record_of(self.session.id)
            self._record = known or self._record
        return self._record

    @property
    def last_words(self) -> str:
        """The end of what the agent wrote to stderr since it was started, made inert."""
        return "" if self._life is None else self._life.last_words

    def see_remote(self, state: str, reason: str) -> None:
        """Note whether a remote agent is there.

        One that is gone for good stays away until its life has ended, which happens next: it must
        not look as if it had come back in between.
        """
        if state != "gone":
            self.away = reason or "the connection broke" if state == "away" else ""
            self.view.changed()

    # What the user does

    def send(self, *content: str | v2.ContentBlock) -> None:
        """Say something, when all that was said before is done; `@path` attaches a file."""
        self.queue.append(Prompt(content))
        self._tell()

    def unqueue(self, index: int) -> Prompt:
        """Take a prompt back that waits, and return it."""
        prompt = self.queue.pop(index)
        self._tell()
        return prompt

    def _tell(self) -> None:
        if self._life is not None:
            self._life.news.set()
        self.view.changed()

    async def cancel(self) -> None:
        """Stop what goes on; an agent that is not ready yet is given up."""
        if self._life is None or self.error is not None or self._is_over:
            return
        if self._life.is_open:
            await self._life.cancel()
        else:
            self._is_given_up = True
            self._life.end()

    async def restart(self) -> None:
        """Start the agent again, a living one too, and go on with the session where it can.

        Returns when the one before has ended.
        """
        self._again.set()
        if self._life is not None:
            self._life.end()
            await self._life.wait()

    async def close(self) -> None:
        """End it all; returns when no process is left."""
        self._is_closing = True
        self._again.set()
        if self._life is None:
            self._is_over = True
        else:
            self._life.end()
            await self._ended.wait()

    def kill(self) -> None:
        """End an agent without mercy that does not end when asked to."""
        pid = None if self._life is None else self._life.pid
        if pid is not None and self.state not in ("dead", "closed"):
            signal_group(pid, SIGKILL)

    async def set_option(self, config_id: str, value: str | bool) -> None:
        """Set an option of the session, such as its mode; the view learns if that fails."""
        try:
            if self.session is None:
                raise LocalProtocolError("there is no session yet; wait until there is")
            await self.session.set_option(config_id, value)
        except AcpError as error:
            self.view.failed(error)

    def rename(self, name: str | None) -> None:
        """Give the session a name in the journal."""
        recorder = None if self.connection is None else self.connection.recorder
        if recorder is not None and self.session is not None:
            recorder.rename(self.session.id, name)
            self.view.changed()

    def remember(
        self,
        request: v2.RequestPermissionRequest,
        session: Session,
        decision: Literal["allow", "deny"],
        scope: Scope,
    ) -> None:
        """Keep an answer for when exactly this is asked again; the view learns if that fails."""
        problem = "nothing tells this call from others"
        try:
            if self.setup.policy.remember(subject_in(session, request), decision, scope):
                return
        except OSError as error:
            problem = str(error)
        self.view.noted(f"the answer is not remembered: {problem}")

    # Lives

    async def run(self) -> None:
        """Converse until it is closed."""
        try:
            while not self._is_closing:
                await self._one_life()
                if not self._is_closing:
                    await self._again.wait()
        finally:
            self._is_over = True
            self._ended.set()
            self.view.changed()

    async def _one_life(self) -> None:
        self.error = None
        self.away = ""
        self._is_given_up = False
        self._again.clear()
        life = self._life = Life(self)
        self.view.changed()
        error = await life.live()
        if error is None and self._is_given_up:
            error = ConnectFailed(f"{self.name} was given up before it was ready")
        if error is not None and not self._is_closing:
            self.error = error
            self.away = ""
            life.settle()
            self.view.died(error)
            self.view.changed()
