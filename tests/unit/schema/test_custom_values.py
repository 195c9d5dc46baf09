"""Values that the protocol reserves are rejected before they are sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from parley.errors import LocalProtocolError
from parley.schema import v1, v2
from parley.schema._custom_values import check_custom_method, check_custom_values
from parley.schema.base import Unknown

TEXT = v2.TextContent(text="Hi")


def text(word: str) -> v2.TextContent:
    return v2.TextContent(text="Hi", annotations=v2.Annotations(audience=[word]))


def select(word: str) -> v2.SessionConfigSelect:
    value = v2.SessionConfigSelectOption(value="a", name="A")
    group = v2.SessionConfigSelectGroup(group_id="g", name="G", options=[value])
    return v2.SessionConfigSelect(
        config_id="c", name="C", category=word, current_value="a", options=[group]
    )


def form(field: Any) -> v2.ElicitationFormMode:
    schema = v2.ElicitationSchema(type="object", properties={"f": field})
    return v2.ElicitationFormMode(message="m", requested_schema=schema, session_id="s")


def diff(word: str) -> v2.Diff:
    patch = v2.DiffPatch(format=word, text="")
    return v2.Diff(changes=[v2.DiffAdd(path="/a", file_type="text")], patch=patch)


VALUES: dict[str, Callable[[str], Any]] = {
    "word": lambda word: v2.ToolCallUpdated(tool_call_id="t", kind=word),
    "word beside null": lambda word: v2.ToolCallUpdated(tool_call_id="t", kind=None, status=word),
    "tag": lambda word: Unknown.of("sessionUpdate", word),
    "tag in a field": lambda word: v2.AgentMessageChunk(
        message_id="m", content=Unknown.of("type", word)
    ),
    "word in a list": text,
    "word below": lambda word: v2.AgentMessageChunk(message_id="m", content=text(word)),
    "list of objects": lambda word: v2.UserMessage(message_id="m", content=[TEXT, text(word)]),
    "tuple": lambda word: v2.PromptRequest(session_id="s", prompt=(TEXT, text(word))),  # type: ignore[arg-type]
    "second tag": lambda word: v2.StateUpdated(state=cast("Any", word)),
    "category": lambda word: v2.ConfigOptionUpdate(config_options=[select(word)]),
    "map": lambda word: form(Unknown.of("type", word)),
    "items of a field": lambda word: form(
        v2.MultiSelectPropertySchema(items=Unknown.of("type", word))
    ),
    "patch": diff,
    "provider": lambda word: v2.ProviderInfo(
        provider_id="p", supported=["openai", word], required=False
    ),
    "version 1": lambda word: v1.Notice(severity=word, title="t"),
    "server": lambda word: v2.NewSessionRequest(
        cwd="/", mcp_servers=[Unknown.of("type", word, name="s")]
    ),
}
values = pytest.mark.parametrize("make", VALUES.values(), ids=VALUES)


@values
@pytest.mark.parametrize("word", ["deploy", "", " _x"])
def test_a_custom_value_without_an_underscore_is_refused(make: Any, word: str) -> None:
    with pytest.raises(LocalProtocolError, match="custom values start with an underscore") as error:
        check_custom_values(make(word))
    assert repr(word) in str(error.value)


@values
def test_a_custom_value_with_an_underscore_is_ones_own(make: Any) -> None:
    check_custom_values(make("_deploy"))
    check_custom_values(make("_"))


@pytest.mark.parametrize(
    "value",
    [
        v2.ToolCallUpdated(tool_call_id="t", kind="edit", status="paused"),
        v2.StateUpdated(state="idle", stop_reason="max_tokens"),
        v2.AgentMessageChunk(message_id="m", content=TEXT),
        v2.PlanUpdate(plan=v2.PlanItems(plan_id="p", entries=[])),
        v2.ConfigOptionUpdate(config_options=[select("model")]),
        v2.TerminalOutputChunk(terminal_id="t", data="x"),
        form(v2.StringPropertySchema(format="phone")),
        v2.NewSessionRequest(cwd="/", mcp_servers=[Unknown.of("type", "sse", name="s")]),
        v2.NewSessionRequest(cwd="/", mcp_servers=[v2.McpServerHttp(name="s", url="https://a.b")]),
        {"kind": "deploy"},
        "deploy",
        None,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_protocol_has_or_does_not_reserve_passes(value: object) -> None:
    check_custom_values(value)


def test_a_value_of_another_type_is_for_others_to_refuse() -> None:
    odd: Any = 5
    check_custom_values(v2.ToolCallUpdated(tool_call_id="t", kind=odd))
    check_custom_values(v2.UserMessage(message_id="m", content=odd))
    check_custom_values(v2.ElicitationSchema(type="object", properties=odd))


def test_an_mcp_server_over_sse_is_the_only_word_of_version_1_that_passes() -> None:
    with pytest.raises(LocalProtocolError, match="'sse'"):
        check_custom_values(Unknown.of("sessionUpdate", "sse"))


@pytest.mark.parametrize("name", ["example/echo", "session/new", ""])
def test_a_method_of_ones_own_starts_with_an_underscore(name: str) -> None:
    with pytest.raises(LocalProtocolError, match="custom values start with an underscore"):
        check_custom_method(name)
    check_custom_method(f"_{name}")


def test_a_value_of_ones_own_is_made_of_its_fields() -> None:
    made = Unknown.of("type", "_example.com/chart", points=[1, 2])
    assert made == Unknown("_example.com/chart", made.raw)
    assert made.payload == {"type": "_example.com/chart", "points": [1, 2]}
    assert made.is_extension
