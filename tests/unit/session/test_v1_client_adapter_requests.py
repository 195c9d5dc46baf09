"""A client with a version 1 agent: requests from the agent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.peer import TypedHandler
from parley.schema import v1, v2
from parley.schema.base import Method, Unknown
from parley.schema.v2 import methods
from parley.session._adapter import ClientAdapter, HandlerTable
from parley.session._capabilities import ClientFeatures

from .raw_peer import RawPeer, Updates, client

TEXT: list[v2.ContentBlock] = [v2.TextContent(text="Hi")]
PROMPT = v2.PromptRequest(session_id="s", prompt=[*TEXT])
IDLE = v2.StateUpdated(state="idle", stop_reason="end_turn")
RUNNING = v2.StateUpdated(state="running")
OPEN = {"cwd": "/w"}


async def prompted(adapter: ClientAdapter, raw: RawPeer) -> tuple[v2.PromptResponse, Any]:
    """Send the prompt; return the response and the request that the agent received."""
    response = await adapter.request(methods.PROMPT, PROMPT)
    return response, await raw.expect("session/prompt")


async def test_a_question_about_a_tool_call_has_a_title_and_a_subject() -> None:
    updates = Updates()
    requests: list[v2.RequestPermissionRequest] = []

    async def permit(params: v2.RequestPermissionRequest, request: Any) -> Any:
        assert request.params is params
        requests.append(params)
        assert [type(await updates.next()) for _ in range(4)][2] is v2.ToolCallUpdated
        return v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id="yes"))

    program = updates.program({"session/request_permission": permit})
    async with client(program) as (adapter, raw):
        await prompted(adapter, raw)
        raw.update("tool_call", toolCallId="t", title="Edit a.py", kind="edit")
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        result = await raw.ask(
            "session/request_permission",
            {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": options},
        )
        assert result == {"outcome": {"outcome": "selected", "optionId": "yes"}}
        assert await updates.next() == RUNNING
    (request,) = requests
    assert request.title == "Edit a.py"
    assert request.subject == v2.ToolCallPermissionSubject(
        tool_call=v2.ToolCallUpdate(tool_call_id="t")
    )
    assert request.options == [v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]


async def test_a_session_waits_for_the_user_while_a_question_of_its_turn_is_open() -> None:
    updates = Updates()
    gate = asyncio.Event()

    async def permit(params: Any, request: Any) -> Any:
        await gate.wait()
        return v2.RequestPermissionResponse(outcome=Unknown("_later", b'{"outcome":"_later"}'))

    program = updates.program({"session/request_permission": permit})
    async with client(program) as (adapter, raw):
        _, prompt = await prompted(adapter, raw)
        params: dict[str, Any] = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
        raw.send(id=1, method="session/request_permission", params=params)
        raw.send(id=2, method="session/request_permission", params=params)
        received = [await updates.next() for _ in range(3)]
        assert received[2] == v2.StateUpdated(state="requires_action")
        gate.set()
        # An outcome that version 1 does not have decides nothing.
        assert await raw.result(1) == {"outcome": {"outcome": "cancelled"}}
        assert await raw.result(2) == {"outcome": {"outcome": "cancelled"}}
        assert await updates.next() == RUNNING
        raw.send(id=prompt["id"], result={"stopReason": "end_turn"})
        assert await updates.next() == IDLE
        await raw.ask("session/request_permission", params, 3)
        raw.chunk("still idle")
        assert isinstance(await updates.next(), v2.AgentMessageChunk)


async def test_forms_and_pages_are_asked_for_in_the_version_2_vocabulary() -> None:
    requests: list[Any] = []

    async def elicit(params: Any, request: Any) -> Any:
        requests.append(params)
        return v2.ElicitationAcceptAction(content={"name": "x"})

    features = ClientFeatures(form_elicitation=True, url_elicitation=True)
    completed: asyncio.Queue[Any] = asyncio.Queue()
    program = HandlerTable(
        requests={"elicitation/create": elicit},
        notifications={"elicitation/complete": completed.put_nowait},
    )
    schema: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}
    form: dict[str, Any] = {"mode": "form", "message": "Who?", "requestedSchema": schema}
    async with client(program, features) as (_, raw):
        response = await raw.ask("elicitation/create", {**form, "sessionId": "s", "requestId": 4})
        assert response == {"action": "accept", "content": {"name": "x"}}
        await raw.ask("elicitation/create", {**form, "requestId": 4}, 2)
        raw.send(id=3, method="elicitation/create", params={**form, "requestId": None})
        assert (await raw.error(3))["code"] == -32602
        await raw.ask("elicitation/create", {"mode": "_x", "message": "?", "sessionId": "s"}, 5)
        raw.send(method="elicitation/complete", params={"elicitationId": "e"})
        assert await completed.get() == v2.CompleteElicitationNotification(elicitation_id="e")
    assert isinstance(requests[0], v2.ElicitationFormMode)
    assert (requests[0].session_id, requests[0].request_id) == ("s", None)
    assert (requests[1].session_id, requests[1].request_id) == (None, 4)
    assert isinstance(requests[2], Unknown)


async def test_files_terminals_and_the_editor_are_served_as_version_1_has_them() -> None:
    async def read(params: v1.ReadTextFileRequest, request: Any) -> Any:
        return v1.ReadTextFileResponse(content=f"{params.path}:{params.line}")

    async def create(params: v1.CreateTerminalRequest, request: Any) -> Any:
        return v1.CreateTerminalResponse(terminal_id=params.command)

    async def documents(params: v2.WorkspaceOpenDocumentsRequest, request: Any) -> Any:
        assert isinstance(params, v2.WorkspaceOpenDocumentsRequest)
        return v2.WorkspaceOpenDocumentsResponse(documents=[])

    program = HandlerTable(
        requests={
            "fs/read_text_file": read,
            "terminal/create": create,
            "workspace/open_documents": documents,
        }
    )
    async with client(program) as (_, raw):
        params = {"sessionId": "s", "path": "/a", "line": 2}
        assert await raw.ask("fs/read_text_file", params) == {"content": "/a:2"}
        params = {"sessionId": "s", "command": "ls"}
        assert await raw.ask("terminal/create", params) == {"terminalId": "ls"}
        assert await raw.ask("workspace/open_documents", {"sessionId": "s"}) == {"documents": []}
        raw.send(id=9, method="fs/write_text_file", params={})
        assert (await raw.error(9))["code"] == -32601


async def test_extensions_pass_untouched_both_ways() -> None:
    received: asyncio.Queue[Any] = asyncio.Queue()

    async def twice(params: dict[str, Any], request: Any) -> Any:
        return {"n": 2 * params["n"]}

    program = HandlerTable(
        requests={"_x/twice": TypedHandler(twice, dict[str, Any])},
        notifications={"_x/note": TypedHandler(received.put_nowait, dict[str, Any])},
    )
    ask: Method[Any, Any] = Method(
        name="_x/ask", to="agent", kind="request", params=dict, result=dict
    )
    note: Method[Any, None] = Method(name="_x/note", to="agent", kind="notification", params=dict)
    async with client(program) as (adapter, raw):
        assert await raw.ask("_x/twice", {"n": 2}) == {"n": 4}
        raw.send(method="_x/note", params={"a": 1})
        assert await received.get() == {"a": 1}
        asking = asyncio.create_task(adapter.request(ask, {"sessionId": 1}))
        assert await raw.serve("_x/ask", {"b": [2]}) == {"sessionId": 1}
        assert await asking == {"b": [2]}
        await adapter.notify(note, {"c": 3})
        assert (await raw.expect("_x/note"))["params"] == {"c": 3}


async def test_handlers_may_want_their_params_as_another_type() -> None:
    received: asyncio.Queue[Any] = asyncio.Queue()

    async def elicit(params: dict[str, Any], request: Any) -> Any:
        received.put_nowait(params["mode"])
        return v2.ElicitationDeclineAction()

    program = HandlerTable(
        requests={"elicitation/create": TypedHandler(elicit, dict[str, Any])},
        notifications={"session/update": TypedHandler(received.put_nowait, dict[str, Any])},
    )
    async with client(program) as (_, raw):
        page = {"mode": "url", "message": "Go", "elicitationId": "e", "url": "https://x"}
        assert await raw.ask("elicitation/create", {**page, "sessionId": "s"}) == {
            "action": "decline"
        }
        assert await received.get() == "url"
        raw.chunk("Hello")
        assert (await received.get())["update"]["content"]["text"] == "Hello"


async def test_a_program_without_a_handler_of_updates_has_working_sessions() -> None:
    async with client() as (adapter, raw):
        raw.chunk("Hello")
        asking = asyncio.create_task(
            adapter.request(methods.LOGIN_AUTH, v2.LoginAuthRequest(method_id="m"))
        )
        await raw.serve("authenticate", {})
        await asking


async def test_the_meta_of_a_notification_is_kept() -> None:
    updates = Updates()
    async with client(updates.program()) as (_, raw):
        update = {"sessionUpdate": "_news", "x": 1}
        params = {"sessionId": "s", "update": update, "_meta": {"k": 1}}
        raw.send(method="session/update", params=params)
        note = await updates.note()
    assert note.meta == {"k": 1}
    assert isinstance(note.update, Unknown)
    assert note.update.payload == update


async def test_sessions_that_an_agent_invents_are_not_remembered_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.session._v1_client_adapter.MAX_SESSIONS", 2)
    updates = Updates()
    async with client(updates.program()) as (_, raw):
        ids: dict[str, list[str]] = {}
        for session in ("a", "b", "c") * 2:
            raw.chunk("x", session)
            note = await updates.note()
            assert isinstance(note.update, v2.AgentMessageChunk)
            ids.setdefault(session, []).append(note.update.message_id)
    assert ids["a"][0] == ids["a"][1]
    assert ids["c"][0] != ids["c"][1], "it is told, and not remembered"
