"""Session config options, such as the model: values, updates, and `session/set_config_option`.

A response or an update always has the complete list of options. Version 1 has session modes, too,
in `modes.py`.

Spec: https://agentclientprotocol.com/protocol/v1/session-config-options
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, TypeAlias

from parley.schema.base import Formerly, Lenient, Object, Untagged

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

SessionConfigOptionCategory: TypeAlias = (
    Literal["mode", "model", "model_config", "thought_level"] | str
)
"""The topic of an option; only a hint for its display."""

SessionConfigValueId: TypeAlias = str
"""The id of a value of an option."""


class SessionConfigSelectOption(Object):
    """A value of a select option."""

    value: SessionConfigValueId
    name: Annotated[str, Formerly("label")]
    description: str | None = None


class SessionConfigSelectGroup(Object):
    """Values under a common heading."""

    group: SessionConfigGroupId
    name: str
    options: Lenient[list[SessionConfigSelectOption]]


SessionConfigSelectOptions: TypeAlias = Untagged[
    list[SessionConfigSelectOption] | list[SessionConfigSelectGroup]
]
"""The values of a select option, as a flat list or in groups."""


class _ConfigOption(Object):
    """The fields that all options have."""

    id: SessionConfigId
    name: str
    description: str | None = None
    category: SessionConfigOptionCategory | None = None


class SessionConfigSelect(_ConfigOption, tag_field="type", tag="select"):
    """An option with one of several values."""

    former_tag: ClassVar[str] = "enum"
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigBoolean(_ConfigOption, tag_field="type", tag="boolean"):
    """An option that is on or off.

    Only for clients that offer `session.configOptions.boolean`.
    """

    current_value: bool


SessionConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean
"""A config option of a session."""


class _SetConfigOption(Object):
    """The fields that both forms of the request have."""

    session_id: SessionId
    config_id: SessionConfigId


class SetSessionConfigBooleanRequest(_SetConfigOption, tag_field="type", tag="boolean"):
    """Turn a boolean option on or off."""

    value: bool


class SetSessionConfigValueRequest(_SetConfigOption):
    """Choose one of the values of an option."""

    value: SessionConfigValueId


SetSessionConfigOptionRequest: TypeAlias = Untagged[
    SetSessionConfigBooleanRequest | SetSessionConfigValueRequest
]
"""Set an option; without a known `type`, the value is the id of a select option's value."""


class SetSessionConfigOptionResponse(Object):
    """All options after the change, which may have changed other options as well."""

    config_options: Lenient[list[SessionConfigOption]]


class ConfigOptionUpdate(Object, tag_field="sessionUpdate", tag="config_option_update"):
    """All options with their current values."""

    config_options: Lenient[list[SessionConfigOption]]
