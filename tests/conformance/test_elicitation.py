"""The shapes of elicitation: modes, scopes, forms and responses.

https://agentclientprotocol.com/protocol/v1/elicitation
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.client import Session
from parley.schema import v1, v2
from parley.schema.base import Unknown, is_extension

from .raw_agent import RawAgent, opened
from .raw_client import talking_to
from .raw_connection import ErrorResponse
from .wire_values import is_refused, read, write

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("schema", [v1, v2], ids=["v1", "v2"])

FORM: dict[str, Any] = {
    "mode": "form",
    "sessionId": "s",
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}


def without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: each for key, each in value.items() if key not in names}


def received_form(schema: Any, request: dict[str, Any]) -> v2.ElicitationFormMode:
    """Return what a client is asked to fill in; raise `ErrorReply` if it refuses the request."""
    return asyncio.run(_received_form(1 if schema is v1 else 2, request))


async def _received_form(version: int, request: dict[str, Any]) -> v2.ElicitationFormMode:
    seen: list[v2.ElicitationFormMode] = []
    agent = RawAgent(version)

    def keep(form: v2.ElicitationFormMode, session: Session | None) -> None:
        seen.append(form)

    async with opened(agent, elicit=keep):
        response = await agent.ask("elicitation/create", request)
    if "error" in response:
        raise ErrorResponse(response["error"]["code"])
    return seen[0]


def form(**property: Any) -> dict[str, Any]:
    """Return a request for a form with one field."""
    return {**FORM, "requestedSchema": {"type": "object", "properties": {"x": property}}}


def field(schema: Any, **property: Any) -> Any:
    """Return the only field of a form as a client gets it."""
    return received_form(schema, form(**property)).requested_schema.properties["x"]


@requirement("V1-ELIC-05", "V1-ELIC-06", "V2-ELIC-03")
@in_both_versions
def test_mode_and_scope_are_stated(schema: Any) -> None:
    request = schema.CreateElicitationRequest
    assert is_refused(request, without(FORM, "mode"))
    assert is_refused(request, without(FORM, "sessionId"))
    scopes = ({"sessionId": "s"}, {"sessionId": "s", "toolCallId": "t"}, {"requestId": "r"})
    for scope in scopes:
        value = {**without(FORM, "sessionId"), **scope}
        assert write(read(request, value)) == value
    page = {"mode": "url", "requestId": 7, "message": "m", "url": "https://x", "elicitationId": "e"}
    assert write(read(request, page)) == page
    assert is_refused(request, without(page, "elicitationId"))
    assert is_refused(request, without(page, "url"))


@requirement("V1-ELIC-12", "V1-ELIC-13")
def test_version_1_forgives_a_missing_type_and_missing_properties_of_a_form() -> None:
    forms: list[Any] = [{}, {"type": None}, {"type": "array"}, {"type": 5, "properties": {}}]
    for lax in forms:
        known = received_form(v1, {**FORM, "requestedSchema": lax}).requested_schema
        assert write(known) == {"type": "object", "properties": {}}
    null = {**FORM, "requestedSchema": {"properties": None}}
    for wrong in (null, without(FORM, "requestedSchema")):
        with pytest.raises(ErrorResponse, match="-32602"):
            received_form(v1, wrong)


@requirement("V2-ELIC-05")
@pytest.mark.parametrize("form", [{}, {"type": "object"}, {"properties": {}}, {"type": "array"}])
def test_version_2_refuses_a_form_that_is_no_object_with_properties(form: dict[str, Any]) -> None:
    with pytest.raises(ErrorResponse, match="-32602"):
        received_form(v2, {**FORM, "requestedSchema": form})


@requirement("V1-ELIC-14")
@in_both_versions
@pytest.mark.parametrize(
    "property",
    [
        {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^a", "format": "email"},
        {"type": "string", "enum": ["a", "b"], "default": "a"},
        {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
        {"type": "number", "minimum": 0.5, "maximum": 2.5, "default": 1.5},
        {"type": "integer", "minimum": 1, "maximum": 9},
        {"type": "boolean", "default": True, "title": "T", "description": "d"},
        {"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 1},
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
    ],
)
def test_every_kind_of_field_is_read_and_written(schema: Any, property: Any) -> None:
    known = field(schema, **property)
    assert write(known) == property
    assert asyncio.run(_sent(1 if schema is v1 else 2, known)) == property


async def _sent(version: int, field: Any) -> Any:
    """Return a field of a form as an agent sends it."""
    agent = Agent("asker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.elicit("Who?", {"x": field})

    async with talking_to(agent) as client:
        await client.initialize(version, {"elicitation": {"form": {}}})
        client.answers["elicitation/create"] = lambda params: {"action": "cancel"}
        await client.turn(await client.new_session(), "go")
        question = await client.requested("elicitation/create")
    return question["params"]["requestedSchema"]["properties"]["x"]


@requirement("V1-ELIC-14")
@in_both_versions
def test_a_field_that_is_not_flat_is_not_sent(schema: Any) -> None:
    nested: Any = {"type": "object", "properties": {"y": {"type": "string"}}}
    refused: list[str] = []
    agent = Agent("asker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            await turn.elicit("Who?", {"x": nested})
        except TypeError as error:
            refused.append(str(error))

    async def talk() -> list[str]:
        async with talking_to(agent) as client:
            await client.initialize(1 if schema is v1 else 2, {"elicitation": {"form": {}}})
            await client.turn(await client.new_session(), "go")
            return [each["method"] for each in client.log if "method" in each]

    assert "elicitation/create" not in asyncio.run(talk())
    assert ["'x'" in each for each in refused] == [True]


@requirement("V1-ELIC-15", "V2-ELIC-09", "V1-EXT-14")
@in_both_versions
@pytest.mark.parametrize(("word", "is_own"), [("_color", True), ("color", False)])
def test_an_unknown_field_item_or_mode_is_not_taken_for_a_known_one(
    schema: Any, word: str, is_own: bool
) -> None:
    property = {"type": word, "palette": [1, None]}
    known = field(schema, **property)
    assert isinstance(known, Unknown)
    assert (write(known), is_extension(known.tag)) == (property, is_own)
    items = field(schema, type="array", items=property).items
    assert isinstance(items, Unknown)
    assert write(items) == property
    request = {"mode": word, "sessionId": "s", "message": "m", "more": 1}
    mode = read(schema.CreateElicitationRequest, request)
    assert isinstance(mode, Unknown)
    assert write(mode) == request
    with pytest.raises(ErrorResponse, match="-32602"):
        received_form(schema, request)


@requirement("V1-ELIC-16")
@in_both_versions
@pytest.mark.parametrize(
    "property",
    [
        {"type": "string", "minLength": "x"},
        {"type": "string", "pattern": 5},
        {"type": "integer", "minimum": 0.5},
        {"type": "number", "maximum": "9"},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}},
        {},
    ],
)
def test_a_broken_field_of_a_known_type_makes_the_request_invalid(
    schema: Any, property: Any
) -> None:
    with pytest.raises(ErrorResponse, match="-32602"):
        field(schema, **property)


@requirement("V1-ELIC-17", "V2-ELIC-08")
@in_both_versions
@pytest.mark.parametrize("format", ["phone", "_x"])
def test_an_unknown_format_is_kept(schema: Any, format: str) -> None:
    property = {"type": "string", "format": format}
    assert write(field(schema, **property)) == property


@requirement("V1-ELIC-25", "V1-ELIC-26", "V2-ELIC-11")
@in_both_versions
def test_content_belongs_to_accept_alone(schema: Any) -> None:
    response = schema.CreateElicitationResponse
    content = {"s": "x", "n": 1.5, "i": 2, "b": True, "l": ["a"]}
    assert read(response, {"action": "accept", "content": content}).content == content
    empty = [read(response, {"action": "accept", **more}) for more in ({}, {"content": None})]
    assert empty[0] == empty[1]
    for action in ("decline", "cancel"):
        known = read(response, {"action": action, "content": content})
        assert write(known) == {"action": action}


@requirement("V1-ELIC-28")
@pytest.mark.parametrize("content", ["x", ["a"], 5, {"a": {}}, {"a": [1]}, {"a": None}])
def test_content_that_is_no_flat_object_is_refused_in_version_1(content: Any) -> None:
    assert is_refused(v1.CreateElicitationResponse, {"action": "accept", "content": content})


@requirement("V1-ELIC-29", "V2-ELIC-10")
@in_both_versions
@pytest.mark.parametrize("action", ["_snooze", "later"])
def test_an_unknown_action_is_none_of_the_three(schema: Any, action: str) -> None:
    value = {"action": action, "content": {"a": 1}}
    known = read(schema.CreateElicitationResponse, value)
    assert isinstance(known, Unknown)
    assert write(known) == value
