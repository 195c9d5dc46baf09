"""What passes between two others, in version 2's words: for whoever stands in between.

A `Words` belongs to one connection that somebody else speaks on. It knows under which name a method
is on the wire, as what its params and its result are read, and how both become version 2's and back
again. What version 1 alone has keeps version 1's types. Nothing is sent here, and no bytes are
changed: a proxy changes only the members that it means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct, structs

from parley.bounded import Bounded
from parley.errors import RemoteProtocolError, Unsupported
from parley.peer.initialize import version_of
from parley.schema import v1, v2
from parley.schema.base import Kind, Method, Table, Unknown
from parley.schema.codec import decode
from parley.schema.v1 import former_methods as former1
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import former_methods as former2
from parley.schema.v2 import methods as methods2
from parley.schema.version import SUPPORTED

from .features import ClientFeatures
from .features_v1 import client_from_v1
from .lift import Lifting
from .lower import Lowering
from .nes import NES_NOTIFICATIONS, NES_REQUESTS
from .pairs import (
    NOTIFICATIONS,
    REQUESTS,
    Pair,
    lift_fork,
    lift_load,
    lift_new,
    lift_prompt,
    lift_resume,
    lower_fork,
    lower_load,
    lower_new,
    lower_permission_answer,
    lower_prompt_request,
    lower_resume,
)

__all__ = ["RENAMED", "To", "Word", "Words", "words_of", "words_of_answer"]

To: TypeAlias = Literal["agent", "client"]
"""Who handles a method."""

MAX_SESSIONS = 1000
"""How many sessions are remembered; the oldest is forgotten first."""

RENAMED = {
    "authenticate": "auth/login",
    "logout": "auth/logout",
    "session/load": "session/resume",
}
"""What version 1 alone calls so; a program says version 2's name."""


def _same(value: Any, lifting: Lifting | None = None) -> Any:
    del lifting
    return value


class Word(Struct, frozen=True, kw_only=True):
    """One method."""

    wire: str
    """Its name on the wire."""
    params: Any = Any
    """What its params are read as, as they are on the wire."""
    result: Any = Any
    """What its result is read as."""
    lift: Callable[[Any, Lifting], Any] = _same
    """What is on the wire becomes version 2's, with what is known of the session."""
    lower: Callable[[Any], Any] = _same
    lift_result: Callable[[Any, Lifting], Any] = _same
    lower_result: Callable[[Any], Any] = _same
    keeps: bool = True
    """Whether nothing is lost: what was lifted can be lowered again."""


class Words:
    """One connection."""

    cancelled_prompt = b""
    """What answers a prompt that was cancelled before it began; empty if that is an error."""

    def __init__(self, version: int, table: Table, former: tuple[Method[Any, Any], ...]) -> None:
        self.version = version
        """The version on the wire."""
        self._table = table.extended(former)
        self._special: dict[tuple[Kind, str], Word] = {}
        self._wires: dict[str, list[str]] = {}
        self._liftings: Bounded[str, Lifting] = Bounded(MAX_SESSIONS)
        self._lowerings: Bounded[str, Lowering] = Bounded(MAX_SESSIONS)
        self.client = ClientFeatures()
        """What the client offers, as far as that counts for what it is told."""

    def wires(self, name: str) -> list[str]:
        """Return the names on the wire of a method that a program calls so."""
        return self._wires.get(name, [name])

    def heard(self, kind: Kind, to: To, wire: str) -> Word:
        """Return a method as it was heard."""
        if word := self._special.get((kind, wire)):
            return word
        method = self._table.handled(kind, to).get(wire)
        if method is None:
            return Word(wire=wire)
        return Word(wire=wire, params=method.params, result=method.result)

    def said(self, kind: Kind, to: To, name: str, params: object) -> Word:
        """Return a method that a program wants to say by this name.

        Raises:
            Unsupported: The version on the wire does not have it.
        """
        wire = self.wires(name)[0]
        if _replays(params) and "session/load" in self.wires(name):
            wire = "session/load"
        word = self.heard(kind, to, wire)
        is_known = wire in self._table.handled(kind, to) or wire.startswith("_")
        if not is_known and isinstance(params, Struct):
            raise Unsupported(f"{name} does not exist in version {self.version} of the protocol")
        return word

    def lifting(self, session_id: str) -> Lifting:
        """Return what is known of a session whose agent speaks version 1."""
        found = self._liftings.get(session_id)
        if found is None:
            found = self._liftings[session_id] = Lifting()
        return found

    def updates(self, session_id: str, params: Raw) -> list[v2.SessionUpdate]:
        """Return what an update says.

        Raises:
            MalformedValue: It cannot be read.
        """
        del session_id
        return [decode(v2.UpdateSessionNotification, params).update]

    def told(self, session_id: str, update: v2.SessionUpdate) -> list[Any]:
        """Return an update of the program's own as it goes on the wire; several, or none."""
        del session_id
        return [update]

    def kind(self, tag: str) -> str:
        """Return what version 2 calls this kind of update."""
        return tag

    def ends_turn(self, update: v2.SessionUpdate) -> bool:
        """Tell whether an update is the end of a turn, which is not told by an answer."""
        return isinstance(update, v2.StateUpdated) and update.state == "idle"

    def has_sessions(self, result: Raw) -> bool:
        """Tell whether an agent that answers initialize so has sessions."""
        return decode(v2.InitializeResponse, result, "result").capabilities.session is not None

    def initialize(self, params: Raw) -> None:
        """Learn what the client said of itself."""


_MCP = "mcp/message"
_FORMER1, _FORMER2 = (
    former.MCP_CONNECTION_METHODS + former.NES_METHODS + former.DOCUMENT_METHODS
    for former in (former1, former2)
)
_KINDS = {
    "tool_call": "tool_call_update",
    "plan": "plan_update",
    "current_mode_update": "config_option_update",
}


class _Words1(Words):
    """A connection on which version 1 is spoken."""

    cancelled_prompt = b'{"stopReason":"cancelled"}'

    def __init__(self) -> None:
        super().__init__(1, methods1.TABLE, _FORMER1)
        for name, pair in (REQUESTS | NES_REQUESTS).items():
            if name != _MCP:  # it has two forms, and both are the same in either version
                self._add("request", name, _paired(pair))
        for name, pair in (NOTIFICATIONS | NES_NOTIFICATIONS).items():
            if name != _MCP:
                self._add("notification", name, _paired(pair))
        for name, word in _SESSIONS.items():
            self._add("request", name, word)
        self._special["request", "session/load"] = _LOAD
        self._wires["session/resume"].append("session/load")

    def _add(self, kind: Kind, name: str, word: Word) -> None:
        self._special[kind, word.wire] = word
        self._wires[name] = [word.wire]

    def updates(self, session_id: str, params: Raw) -> list[v2.SessionUpdate]:
        update = decode(v1.SessionNotification, params).update
        return self.lifting(session_id).lift(update)

    def told(self, session_id: str, update: v2.SessionUpdate) -> list[Any]:
        lowering = self._lowerings.get(session_id)
        if lowering is None:
            lowering = self._lowerings[session_id] = Lowering(self.client)
        return [*lowering.lower(update), *lowering.flush()]

    def kind(self, tag: str) -> str:
        return _KINDS.get(tag, tag)

    def ends_turn(self, update: v2.SessionUpdate) -> bool:
        del update
        return False

    def has_sessions(self, result: Raw) -> bool:
        return True

    def initialize(self, params: Raw) -> None:
        self.client = client_from_v1(decode(v1.InitializeRequest, params).client_capabilities)


def words_of(version: int) -> Words:
    """Return the words of a connection that speaks this version."""
    if version == 1:
        return _Words1()
    return Words(2, methods2.TABLE, _FORMER2)


def words_of_answer(result: Raw) -> Words:
    """Return the words of a connection, by the agent's answer to initialize.

    Raises:
        RemoteProtocolError: The answer is malformed, or in a version that nobody here knows.
    """
    version = version_of(result)
    if version not in SUPPORTED:
        raise RemoteProtocolError(f"it is in version {version} of the protocol")
    return words_of(version)


def _replays(params: object) -> bool:
    return isinstance(params, v2.ResumeSessionRequest) and params.replay_from is not None


def _paired(pair: Pair) -> Word:
    return Word(
        wire=pair.v1.name,
        params=pair.v1.params,
        result=pair.v1.result,
        lift=lambda params, _: pair.lift(params),
        lower=pair.lower,
        lift_result=lambda result, _: pair.lift_result(result),
        lower_result=pair.lower_result,
    )


def _session(method: Method[Any, Any], lift: Any, lower: Any, lift_result: Any) -> Word:
    return Word(
        wire=method.name,
        params=method.params,
        result=method.result,
        lift=lambda params, _: lift(params),
        lower=lower,
        lift_result=lift_result,
        keeps=False,
    )


def _opened(result: Any, lifting: Lifting) -> Any:
    return lifting.new_session(result)


def _forked(result: Any, lifting: Lifting) -> Any:
    return lifting.fork_session(result)


def _resumed(result: Any, lifting: Lifting) -> Any:
    return lifting.resume_session(result)


def _option_set(result: Any, lifting: Lifting) -> Any:
    return lifting.option_set(result)


def _set_option_lifted(request: Any) -> Any:
    is_switch = isinstance(request, v1.SetSessionConfigBooleanRequest)
    kind = v2.SetSessionConfigBooleanRequest if is_switch else v2.SetSessionConfigValueRequest
    return kind(**structs.asdict(request))


def _set_option_lowered(request: Any) -> Any:
    if isinstance(request, Unknown):
        raise Unsupported(f"version 1 of the protocol has no option value {request.tag!r}")
    is_switch = isinstance(request, v2.SetSessionConfigBooleanRequest)
    kind = v1.SetSessionConfigBooleanRequest if is_switch else v1.SetSessionConfigValueRequest
    return kind(**structs.asdict(request))


def _unlowered(request: object) -> object:
    """Let version 1's own question pass; version 2's needs to know what the client was told."""
    if isinstance(request, v1.RequestPermissionRequest):
        return request
    raise Unsupported("version 1 of the protocol asks about tool calls: give version 1's request")


_LOAD = _session(methods1.LOAD_SESSION, lift_load, lower_load, _resumed)
_SESSIONS: Mapping[str, Word] = {
    "session/new": _session(methods1.NEW_SESSION, lift_new, lower_new, _opened),
    "session/fork": _session(
        methods1.FORK_SESSION,
        lift_fork,
        lower_fork,
        _forked,
    ),
    "session/resume": _session(methods1.RESUME_SESSION, lift_resume, lower_resume, _resumed),
    "session/prompt": _session(methods1.PROMPT, lift_prompt, lower_prompt_request, _same),
    "session/set_config_option": _session(
        methods1.SET_SESSION_CONFIG_OPTION, _set_option_lifted, _set_option_lowered, _option_set
    ),
    "session/request_permission": Word(
        wire=methods1.REQUEST_PERMISSION.name,
        params=v1.RequestPermissionRequest,
        result=v2.RequestPermissionResponse,
        lift=lambda request, known: known.permission(request),
        lower=_unlowered,
        lower_result=lower_permission_answer,
    ),
}
