"""Requests of an agent to its client: permission, forms, pages, the editor, extension methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from parley.agent import Agent, ClientFeatures, Turn
from parley.errors import (
    InternalError,
    LocalProtocolError,
    MethodNotFound,
    RemoteProtocolError,
    RequestCancelled,
    Unsupported,
)
from parley.peer import RequestContext, TypedHandler
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods

from .agent_clients import connected_client, states, stop_reason

Outcome = v2.RequestPermissionOutcome


def asker(ask: Callable[[Turn], Awaitable[Any]]) -> tuple[Agent, list[Any]]:
    """Return an agent that asks, and the list that receives each result or error."""
    agent, responses = Agent("asker"), list[Any]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            responses.append(await ask(turn))
        except Exception as error:  # noqa: BLE001 - the test looks at it
            responses.append(error)

    return agent, responses


def permitting(outcome: Outcome, requests: list[Any] | None = None) -> dict[str, Any]:
    async def respond(params: Any, request: RequestContext) -> v2.RequestPermissionResponse:
        if requests is not None:
            requests.append(params)
        return v2.RequestPermissionResponse(outcome=outcome)

    return {methods.REQUEST_PERMISSION.name: respond}


@pytest.mark.requirement("V2-PERM-01", "V2-PERM-12", "V2-PROMPT-09")
async def test_permission_is_asked_with_the_tool_call_and_the_choice_comes_back() -> None:
    async def ask(turn: Turn) -> Any:
        async with turn.tool("Delete a.py", kind="delete") as call:
            return await turn.ask_permission(tool=call, description="It is old.")

    agent, responses = asker(ask)
    requests: list[v2.RequestPermissionRequest] = []
    allow = v2.SelectedPermissionOutcome(option_id="allow")
    async with connected_client(agent, requests=permitting(allow, requests)) as client:
        session = await client.new()
        updates = await client.turn(session)
    (request,) = requests
    assert responses == ["allow"]
    assert states(updates) == ["running", "requires_action", "running", "idle"]
    assert (request.session_id, request.title) == (session, "Delete a.py")
    assert request.description == "It is old."
    assert [option.kind for option in request.options] == ["allow_once", "reject_once"]
    assert isinstance(request.subject, v2.ToolCallPermissionSubject)
    assert request.subject.tool_call.title == "Delete a.py"


async def test_permission_is_asked_with_the_tool_call_as_it_is_now() -> None:
    old, new = v2.TextContent(text="old"), v2.TextContent(text="new")

    async def ask(turn: Turn) -> None:
        async with turn.tool("Read a.py", kind="read") as call:
            await call.add(old)
            assert not call.details.content, "the client has it already"
            await call.update(title="Delete b.py", kind="delete", raw_input={"path": "b.py"})
            await call.update(content=[v2.Content(content=old)], meta={"once": 1})
            await call.add(new)
            await turn.ask_permission(tool=call)

    agent, responses = asker(ask)
    asked: list[v2.RequestPermissionRequest] = []
    allow = v2.SelectedPermissionOutcome(option_id="allow")
    async with connected_client(agent, requests=permitting(allow, asked)) as client:
        await client.turn(await client.new())
    (request,) = asked
    assert responses == [None]
    assert request.title == "Delete b.py"
    assert isinstance(request.subject, v2.ToolCallPermissionSubject)
    call = request.subject.tool_call
    assert (call.title, call.kind, call.raw_input) == ("Delete b.py", "delete", {"path": "b.py"})
    assert call.content == [v2.Content(content=old), v2.Content(content=new)]
    assert not call.meta


@pytest.mark.requirement("V1-PROMPT-13", "V1-PERM-02")
@pytest.mark.parametrize(
    ("choice", "statuses"),
    [
        ("allow", ["in_progress", "pending", "in_progress", "completed"]),
        ("reject", ["in_progress", "pending", "failed"]),
        ("nonsense", ["in_progress", "pending", "failed"]),
    ],
)
async def test_a_tool_call_is_pending_until_it_is_allowed(choice: str, statuses: list[str]) -> None:
    async def ask(turn: Turn) -> None:
        async with turn.tool("Delete a.py", kind="delete") as call:
            await turn.ask_permission(tool=call)

    agent, _ = asker(ask)
    outcome = v2.SelectedPermissionOutcome(option_id=choice)
    async with connected_client(agent, requests=permitting(outcome)) as client:
        updates = await client.turn(await client.new())
    calls = [each for each in updates if isinstance(each, v2.ToolCallUpdated)]
    assert [each.status for each in calls] == statuses


@pytest.mark.requirement("V2-PERM-04")
async def test_permission_for_a_command_names_it_and_its_directory() -> None:
    requests: list[v2.RequestPermissionRequest] = []
    agent, responses = asker(lambda turn: turn.ask_permission(command="rm a"))
    outcome = v2.SelectedPermissionOutcome(option_id="reject")
    async with connected_client(agent, requests=permitting(outcome, requests)) as client:
        await client.turn(await client.new())
    assert responses == ["reject"]
    assert requests[0].subject == v2.CommandPermissionSubject(command="rm a", cwd="/project")
    assert requests[0].title == "rm a"


@pytest.mark.requirement("V2-PERM-07", "V2-PERM-08", "V1-PERM-10")
@pytest.mark.parametrize(
    "outcome",
    [
        v2.CancelledPermissionOutcome(),
        v2.SelectedPermissionOutcome(option_id="of another question"),
        Unknown("_maybe", b'{"outcome":"_maybe"}'),
    ],
)
async def test_what_is_not_one_of_the_options_allows_nothing(outcome: Outcome) -> None:
    agent, responses = asker(lambda turn: turn.ask_permission("May I?"))
    async with connected_client(agent, requests=permitting(outcome)) as client:
        assert stop_reason(await client.turn(await client.new())) == "end_turn"
    assert responses == [None]


@pytest.mark.requirement("V1-PERM-10")
@pytest.mark.parametrize("error", [InternalError(), RequestCancelled()])
async def test_an_error_as_response_allows_nothing(error: Exception) -> None:
    async def refuse(params: Any, request: RequestContext) -> None:
        raise error

    agent, responses = asker(lambda turn: turn.ask_permission("May I?"))
    async with connected_client(
        agent, requests={methods.REQUEST_PERMISSION.name: refuse}
    ) as client:
        updates = await client.turn(await client.new())
    assert responses == [None]
    assert states(updates)[-2:] == ["running", "idle"]


@pytest.mark.requirement("V2-ELIC-01", "V2-ELIC-03", "V2-ELIC-05")
async def test_a_form_is_shown_where_the_client_shows_forms() -> None:
    questions: list[Any] = []

    async def respond(params: Any, request: RequestContext) -> v2.CreateElicitationResponse:
        questions.append(params)
        return v2.ElicitationAcceptAction(content={"name": "Ada"})

    async def ask(turn: Turn) -> Any:
        fields: dict[str, v2.ElicitationPropertySchema] = {"name": v2.StringPropertySchema()}
        form = v2.ElicitationSchema(type="object", properties=fields)
        async with turn.tool("Greet") as call:
            return await turn.elicit(
                "Who are you?", form if turn.text == "schema" else fields, tool=call
            )

    agent, responses = asker(ask)
    requests = {methods.CREATE_ELICITATION.name: respond}
    features = ClientFeatures(form_elicitation=True)
    async with connected_client(agent, requests=requests, features=features) as client:
        session = await client.new()
        updates = await client.turn(session)
        await client.turn(session, "schema")
    async with connected_client(agent, features=ClientFeatures(url_elicitation=True)) as client:
        unasked = await client.turn(await client.new())
    assert responses[:2] == [v2.ElicitationAcceptAction(content={"name": "Ada"})] * 2
    assert isinstance(responses[2], Unsupported)
    assert states(unasked) == ["running", "idle"]
    assert states(updates) == ["running", "requires_action", "running", "idle"]
    form, schema = questions
    assert isinstance(form, v2.ElicitationFormMode)
    assert (form.message, form.session_id) == ("Who are you?", session)
    assert form.tool_call_id is not None
    assert form.requested_schema.required == ["name"]
    assert schema.requested_schema.required is None


@pytest.mark.requirement("V2-ELIC-06")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"name": "Ada", "age": -1}, "content.age: expected at least 0"),
        ({"name": "ada", "age": 1}, "content.name: expected a value that matches ^[A-Z]"),
    ],
    ids=["range", "pattern"],
)
async def test_what_does_not_fit_the_form_is_never_handed_on(
    content: dict[str, Any], problem: str
) -> None:
    async def respond(params: Any, request: RequestContext) -> v2.CreateElicitationResponse:
        return v2.ElicitationAcceptAction(content=content)

    async def ask(turn: Turn) -> Any:
        age = v2.IntegerPropertySchema(minimum=0)
        name = v2.StringPropertySchema(pattern="^[A-Z]")
        return await turn.elicit("Who?", {"name": name, "age": age})

    agent, responses = asker(ask)
    requests = {methods.CREATE_ELICITATION.name: respond}
    features = ClientFeatures(form_elicitation=True)
    async with connected_client(agent, requests=requests, features=features) as client:
        await client.turn(await client.new())
    (error,) = responses
    assert isinstance(error, RemoteProtocolError)
    assert str(error) == f"the client's response does not match the form: {problem}"


async def test_a_form_with_an_invalid_pattern_is_not_sent() -> None:
    async def ask(turn: Turn) -> Any:
        return await turn.elicit("Who?", {"name": v2.StringPropertySchema(pattern="(a")})

    agent, responses = asker(ask)
    async with connected_client(agent, features=ClientFeatures(form_elicitation=True)) as client:
        updates = await client.turn(await client.new())
    assert isinstance(responses[0], LocalProtocolError)
    assert states(updates) == ["running", "idle"], "nobody was asked"


@pytest.mark.requirement("V2-ELIC-01", "V2-ELIC-13")
async def test_a_page_is_opened_where_the_client_opens_pages_and_can_be_completed() -> None:
    questions: list[Any] = []

    async def respond(params: Any, request: RequestContext) -> v2.CreateElicitationResponse:
        questions.append(params)
        return v2.ElicitationAcceptAction()

    async def ask(turn: Turn) -> Any:
        page = await turn.elicit_url("Sign in", "https://example.com/in")
        if page.is_accepted:
            await page.complete()
        return page

    agent, responses = asker(ask)
    requests = {methods.CREATE_ELICITATION.name: respond}
    features = ClientFeatures(url_elicitation=True)
    async with connected_client(agent, requests=requests, features=features) as client:
        await client.turn(await client.new())
    async with connected_client(agent, features=ClientFeatures(form_elicitation=True)) as client:
        await client.turn(await client.new())
    page, error = responses
    assert isinstance(questions[0], v2.ElicitationUrlMode)
    assert questions[0].url == "https://example.com/in"
    assert questions[0].elicitation_id == page.id
    assert isinstance(error, Unsupported)


async def test_files_and_terminals_of_the_client_do_not_exist_in_version_2() -> None:
    async def run(turn: Turn) -> None:
        async with turn.run("true"):
            pass

    asks: list[Callable[[Turn], Awaitable[Any]]] = [
        lambda turn: turn.read_text_file("/a"),
        lambda turn: turn.write_text_file("/a", "text"),
        run,
    ]
    for ask in asks:
        agent, responses = asker(ask)
        async with connected_client(agent) as client:
            assert states(await client.turn(await client.new())) == ["running", "idle"]
        assert isinstance(responses[0], Unsupported)


async def test_the_editor_is_asked_where_the_client_offers_it() -> None:
    def document(uri: str) -> v2.WorkspaceDocument:
        return v2.WorkspaceDocument(uri=uri, language_id="python")

    a, b, page = document("file:///a.py"), document("file:///b.py"), document("https://x/c.py")

    async def opened(params: Any, request: RequestContext) -> Any:
        return v2.WorkspaceOpenDocumentsResponse(documents=[a, page, b])

    async def recent(params: Any, request: RequestContext) -> Any:
        assert params.limit == 1
        return v2.WorkspaceRecentDocumentsResponse(documents=[b, a])

    async def active(params: Any, request: RequestContext) -> Any:
        return v2.WorkspaceActiveDocumentResponse(document=None)

    async def ask(turn: Turn) -> Any:
        editor = turn.session.editor
        return (
            await editor.open_documents(),
            await editor.recent_documents(1),
            await editor.active_document(),
        )

    agent, responses = asker(ask)
    requests = {
        methods.WORKSPACE_OPEN_DOCUMENTS.name: opened,
        methods.WORKSPACE_RECENT_DOCUMENTS.name: recent,
        methods.WORKSPACE_ACTIVE_DOCUMENT.name: active,
    }
    features = ClientFeatures(open_documents=True, recent_documents=True, active_document=True)
    async with connected_client(agent, requests=requests, features=features) as client:
        await client.turn(await client.new())
    async with connected_client(agent) as client:
        await client.turn(await client.new())
    assert responses[0] == ([a, b], [b], None)
    assert isinstance(responses[1], Unsupported)


class Value(msgspec.Struct):
    value: int


@pytest.mark.requirement("V2-SDK-04", "V2-EXT-05")
async def test_a_request_of_ones_own_has_typed_params_and_a_typed_result() -> None:
    async def double(params: Value, request: RequestContext) -> Value:
        return Value(2 * params.value)

    agent, responses = asker(
        lambda turn: turn.session.connection.request("_demo/double", Value(21), Value)
    )
    async with connected_client(
        agent, requests={"_demo/double": TypedHandler(double, Value)}
    ) as client:
        await client.turn(await client.new())
    async with connected_client(agent) as client:
        await client.turn(await client.new())
    assert responses[0] == Value(42)
    assert isinstance(responses[1], MethodNotFound)


async def test_a_method_of_ones_own_begins_with_an_underscore() -> None:
    agent, responses = asker(lambda turn: turn.session.connection.notify("demo/value"))
    async with connected_client(agent) as client:
        await client.turn(await client.new())
    assert isinstance(responses[0], LocalProtocolError)
