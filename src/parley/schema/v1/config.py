"""Config options: settings of a session that the agent offers, such as the model.

An agent always sends the full list. Spec: https://agentclientprotocol.com/protocol/v1/session-config-options
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import Lenient, Object, Untagged

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
"""Names a group of values."""

SessionConfigId: TypeAlias = str
"""Names an option."""

SessionConfigOptionCategory: TypeAlias = (
    Literal["mode", "model", "model_config", "thought_level"] | str
)
"""What an option is about; a hint for the client's display and nothing more."""

SessionConfigValueId: TypeAlias = str
"""Names one of the values of an option."""


class SessionConfigSelectOption(Object):
    """One of the values that an option can have."""

    value: SessionConfigValueId
    name: str
    description: str | None = None


class SessionConfigSelectGroup(Object):
    """Values under a common heading."""

    group: SessionConfigGroupId
    name: str
    options: Lenient[list[SessionConfigSelectOption]]


SessionConfigSelectOptions: TypeAlias = Untagged[
    list[SessionConfigSelectOption] | list[SessionConfigSelectGroup]
]
"""The values to choose from, flat or in groups."""


class _ConfigOption(Object):
    """What all options have."""

    id: SessionConfigId
    name: str
    description: str | None = None
    category: SessionConfigOptionCategory | None = None


class SessionConfigSelect(_ConfigOption, tag_field="type", tag="select"):
    """An option with one value out of several."""

    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigBoolean(_ConfigOption, tag_field="type", tag="boolean"):
    """An option that is on or off.

    Only for clients that offer `session.configOptions.boolean`.
    """

    current_value: bool


SessionConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean
"""A setting of a session."""


class _SetConfigOption(Object):
    """What both forms of the request have."""

    session_id: SessionId
    config_id: SessionConfigId


class SetSessionConfigBooleanRequest(_SetConfigOption, tag_field="type", tag="boolean"):
    """Switch an option on or off."""

    value: bool


class SetSessionConfigValueRequest(_SetConfigOption):
    """Choose one of the values of an option."""

    value: SessionConfigValueId


SetSessionConfigOptionRequest: TypeAlias = Untagged[
    SetSessionConfigBooleanRequest | SetSessionConfigValueRequest
]
"""Change an option; without a `type` that is known here, the value is the id of one."""


class SetSessionConfigOptionResponse(Object):
    """All options as they are after the change, which may have changed others too."""

    config_options: Lenient[list[SessionConfigOption]]


class ConfigOptionUpdate(Object, tag_field="sessionUpdate", tag="config_option_update"):
    """All options as they are now."""

    config_options: Lenient[list[SessionConfigOption]]
