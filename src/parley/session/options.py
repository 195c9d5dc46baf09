"""Config options between the versions, and version 1's modes, which are an option in version 2.

A version 1 agent may have modes, options, or both. Lifted, its modes become a selection of the
category `mode`, unless the agent has such an option itself. Lowered, the first selection of that
category is sent as modes besides, and both are kept in step. A switch for a client that cannot show
one becomes a selection of two values.

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

from .features import ClientFeatures

__all__ = [
    "MODE",
    "LiftedOptions",
    "LoweredOptions",
    "lift_modes",
    "lift_options",
    "lower_modes",
    "lower_options",
    "mode_option",
]

MODE = "mode"
"""The category of options that are modes, and the id of the option that is made from modes."""

_ON, _OFF = "true", "false"

_Values1: TypeAlias = Sequence[v1.SessionConfigSelectOption | v1.SessionConfigSelectGroup]
_Values2: TypeAlias = Sequence[v2.SessionConfigSelectOption | v2.SessionConfigSelectGroup]


def mode_option(options: Sequence[v2.SessionConfigOption]) -> v2.SessionConfigSelect | None:
    """Return the option that says which mode a session is in, if there is one."""
    selects = [option for option in options if isinstance(option, v2.SessionConfigSelect)]
    by_category = (option for option in selects if option.category == MODE)
    by_id = (option for option in selects if option.config_id == MODE)
    return next(by_category, None) or next(by_id, None)


def lift_options(options: Sequence[v1.SessionConfigOption]) -> list[v2.SessionConfigOption]:
    """Return the options in version 2's words."""
    return [_lift_option(option) for option in options]


def _lift_option(option: v1.SessionConfigOption) -> v2.SessionConfigOption:
    fields = structs.asdict(option)
    fields["config_id"] = fields.pop("id")
    if isinstance(option, v1.SessionConfigBoolean):
        return v2.SessionConfigBoolean(**fields)
    fields["options"] = _lift_values(option.options, option.current_value)
    return v2.SessionConfigSelect(**fields)


def _lift_values(values: _Values1, current: str) -> v2.SessionConfigSelectOptions:
    groups = [
        v2.SessionConfigSelectGroup(
            group_id=group.group,
            name=group.name,
            options=[_lift_value(value) for value in group.options],
            meta=group.meta,
        )
        for group in values
        if isinstance(group, v1.SessionConfigSelectGroup) and group.options
    ]
    flat = [
        _lift_value(value) for value in values if isinstance(value, v1.SessionConfigSelectOption)
    ]
    # Version 2 has no selection without values.
    return groups or flat or [v2.SessionConfigSelectOption(value=current, name=current)]


def _lift_value(value: v1.SessionConfigSelectOption) -> v2.SessionConfigSelectOption:
    return v2.SessionConfigSelectOption(**structs.asdict(value))


def lift_modes(modes: v1.SessionModeState) -> v2.SessionConfigSelect:
    """Return the modes as an option."""
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


def lower_options(
    options: Sequence[v2.SessionConfigOption], features: ClientFeatures
) -> list[v1.SessionConfigOption]:
    """Return the options in version 1's words, without those of types that it does not have."""
    return [
        _lower_option(option, features) for option in options if not isinstance(option, Unknown)
    ]


def _lower_option(
    option: v2.SessionConfigSelect | v2.SessionConfigBoolean, features: ClientFeatures
) -> v1.SessionConfigOption:
    fields = structs.asdict(option)
    fields["id"] = fields.pop("config_id")
    if isinstance(option, v2.SessionConfigSelect):
        fields["options"] = _lower_values(option.options)
        return v1.SessionConfigSelect(**fields)
    if features.boolean_options:
        return v1.SessionConfigBoolean(**fields)
    fields["current_value"] = _ON if option.current_value else _OFF
    fields["options"] = [
        v1.SessionConfigSelectOption(value=_ON, name="On"),
        v1.SessionConfigSelectOption(value=_OFF, name="Off"),
    ]
    return v1.SessionConfigSelect(**fields)


def _lower_values(values: _Values2) -> v1.SessionConfigSelectOptions:
    groups = [
        v1.SessionConfigSelectGroup(
            group=group.group_id,
            name=group.name,
            options=[_lower_value(value) for value in group.options],
            meta=group.meta,
        )
        for group in values
        if isinstance(group, v2.SessionConfigSelectGroup)
    ]
    return groups or [_lower_value(value) for value in _flat(values)]


def _lower_value(value: v2.SessionConfigSelectOption) -> v1.SessionConfigSelectOption:
    return v1.SessionConfigSelectOption(**structs.asdict(value))


def _flat(values: _Values2) -> list[v2.SessionConfigSelectOption]:
    return [
        value
        for each in values
        for value in (each.options if isinstance(each, v2.SessionConfigSelectGroup) else [each])
    ]


def lower_modes(options: Sequence[v2.SessionConfigOption]) -> v1.SessionModeState | None:
    """Return the modes that are among the options, if any."""
    option = mode_option(options)
    if option is None:
        return None
    return v1.SessionModeState(
        current_mode_id=option.current_value,
        available_modes=[
            v1.SessionMode(
                id=value.value, name=value.name, description=value.description, meta=value.meta
            )
            for value in _flat(option.options)
        ],
    )


class LiftedOptions:
    """The options of a session whose agent speaks version 1."""

    def __init__(self) -> None:
        self._modes: v2.SessionConfigSelect | None = None
        self._options: list[v2.SessionConfigOption] = []

    def open(
        self, modes: v1.SessionModeState | None, options: Sequence[v1.SessionConfigOption] | None
    ) -> list[v2.SessionConfigOption]:
        """Take what the answer that opened the session says, and return all options."""
        self._modes = None if modes is None else lift_modes(modes)
        return self.update(options or ())

    def update(self, options: Sequence[v1.SessionConfigOption]) -> list[v2.SessionConfigOption]:
        """Take the options anew and return all options."""
        self._options = lift_options(options)
        if mode_option(self._options) is not None:
            self._modes = None
        return self._all()

    def change_mode(self, mode_id: str) -> list[v2.SessionConfigOption]:
        """Take over that the mode has changed, and return all options."""
        if self._modes is not None:
            self._modes = structs.replace(self._modes, current_value=mode_id)
        elif (known := mode_option(self._options)) is not None:
            changed = structs.replace(known, current_value=mode_id)
            self._options = [changed if each is known else each for each in self._options]
        return self._all()

    def lower_set(
        self, request: v2.SetSessionConfigOptionRequest
    ) -> v1.SetSessionModeRequest | v1.SetSessionConfigOptionRequest:
        """Return the request that sets the option: for what are modes on the wire, `set_mode`.

        Raises:
            Unsupported: Version 1 has no value of this type.
            InvalidParams: A mode is not on or off.
        """
        if isinstance(request, Unknown):
            raise Unsupported(f"version 1 of the protocol has no option value {request.tag!r}")
        fields = structs.asdict(request)
        is_mode = self._modes is not None and request.config_id == MODE
        if isinstance(request, v2.SetSessionConfigValueRequest):
            if not is_mode:
                return v1.SetSessionConfigValueRequest(**fields)
            return v1.SetSessionModeRequest(
                session_id=request.session_id, mode_id=request.value, meta=request.meta
            )
        if is_mode:
            raise InvalidParams("The mode is one of several values, not on or off")
        return v1.SetSessionConfigBooleanRequest(**fields)

    def _all(self) -> list[v2.SessionConfigOption]:
        return list(self._options) if self._modes is None else [self._modes, *self._options]


class LoweredOptions:
    """The options of a session whose client speaks version 1."""

    def __init__(self, features: ClientFeatures) -> None:
        self._features = features
        self._has_modes = False
        self._mode: v2.SessionConfigSelect | None = None
        self._mode_told = ""
        self._switches: set[str] = set()

    def open(
        self, options: Sequence[v2.SessionConfigOption]
    ) -> tuple[v1.SessionModeState | None, list[v1.SessionConfigOption] | None]:
        """Return modes and options for the answer that opens the session."""
        modes = lower_modes(options)
        self._has_modes = modes is not None
        self._mode_told = "" if modes is None else modes.current_mode_id
        return modes, self.update(options) or None

    def update(self, options: Sequence[v2.SessionConfigOption]) -> list[v1.SessionConfigOption]:
        """Take the options anew and return them for the client."""
        self._mode = mode_option(options)
        self._switches = {
            option.config_id for option in options if isinstance(option, v2.SessionConfigBoolean)
        }
        return lower_options(options, self._features)

    def mode_updates(self) -> list[v1.SessionUpdate]:
        """Return what tells the client the mode, if it has changed since the client was told."""
        if self._mode is None or not self._has_modes:
            return []
        current = self._mode.current_value
        if current == self._mode_told:
            return []
        self._mode_told = current
        return [v1.CurrentModeUpdate(current_mode_id=current)]

    def lift_mode(self, request: v1.SetSessionModeRequest) -> v2.SetSessionConfigValueRequest:
        """Return the request that sets the mode as an option.

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

    def lift_set(
        self, request: v1.SetSessionConfigOptionRequest
    ) -> v2.SetSessionConfigValueRequest | v2.SetSessionConfigBooleanRequest:
        """Return the request that sets the option."""
        fields = structs.asdict(request)
        if isinstance(request, v1.SetSessionConfigBooleanRequest):
            return v2.SetSessionConfigBooleanRequest(**fields)
        if request.config_id in self._switches and request.value in (_ON, _OFF):
            fields["value"] = request.value == _ON
            return v2.SetSessionConfigBooleanRequest(**fields)
        return v2.SetSessionConfigValueRequest(**fields)
