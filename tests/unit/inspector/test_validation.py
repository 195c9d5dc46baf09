"""Violations of the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from parley.inspector._validation import (
    MAX_VIOLATIONS,
    describe_type,
    is_valid,
    params_type,
    result_type,
    violations,
)

from .inspected import chunk, update

PROMPT = params_type(1, "request", "agent", "session/prompt")
UPDATE = params_type(1, "notification", "client", "session/update")
TEXT = {"type": "text", "text": "hi"}


def found(tp: Any, value: Any) -> list[tuple[str, str, str]]:
    raw = json.dumps(value, separators=(",", ":")).encode()
    listed = violations(tp, raw)
    assert is_valid(tp, raw) == (not listed)
    return [(each.path, each.expected, each.received) for each in listed]


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"sessionId": "s", "prompt": [TEXT]}, []),
        ({"sessionId": "s", "prompt": [TEXT], "more": 1, "_meta": {"x": 1}}, []),
        ({"sessionId": "s", "prompt": [{"type": "_mine", "x": 1}]}, [
            ("params.prompt[0].type", "text or image or audio or resource_link or resource", ""),
        ]),
        ({"prompt": [TEXT]}, [("params.sessionId", "string", "nothing")]),
        ({"sessionId": 5, "prompt": "hi"}, [
            ("params.sessionId", "string", "5"), ("params.prompt", "array", '"hi"')]),
        ({"sessionId": "s", "prompt": [TEXT, {"type": "text", "text": 1}, 7]}, [
            ("params.prompt[1].text", "string", "1"), ("params.prompt[2]", "object", "7")]),
        ({"sessionId": "s", "prompt": [{"text": "x"}]}, [
            ("params.prompt[0].type", "required", "")]),
        ([], [("params", "object", "[]")]),
    ],
)  # fmt: skip
def test_each_violation_has_a_place_and_what_was_expected_and_received(
    params: Any, expected: list[tuple[str, str, str]]
) -> None:
    assert found(PROMPT, params) == expected


def test_a_bad_value_that_a_connection_reads_as_its_default_is_a_violation() -> None:
    params = update("tool_call", toolCallId="t", title="x", locations=[{"path": 1}])["params"]
    assert found(UPDATE, params) == [("params.update.locations[0].path", "string", "1")]
    status = update("tool_call", toolCallId="t", title="x", status=5)["params"]
    assert [each[0] for each in found(UPDATE, status)] == ["params.update.status"]


def test_what_the_schema_leaves_open_is_not_a_violation() -> None:
    assert found(UPDATE, update("_mine", x=1)["params"]) == []
    assert found(UPDATE, chunk("x", extra=[1])["params"]) == []
    assert params_type(1, "request", "agent", "_mine/do") is None
    assert result_type(1, "agent", "session/update") is None


def test_values_that_are_not_json_or_nested_too_deeply_are_violations() -> None:
    deep = b'{"sessionId":"s","prompt":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    for raw in (b"{", b'{"sessionId":"\xff","prompt":[]}', deep):
        assert not is_valid(PROMPT, raw)
        assert len(violations(PROMPT, raw)) == 1


def test_the_violations_of_a_frame_are_bounded() -> None:
    params = {"sessionId": "s", "prompt": [7] * 1000}
    assert len(found(PROMPT, params)) == MAX_VIOLATIONS
    (one,) = violations(PROMPT, json.dumps({"sessionId": "x" * 999, "prompt": 1}).encode())
    assert one.received == "1"
    (long,) = violations(PROMPT, json.dumps({"sessionId": ["x" * 999], "prompt": []}).encode())
    assert len(long.received) == 120


def test_a_violation_has_the_documentation_of_its_object() -> None:
    (found,) = violations(PROMPT, b'{"prompt":[]}')
    assert found.doc == describe_type(PROMPT)[1] != ""
    assert describe_type(PROMPT)[0] == "PromptRequest"


def test_each_version_has_its_own_types() -> None:
    for version in (1, 2):
        assert result_type(version, "agent", "initialize").__module__.endswith(
            f"v{version}.initialize"
        )
        assert params_type(version, "request", "agent", "nes/start") is not None
