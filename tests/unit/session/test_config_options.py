"""Config options between the versions, and modes, which version 2 does not have."""

from __future__ import annotations

from typing import Any

import pytest

from parley.errors import InvalidParams, Unsupported
from parley.schema import v1, v2
from parley.schema.base import Unknown
from parley.session._capabilities import ClientFeatures
from parley.session._config_options import (
    OptionDowngrader,
    OptionUpgrader,
    downgrade_modes,
    downgrade_options,
    mode_option,
    upgrade_modes,
    upgrade_options,
)

SWITCHES = ClientFeatures(boolean_options=True)
MODES = v1.SessionModeState(
    current_mode_id="ask",
    available_modes=[
        v1.SessionMode(id="ask", name="Ask", description="D", meta={"k": 1}),
        v1.SessionMode(id="code", name="Code"),
    ],
    meta={"m": 1},
)


def select1(id: str, value: str = "a", **fields: Any) -> v1.SessionConfigSelect:
    options = [v1.SessionConfigSelectOption(value=each, name=each.upper()) for each in "ab"]
    return v1.SessionConfigSelect(id=id, name=id, current_value=value, options=options, **fields)


def select2(id: str, value: str = "a", **fields: Any) -> v2.SessionConfigSelect:
    options = [v2.SessionConfigSelectOption(value=each, name=each.upper()) for each in "ab"]
    return v2.SessionConfigSelect(
        config_id=id, name=id, current_value=value, options=options, **fields
    )


def switch1(value: bool = True) -> v1.SessionConfigBoolean:
    return v1.SessionConfigBoolean(id="f", name="f", current_value=value)


def switch2(value: bool = True) -> v2.SessionConfigBoolean:
    return v2.SessionConfigBoolean(config_id="f", name="f", current_value=value)


def values(options: list[v2.SessionConfigOption]) -> dict[str, str | bool]:
    return {each.config_id: each.current_value for each in options if not isinstance(each, Unknown)}


def test_options_say_the_same_in_both_versions() -> None:
    in_v1: list[v1.SessionConfigOption] = [
        select1("m", category="model", description="D", meta={"k": 1}),
        switch1(),
    ]
    in_v2: list[v2.SessionConfigOption] = [
        select2("m", category="model", description="D", meta={"k": 1}),
        switch2(),
    ]
    assert upgrade_options(in_v1) == in_v2
    assert downgrade_options(in_v2, SWITCHES) == in_v1


def test_groups_stay_groups_and_empty_ones_go() -> None:
    a = v1.SessionConfigSelectOption(value="a", name="A")
    groups = [
        v1.SessionConfigSelectGroup(group="g", name="G", options=[a], meta={"k": 1}),
        v1.SessionConfigSelectGroup(group="h", name="H", options=[]),
    ]
    option = v1.SessionConfigSelect(id="m", name="M", current_value="a", options=groups)
    (upgraded,) = upgrade_options([option])
    assert isinstance(upgraded, v2.SessionConfigSelect)
    a2 = v2.SessionConfigSelectOption(value="a", name="A")
    assert upgraded.options == [
        v2.SessionConfigSelectGroup(group_id="g", name="G", options=[a2], meta={"k": 1})
    ]
    (downgraded,) = downgrade_options([upgraded], SWITCHES)
    assert downgraded == v1.SessionConfigSelect(
        id="m", name="M", current_value="a", options=groups[:1]
    )


def test_a_selection_always_has_a_value() -> None:
    empty = v1.SessionConfigSelect(id="m", name="M", current_value="x", options=[])
    (upgraded,) = upgrade_options([empty])
    assert isinstance(upgraded, v2.SessionConfigSelect)
    only = v2.SessionConfigSelectOption(value="x", name="x")
    assert upgraded.options == [only]
    modes = v1.SessionModeState(current_mode_id="x", available_modes=[])
    assert upgrade_modes(modes).options == [only]


def test_options_of_an_unknown_type_are_left_out() -> None:
    dial = Unknown("_dial", b'{"type":"_dial"}')
    assert downgrade_options([dial, switch2()], SWITCHES) == [switch1()]


@pytest.mark.requirement("V1-CONF-09", "V1-CONF-10")
def test_a_switch_is_a_selection_for_clients_that_cannot_show_one() -> None:
    (option,) = downgrade_options([switch2(False)], ClientFeatures())
    assert isinstance(option, v1.SessionConfigSelect)
    assert option.current_value == "false"
    assert [each.name for each in option.options] == ["On", "Off"]


def test_modes_are_a_selection_and_come_back_as_modes() -> None:
    option = upgrade_modes(MODES)
    assert (option.config_id, option.category, option.current_value) == ("mode", "mode", "ask")
    assert downgrade_modes([option]) == v1.SessionModeState(
        current_mode_id="ask", available_modes=MODES.available_modes
    )
    assert downgrade_modes([select2("m")]) is None


def test_the_option_that_is_the_mode_is_known_by_its_category_then_by_its_id() -> None:
    by_id, by_category = select2("mode"), select2("m", category="mode")
    assert mode_option([by_id, by_category]) is by_category
    assert mode_option([switch2(), by_id]) is by_id
    assert mode_option([select2("x")]) is None


def test_an_agents_own_option_for_the_mode_counts_more_than_its_modes() -> None:
    options = OptionUpgrader()
    own = select1("m", category="mode")
    assert values(options.open(MODES, [own])) == {"m": "a"}
    assert values(options.change_mode("b")) == {"m": "b"}
    request = v2.SetSessionConfigValueRequest(session_id="s", config_id="m", value="a")
    assert options.downgrade_set(request) == v1.SetSessionConfigValueRequest(
        session_id="s", config_id="m", value="a"
    )


def test_modes_stay_beside_options() -> None:
    options = OptionUpgrader()
    assert values(options.open(MODES, None)) == {"mode": "ask"}
    assert values(options.update([switch1()])) == {"mode": "ask", "f": True}
    assert values(options.change_mode("code")) == {"mode": "code", "f": True}
    assert values(options.open(None, None)) == {}
    assert values(options.change_mode("x")) == {}


def test_a_mode_is_set_as_one() -> None:
    options = OptionUpgrader()
    options.open(MODES, [switch1()])
    mode = v2.SetSessionConfigValueRequest(
        session_id="s", config_id="mode", value="code", meta={"k": 1}
    )
    assert options.downgrade_set(mode) == v1.SetSessionModeRequest(
        session_id="s", mode_id="code", meta={"k": 1}
    )
    flag = v2.SetSessionConfigBooleanRequest(session_id="s", config_id="f", value=False)
    assert options.downgrade_set(flag) == v1.SetSessionConfigBooleanRequest(
        session_id="s", config_id="f", value=False
    )
    with pytest.raises(InvalidParams, match="not on or off"):
        options.downgrade_set(
            v2.SetSessionConfigBooleanRequest(session_id="s", config_id="mode", value=True)
        )
    with pytest.raises(Unsupported, match="_range"):
        options.downgrade_set(Unknown("_range", b'{"type":"_range"}'))


def test_a_client_gets_the_mode_only_when_it_has_changed() -> None:
    options = OptionDowngrader(SWITCHES)
    modes, downgraded = options.open([select2("m", category="mode"), switch2()])
    assert modes is not None
    assert modes.current_mode_id == "a"
    assert downgraded == [select1("m", category="mode"), switch1()]
    assert options.mode_updates() == []
    options.update([select2("m", "b", category="mode")])
    assert options.mode_updates() == [v1.CurrentModeUpdate(current_mode_id="b")]
    assert options.mode_updates() == []
    options.update([])
    assert options.mode_updates() == []


def test_a_client_without_modes_gets_no_changes_of_them() -> None:
    options = OptionDowngrader(SWITCHES)
    assert options.open([]) == (None, None)
    options.update([select2("m", "b", category="mode")])
    assert options.mode_updates() == []


def test_a_client_sets_the_mode_as_an_option() -> None:
    options = OptionDowngrader(ClientFeatures())
    request = v1.SetSessionModeRequest(session_id="s", mode_id="b", meta={"k": 1})
    with pytest.raises(InvalidParams, match="no modes"):
        options.upgrade_mode(request)
    options.open([select2("m", category="mode"), switch2()])
    assert options.upgrade_mode(request) == v2.SetSessionConfigValueRequest(
        session_id="s", config_id="m", value="b", meta={"k": 1}
    )


def test_a_client_sets_switches_in_both_ways() -> None:
    options = OptionDowngrader(ClientFeatures())
    options.open([switch2(), select2("m")])

    def set_to(value: Any, id: str = "f") -> Any:
        kind: Any = (
            v1.SetSessionConfigBooleanRequest
            if isinstance(value, bool)
            else v1.SetSessionConfigValueRequest
        )
        return options.upgrade_set(kind(session_id="s", config_id=id, value=value)).value

    assert set_to(True) is True
    assert set_to("false") is False
    assert set_to("maybe") == "maybe"
    assert set_to("true", "m") == "true"
