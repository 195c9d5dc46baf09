"""Translation of config options, and of version 1's modes, which are an option in version 2.

A version 1 agent may have modes, options, or both. Upgraded, its modes become a select option of
the category `mode`, unless the agent has such an option itself. Downgraded, the first select option
of that category is also sent as modes, and both are kept in sync. For a client that does not
support boolean options, a boolean becomes a select option with two values.

Spec: https://agentclientprotocol.com/protocol/v1/session-config-options and
https://agentclientprotocol.com/protocol/v1/session-modes
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import structs

from parley.errors import InvalidParams, Unsupported
from parley.schema import v1, v2
from parley.schema.base import Unknown

from ._capabilities import ClientFeatures

MODE = "mode"
"""The category of mode options, and the id of the option that is made from modes."""

_ON, _OFF = "true", "false"

_Values1: TypeAlias = Sequence[v1.SessionConfigSelectOption | v1.SessionConfigSelectGroup]
_Values2: TypeAlias = Sequence[v2.SessionConfigSelectOption | v2.SessionConfigSelectGroup]


def mode_option(options: Sequence[v2.SessionConfigOption]) -> v2.SessionConfigSelect | None:
    """Return the option that holds the mode of a session, or None."""
    selects = [option for option in options if isinstance(option, v2.SessionConfigSelect)]
    by_category = (option for option in selects if option.category == MODE)
    by_id = (option for option in selects if option.config_id == MODE)
    return next(by_category, None) or next(by_id, None)


def upgrade_options(options: Sequence[v1.SessionConfigOption]) -> list[v2.SessionConfigOption]:
    """Return the options as version 2 types."""
    return [_upgrade_option(option) for option in options]


def _upgrade_option(option: v1.SessionConfigOption) -> v2.SessionConfigOption:
    fields = structs.asdict(option)
    fields["config_id"] = fields.pop("id")
    if isinstance(option, v1.SessionConfigBoolean):
        return v2.SessionConfigBoolean(**fields)
    fields["options"] = _upgrade_values(option.options, option.current_value)
    return v2.SessionConfigSelect(**fields)


def _upgrade_values(values: _Values1, current: str) -> v2.SessionConfigSelectOptions:
    groups = [
        v2.SessionConfigSelectGroup(
            group_id=group.group,
            name=group.name,
            options=[_upgrade_value(value) for value in group.options],
            meta=group.meta,
        )
        for group in values
        if isinstance(group, v1.SessionConfigSelectGroup) and group.options
    ]
    flat = [
        _upgrade_value(value) for value in values if isinstance(value, v1.SessionConfigSelectOption)
    ]
    # Version 2 does not allow a select option without values.
    return groups or flat or [v2.SessionConfigSelectOption(value=current, name=current)]


def _upgrade_value(value: v1.SessionConfigSelectOption) -> v2.SessionConfigSelectOption:
    return v2.SessionConfigSelectOption(**structs.asdict(value))


def upgrade_modes(modes: v1.SessionModeState) -> v2.SessionConfigSelect:
    """Return the modes as a select option."""
    current = modes.current_mode_id
    values = [
        v2.SessionConfigSelectOption(
            value=mode.id, name=mode.name, description=mode.description, meta=mode.meta
        )
        for mode in modes.available_modes
    ]
    return v2.SessionConfigSelect(
        config_id=MODE,
        name="Mode",
        category=MODE,
        current_value=current,
        options=values or [v2.SessionConfigSelectOption(value=current, name=current)],
        meta=modes.meta,
    )


def downgrade_options(
    options: Sequence[v2.SessionConfigOption], features: ClientFeatures
) -> list[v1.SessionConfigOption]:
    """Return the options as version 1 types, without those that version 1 does not have."""
    return [
        _downgrade_option(option, features) for option in options if not isinstance(option, Unknown)
    ]


def _downgrade_option(
    option: v2.SessionConfigSelect | v2.SessionConfigBoolean, features: ClientFeatures
) -> v1.SessionConfigOption:
    fields = structs.asdict(option)
    fields["id"] = fields.pop("config_id")
    if isinstance(option, v2.SessionConfigSelect):
        fields["options"] = _downgrade_values(option.options)
        return v1.SessionConfigSelect(**fields)
    if features.boolean_options:
        return v1.SessionConfigBoolean(**fields)
    fields["current_value"] = _ON if option.current_value else _OFF
    fields["options"] = [
        v1.SessionConfigSelectOption(value=_ON, name="On"),
        v1.SessionConfigSelectOption(value=_OFF, name="Off"),
    ]
    return v1.SessionConfigSelect(**fields)


def _downgrade_values(values: _Values2) -> v1.SessionConfigSelectOptions:
    groups = [
        v1.SessionConfigSelectGroup(
            group=group.group_id,
            name=group.name,
            options=[_downgrade_value(value) for value in group.options],
            meta=group.meta,
        )
        for group in values
        if isinstance(group, v2.SessionConfigSelectGroup)
    ]
    return groups or [_downgrade_value(value) for value in _flatten(values)]


def _downgrade_value(value: v2.SessionConfigSelectOption) -> v1.SessionConfigSelectOption:
    return v1.SessionConfigSelectOption(**structs.asdict(value))


def _flatten(values: _Values2) -> list[v2.SessionConfigSelectOption]:
    return [
        value
        for each in values
        for value in (each.options if isinstance(each, v2.SessionConfigSelectGroup) else [each])
    ]


def downgrade_modes(options: Sequence[v2.SessionConfigOption]) -> v1.SessionModeState | None:
    """Return the mode option as version 1 modes, or None if there is none."""
    option = mode_option(options)
    if option is None:
        return None
    return v1.SessionModeState(
        current_mode_id=option.current_value,
        available_modes=[
            v1.SessionMode(
                id=value.value, name=value.name, description=value.description, meta=value.meta
            )
            for value in _flatten(option.options)
        ],
    )


class OptionUpgrader:
    """The config options of a session whose agent speaks version 1, as version 2 types."""

    def __init__(self) -> None:
        self._modes: v2.SessionConfigSelect | None = None
        self._options: list[v2.SessionConfigOption] = []

    def open(
        self, modes: v1.SessionModeState | None, options: Sequence[v1.SessionConfigOption] | None
    ) -> list[v2.SessionConfigOption]:
        """Store the modes and options from the response that opened the session; return all."""
        self._modes = None if modes is None else upgrade_modes(modes)
        return self.update(options or ())

    def update(self, options: Sequence[v1.SessionConfigOption]) -> list[v2.SessionConfigOption]:
        """Replace the options and return all options, including the modes."""
        self._options = upgrade_options(options)
        if mode_option(self._options) is not None:
            self._modes = None
        return self._all_options()

    def change_mode(self, mode_id: str) -> list[v2.SessionConfigOption]:
        """Store the current mode and return all options."""
        if self._modes is not None:
            self._modes = structs.replace(self._modes, current_value=mode_id)
        elif (known := mode_option(self._options)) is not None:
            changed = structs.replace(known, current_value=mode_id)
            self._options = [changed if each is known else each for each in self._options]
        return self._all_options()

    def sets_mode(self, request: v2.SetSessionConfigOptionRequest) -> bool:
        """Return whether a request sets the option that was made from the agent's modes."""
        return (
            self._modes is not None
            and not isinstance(request, Unknown)
            and request.config_id == MODE
        )

    def downgrade_set(
        self, request: v2.SetSessionConfigOptionRequest
    ) -> v1.SetSessionModeRequest | v1.SetSessionConfigOptionRequest:
        """Return the version 1 request that sets the option.

        This is `session/set_mode` if the option was made from the agent's modes.

        Raises:
            Unsupported: Version 1 has no option value of this type.
            InvalidParams: The value for the mode is a boolean.
        """
        if isinstance(request, Unknown):
            raise Unsupported(f"version 1 of the protocol has no option value {request.tag!r}")
        fields = structs.asdict(request)
        is_mode = self.sets_mode(request)
        if isinstance(request, v2.SetSessionConfigValueRequest):
            if not is_mode:
                return v1.SetSessionConfigValueRequest(**fields)
            return v1.SetSessionModeRequest(
                session_id=request.session_id, mode_id=request.value, meta=request.meta
            )
        if is_mode:
            raise InvalidParams("The mode is one of several values, not on or off")
        return v1.SetSessionConfigBooleanRequest(**fields)

    def _all_options(self) -> list[v2.SessionConfigOption]:
        return list(self._options) if self._modes is None else [self._modes, *self._options]


class OptionDowngrader:
    """The config options of a session whose client speaks version 1, as version 1 types."""

    def __init__(self, features: ClientFeatures) -> None:
        self._features = features
        self._has_modes = False
        self._mode: v2.SessionConfigSelect | None = None
        self._sent_mode = ""
        self._boolean_ids: set[str] = set()

    def open(
        self, options: Sequence[v2.SessionConfigOption]
    ) -> tuple[v1.SessionModeState | None, list[v1.SessionConfigOption] | None]:
        """Return the modes and options for the response that opens the session."""
        modes = downgrade_modes(options)
        self._has_modes = modes is not None
        self._sent_mode = "" if modes is None else modes.current_mode_id
        return modes, self.update(options) or None

    def update(self, options: Sequence[v2.SessionConfigOption]) -> list[v1.SessionConfigOption]:
        """Replace the options and return them as version 1 types."""
        self._mode = mode_option(options)
        self._boolean_ids = {
            option.config_id for option in options if isinstance(option, v2.SessionConfigBoolean)
        }
        return downgrade_options(options, self._features)

    def mode_updates(self) -> list[v1.SessionUpdate]:
        """Return a mode update if the mode has changed since the client last received it."""
        if self._mode is None or not self._has_modes:
            return []
        current = self._mode.current_value
        if current == self._sent_mode:
            return []
        self._sent_mode = current
        return [v1.CurrentModeUpdate(current_mode_id=current)]

    def upgrade_mode(self, request: v1.SetSessionModeRequest) -> v2.SetSessionConfigValueRequest:
        """Return the version 2 request that sets the mode option.

        Raises:
            InvalidParams: The session has no modes.
        """
        if self._mode is None:
            raise InvalidParams("The session has no modes")
        return v2.SetSessionConfigValueRequest(
            session_id=request.session_id,
            config_id=self._mode.config_id,
            value=request.mode_id,
            meta=request.meta,
        )

    def upgrade_set(
        self, request: v1.SetSessionConfigOptionRequest
    ) -> v2.SetSessionConfigValueRequest | v2.SetSessionConfigBooleanRequest:
        """Return the version 2 request that sets the option.

        A boolean option that was sent as a select option gets its boolean value back.
        """
        fields = structs.asdict(request)
        if isinstance(request, v1.SetSessionConfigBooleanRequest):
            return v2.SetSessionConfigBooleanRequest(**fields)
        if request.config_id in self._boolean_ids and request.value in (_ON, _OFF):
            fields["value"] = request.value == _ON
            return v2.SetSessionConfigBooleanRequest(**fields)
        return v2.SetSessionConfigValueRequest(**fields)
