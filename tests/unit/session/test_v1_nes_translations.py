"""Next edit suggestions in both versions."""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v1, v2
from parley.schema._codec import decode, encode
from parley.schema.base import Unknown
from parley.session._capabilities import ClientFeatures
from parley.session._dialect import dialect_of
from parley.session._v1_method_translations import (
    TRANSLATIONS,
    downgrade_suggestion,
    downgrade_suggestions,
    upgrade_suggestion,
)
from parley.session._v1_session_downgrader import SessionDowngrader

PLACE: Any = {"line": 1, "character": 2}
RANGE: Any = {"start": PLACE, "end": PLACE}
SUGGESTIONS: list[Any] = [
    {
        "kind": "edit",
        "uri": "file:///a",
        "edits": [{"range": RANGE, "newText": "x"}],
        "cursorPosition": PLACE,
    },
    {"kind": "jump", "uri": "file:///a", "position": PLACE},
    {"kind": "rename", "uri": "file:///a", "position": PLACE, "newName": "n"},
    {"kind": "searchAndReplace", "uri": "file:///a", "search": "a", "replace": "b"},
]
ACTION: dict[str, Any] = {
    "kind": "action",
    "actionId": "organizeImports",
    "arguments": {"uri": "file:///a"},
}


@pytest.mark.parametrize("old", [*SUGGESTIONS, ACTION], ids=lambda old: old["kind"])
def test_a_suggestion_is_the_same_in_both_versions_but_for_its_id(old: Any) -> None:
    fields = {**old, "_meta": {"a": 1}}
    older = decode(v1.NesSuggestion, encode({"id": "s", **fields}))
    newer = decode(v2.NesSuggestion, encode({"suggestionId": "s", **fields}))
    assert upgrade_suggestion(older) == newer
    assert downgrade_suggestion(newer) == older


@pytest.mark.parametrize("old", SUGGESTIONS[2:], ids=lambda old: old["kind"])
def test_an_action_with_a_known_name_is_a_suggestion_of_that_kind(old: Any) -> None:
    newer = decode(v2.NesSuggestion, encode({"suggestionId": "s", **old}))
    action = downgrade_suggestion(newer, [old["kind"]])
    assert isinstance(action, v1.NesActionSuggestion)
    assert action.action_id == old["kind"]
    assert upgrade_suggestion(action) == newer


def test_well_known_actions_that_lack_something_are_left_out() -> None:
    for arguments in ({"uri": "file:///a"}, None):
        action = v1.NesActionSuggestion(id="s", action_id="rename", arguments=arguments)
        assert upgrade_suggestion(action) is None


def test_a_kind_that_version_1_does_not_have_is_left_out() -> None:
    response = v2.SuggestNesResponse(
        suggestions=[
            Unknown("later", b'{"kind":"later"}'),
            v2.NesJumpSuggestion(suggestion_id="s", uri="u", position=v2.Position(**PLACE)),
        ]
    )
    assert [each.id for each in downgrade_suggestions(response).suggestions] == ["s"]


def test_a_reason_that_version_1_does_not_have_is_none() -> None:
    (row,) = TRANSLATIONS["notification", "nes/reject"]
    for reason, downgraded in (("ignored", "ignored"), ("bored", None), (None, None)):
        note = v2.RejectNesNotification(session_id="n", suggestion_id="s", reason=reason)
        assert row.downgrade(note, None).reason == downgraded


def test_options_keep_their_values_in_both_versions() -> None:
    option = v2.SessionConfigBoolean(config_id="x", name="X", current_value=True)
    response = v2.StartNesResponse(session_id="n", config_options=[option])
    (row,) = TRANSLATIONS["request", "nes/start"]
    session = SessionDowngrader(ClientFeatures(boolean_options=True))
    downgraded = row.downgrade_result(response, session)
    assert downgraded.config_options[0].id == "x"
    assert row.upgrade_result(downgraded, None, None) == response
    bare = v2.StartNesResponse(session_id="n")
    assert row.downgrade_result(bare, session).config_options is None


@pytest.mark.parametrize("version", [1, 2])
def test_a_proxy_reads_and_writes_version_2(version: int) -> None:
    dialect = dialect_of(version)
    method = dialect.method_from_wire("notification", "agent", "nes/accept")
    raw = encode({"sessionId": "n", "id": "s", "suggestionId": "s"})
    note = method.upgrade(decode(method.params, raw), dialect.upgrader("n"))
    assert note == v2.AcceptNesNotification(session_id="n", suggestion_id="s")
    old = dialect.method_to_wire("notification", "agent", "document/didSave", note)
    assert old.params is v2.DidSaveDocumentNotification
    requests = dialect.method_to_wire("request", "agent", "nes/close", note)
    assert requests.result is v2.CloseNesResponse
