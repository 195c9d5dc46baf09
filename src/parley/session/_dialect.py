"""Protocol dialects: version 2 types for code between two peers, such as a proxy.

A `Dialect` belongs to one connection between two other programs, whose frames the code looks at.
For each method it has the name on the wire, the types to decode params and result as, and the
conversions to version 2 and back. Methods that only version 1 has keep version 1 types. A dialect
does not send anything and does not change any bytes: a proxy replaces only the members that it
means to change.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Raw, Struct

from parley._bounded_dict import BoundedDict
from parley.errors import RemoteProtocolError, Unsupported
from parley.peer._initialize import version_of
from parley.schema import v1, v2
from parley.schema._codec import decode
from parley.schema.base import Kind, Method, MethodTable
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2
from parley.schema.version import SUPPORTED

from ._capabilities import ClientFeatures
from ._v1_capabilities import client_from_v1
from ._v1_method_translations import TRANSLATIONS, MethodTranslation, translation_of
from ._v1_session_downgrader import SessionDowngrader
from ._v1_session_upgrader import SessionUpgrader

To: TypeAlias = Literal["agent", "client"]
"""The side that handles a method."""

MAX_SESSIONS = 1000
"""The number of sessions whose state is kept; beyond it, the oldest is dropped."""

_NO_STATE = SessionUpgrader(prefix="")
"""The state with which a proxy's own params are downgraded: none of these depend on the session."""

_DIALECT_ROWS = [row for rows in TRANSLATIONS.values() for row in rows if row.is_in_dialect]

RENAMED = {row.v1.name: row.v2.name for row in _DIALECT_ROWS if row.v1.name != row.v2.name}
"""The version 2 names of the methods that version 1 names differently; programs use these."""


class DialectMethod(Struct, frozen=True, kw_only=True):
    """A method of a dialect: its name, its types, and its row in the translation table, if any."""

    wire_name: str
    """The method name on the wire."""
    params: Any = Any
    """The type to decode its params as, in the version on the wire."""
    result: Any = Any
    """The type to decode its result as, in the version on the wire."""
    translation: MethodTranslation | None = None
    """Its conversions; None if it is not translated."""

    @property
    def is_reversible(self) -> bool:
        """Whether an upgraded result can be downgraded again."""
        return self.translation is None or self.translation.is_reversible

    def upgrade(self, params: Any, upgrader: SessionUpgrader) -> Any:
        """Convert params to version 2, given the translation state of the session."""
        return params if self.translation is None else self.translation.upgrade(params, upgrader)

    def downgrade(self, params: Any) -> Any:
        """Convert params from version 2."""
        return params if self.translation is None else self.translation.downgrade(params, _NO_STATE)

    def upgrade_result(self, result: Any, upgrader: SessionUpgrader) -> Any:
        """Convert a result to version 2, given the translation state of the session."""
        if self.translation is None:
            return result
        return self.translation.upgrade_result(result, upgrader, None)

    def downgrade_result(self, result: Any) -> Any:
        """Convert a result from version 2, if that is possible."""
        if self.translation is None or not self.translation.is_reversible:
            return result
        # A proxy changes what the agent sent to this client, so nothing is simplified for it.
        downgrader = SessionDowngrader(ClientFeatures(boolean_options=True))
        return self.translation.downgrade_result(result, downgrader)


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
        if name in self._wire_names and (kind, name) in TRANSLATIONS:
            wire_name = translation_of(kind, name, params, _NO_STATE).v1.name
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
        for row in _DIALECT_ROWS:
            self._translated[row.v1.kind, row.v1.name] = DialectMethod(
                wire_name=row.v1.name,
                params=row.v1.params,
                result=row.v1.result,
                translation=row,
            )
            self._wire_names.setdefault(row.v2.name, []).append(row.v1.name)

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
