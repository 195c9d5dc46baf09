"""From the frames of a connection to the sessions of a journal.

A peer shows a `Recorder` each frame. The recorder finds the session of the frame: a call names it
in `params.sessionId`, an answer belongs where its request does, and what opens a session names it
in the answer. Updates that the peer has decoded come in groups, and a usual group is written
without reading its frames again.

- What comes before any session (initialize, login) is kept, and written at the beginning of each
  session of the connection, so that every session is whole by itself. A session that goes on over
  several connections has it once for each.
- Updates that overtake the answer which names their session wait for it. A session that nobody has
  opened, such as a subagent's, is begun by its first frame.
- `session/load` and `session/resume` go on with the record that the journal has of the session,
  same role and agent. What the agent replays before its answer (after a load, a resume that asks
  for it, and in version 1 any resume, where some agents do it unasked) is in there already:
  it is not written again, a note `replay` says how many frames that were. Snapshots (commands,
  options, modes, title, usage, state) are written even then. Where the journal does not have the
  session, the replay is written like anything else.
- `session/fork` copies the record. `session/delete` and `session/archive` archive it: what is
  forgotten in the journal is decided by its owner alone.
- A batch is written as the messages in it. What belongs to no session (lists, providers) is not
  written; what cannot be told (malformed frames, extensions) goes to the session if just one is
  open.
- The values of environments and headers that MCP servers and terminals get are masked, and so are
  the known secrets, wherever they stand (`_secrets.py`).

A record is `running` from a prompt to its end: the answer in version 1, the idle state in version
2. When the connection ends before, it stays so with no process, which is an interrupted turn.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, field, structs

from parley.peer._tracing import Direction
from parley.peer._update_reader import UpdateGroup
from parley.rpc._framing import Frame, LineBlock
from parley.rpc._message import Id
from parley.schema._session_methods import (
    BEGINS,
    CLOSES,
    OPENS,
    REOPENS,
)
from parley.transport._frame_head import FrameHead, peek

from ._base import Journal, Kind, Record, Role
from ._frames import (
    Answer,
    Setup,
    read_answer,
    read_batch,
    read_prompt,
    read_result,
    read_setup,
    read_told,
)
from ._recorded_sessions import Held, Opened, Session
from ._secrets import mask, mask_setup, needles

logger = logging.getLogger(__name__)

MAX_EARLY_BYTES = 16 * 1024 * 1024
"""How much is kept until the session is known that it belongs to."""
MAX_STRANGERS = 1000
"""How many sessions may begin on a connection that nobody has opened."""
MAX_SECRETS = 64
"""How many values are looked for; each costs a look at every frame."""
MAX_ASKED = 4096
"""How many requests may be without an answer."""

_ABOUT = CLOSES | {"session/unarchive", "session/status", "session/set_title"}
"""What speaks of a session that need not be open."""
_BEFORE = frozenset({"initialize", "authenticate", "logout", "auth/login", "auth/logout"})
_ELSEWHERE = frozenset(
    {"session/list", "auth/status", "providers/list", "providers/set", "providers/disable"}
)
_WITH_VALUES = OPENS | {"terminal/create"}
_TELLING = frozenset({"session_info_update", "state_update"})
_SNAPSHOTS = _TELLING | {
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "usage_update",
}
_OTHER: dict[Direction, Direction] = {"inbound": "outbound", "outbound": "inbound"}


def _is_usual(group: UpdateGroup) -> bool:
    """Return whether updates are written and nothing more is learned from them."""
    if group.method != "session/update":
        return False
    # Updates of unknown kinds are never in a group, so each of them has a type with a tag.
    types: set[type[Struct]] = {type(params.update) for params in group.params}
    kinds = [each.__struct_config__.tag for each in types]
    return _TELLING.isdisjoint(kinds)


class _Asked(Struct):
    """A request that is not answered yet."""

    method: str
    session_id: str
    setup: Setup = Setup()
    held: list[Held] = field(default_factory=list[Held])
    """The request itself, where it is not known yet what session it opens."""
    is_replay: bool = False
    """Whether updates until the answer tell what is known."""


class Recorder:
    """Writes down what passes over one connection; `parley.connect(…, journal=…)` uses it."""

    def __init__(
        self,
        journal: Journal,
        *,
        role: Role = "client",
        agent: str,
        secrets: Iterable[str] = (),
        is_shared: bool = False,
    ) -> None:
        """Record what one side of a connection sees.

        Args:
            journal: Where to.
            role: Which side this is.
            agent: What the agent is called in the journal.
            secrets: Values that must not be written; very short ones are not looked for.
            is_shared: Whether other processes may be on a session; one of them writes it down.
        """
        self.journal = journal
        self._secrets = list(secrets)
        self._needles = needles(self._secrets)
        self._kinds: dict[Direction, Kind] = (
            {"inbound": "to_client", "outbound": "to_agent"}
            if role == "client"
            else {"inbound": "to_agent", "outbound": "to_client"}
        )
        self._opened = Opened(journal, role, agent, is_shared=is_shared)
        self._sessions = self._opened.sessions
        self._asked: dict[tuple[Direction, Id], _Asked] = {}
        self._loading: dict[str, _Asked] = {}
        """Sessions that are being loaded and of which the journal knows nothing."""
        self._opening = 0
        """How many requests are under way whose answer names a session."""
        self._early: dict[str, list[tuple[FrameHead, Held]]] = {}
        self._early_bytes = 0
        self._strangers = 0

    def observe(self, direction: Direction, frame: Frame) -> None:
        """Take a frame; a connection calls this."""
        data = frame if type(frame) is bytes else bytes(frame)
        for needle in self._needles:
            if needle in data:
                data = mask(data, self._secrets)
                break
        head = peek(data)
        if not head.is_message:
            self._unclear(direction, data)
            return
        if head.method == "session/update":
            session = self._sessions.get(head.params.session_id or "")
            kind = head.params.update.kind
            if session is not None and session.is_written and kind not in _TELLING:
                self.journal.append(session.record.key, self._kinds[direction], data)
                return
        if head.method in _WITH_VALUES:
            data = self._without_values(data)
        held = Held(self._kinds[direction], data, time.time())
        if head.method is UNSET:
            self._answered(direction, head, held)
        elif head.id is not UNSET:
            self._requested(direction, head.id, head.method, head, held)
        else:
            self._notified(head, held)

    def observe_updates(self, frames: Sequence[Frame], groups: Sequence[UpdateGroup]) -> None:
        """Take incoming updates that the connection has decoded; it calls this."""
        wholes = (frames.block,) if isinstance(frames, LineBlock) else frames
        has_secrets = any(needle in whole for whole in wholes for needle in self._needles)
        begin = 0
        for group in groups:
            some = frames[begin : begin + len(group.params)]
            begin += len(some)
            session = self._sessions.get(group.session_id)
            if session is not None and session.is_written and not has_secrets and _is_usual(group):
                data = [frame if type(frame) is bytes else bytes(frame) for frame in some]
                self.journal.extend(session.record.key, self._kinds["inbound"], data)
            else:
                for frame in some:
                    self.observe("inbound", frame)

    def _without_values(self, data: bytes) -> bytes:
        """Hide what a request hands over, here and wherever the agent repeats it."""
        data, hidden = mask_setup(data)
        new = [each for each in hidden if each not in self._secrets]
        if new and len(self._secrets) < MAX_SECRETS:
            self._secrets += new
            self._needles = needles(self._secrets)
        return data

    def note(self, session_id: str, what: str, **data: Any) -> None:
        """Write down something that the program did: `{"note": what, …}`."""
        if (session := self._sessions.get(session_id)) is not None:
            text = msgspec.json.encode({"note": what, **data}, enc_hook=str)
            self._opened.write(session, Held("note", mask(text, self._secrets), time.time()))

    def record_of(self, session_id: str) -> Record | None:
        """Return what is known of a session of this connection, but for the number of entries."""
        session = self._sessions.get(session_id)
        return None if session is None else structs.replace(session.record)

    def rename(self, session_id: str, name: str | None) -> None:
        """Give a session the name that the user wants."""
        if (session := self._sessions.get(session_id)) is not None:
            self._opened.change(session, name=name)

    def close(self) -> None:
        """Record that the connection is over: turns that run on it are interrupted."""
        for session in self._sessions.values():
            self._opened.change(session, process="")

    async def commit(self) -> None:
        """Wait until everything observed so far is durable.

        Raises:
            JournalError: It could not be written.
        """
        await self.journal.commit()

    def _unclear(self, direction: Direction, data: bytes) -> None:
        """Take what is no message: the messages of a batch one by one, anything else as it is."""
        items = read_batch(data) if data.lstrip().startswith(b"[") else []
        for item in items:
            self.observe(direction, item)
        if not items and data.strip():
            self._place_anywhere(Held(self._kinds[direction], data, time.time()))

    def _requested(
        self, direction: Direction, id: Id, method: str, head: FrameHead, held: Held
    ) -> None:
        session_id = head.params.session_id or ""
        asked = _Asked(method, session_id)
        self._remember((direction, id), asked)
        if held.kind != "to_agent":  # such as a question, or what an agent has no right to ask
            asked.method = ""
            self._place(head, held, session_id)
        elif method in _BEFORE:
            self._opened.keep_before(held)
        elif method in BEGINS:
            asked.setup = read_setup(held.data)
            asked.held.append(held)
            self._opening += 1
        elif method in REOPENS:
            self._reopen(asked, held)
        elif method not in _ELSEWHERE:
            self._opened.claim(session_id)
            session = self._place(head, held, session_id)
            if session is not None and method == "session/prompt":
                self._opened.prompt(session, read_prompt(held.data))

    def _remember(self, key: tuple[Direction, Id], asked: _Asked) -> None:
        """Remember a request; one with the same id, or the oldest of too many, is given up."""
        is_full = len(self._asked) >= MAX_ASKED and key not in self._asked
        given_up = self._asked.pop(next(iter(self._asked)) if is_full else key, None)
        if given_up is not None and given_up.method in BEGINS:
            self._opening -= 1
        if given_up is not None and given_up.is_replay:
            session = self._sessions.get(given_up.session_id)
            if session is not None:
                session.replays -= 1
        self._asked[key] = asked

    def _reopen(self, asked: _Asked, held: Held) -> None:
        asked.setup = read_setup(held.data)
        session = self._opened.resume(asked.session_id, asked.setup)
        if session is None:
            asked.held.append(held)
            self._loading[asked.session_id] = asked
            return
        self._opened.write(session, held)
        self._opened.rest(session)
        replays = asked.method == "session/load" or asked.setup.asks_for_replay
        if replays or self._opened.protocol == 1:  # some agents of version 1 replay on a resume
            asked.is_replay = True
            session.replays += 1

    def _notified(self, head: FrameHead, held: Held) -> None:
        session_id = head.params.session_id or ""
        session = self._sessions.get(session_id)
        kind = head.params.update.kind
        is_update = head.method == "session/update"
        if session is not None and session.replays and is_update and kind not in _SNAPSHOTS:
            session.replayed += 1
            return
        session = self._place(head, held, session_id)
        if session is not None and is_update and kind in _TELLING:
            told = read_told(held.data)
            if told.title is not UNSET:
                self._opened.change(session, title=told.title)
            if told.state == "idle":
                self._opened.rest(session)
            elif told.state in ("running", "requires_action"):
                self._opened.run(session)

    def _answered(self, direction: Direction, head: FrameHead, held: Held) -> None:
        id = None if head.id is UNSET else head.id
        asked = self._asked.pop((_OTHER[direction], id), None)
        if asked is None:
            self._place_anywhere(held)
            return
        answer = read_answer(held.data)
        if asked.method in _BEFORE:
            self._opened.keep_before(held)
            if asked.method == "initialize" and answer.is_success:
                self._opened.agree(answer.result)
        elif asked.method in BEGINS:
            self._named(asked, answer, head, held)
        elif asked.method in REOPENS:
            self._reopened(asked, answer, head, held)
        elif asked.method not in _ELSEWHERE:
            session = self._place(head, held, asked.session_id)
            if session is not None:
                self._learn(session, asked.method, answer)

    def _named(self, asked: _Asked, answer: Answer, head: FrameHead, held: Held) -> None:
        """Begin the session that an answer names, with all that was held for it."""
        self._opening -= 1
        session_id = read_result(answer).session_id if answer.is_success else ""
        if session_id:
            session = self._sessions.get(session_id)
            if session is None or not session.is_open:
                parent = asked.session_id if asked.method == "session/fork" else ""
                session = self._opened.begin(session_id, asked.setup, parent)
            for each in asked.held:
                self._opened.write(session, each)
            self._release(session_id)
            self._opened.write(session, held)
        if not self._opening:
            for other in list(self._early):
                self._release(other)

    def _release(self, session_id: str) -> None:
        """Put what came early into its session."""
        early = self._early.pop(session_id, [])
        self._early_bytes -= sum(held.weight for _, held in early)
        for head, held in early:
            if head.method is not UNSET and head.id is UNSET:
                self._notified(head, held)
            else:
                self._place(head, held, session_id)

    def _reopened(self, asked: _Asked, answer: Answer, head: FrameHead, held: Held) -> None:
        waiting = self._loading.pop(asked.session_id, None)
        if waiting is not None and not answer.is_success:
            return  # there is no such session
        if waiting is not None:
            self._begin_loaded(waiting)
        session = self._place(head, held, asked.session_id)
        if session is not None and asked.is_replay:
            session.replays -= 1
            if session.replayed and not session.replays:
                self.note(asked.session_id, "replay", frames=session.replayed)
                session.replayed = 0

    def _begin_loaded(self, asked: _Asked) -> Session:
        session = self._opened.begin(asked.session_id, asked.setup)
        for each in asked.held:
            self._opened.write(session, each)
        return session

    def _learn(self, session: Session, method: str, answer: Answer) -> None:
        """Record what an answer says about its session."""
        if method == "session/prompt":
            session.prompts -= 1
            is_end = not answer.is_success or read_result(answer).stop_reason is not None
            if is_end and session.prompts <= 0:
                self._opened.rest(session)
        elif answer.is_success and method in CLOSES:
            self._opened.close(session)
            if method != "session/close":
                self._opened.change(session, is_archived=True)
        elif answer.is_success and method == "session/unarchive":
            self._opened.change(session, is_archived=False)
        elif answer.is_success and method == "session/set_title":
            self._opened.change(session, title=read_result(answer).title)

    def _place(self, head: FrameHead, held: Held, session_id: str) -> Session | None:
        """Write a frame to its session; None if that is not known yet, or never will be."""
        if not session_id:
            self._place_anywhere(held)
            return None
        session = self._sessions.get(session_id)
        if session is None and (loading := self._loading.pop(session_id, None)) is not None:
            session = self._begin_loaded(loading)
        if session is None and self._opening and head.method not in _ABOUT:
            self._hold(session_id, head, held)
            return None
        if session is None:
            session = self._stranger(session_id, head)
        if session is not None:
            self._opened.write(session, held)
        return session

    def _hold(self, session_id: str, head: FrameHead, held: Held) -> None:
        if self._early_bytes < MAX_EARLY_BYTES:
            self._early_bytes += held.weight
            self._early.setdefault(session_id, []).append((head, held))
        else:
            logger.warning("too much came before its session; some of it is not written down")

    def _stranger(self, session_id: str, head: FrameHead) -> Session | None:
        """Find a session that was not opened on this connection, or begin it."""
        if head.method in _ABOUT:
            return self._opened.recall(session_id)
        if head.method is UNSET or self._strangers >= MAX_STRANGERS:
            return None
        self._strangers += 1
        return self._opened.begin(session_id, Setup())

    def _place_anywhere(self, held: Held) -> None:
        """Write a frame that names no session, if there is no doubt about it."""
        if (session := self._opened.only_one()) is not None:
            self._opened.write(session, held)
