from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypedDict

import pytest
from mcp.server.mcpserver import Context
from msgspec import Struct
from pydantic import BaseModel

from parley.errors import RequestCancelled, RequestError, ToolError
from parley.mcp import prompt, resource
from parley.mcp._function_server import function_server
from parley.schema import v2

from .provider_client import ENVELOPE, ProviderClient, text_of


class Point(Struct):
    x: int
    others: list[Point] = []


class Named(TypedDict):
    name: str


class Model(BaseModel):
    size: int


@dataclass
class Pair:
    left: int
    right: int


class Color(Enum):
    RED = "red"


async def listed(*functions: Any) -> dict[str, Any]:
    """Return the tools that a client of MCP sees, by name."""
    asker = ProviderClient()
    outcome = await asker.ask(asker.serve(*functions), "tools/list")
    return {each["name"]: each for each in outcome["result"]["tools"]}


async def test_the_schema_comes_from_signature_and_docstring() -> None:
    def weather(city: str, days: int = 1, *, units: str = "C") -> str:
        """Tell what the weather will be.

        Only for cities.

        Args:
            city: Its name,
                in English.
            days (int): How many.

        Returns:
            One line.
        """
        return f"{city} {days} {units}"

    tool = (await listed(weather))["weather"]
    assert tool["description"] == "Tell what the weather will be.\n\nOnly for cities."
    assert tool["inputSchema"]["required"] == ["city"]
    properties = tool["inputSchema"]["properties"]
    assert properties["city"]["description"] == "Its name, in English."
    assert properties["days"] == {
        "default": 1,
        "description": "How many.",
        "title": "Days",
        "type": "integer",
    }
    assert "description" not in properties["units"]


async def test_arguments_arrive_as_what_they_are_annotated_with() -> None:
    got: list[Any] = []

    async def take(
        point: Point,
        points: list[Point] | None,
        named: Named,
        model: Model,
        pair: Pair,
        color: Color,
    ) -> None:
        got.extend((point, points, named, model, pair, color))

    asker = ProviderClient()
    await asker.call(
        asker.serve(take),
        "take",
        point={"x": 1, "others": [{"x": 2}]},
        points=[{"x": 3}],
        named={"name": "n"},
        model={"size": 4},
        pair={"left": 5, "right": 6},
        color="red",
    )
    assert got == [
        Point(1, [Point(2)]),
        [Point(3)],
        {"name": "n"},
        Model(size=4),
        Pair(5, 6),
        Color.RED,
    ]
    schema = (await listed(take))["take"]["inputSchema"]
    assert schema["properties"]["point"]["$ref"] == "#/$defs/Point"
    assert {"Point", "Named", "Model", "Pair", "Color"} <= set(schema["$defs"])


async def test_arguments_that_do_not_fit_are_told_to_the_model() -> None:
    def take(point: Point) -> None:
        raise AssertionError("never called")

    asker = ProviderClient()
    result = await asker.call(asker.serve(take), "take", point={"x": "one"})
    assert result["isError"]
    assert "Expected `int`, got `str` - at `$.x`" in text_of(result)


async def test_blocks_and_values_are_sent_as_mcp_has_them() -> None:
    def picture() -> v2.ImageContent:
        return v2.ImageContent(data="AAAA", mime_type="image/png")

    def several() -> list[v2.ContentBlock]:
        return [v2.TextContent(text="one"), v2.ResourceLink(name="two", uri="file:///two")]

    def point() -> Point:
        return Point(1)

    def pair() -> Pair:
        return Pair(1, 2)

    asker = ProviderClient()
    server = asker.serve(picture, several, point, pair)
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert (await asker.call(server, "picture"))["content"] == [image]
    kinds = [each["type"] for each in (await asker.call(server, "several"))["content"]]
    assert kinds == ["text", "resource_link"]
    assert '"x": 1' in text_of(await asker.call(server, "point"))
    structured = (await asker.call(server, "pair"))["structuredContent"]
    assert structured == {"left": 1, "right": 2}


async def test_only_what_is_meant_for_the_agent_reaches_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def deliberate() -> None:
        raise ToolError("there is no such city")

    async def crash() -> None:
        raise ValueError("the password is walnut")

    def protocol() -> None:
        raise RequestError("Not today", code=-32099)

    asker = ProviderClient()
    server = asker.serve(deliberate, crash, protocol)
    told = await asker.call(server, "deliberate")
    assert told["isError"]
    assert text_of(told) == "Error executing tool deliberate: there is no such city"
    assert text_of(await asker.call(server, "crash")) == "Error executing tool crash"
    assert "walnut" in caplog.text
    outcome = await asker.ask(server, "tools/call", name="protocol", arguments={})
    assert outcome == {"error": {"code": -32099, "message": "Not today"}}


async def test_a_tool_reports_progress_for_the_request_that_it_works_on() -> None:
    async def work(context: Context) -> str:
        await context.report_progress(1, 2, "half")
        return "done"

    asker = ProviderClient()
    server = asker.serve(work)
    meta = {**ENVELOPE, "progressToken": "t"}
    await asker.ask(server, "tools/call", "r", name="work", arguments={}, _meta=meta)
    (told,) = asker.told
    assert (told["serverId"], told["requestId"]) == (server, "r")
    expected = {"progressToken": "t", "progress": 1, "total": 2, "message": "half"}
    assert told["params"] == expected
    assert "context" not in (await listed(work))["work"]["inputSchema"]["properties"]


async def test_marked_functions_are_resources_and_prompts() -> None:
    @resource("notes://{day}", mime_type="text/markdown")
    def notes(day: str) -> str:
        """What was written on a day."""
        return f"# {day}"

    @prompt
    def review(code: str) -> str:
        """Have code reviewed."""
        return f"Review {code}"

    asker = ProviderClient()
    server = asker.serve(notes, review)
    assert await listed(notes, review) == {}
    read = await asker.ask(server, "resources/read", uri="notes://monday")
    (contents,) = read["result"]["contents"]
    assert (contents["text"], contents["mimeType"]) == ("# monday", "text/markdown")
    got = await asker.ask(server, "prompts/get", name="review", arguments={"code": "x = 1"})
    assert got["result"]["messages"][0]["content"]["text"] == "Review x = 1"
    assert notes("tuesday") == "# tuesday"


class Place:
    """Stands for the session that a server is made for."""


async def test_a_parameter_of_the_sessions_type_gets_the_session_and_is_not_shown() -> None:
    place = Place()

    def where(name: str, place: Place) -> str:
        """Find something.

        Args:
            name: What to find.
            place: Where; the agent does not see it.
        """
        return f"{name} {given(place)}"

    async def maybe(place: Place | None = None) -> str:
        return given(place)

    @resource("notes://{day}")
    def notes(day: str, place: Place) -> str:
        return f"{day} {given(place)}"

    @prompt
    def review(place: Place, code: str) -> str:
        return f"{code} {given(place)}"

    def given(value: object) -> str:
        return "here" if value is place else f"not {value!r}"

    asker = ProviderClient()
    functions: list[Callable[..., Any]] = [where, maybe, notes, review]
    server = asker.provider.add(function_server(functions, session=place))
    tools = (await asker.ask(server, "tools/list"))["result"]["tools"]
    assert [list(tool["inputSchema"]["properties"]) for tool in tools] == [["name"], []]
    assert text_of(await asker.call(server, "where", name="pear")) == "pear here"
    assert text_of(await asker.call(server, "where", name="pear", place="there")) == "pear here"
    assert text_of(await asker.call(server, "maybe")) == "here"
    read = await asker.ask(server, "resources/read", uri="notes://monday")
    assert read["result"]["contents"][0]["text"] == "monday here"
    got = await asker.ask(server, "prompts/get", name="review", arguments={"code": "x"})
    assert got["result"]["messages"][0]["content"]["text"] == "x here"


def test_what_cannot_be_a_tool_is_refused_with_its_name() -> None:
    def same() -> None: ...
    def hidden(_secret: int) -> None: ...
    def strange(asker: ProviderClient) -> None: ...

    @resource("notes://{day}")
    def mismatched(month: str) -> None: ...

    with pytest.raises(TypeError, match="two tools are called same"):
        function_server([same, same])
    with pytest.raises(TypeError, match="a function that has a name"):
        function_server([lambda: None])
    with pytest.raises(TypeError, match="a function that has a name"):
        function_server([Point])
    with pytest.raises(TypeError, match="hidden cannot be a tool"):
        function_server([hidden])
    with pytest.raises(TypeError, match="strange cannot be a tool"):
        function_server([strange])
    with pytest.raises(TypeError, match="mismatched cannot be a resource"):
        function_server([mismatched])


def test_the_programs_logging_stays_as_it_was() -> None:
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    try:
        function_server([print_nothing])
        assert root.handlers == []
    finally:
        root.handlers = handlers


def print_nothing() -> None: ...


async def test_a_method_can_be_a_tool() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        async def increase(self, by: int = 1) -> int:
            """Count on."""
            self.count += by
            return self.count

    counter = Counter()
    asker = ProviderClient()
    server = asker.serve(counter.increase)
    await asker.call(server, "increase", by=2)
    assert text_of(await asker.call(server, "increase")) == "3"
    assert "self" not in (await listed(counter.increase))["increase"]["inputSchema"]["properties"]


class Odd(BaseException):
    pass


@pytest.mark.requirement("SAFE-COST-03")
@pytest.mark.parametrize(
    "error",
    [SystemExit(1), KeyboardInterrupt(), Odd(), asyncio.CancelledError()],
    ids=["exit", "interrupt", "odd", "cancelled"],
)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
async def test_a_tool_that_raises_anything_is_answered(
    error: BaseException, is_async: bool
) -> None:
    def plain() -> str:
        raise error

    async def asynchronous() -> str:
        raise error

    def fine() -> str:
        return "fine"

    asker = ProviderClient()
    server = asker.serve(asynchronous if is_async else plain, fine)
    name = "asynchronous" if is_async else "plain"
    try:
        outcome = await asker.ask(server, "tools/call", name=name, arguments={})
    except RequestCancelled:
        assert is_async
        assert isinstance(error, asyncio.CancelledError)
    else:
        assert outcome["result"]["isError"]
    assert text_of(await asker.call(server, "fine")) == "fine"


@pytest.mark.parametrize("form", ["present", "older"])
async def test_a_tool_whose_text_is_not_unicode_is_answered(form: str) -> None:
    def broken() -> str:
        return "before \ud800 after"

    asker = ProviderClient()
    server = asker.serve(broken)
    call: dict[str, Any] = {"name": "broken", "arguments": {}}
    if form == "present":
        result = await asker.call(server, "broken")
    else:
        way = await asker.connect(server)
        result = await asker.send("mcp/message", {**way, "method": "tools/call", "params": call})
    assert text_of(result) == "before \ufffd after"


async def test_a_text_of_50_mb_is_sent_once_and_so_is_within_the_limit() -> None:
    def large() -> str:
        return "x" * 50_000_000

    asker = ProviderClient()
    result = await asker.call(asker.serve(large), "large")
    assert len(text_of(result)) == 50_000_000
    assert "structuredContent" not in result
