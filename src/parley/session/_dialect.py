"""Protocol dialects: version 2 types for code between two peers, such as a proxy.

A `Dialect` belongs to one connection between two other programs, whose frames the code looks at.
For each method it has the name on the wire, the types to decode params and result as, and the
conversions to version 2 and back. Methods that only version 1 has keep version 1 types. A dialect
does not send anything and does not change any bytes: a proxy replaces only the members that it
means to change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct, structs

from parley._bounded_dict import BoundedDict
from parley.errors import RemoteProtocolError, Unsupported
from parley.peer._initialize import version_of
from parley.schema import v1, v2
from parley.schema._codec import decode
from parley.schema.base import Kind, Method, MethodTable, Unknown
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2
from parley.schema.version import SUPPORTED

from ._capabilities import ClientFeatures
from ._v1_capabilities import client_from_v1
from ._v1_method_translations import (
    NOTIFICATIONS,
    REQUESTS,
    MethodTranslation,
    downgrade_fork,
    downgrade_load,
    downgrade_new,
    downgrade_permission_response,
    downgrade_prompt_request,
    downgrade_resume,
    upgrade_fork,
    upgrade_load,
    upgrade_new,
    upgrade_prompt,
    upgrade_resume,
)
from ._v1_session_downgrader import SessionDowngrader
from ._v1_session_upgrader import SessionUpgrader

To: TypeAlias = Literal["agent", "client"]
"""The side that handles a method."""

MAX_SESSIONS = 1000
"""The number of sessions whose state is kept; beyond it, the oldest is dropped."""

RENAMED = {
    "authenticate": "auth/login",
    "logout": "auth/logout",
    "session/load": "session/resume",
}
"""The version 2 names of the methods that version 1 names differently; programs use these."""


def _same(value: Any, upgrader: SessionUpgrader | None = None) -> Any:
    del upgrader
    return value


class DialectMethod(Struct, frozen=True, kw_only=True):
    """A method of a dialect: its name, its types, and its conversions."""

    wire_name: str
    """The method name on the wire."""
    params: Any = Any
    """The type to decode its params as, in the version on the wire."""
    result: Any = Any
    """The type to decode its result as, in the version on the wire."""
    upgrade: Callable[[Any, SessionUpgrader], Any] = _same
    """Converts params to version 2, given the translation state of the session."""
    downgrade: Callable[[Any], Any] = _same
    upgrade_result: Callable[[Any, SessionUpgrader], Any] = _same
    downgrade_result: Callable[[Any], Any] = _same
    is_reversible: bool = True
    """Whether an upgraded result can be downgraded again."""


class Dialect:
    """The method names, types and conversions of one connection; here, of version 2."""

    cancelled_prompt = b""
    """The result for a prompt that was cancelled before it began; empty if it gets an error."""

    def __init__(
        self, version: int, table: MethodTable, extra: tuple[Method[Any, Any], ...]
    ) -> None:
        self.version = version
        """The protocol version on the wire."""
        self._table = table.extended(extra)
        self._translated: dict[tuple[Kind, str], DialectMethod] = {}
        self._wire_names: dict[str, list[str]] = {}
        self._upgraders: BoundedDict[str, SessionUpgrader] = BoundedDict(MAX_SESSIONS)
        self._downgraders: BoundedDict[str, SessionDowngrader] = BoundedDict(MAX_SESSIONS)
        self.client = ClientFeatures()
        """The features of the client, which decide the updates that it gets."""

    def wire_names(self, name: str) -> list[str]:
        """Return the wire names of a method, given its version 2 name."""
        return self._wire_names.get(name, [name])

    def method_from_wire(self, kind: Kind, to: To, wire_name: str) -> DialectMethod:
        """Return the method with this wire name; an unknown one has untyped params and result."""
        if translated := self._translated.get((kind, wire_name)):
            return translated
        method = self._table.handled(kind, to).get(wire_name)
        if method is None:
            return DialectMethod(wire_name=wire_name)
        return DialectMethod(wire_name=wire_name, params=method.params, result=method.result)

    def method_to_wire(self, kind: Kind, to: To, name: str, params: object) -> DialectMethod:
        """Return the method to send, given its version 2 name and its params.

        Raises:
            Unsupported: The protocol version on the wire does not have the method.
        """
        wire_name = self.wire_names(name)[0]
        if _replays(params) and "session/load" in self.wire_names(name):
            wire_name = "session/load"
        method = self.method_from_wire(kind, to, wire_name)
        is_known = wire_name in self._table.handled(kind, to) or wire_name.startswith("_")
        if not is_known and isinstance(params, Struct):
            raise Unsupported(f"{name} does not exist in version {self.version} of the protocol")
        return method

    def upgrader(self, session_id: str) -> SessionUpgrader:
        """Return the translation state of a session whose agent speaks version 1."""
        found = self._upgraders.get(session_id)
        if found is None:
            found = self._upgraders[session_id] = SessionUpgrader()
        return found

    def updates(self, session_id: str, params: Raw) -> list[v2.SessionUpdate]:
        """Return the version 2 updates for the params of a `session/update`.

        Raises:
            MalformedValue: The params are malformed.
        """
        del session_id
        return [decode(v2.UpdateSessionNotification, params).update]

    def downgrade_update(self, session_id: str, update: v2.SessionUpdate) -> list[Any]:
        """Return the updates to send, possibly none, for an update that the program itself adds."""
        del session_id
        return [update]

    def upgrade_tag(self, tag: str) -> str:
        """Return the version 2 tag for the tag of an update on the wire."""
        return tag

    def ends_turn(self, update: v2.SessionUpdate) -> bool:
        """Return whether an update ends a turn; in version 1 the response to the prompt does."""
        return isinstance(update, v2.StateUpdated) and update.state == "idle"

    def has_sessions(self, result: Raw) -> bool:
        """Return whether an agent with this `initialize` result supports sessions."""
        return decode(v2.InitializeResponse, result, "result").capabilities.session is not None

    def initialize(self, params: Raw) -> None:
        """Record the client's capabilities from its `initialize` params; version 2 needs none."""


_MCP = "mcp/message"
_EXTRA1, _EXTRA2 = (
    version.MCP_CONNECTION_METHODS + version.NES_METHODS + version.DOCUMENT_METHODS
    for version in (methods1, methods2)
)
_UPDATE_TAGS = {
    "tool_call": "tool_call_update",
    "plan": "plan_update",
    "current_mode_update": "config_option_update",
}


class _V1Dialect(Dialect):
    """The dialect of a version 1 connection."""

    cancelled_prompt = b'{"stopReason":"cancelled"}'

    def __init__(self) -> None:
        super().__init__(1, methods1.TABLE, _EXTRA1)
        for name, translation in REQUESTS.items():
            # Both forms, with and without a connection, are in the table and need no translation.
            if name != _MCP:
                self._add("request", name, _stateless_method(translation))
        for name, translation in NOTIFICATIONS.items():
            if name != _MCP:
                self._add("notification", name, _stateless_method(translation))
        for name, method in _SESSION_METHODS.items():
            self._add("request", name, method)
        self._translated["request", "session/load"] = _LOAD
        self._wire_names["session/resume"].append("session/load")

    def _add(self, kind: Kind, name: str, method: DialectMethod) -> None:
        self._translated[kind, method.wire_name] = method
        self._wire_names[name] = [method.wire_name]

    def updates(self, session_id: str, params: Raw) -> list[v2.SessionUpdate]:
        update = decode(v1.SessionNotification, params).update
        return self.upgrader(session_id).upgrade(update)

    def downgrade_update(self, session_id: str, update: v2.SessionUpdate) -> list[Any]:
        downgrader = self._downgraders.get(session_id)
        if downgrader is None:
            downgrader = self._downgraders[session_id] = SessionDowngrader(self.client)
        # Nothing may be held back: there is no later moment at which it would be sent.
        return [*downgrader.downgrade(update), *downgrader.flush()]

    def upgrade_tag(self, tag: str) -> str:
        return _UPDATE_TAGS.get(tag, tag)

    def ends_turn(self, update: v2.SessionUpdate) -> bool:
        del update
        return False

    def has_sessions(self, result: Raw) -> bool:
        return True

    def initialize(self, params: Raw) -> None:
        self.client = client_from_v1(decode(v1.InitializeRequest, params).client_capabilities)


def dialect_of(version: int) -> Dialect:
    """Return the dialect of a protocol version, for one connection."""
    if version == 1:
        return _V1Dialect()
    return Dialect(2, methods2.TABLE, _EXTRA2)


def dialect_of_response(result: Raw) -> Dialect:
    """Return the dialect of a connection, given the agent's `initialize` result.

    Raises:
        RemoteProtocolError: The result is malformed, or its version is not supported.
    """
    version = version_of(result)
    if version not in SUPPORTED:
        raise RemoteProtocolError(f"it is in version {version} of the protocol")
    return dialect_of(version)


def _replays(params: object) -> bool:
    return isinstance(params, v2.ResumeSessionRequest) and params.replay_from is not None


def _stateless_method(translation: MethodTranslation) -> DialectMethod:
    return DialectMethod(
        wire_name=translation.v1.name,
        params=translation.v1.params,
        result=translation.v1.result,
        upgrade=lambda params, _: translation.upgrade(params),
        downgrade=translation.downgrade,
        upgrade_result=lambda result, _: translation.upgrade_result(result),
        downgrade_result=translation.downgrade_result,
    )


def _session_method(
    method: Method[Any, Any], upgrade: Any, downgrade: Any, upgrade_result: Any
) -> DialectMethod:
    return DialectMethod(
        wire_name=method.name,
        params=method.params,
        result=method.result,
        upgrade=lambda params, _: upgrade(params),
        downgrade=downgrade,
        upgrade_result=upgrade_result,
        is_reversible=False,
    )


def _upgrade_new_result(result: Any, upgrader: SessionUpgrader) -> Any:
    return upgrader.new_session(result)


def _upgrade_fork_result(result: Any, upgrader: SessionUpgrader) -> Any:
    return upgrader.fork_session(result)


def _upgrade_resume_result(result: Any, upgrader: SessionUpgrader) -> Any:
    return upgrader.resume_session(result)


def _upgrade_set_option_result(result: Any, upgrader: SessionUpgrader) -> Any:
    return upgrader.option_set(result)


def _upgrade_set_option(request: Any) -> Any:
    is_boolean = isinstance(request, v1.SetSessionConfigBooleanRequest)
    cls = v2.SetSessionConfigBooleanRequest if is_boolean else v2.SetSessionConfigValueRequest
    return cls(**structs.asdict(request))


def _downgrade_set_option(request: Any) -> Any:
    if isinstance(request, Unknown):
        raise Unsupported(f"version 1 of the protocol has no option value {request.tag!r}")
    is_boolean = isinstance(request, v2.SetSessionConfigBooleanRequest)
    cls = v1.SetSessionConfigBooleanRequest if is_boolean else v1.SetSessionConfigValueRequest
    return cls(**structs.asdict(request))


def _check_v1_permission(request: object) -> object:
    """Return a version 1 permission request unchanged; raise `Unsupported` for any other.

    A version 2 request cannot be downgraded here: that depends on what the client has received.
    """
    if isinstance(request, v1.RequestPermissionRequest):
        return request
    raise Unsupported(
        "version 1 of the protocol has permission requests only for tool calls. "
        "Send a version 1 request."
    )


_LOAD = _session_method(methods1.LOAD_SESSION, upgrade_load, downgrade_load, _upgrade_resume_result)
_SESSION_METHODS: Mapping[str, DialectMethod] = {
    "session/new": _session_method(
        methods1.NEW_SESSION, upgrade_new, downgrade_new, _upgrade_new_result
    ),
    "session/fork": _session_method(
        methods1.FORK_SESSION,
        upgrade_fork,
        downgrade_fork,
        _upgrade_fork_result,
    ),
    "session/resume": _session_method(
        methods1.RESUME_SESSION, upgrade_resume, downgrade_resume, _upgrade_resume_result
    ),
    "session/prompt": _session_method(
        methods1.PROMPT, upgrade_prompt, downgrade_prompt_request, _same
    ),
    "session/set_config_option": _session_method(
        methods1.SET_SESSION_CONFIG_OPTION,
        _upgrade_set_option,
        _downgrade_set_option,
        _upgrade_set_option_result,
    ),
    "session/request_permission": DialectMethod(
        wire_name=methods1.REQUEST_PERMISSION.name,
        params=v1.RequestPermissionRequest,
        result=v2.RequestPermissionResponse,
        upgrade=lambda request, upgrader: upgrader.permission(request),
        downgrade=_check_v1_permission,
        downgrade_result=downgrade_permission_response,
    ),
}
