"""Config options and modes as a client sees them.

https://agentclientprotocol.com/protocol/v1/session-config-options
https://agentclientprotocol.com/protocol/v1/session-modes
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v1, v2
from parley.schema.base import Unknown
from parley.session._v1_session_upgrader import SessionUpgrader

from .transcripts import TranscriptReader, transcript_after
from .wire_values import is_refused, read, update, write

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", [1, 2])
VALUES = [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}]
MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}],
}


def select(version: int, id: str, **more: Any) -> dict[str, Any]:
    key = "id" if version == 1 else "configId"
    fixed = {"type": "select", key: id, "name": id, "currentValue": "a", "options": VALUES}
    return {**fixed, **more}


def options(*each: Any) -> Any:
    return update("config_option_update", configOptions=list(each))


def ids(known: list[v2.SessionConfigOption]) -> list[str]:
    return [each.config_id for each in known if not isinstance(each, Unknown)]


@requirement("V1-CONF-17", "V1-CONF-04", "V2-CFG-03", "V2-CFG-07")
@in_both_versions
def test_a_list_of_options_replaces_the_one_before_and_keeps_its_order(version: int) -> None:
    client = TranscriptReader(version)
    for wanted in (["z", "a", "m"], ["m"], [], ["b", "a"]):
        known = client.receive(options(*(select(version, id) for id in wanted))).config_options
        assert ids(known) == wanted


@requirement("V1-CONF-08")
@in_both_versions
def test_values_may_be_flat_or_in_groups(version: int) -> None:
    key = "group" if version == 1 else "groupId"
    groups = [{key: "g", "name": "G", "options": VALUES}]
    flat, grouped = transcript_after(
        version, options(select(version, "flat"), select(version, "grouped", options=groups))
    ).config_options
    assert isinstance(flat, v2.SessionConfigSelect)
    assert isinstance(grouped, v2.SessionConfigSelect)
    assert write(flat)["options"] == VALUES
    assert write(grouped)["options"] == [{"groupId": "g", "name": "G", "options": VALUES}]


@requirement("V1-CONF-11", "V2-CFG-08", "V1-EXT-17")
def test_an_option_of_an_unknown_type_is_ignored_in_version_1_and_kept_in_version_2() -> None:
    slider = {"type": "slider", "id": "s", "configId": "s", "name": "S", "max": 9}
    assert ids(transcript_after(1, options(slider, select(1, "x"))).config_options) == ["x"]
    kept, other = transcript_after(2, options(slider, select(2, "x"))).config_options
    assert write(kept) == slider
    assert ids([kept, other]) == ["x"]


@requirement("V1-CONF-12", "V2-CFG-06")
@in_both_versions
@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ({}, None),
        ({"category": "_zzz"}, "_zzz"),
        ({"category": "zzz"}, "zzz"),
        ({"category": 5}, None),
    ],
)
def test_any_category_or_none_will_do(version: int, category: Any, expected: str | None) -> None:
    (known,) = transcript_after(version, options(select(version, "x", **category))).config_options
    assert isinstance(known, v2.SessionConfigSelect)
    assert (known.config_id, known.category) == ("x", expected)


@requirement("V1-CONF-02", "V1-MODE-01", "V1-CONF-01")
def test_a_client_that_gets_options_and_modes_looks_at_the_options() -> None:
    mode = select(1, "m", category="mode")
    both = {"sessionId": "s", "modes": MODES, "configOptions": [select(1, "x"), mode]}
    known = SessionUpgrader().new_session(read(v1.NewSessionResponse, both)).config_options
    assert ids(known) == ["x", "m"]
    alone = {"sessionId": "s", "modes": MODES}
    (option,) = SessionUpgrader().new_session(read(v1.NewSessionResponse, alone)).config_options
    assert isinstance(option, v2.SessionConfigSelect)
    assert (option.category, option.current_value) == ("mode", "ask")


@requirement("V1-MODE-06")
def test_a_change_of_mode_changes_the_option() -> None:
    lifting = SessionUpgrader()
    lifting.new_session(read(v1.NewSessionResponse, {"sessionId": "s", "modes": MODES}))
    change = update("current_mode_update", currentModeId="code")
    (seen,) = lifting.upgrade(read(v1.SessionUpdate, change))
    assert isinstance(seen, v2.ConfigOptionUpdate)
    (option,) = seen.config_options
    assert isinstance(option, v2.SessionConfigSelect)
    assert option.current_value == "code"


@requirement("V2-CFG-04")
@pytest.mark.parametrize("value", ["a", True])
def test_a_value_without_its_type_is_refused_in_version_2(value: Any) -> None:
    request = {"sessionId": "s", "configId": "x", "value": value}
    assert is_refused(v2.SetSessionConfigOptionRequest, request)
    kinds = {"id": v2.SetSessionConfigValueRequest, "boolean": v2.SetSessionConfigBooleanRequest}
    kind = "boolean" if value is True else "id"
    known = read(v2.SetSessionConfigOptionRequest, {**request, "type": kind})
    assert isinstance(known, kinds[kind])
    assert write(known) == {**request, "type": kind}
