"""`policy`: the permission policy, for any client.

A question for permission that the policy decides is answered here; what it would ask goes to the
client. Only an option that says "once" is chosen: where there is none, an allowed question goes to
the client, and a denied one is answered as not decided. In version 1 the files and commands that
the agent wants of the client are looked at, too: what the policy denies is refused, the rest is for
the client to decide. An agent that writes and runs by itself asks no questions, and nothing here
stops it.

Paths are resolved on the machine where this runs, so it belongs where the files are.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, field, structs

from parley.errors import ConfigError, InvalidRequest
from parley.policy import Policy, Subject, Verdict, load_policy, parse_flags, subject_of
from parley.policy._off_loop import run_off_loop
from parley.policy._request import is_small
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._handling.message import Notification, Request, Response
from parley.proxy._proxy import Proxy
from parley.schema import v1, v2
from parley.session._transcript_entries import ToolCallEntry
from parley.session._validation import check_handler

logger = logging.getLogger(__name__)

MAX_SESSIONS = 1000
"""How many sessions of a connection are remembered."""
MAX_CALLS = 1000
"""How many tool calls of a session are remembered; the client decides about what is forgotten."""
MAX_PIECES = 10_000
"""How many pieces of content of a tool call."""
_TOOLS = ("tool_call_update", "tool_call_content_chunk")
_FINISHED = ("completed", "failed", "cancelled")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KINDS = {"allow": "allow_once", "deny": "reject_once"}


class _Calls:
    """The tool calls of a session, as far as somebody may ask about them."""

    def __init__(self) -> None:
        self._known: dict[str, ToolCallEntry] = {}
        self._has_forgotten = False

    def fold(self, update: v2.SessionUpdate | v2.ToolCallUpdate) -> None:
        """Take an update into account."""
        if isinstance(update, v2.ToolCallUpdate | v2.ToolCallUpdated):
            self._call(update.tool_call_id).apply(update)
        elif isinstance(update, v2.ToolCallContentChunk):
            content = self._call(update.tool_call_id).content
            content.append(update.content)
            if len(content) > MAX_PIECES:
                self._forget(update.tool_call_id)

    def _call(self, id: str) -> ToolCallEntry:
        if id not in self._known:
            self._known[id] = ToolCallEntry(id)
        if len(self._known) > MAX_CALLS:
            others = (each.id for each in self._known.values() if each.status in _FINISHED)
            self._forget(next(others, next(iter(self._known))))
        return self._known[id]

    def _forget(self, id: str) -> None:
        del self._known[id]
        self._has_forgotten = True

    def copy_of(self, id: str | None) -> ToolCallEntry | None:
        """Return a copy of a call, which later updates do not change."""
        known = self._known.get(id or "")
        if known is None:
            return None
        copied = ToolCallEntry(known.id)
        for update in known.replay():
            copied.apply(update)
        return copied

    def may_miss(self, id: str | None) -> bool:
        """Return whether earlier updates of a call may have been discarded."""
        return self._has_forgotten and id not in self._known

    @property
    def are_over(self) -> bool:
        """Return whether all have ended, so that they are not needed any more."""
        return all(call.status in _FINISHED for call in self._known.values())


class _Session(Struct):
    """The state of a session."""

    cwd: str
    rules: Policy
    calls: _Calls = field(default_factory=_Calls)
    is_cancelling: bool = False
    is_opened: bool = False
    """Whether the client has opened it; otherwise only the agent has mentioned it."""


class _Desk:
    """Decides in the sessions of all connections."""

    def __init__(
        self,
        of: Callable[[str], Policy],
        agent: str,
        on_decision: Callable[[Subject, Verdict], None] | None,
    ) -> None:
        self._of = of
        self._agent = agent
        self._on_decision = on_decision

    def open(
        self, connection: ProxyConnection, session_id: str, cwd: str, *, is_opened: bool = False
    ) -> _Session:
        """Begin to decide in a session."""
        sessions: dict[str, _Session] = connection.state.setdefault("sessions", {})
        made = sessions[session_id] = _Session(cwd, self.rules(cwd), is_opened=is_opened)
        if len(sessions) > MAX_SESSIONS:  # an agent does not make us forget those of the client
            others = (id for id, each in sessions.items() if not each.is_opened)
            del sessions[next(others, next(iter(sessions)))]
        return made

    def rules(self, cwd: str) -> Policy:
        """Return the policy of a directory; one that cannot be read allows no session."""
        try:
            return self._of(cwd)
        except ConfigError as error:
            raise InvalidRequest(f"The policy cannot be used: {error}") from error

    def session(self, connection: ProxyConnection, session_id: str) -> _Session:
        """Return a session; one that was not opened here gets the directory of the newest one."""
        known: dict[str, _Session] = connection.state.get("sessions", {})
        if session_id not in known:
            cwd = known[next(reversed(known))].cwd if known else str(Path.cwd())
            return self.open(connection, session_id, cwd)
        return known[session_id]

    async def decide(
        self, session: _Session, subject: Subject, *, may_miss: bool = False
    ) -> Verdict:
        """Decide about something; what is not known wholly is not allowed here."""
        verdict = await run_off_loop(subject.is_small, session.rules.decide, subject)
        if may_miss and verdict.decision == "allow":
            verdict = Verdict("ask", "earlier details of the call have been discarded")
        if verdict.decision != "ask":
            logger.info("%s: %s: %s", subject.session, verdict.decision, verdict.reason)
            if self._on_decision is not None:
                self._on_decision(subject, verdict)
        return verdict

    async def answer(self, request: Request) -> v2.RequestPermissionResponse | None:
        """Answer a question; None: it is the client's."""
        session = self.session(request.connection, request.session_id)
        question: v2.RequestPermissionRequest = request.params
        if session.is_cancelling:
            return None
        id, may_miss = None, False
        if isinstance(question.subject, v2.ToolCallPermissionSubject):
            id = question.subject.tool_call.tool_call_id
            may_miss = session.calls.may_miss(id)
            session.calls.fold(question.subject.tool_call)
        elif isinstance(question.subject, v2.CommandPermissionSubject):
            id = question.subject.tool_call_id
            may_miss = id is not None and session.calls.may_miss(id)
        call: Any = session.calls.copy_of(id)
        names = {"agent": self._agent, "session": request.session_id}
        subject = await run_off_loop(
            is_small(call), subject_of, question, call, session.cwd, **names
        )
        verdict = await self.decide(session, subject, may_miss=may_miss)
        if session.is_cancelling:  # meanwhile
            return None
        option = _option(question.options, verdict)
        if option is not None:
            chosen = v2.SelectedPermissionOutcome(option_id=option.option_id)
            return v2.RequestPermissionResponse(outcome=chosen)
        if verdict.decision == "deny":
            return v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
        return None

    async def guard(
        self, request: Request, kind: str, subject: Callable[[_Session], Subject]
    ) -> None:
        """Refuse what the agent wants of the client if the policy denies it."""
        _check_names(request)
        session = self.session(request.connection, request.session_id)
        verdict = await self.decide(session, subject(session))
        if verdict.decision == "deny":
            raise InvalidRequest(f"The policy denies this: {verdict.reason}", {"kind": kind})


def _check_names(request: Request) -> None:
    """Refuse names of another case than ours: some clients would read what we do not look at."""
    known = {each.encode_name for each in structs.fields(request.params)}
    folded = {name.casefold() for name in known}
    for name in msgspec.json.decode(request.raw, type=dict[str, Raw]):
        if name not in known and name.casefold() in folded:
            raise InvalidRequest(f"The member {name!r} has a name of another case")


def _option(options: Sequence[v2.PermissionOption], verdict: Verdict) -> v2.PermissionOption | None:
    """Return the option that means exactly the verdict."""
    kind = _KINDS.get(verdict.decision)
    meant = next((each for each in options if each.kind == kind), None)
    ids = [each.option_id for each in options]
    return None if meant is None or ids.count(meant.option_id) != 1 else meant


def policy(
    rules: Policy | None = None,
    *,
    allow: Sequence[str] = (),
    deny: Sequence[str] = (),
    agent: str = "agent",
    on_decision: Callable[[Subject, Verdict], None] | None = None,
) -> Proxy:
    """Return a proxy that decides about permissions.

    Args:
        rules: The policy; None is that of the user's files and of the project that a session is in.
        allow: Rules as of `--allow`, which count before those of the files.
        deny: Rules as of `--deny`, which count before these.
        agent: What the agent is called in rules.
        on_decision: Called with each decision made here, and its reason.

    Raises:
        ConfigError: A rule, or a policy file of the user's, cannot be used.
    """
    if on_decision is not None:
        check_handler(on_decision, "on_decision=", "subject", "verdict")
    allowed, denied = parse_flags(allow, "allow"), parse_flags(deny, "deny")

    def load(cwd: str) -> Policy:
        return load_policy(cwd, allow=allowed, deny=denied) if rules is None else rules

    load(str(Path.cwd()))
    desk = _Desk(load, agent, on_decision)
    proxy = Proxy("policy")
    _follow(proxy, desk)
    _guard(proxy, desk)

    @proxy.from_agent("session/request_permission")
    async def answer(request: Request) -> v2.RequestPermissionResponse | None:
        return await desk.answer(request)

    return proxy


def _follow(proxy: Proxy, desk: _Desk) -> None:
    """Follow the sessions: directories, prompts and tool calls."""

    async def begin(request: Request) -> Response:
        desk.rules(request.params.cwd)
        reply = await request.forward()
        session_id = getattr(reply.result, "session_id", request.session_id)
        desk.open(request.connection, session_id, request.params.cwd, is_opened=True)
        return reply

    def reopen(request: Request) -> None:
        desk.open(request.connection, request.session_id, request.params.cwd, is_opened=True)

    proxy.from_client("session/new")(begin)
    proxy.from_client("session/fork")(begin)
    proxy.from_client("session/resume")(reopen)

    @proxy.from_client("session/prompt")
    def prompt(request: Request) -> None:
        session = desk.session(request.connection, request.session_id)
        session.is_cancelling = False
        if session.calls.are_over:
            session.calls = _Calls()

    @proxy.from_client("session/cancel")
    def cancel(note: Notification) -> None:
        desk.session(note.connection, note.session_id).is_cancelling = True

    @proxy.from_agent("session/update")
    def update(note: Notification) -> None:
        if note.kind == "subagent_update":
            _follow_subagents(desk, note)
        elif note.kind in _TOOLS:
            calls = desk.session(note.connection, note.session_id).calls
            for each in note.updates:
                calls.fold(each)


def _follow_subagents(desk: _Desk, note: Notification) -> None:
    """Follow the directories of the sessions that an agent opens by itself."""
    parent = desk.session(note.connection, note.session_id)
    for each in note.updates:
        if isinstance(each, v2.SubagentUpdate):
            known: _Session | None = note.connection.state["sessions"].get(each.session_id)
            if known is not None and known.is_opened:
                continue  # the client has set its directory
            if each.cwd is not UNSET or known is None:
                desk.open(note.connection, each.session_id, each.cwd or parent.cwd)


def _guard(proxy: Proxy, desk: _Desk) -> None:
    """Look at what version 1 has the client do."""

    @proxy.from_agent("fs/read_text_file")
    async def read(request: Request) -> None:
        await desk.guard(request, "read", lambda session: _file("read", request.params, session))

    @proxy.from_agent("fs/write_text_file")
    async def write(request: Request) -> None:
        await desk.guard(request, "edit", lambda session: _file("edit", request.params, session))

    @proxy.from_agent("terminal/create")
    async def run(request: Request) -> None:
        await desk.guard(request, "execute", lambda session: _command(request.params, session))


def _file(
    kind: str, params: v1.ReadTextFileRequest | v1.WriteTextFileRequest, session: _Session
) -> Subject:
    spelled = Path(session.cwd, params.path)
    return Subject(
        kind=kind,
        paths=(os.path.realpath(spelled),),
        mentioned=(os.path.normpath(spelled),),
        session=params.session_id,
    )


def _command(params: v1.CreateTerminalRequest, session: _Session) -> Subject:
    line = shlex.join([params.command, *params.args]) if params.args else params.command
    if not all(_VARIABLE.fullmatch(each.name) for each in params.env):
        raise InvalidRequest("A variable has a name that is none for a shell")
    line = " ".join([*(f"{each.name}={shlex.quote(each.value)}" for each in params.env), line])
    cwd = os.path.realpath(Path(session.cwd, params.cwd or "."))
    return Subject(kind="execute", commands=(line,), cwd=cwd, session=params.session_id)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    for name in ("allow", "deny"):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="KIND[:PATTERN]",
            help=f"{name} this, as for parley run; again for more",
        )
    parser.add_argument("--agent", default="agent", metavar="NAME", help="its name in rules")


def from_options(options: Namespace) -> Proxy:
    """Return the component that parsed options describe."""
    return policy(allow=options.allow, deny=options.deny, agent=options.agent)
