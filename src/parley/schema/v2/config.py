"""Options of a session that the client may change: mode, model, switches.

Spec: https://agentclientprotocol.com/protocol/v2/session-config-options
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from parley.schema.base import Lenient, Object, Open, SkipInvalid, Untagged

from .ids import SessionId

__all__ = [
    "ConfigOptionUpdate",
    "SessionConfigBoolean",
    "SessionConfigGroupId",
    "SessionConfigId",
    "SessionConfigOption",
    "SessionConfigOptionCategory",
    "SessionConfigSelect",
    "SessionConfigSelectGroup",
    "SessionConfigSelectOption",
    "SessionConfigSelectOptions",
    "SessionConfigValueId",
    "SetSessionConfigBooleanRequest",
    "SetSessionConfigOptionRequest",
    "SetSessionConfigOptionResponse",
    "SetSessionConfigValueRequest",
]

SessionConfigGroupId: TypeAlias = str
"""Names a group of values of one option."""

SessionConfigId: TypeAlias = str
"""Names an option."""

SessionConfigValueId: TypeAlias = str
"""Names one value of an option."""

SessionConfigOptionCategory: TypeAlias = (
    Literal["mode", "model", "model_config", "thought_level"] | str
)
"""What an option is about, for its place on the screen; never needed to handle it."""


class SessionConfigSelectOption(Object):
    """One value that a selection offers."""

    value: SessionConfigValueId
    name: str
    description: str | None = None


class SessionConfigSelectGroup(Object):
    """Values of a selection under a common heading."""

    group_id: SessionConfigGroupId
    name: str
    options: Lenient[list[SessionConfigSelectOption]]
    """At least one when sent; empty when none could be read."""


SessionConfigSelectOptions: TypeAlias = Untagged[
    Annotated[list[SessionConfigSelectOption], Meta(min_length=1)]
    | Annotated[list[SessionConfigSelectGroup], Meta(min_length=1)]
]
"""The values of a selection, flat or in groups, never mixed."""


class _Option(Object):
    config_id: SessionConfigId
    name: str
    description: str | None = None
    category: SessionConfigOptionCategory | None = None


class SessionConfigSelect(_Option, tag_field="type", tag="select"):
    """An option with one of several values."""

    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigBoolean(_Option, tag_field="type", tag="boolean"):
    """An option that is on or off."""

    current_value: bool


SessionConfigOption: TypeAlias = Open[SessionConfigSelect | SessionConfigBoolean]
"""One option and its value. One of an unknown type is kept even without id or name."""


class ConfigOptionUpdate(Object, tag_field="sessionUpdate", tag="config_option_update"):
    """The options of the session, all of them with their values."""

    config_options: SkipInvalid[list[SessionConfigOption]]


class _SetOption(Object):
    session_id: SessionId
    config_id: SessionConfigId


class SetSessionConfigValueRequest(_SetOption, tag_field="type", tag="id"):
    """Choose a value of a selection."""

    value: SessionConfigValueId


class SetSessionConfigBooleanRequest(_SetOption, tag_field="type", tag="boolean"):
    """Turn a switch on or off."""

    value: bool


SetSessionConfigOptionRequest: TypeAlias = Open[
    SetSessionConfigValueRequest | SetSessionConfigBooleanRequest
]
"""Set an option. One of an unknown type is kept, whatever its fields; answer it with -32602."""


class SetSessionConfigOptionResponse(Object):
    """All options after the change; setting one may change others."""

    config_options: SkipInvalid[list[SessionConfigOption]]
