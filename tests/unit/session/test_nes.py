"""Next edit suggestions in the words of both versions."""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.codec import decode, encode
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import unstable as draft2
from parley.session.nes import (
    NES_NOTIFICATIONS,
    NES_REQUESTS,
    lift_suggestion,
    lower_suggestion,
    lower_suggestions,
)
from parley.session.words import words_of

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


@pytest.mark.parametrize("said", SUGGESTIONS, ids=lambda said: said["kind"])
def test_a_suggestion_is_the_same_in_both_versions_but_for_its_id(said: Any) -> None:
    fields = {**said, "_meta": {"a": 1}}
    older = decode(draft1.NesSuggestion, encode({"id": "s", **fields}))
    newer = decode(draft2.NesSuggestion, encode({"suggestionId": "s", **fields}))
    assert lift_suggestion(older) == newer
    assert lower_suggestion(newer) == older


@pytest.mark.parametrize("said", SUGGESTIONS[2:], ids=lambda said: said["kind"])
def test_an_action_with_a_known_name_is_a_suggestion_of_that_kind(said: Any) -> None:
    newer = decode(draft2.NesSuggestion, encode({"suggestionId": "s", **said}))
    action = lower_suggestion(newer, [said["kind"]])
    assert isinstance(action, draft1.NesActionSuggestion)
    assert action.action_id == said["kind"]
    assert lift_suggestion(action) == newer


def test_actions_that_nobody_knows_or_that_lack_something_are_left_out() -> None:
    for name, arguments in (("own", {"a": 1}), ("rename", {"uri": "file:///a"}), ("rename", None)):
        action = draft1.NesActionSuggestion(id="s", action_id=name, arguments=arguments)
        assert lift_suggestion(action) is None


def test_a_kind_that_version_1_does_not_have_is_left_out() -> None:
    answer = draft2.SuggestNesResponse(
        suggestions=[
            Unknown("later", b'{"kind":"later"}'),
            draft2.NesJumpSuggestion(suggestion_id="s", uri="u", position=draft2.Position(**PLACE)),
        ]
    )
    assert [each.id for each in lower_suggestions(answer).suggestions] == ["s"]


def test_a_reason_that_version_1_does_not_have_is_none() -> None:
    pair = NES_NOTIFICATIONS["nes/reject"]
    for reason, lowered in (("ignored", "ignored"), ("bored", None), (None, None)):
        note = draft2.RejectNesNotification(session_id="n", suggestion_id="s", reason=reason)
        assert pair.lower(note).reason == lowered


def test_options_keep_their_values_in_both_versions() -> None:
    option = v2.SessionConfigBoolean(config_id="x", name="X", current_value=True)
    answer = draft2.StartNesResponse(session_id="n", config_options=[option])
    pair = NES_REQUESTS["nes/start"]
    lowered = pair.lower_result(answer)
    assert lowered.config_options[0].id == "x"
    assert pair.lift_result(lowered) == answer
    bare = draft2.StartNesResponse(session_id="n")
    assert pair.lower_result(bare).config_options is None


@pytest.mark.parametrize("version", [1, 2])
def test_who_stands_between_hears_and_says_version_2(version: int) -> None:
    words = words_of(version)
    heard = words.heard("notification", "agent", "nes/accept")
    raw = encode({"sessionId": "n", "id": "s", "suggestionId": "s"})
    note = heard.lift(decode(heard.params, raw), words.lifting("n"))
    assert note == draft2.AcceptNesNotification(session_id="n", suggestion_id="s")
    said = words.said("notification", "agent", "document/didSave", note)
    assert said.params is draft2.DidSaveDocumentNotification
    asked = words.said("request", "agent", "nes/close", note)
    assert asked.result is draft2.CloseNesResponse
