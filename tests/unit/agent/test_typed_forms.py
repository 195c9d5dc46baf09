"""Forms from Python types: the fields that follow from a type, and the value that comes back."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec
import pytest
from msgspec import Meta

from parley.agent import Agent, AgentConnection, ClientFeatures, Login, Turn
from parley.agent._typed_form import TypedForm
from parley.errors import RemoteProtocolError, Unsupported
from parley.schema import v2
from parley.schema.v2 import methods
from parley.testing import pair

from .agent_clients import connected_client, texts

FORMS = ClientFeatures(form_elicitation=True)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Coat:
    size: Annotated[Literal["S", "M", "L"], Meta(title="Size", description="Of the coat")]
    pockets: Annotated[int, Meta(ge=0, lt=10)] = 2
    length: Annotated[float, Meta(ge=0.5)] | None = None
    lining: bool = True
    colour: Colour = Colour.BLUE
    extras: list[Literal["hood", "belt"]] = field(default_factory=lambda: ["hood"])
    name: Annotated[str, Meta(min_length=1, max_length=20, pattern="^[a-z]+$")] = "coat"
    on: date = date(2026, 1, 2)
    at: datetime | None = None


COAT = v2.ElicitationSchema(
    type="object",
    properties={
        "size": v2.StringPropertySchema(
            title="Size", description="Of the coat", enum=["S", "M", "L"]
        ),
        "pockets": v2.IntegerPropertySchema(minimum=0, maximum=9, default=2),
        "length": v2.NumberPropertySchema(minimum=0.5),
        "lining": v2.BooleanPropertySchema(default=True),
        "colour": v2.StringPropertySchema(enum=["red", "blue"], default="blue"),
        "extras": v2.MultiSelectPropertySchema(
            items=v2.StringMultiSelectItems(enum=["hood", "belt"]), default=["hood"]
        ),
        "name": v2.StringPropertySchema(
            min_length=1, max_length=20, pattern="^[a-z]+$", default="coat"
        ),
        "on": v2.StringPropertySchema(format="date", default="2026-01-02"),
        "at": v2.StringPropertySchema(format="date-time"),
    },
    required=["size"],
)


class Struct(msgspec.Struct, rename="camel"):
    how_many: int | None
    sizes: set[Colour] = set()


class Pair(TypedDict):
    left: str
    right: NotRequired[str]


def accept(**content: Any) -> v2.ElicitationAcceptAction:
    return v2.ElicitationAcceptAction(content=content)


def test_the_fields_of_a_form_follow_from_a_dataclass() -> None:
    assert TypedForm[Coat](Coat).schema == COAT


def test_what_the_user_submits_is_a_value_of_the_type() -> None:
    form = TypedForm[Coat](Coat)
    assert form.read(accept(size="M")) == Coat("M")
    submitted = accept(
        size="L", pockets=3.0, length=2, colour="red", extras=["belt"], at="2026-01-02T03:04:05Z"
    )
    assert form.read(submitted) == Coat(
        "L",
        pockets=3,
        length=2.0,
        colour=Colour.RED,
        extras=["belt"],
        at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )


def test_a_struct_and_a_typed_dict_are_forms_as_well() -> None:
    form = TypedForm[Struct](Struct)
    assert list(form.schema.properties) == ["howMany", "sizes"]
    assert form.schema.required == []
    assert form.read(accept()) == Struct(how_many=None)
    assert form.read(accept(howMany=2, sizes=["red"])) == Struct(2, {Colour.RED})
    pair_form = TypedForm[Pair](Pair)
    assert pair_form.schema.required == ["left"]
    assert pair_form.read(accept(left="a")) == {"left": "a"}


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        (bool, v2.BooleanPropertySchema(), True),
        (str, v2.StringPropertySchema(), "text"),
        (Literal["b", "a"], v2.StringPropertySchema(enum=["b", "a"]), "a"),
        (Colour, v2.StringPropertySchema(enum=["red", "blue"]), Colour.RED),
        (
            Annotated[int, Meta(gt=0, le=3, title="Number")],
            v2.IntegerPropertySchema(title="Number", minimum=1, maximum=3),
            2,
        ),
    ],
)
def test_a_type_without_fields_is_a_form_with_one_field(
    kind: Any, field: v2.ElicitationPropertySchema, value: Any
) -> None:
    form = TypedForm[Any](kind)
    assert form.schema.properties == {"value": field}
    assert form.schema.required == ["value"]
    assert form.read(accept(value=msgspec.to_builtins(value))) == value


class Nested:
    @dataclass
    class Form:
        coat: Coat

    @dataclass
    class Unbounded:
        length: Annotated[float, Meta(gt=0)]

    @dataclass
    class Numbers:
        size: Literal[1, 2]

    @dataclass
    class Either:
        size: int | str


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (Nested.Form, "^Form.coat has a type or constraint that a form cannot show; use str"),
        (Nested.Unbounded, "^Unbounded.length has a type or constraint .* bounds by ge= and le=$"),
        (Nested.Numbers, "^Numbers.size has choices that are not strings$"),
        (Nested.Either, "^Either.size has a type or constraint that a form cannot show"),
        (list[str], "^list has a type or constraint that a form cannot show"),
        (5, "^a form cannot be made of 5: "),
    ],
)
def test_a_type_that_a_form_cannot_show_is_refused_by_name(kind: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        TypedForm[Any](kind)


def test_a_name_that_cannot_be_resolved_is_refused() -> None:
    unresolved = make_dataclass("Unresolved", [("size", "Missing")])
    with pytest.raises(TypeError, match=r"^a form cannot be made of Unresolved: name 'Missing'"):
        TypedForm[Any](unresolved)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("response", "reply"),
    [
        ({"size": "M", "pockets": 7}, "Coat M with 7 pockets"),
        ("decline", "None"),
        (None, "None"),
    ],
)
async def test_a_turn_gets_the_value_or_none(version: int, response: Any, reply: str) -> None:
    agent = Agent("tailor")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        async with turn.tool("Measure") as call:
            coat = await turn.ask_form("What shall it be?", Coat, tool=call)
        if coat is None:
            await turn.say("None")
        else:
            await turn.say(f"Coat {coat.size} with {coat.pockets} pockets")

    async with pair(agent, versions=(version,), elicit=lambda form, session: response) as client:
        assert await (await client.new_session()).ask("A coat") == reply


async def test_a_response_that_does_not_fit_the_type_is_refused() -> None:
    agent = Agent("tailor")

    @dataclass
    class Even:
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError("odd")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        if turn.text == "odd":
            with pytest.raises(ValueError, match=r"^the response is not a valid Even: odd"):
                await turn.ask_form("Which?", Even)
        else:
            with pytest.raises(RemoteProtocolError, match="does not match the form"):
                await turn.ask_form("Which?", Literal["a", "b"])
        await turn.say("refused")

    async def respond(params: object, request: object) -> v2.CreateElicitationResponse:
        return accept(number=3) if len(asked) == 1 else accept(value="c")

    asked, requests = list[str](), {methods.CREATE_ELICITATION.name: respond}
    async with connected_client(agent, requests=requests, features=FORMS) as client:
        session = await client.new()
        for prompt in ("odd", "choice"):
            asked.append(prompt)
            assert texts(await client.turn(session, prompt)) == ["refused"]


async def test_a_login_and_a_method_of_the_program_ask_with_a_type() -> None:
    agent, found = Agent("x"), list[object]()

    @agent.login("form", name="Form")
    async def log_in(login: Login) -> None:
        found.append(await login.ask_form("Who are you?", Pair))

    @agent.logout
    async def log_out(connection: AgentConnection) -> None:
        found.append(await connection.ask_form("Sure?", Pair))

    async def respond(params: object, request: object) -> v2.CreateElicitationResponse:
        return v2.ElicitationDeclineAction() if found else accept(left="Ada")

    requests = {methods.CREATE_ELICITATION.name: respond}
    async with connected_client(agent, requests=requests, features=FORMS) as client:
        await client.request(methods.LOGIN_AUTH, v2.LoginAuthRequest(method_id="form"))
        await client.request(methods.LOGOUT_AUTH, v2.LogoutAuthRequest())
    assert found == [{"left": "Ada"}, None]


async def test_a_client_without_forms_is_not_asked() -> None:
    agent = Agent("tailor")

    @agent.prompt
    async def ask(turn: Turn) -> None:
        with pytest.raises(Unsupported, match="does not support forms"):
            await turn.ask_form("Which?", bool)
        with pytest.raises(TypeError, match="use ask_form"):
            await turn.elicit("Which?", bool)  # type: ignore[arg-type]

    async with connected_client(agent, features=FORMS) as client:
        await client.new()
    async with connected_client(agent) as client:
        await client.turn(await client.new())
