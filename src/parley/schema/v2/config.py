"""Session config options, such as the model: values, updates, and `session/set_config_option`.

A response or an update always has the complete list of options. Session modes, which version 1 has
as well, are options of the category `mode` here.

Spec: https://agentclientprotocol.com/protocol/v2/session-config-options
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from msgspec import Meta

from parley.schema.base import Formerly, Lenient, Object, Open, SkipInvalid, Untagged

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
"""The id of a group of values."""

SessionConfigId: TypeAlias = str
"""The id of an option."""

SessionConfigValueId: TypeAlias = str
"""The id of a value of an option."""

SessionConfigOptionCategory: TypeAlias = (
    Literal["mode", "model", "model_config", "thought_level"] | str
)
"""The topic of an option; only a hint for its display."""


class SessionConfigSelectOption(Object):
    """A value of a select option."""

    value: SessionConfigValueId
    name: Annotated[str, Formerly("label")]
    description: str | None = None


class SessionConfigSelectGroup(Object):
    """Values of a select option under a common heading."""

    group_id: SessionConfigGroupId
    name: str
    options: Lenient[list[SessionConfigSelectOption]]
    """Must not be empty when sent; empty if no value could be read."""


SessionConfigSelectOptions: TypeAlias = Untagged[
    Annotated[list[SessionConfigSelectOption], Meta(min_length=1)]
    | Annotated[list[SessionConfigSelectGroup], Meta(min_length=1)]
]
"""The values of a select option, as a flat list or in groups, never mixed."""


class _Option(Object):
    config_id: Annotated[SessionConfigId, Formerly("id")]
    name: str
    description: str | None = None
    category: SessionConfigOptionCategory | None = None


class SessionConfigSelect(_Option, tag_field="type", tag="select"):
    """An option with one of several values."""

    former_tag: ClassVar[str] = "enum"
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigBoolean(_Option, tag_field="type", tag="boolean"):
    """An option that is on or off."""

    current_value: bool


SessionConfigOption: TypeAlias = Open[SessionConfigSelect | SessionConfigBoolean]
"""An option and its value; one of an unknown type is kept even without id or name."""


class ConfigOptionUpdate(Object, tag_field="sessionUpdate", tag="config_option_update"):
    """All options with their current values."""

    config_options: SkipInvalid[list[SessionConfigOption]]


class _SetOption(Object):
    session_id: SessionId
    config_id: SessionConfigId


class SetSessionConfigValueRequest(_SetOption, tag_field="type", tag="id"):
    """Set the value of a select option."""

    value: SessionConfigValueId


class SetSessionConfigBooleanRequest(_SetOption, tag_field="type", tag="boolean"):
    """Turn a boolean option on or off."""

    value: bool


SetSessionConfigOptionRequest: TypeAlias = Open[
    SetSessionConfigValueRequest | SetSessionConfigBooleanRequest
]
"""Set an option; one of an unknown type is kept, and should be rejected with -32602."""


class SetSessionConfigOptionResponse(Object):
    """All options after the change; setting one may change others."""

    config_options: SkipInvalid[list[SessionConfigOption]]
