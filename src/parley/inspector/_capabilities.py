"""What both sides offered in `initialize`, and which methods were used, offered or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct

from parley.schema.base import JsonObject
from parley.schema.version import SUPPORTED

from ._row import Row
from ._sources import InspectedRecording
from ._validation import Side, all_methods

_MAX_ROWS = 100
_MAX_DEPTH = 5
_MAX_OFFERED = 1_000
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MEMBERS: dict[tuple[int, Side], tuple[str, str]] = {
    (1, "client"): ("clientInfo", "clientCapabilities"),
    (1, "agent"): ("agentInfo", "agentCapabilities"),
    (2, "client"): ("info", "capabilities"),
    (2, "agent"): ("info", "capabilities"),
}
"""The members of `initialize` in each version. Clients that offer version 2 may send both."""


class SideInfo(Struct, frozen=True):
    """What a side says about itself."""

    name: str
    title: str
    version: str
    capabilities: JsonObject


class Capability(Struct):
    """A capability, and its uses by the other side."""

    side: Side
    path: str
    is_offered: bool
    used: list[int] = msgspec.field(default_factory=list[int])
    uses: int = 0
    methods: list[str] = msgspec.field(default_factory=list[str])


class Capabilities(Struct, frozen=True):
    """The capabilities of a connection; see `_app.py`."""

    version: int | None
    requested_version: int | None
    client: SideInfo | None
    agent: SideInfo | None
    rows: list[int]
    capabilities: list[Capability]


def capabilities_of(recording: InspectedRecording) -> Capabilities:
    """Return what was offered in the last `initialize`, and what was used.

    Raises:
        RecordingError: The file cannot be read.
    """
    table = recording.table
    version = table.version
    sides: dict[Side, SideInfo | None] = {"client": None, "agent": None}
    for number, member in zip(table.handshake, ("params", "result"), strict=False):
        side = cast(Side, table.rows[number - 1].source)
        sides[side] = _side(recording.data(number), member, side, version)
    found: dict[tuple[Side, str], Capability] = {}
    for side, info in sides.items():
        for path in _offered({} if info is None else info.capabilities):
            found[side, path] = Capability(side, path, is_offered=True)
            if len(found) >= _MAX_OFFERED:
                break
    if version is not None:
        _add_uses(found, table.rows, version, sides)
    order = sorted(found.values(), key=lambda each: (each.side, each.path))
    return Capabilities(
        version=version,
        requested_version=table.requested_version,
        client=sides["client"],
        agent=sides["agent"],
        rows=table.handshake,
        capabilities=order,
    )


def _side(data: bytes, member: str, side: Side, version: int | None) -> SideInfo:
    try:
        body = _object(_object(msgspec.json.decode(data)).get(member))
    except _NOT_JSON:
        body = {}
    # Older drafts of version 2 have the members of version 1.
    order = dict.fromkeys((version or SUPPORTED[-1], *reversed(SUPPORTED)))
    info = _first(body, [_MEMBERS[each, side][0] for each in order])
    offers = _first(body, [_MEMBERS[each, side][1] for each in order])
    name, title, number = (str(info.get(key) or "") for key in ("name", "title", "version"))
    return SideInfo(name, title, number, offers)


def _first(body: JsonObject, names: list[str]) -> JsonObject:
    """Return the first of these members that is present."""
    for name in names:
        if name in body:
            return _object(body[name])
    return {}


def _object(value: Any) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def _is_offered(value: Any) -> bool:
    return value is not None and value is not False


def _offered(capabilities: JsonObject, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths of what is offered: objects without members, and values other than false."""
    for name, value in capabilities.items():
        path = f"{prefix}{name}"
        if name == "_meta" or not _is_offered(value):
            continue
        members = _object(value)
        if members and depth < _MAX_DEPTH:
            yield from _offered(members, f"{path}.", depth + 1)
        else:
            yield path


def _has(capabilities: JsonObject, path: str) -> bool:
    value: Any = capabilities
    for name in path.split("."):
        value = _object(value).get(name)
        if not _is_offered(value):
            return False
    return True


def _add_uses(
    found: dict[tuple[Side, str], Capability],
    rows: list[Row],
    version: int,
    sides: dict[Side, SideInfo | None],
) -> None:
    """Count the messages that need a capability of the other side."""
    needed: dict[tuple[str, str, str], tuple[Side, str]] = {}
    for method in all_methods(version).methods:
        if method.capability is not None and method.to != "either":
            sender = "client" if method.to == "agent" else "agent"
            needed[sender, method.kind, method.name] = (method.to, method.capability)
    for row in rows:
        if (place := needed.get((row.source, row.kind, row.method))) is None:
            continue
        side, path = place
        if place not in found:
            info = sides[side]
            is_offered = info is not None and _has(info.capabilities, path)
            found[place] = Capability(side, path, is_offered)
        capability = found[place]
        capability.uses += 1
        if len(capability.used) < _MAX_ROWS:
            capability.used.append(row.number)
        if row.method not in capability.methods:
            capability.methods.append(row.method)
