"""Elicitation, login, files and the editor's state, as a client has them.

https://agentclientprotocol.com/protocol/v1/elicitation
https://agentclientprotocol.com/protocol/v1/authentication
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from parley.client import Session
from parley.errors import AuthRequired, LocalProtocolError
from parley.schema import v2

from .raw_agent import RawAgent, connected, opened
from .raw_client import in_both_versions
from .raw_connection import ErrorResponse
from .wire_values import text, update

requirement = pytest.mark.requirement
CREATE = "elicitation/create"
FORM: dict[str, Any] = {
    "mode": "form",
    "sessionId": "s",
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
PAGE = {
    "mode": "url",
    "sessionId": "s",
    "message": "Go",
    "url": "https://x",
    "elicitationId": " odd/\u202e",
}


def always(response: Any) -> Callable[..., Any]:
    """Return a user's callback that always returns the same."""
    return lambda *question: response


@requirement("V1-ELIC-04", "V1-ELIC-05", "V2-ELIC-02", "V2-ELIC-09")
@in_both_versions
@pytest.mark.parametrize("request_", [PAGE, {**FORM, "mode": "_x"}, {**FORM, "mode": None}])
async def test_a_mode_that_was_not_offered_is_refused(version: int, request_: Any) -> None:
    agent = RawAgent(version)
    async with opened(agent, elicit=always({"name": "x"})):
        assert await agent.refusal(CREATE, request_) == -32602
    silent = RawAgent(version)
    async with opened(silent):
        assert await silent.refusal(CREATE, FORM) in (-32601, -32602)


@requirement("V1-ELIC-25")
@in_both_versions
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"name": "me"}, {"action": "accept", "content": {"name": "me"}}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
        (None, {"action": "cancel"}),
        ("nonsense", {"action": "cancel"}),
    ],
)
async def test_an_answer_is_accept_decline_or_cancel(
    version: int, reply: Any, expected: Any
) -> None:
    agent = RawAgent(version)
    async with opened(agent, elicit=always(reply)):
        assert await agent.call(CREATE, FORM) == expected


STRICT: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "pattern": "^(a+)+$"}, "age": {"type": "integer"}},
    "required": ["name"],
}


@requirement("V1-ELIC-19", "V1-ELIC-27", "V1-ELIC-18", "V2-ELIC-06", "V2-ELIC-07")
@in_both_versions
@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ({"name": "aaa", "age": 7}, "accept"),
        ({"name": "aaa"}, "accept"),
        ("accept", "cancel"),
        ({}, "cancel"),
        ({"name": "a" * 10_000 + "!"}, "accept"),
        ({"name": "a", "age": "7"}, "cancel"),
        ({"name": "a", "more": "x"}, "cancel"),
    ],
)
async def test_an_answer_that_does_not_fit_is_not_sent(
    version: int, reply: Any, action: str
) -> None:
    agent = RawAgent(version)
    async with opened(agent, elicit=always(reply)):
        response = await agent.call(CREATE, {**FORM, "requestedSchema": STRICT})
    assert response == {"action": action, **({"content": reply} if action == "accept" else {})}


@requirement("V1-ELIC-30")
@in_both_versions
async def test_a_program_that_fails_has_not_consented(version: int) -> None:
    def fail(form: Any, session: Any) -> Any:
        raise RuntimeError("on purpose")

    agent = RawAgent(version)
    async with opened(agent, elicit=fail):
        assert await agent.call(CREATE, FORM) == {"action": "cancel"}


@requirement("V1-ELIC-48")
@in_both_versions
async def test_a_cancel_settles_an_open_question(version: int) -> None:
    agent, was_requested = RawAgent(version), asyncio.Event()

    async def wait(form: Any, session: Any) -> Any:
        was_requested.set()
        await asyncio.Event().wait()

    async def scene(raw: RawAgent) -> None:
        raw.stop_reason = (await raw.ask(CREATE, FORM))["result"]["action"] + "led"

    agent.scene = scene
    async with opened(agent, elicit=wait) as session:
        turn = session.prompt("go")
        ended = asyncio.ensure_future(stopped(turn))
        await was_requested.wait()
        await session.cancel()
        assert await ended == "cancelled"


async def stopped(turn: Any) -> str:
    reason: str = (await turn).stop_reason
    return reason


@requirement("V1-ELIC-32", "V1-ELIC-35", "V1-ELIC-42", "V2-ELIC-14", "V2-ELIC-15", "V2-ELIC-18")
@in_both_versions
@pytest.mark.parametrize("is_accepted", [True, False])
async def test_a_page_is_the_programs_to_open_and_is_completed_once(
    version: int, is_accepted: bool
) -> None:
    agent, done = RawAgent(version), list[str]()
    seen: list[str] = []

    def visit(page: v2.ElicitationUrlMode, session: Any) -> str:
        seen.append(page.url)
        return "accept" if is_accepted else "decline"

    async with opened(agent, elicit_url=visit, on_elicitation_complete=done.append):
        response = await agent.call(CREATE, PAGE)
        assert response == {"action": "accept" if is_accepted else "decline"}
        for id in ("zzz", PAGE["elicitationId"], PAGE["elicitationId"]):
            agent.send(method="elicitation/complete", params={"elicitationId": id})
        assert await agent.refusal("_after/that") == -32601
    assert seen == ["https://x"]
    assert done == ([PAGE["elicitationId"]] if is_accepted else [])


def locked(version: int, *methods: Any) -> RawAgent:
    """Return an agent that wants a login first."""
    agent = RawAgent(version)
    key = "id" if version == 1 else "methodId"
    kind = {} if version == 1 else {"type": "agent"}
    agent.hello["authMethods"] = [{**kind, key: "k", "name": "K"}, *methods]
    state = {"is_open": False}

    def new(params: Any) -> Any:
        if not state["is_open"]:
            raise ErrorResponse(-32000)
        return {"sessionId": "s"}

    def login(params: Any) -> Any:
        state["is_open"] = True
        return {}

    agent.answers["session/new"] = new
    agent.answers["authenticate" if version == 1 else "auth/login"] = login
    return agent


@requirement("V1-AUTH-01", "V1-AUTH-02", "V1-AUTH-03", "V1-AUTH-09")
@in_both_versions
async def test_a_client_logs_in_when_it_must_and_tries_again(version: int) -> None:
    agent = locked(version)
    offered: list[str] = []

    def choose(methods: list[v2.AuthMethod]) -> v2.AuthMethod:
        offered.extend(each.name for each in methods if isinstance(each, v2.AuthMethodAgent))
        return methods[0]

    async with connected(agent, login=choose) as connection:
        assert (await connection.new_session()).id == "s"
    login = "authenticate" if version == 1 else "auth/login"
    assert agent.methods == ["initialize", "session/new", login, "session/new"]
    assert agent.got(login) == [{"methodId": "k"}]
    assert offered == ["K"]


@requirement("V1-AUTH-01", "V1-AUTH-21", "V2-AUTH-17")
@in_both_versions
async def test_without_a_chooser_the_error_says_which_logins_there_are(version: int) -> None:
    agent = locked(version)
    async with connected(agent) as connection:
        with pytest.raises(AuthRequired, match="'k' \\(K\\)"):
            await connection.new_session()
    agent = RawAgent(version)
    async with opened(agent) as session:

        def refuse(params: Any) -> Any:
            raise ErrorResponse(-32000)

        agent.answers["session/prompt"] = refuse
        with pytest.raises(AuthRequired):
            await session.prompt("hi")


@requirement("V1-AUTH-03", "V1-AUTH-04", "V2-AUTH-08")
@in_both_versions
@pytest.mark.parametrize("id", ["tty", "nope"])
async def test_a_terminal_or_unknown_login_is_never_sent(version: int, id: str) -> None:
    key = "id" if version == 1 else "methodId"
    agent = locked(version, {"type": "terminal", key: "tty", "name": "T"})
    async with connected(agent, login=always(id)) as connection:
        with pytest.raises(LocalProtocolError):
            await connection.login(id)
        with pytest.raises(LocalProtocolError):
            await connection.new_session()
    assert set(agent.methods) == {"initialize", "session/new"}


@requirement("V1-AUTH-11")
@in_both_versions
async def test_a_client_that_runs_no_logins_in_a_terminal_does_not_offer_it(version: int) -> None:
    for options in ({}, {"terminal_login": always(0)}):  # this agent is no command to run
        agent = RawAgent(version)
        async with connected(agent, **options):
            pass
        (hello,) = agent.got("initialize")
        assert not hello["clientCapabilities"].get("auth", {}).get("terminal")
        assert "auth" not in hello["capabilities"]


@requirement("V1-FS-18", "V1-TERM-23", "V1-WS-08", "V1-INIT-29", "V1-FS-03")
@in_both_versions
@pytest.mark.parametrize(
    "method",
    [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "workspace/open_documents",
        "workspace/active_document",
    ],
)
async def test_what_the_client_did_not_offer_is_refused(version: int, method: str) -> None:
    agent = RawAgent(version)
    params = {"sessionId": "s", "path": "/a", "content": "", "command": "true"}
    async with opened(agent):
        assert await agent.refusal(method, params) == -32601


DOCUMENT = v2.WorkspaceDocument
DOCUMENTS = [
    DOCUMENT(uri="file:///a%20b.py", language_id="python"),
    DOCUMENT(uri="untitled:1", language_id="text"),
    DOCUMENT(uri="file:///c", language_id="text"),
]


class Editor:
    """An editor with two files and an unsaved document."""

    def __init__(self, active: v2.WorkspaceDocument | None) -> None:
        self._active = active

    def open_documents(self, session: Session) -> list[v2.WorkspaceDocument]:
        return DOCUMENTS

    def recent_documents(self, limit: int | None, session: Session) -> list[v2.WorkspaceDocument]:
        return DOCUMENTS

    def active_document(self, session: Session) -> v2.WorkspaceDocument | None:
        return self._active


@requirement("V1-WS-02", "V1-WS-03", "V1-WS-04", "V1-WS-05", "V1-WS-06")
@in_both_versions
@pytest.mark.parametrize("active", [None, *DOCUMENTS])
async def test_an_editor_tells_of_files_only(
    version: int, active: v2.WorkspaceDocument | None
) -> None:
    agent = RawAgent(version)
    async with opened(agent, editor=Editor(active)):
        files = [
            {"uri": "file:///a%20b.py", "languageId": "python"},
            {"uri": "file:///c", "languageId": "text"},
        ]
        session = {"sessionId": "s"}
        assert await agent.call("workspace/open_documents", session) == {"documents": files}
        recent = await agent.call("workspace/recent_documents", {**session, "limit": 1})
        assert recent == {"documents": files[:1]}
        everything = await agent.call("workspace/recent_documents", session)
        assert everything == {"documents": files}
        shown = await agent.call("workspace/active_document", session)
        expected = [each for each in files if active is not None and each["uri"] == active.uri]
        assert shown == {"document": expected[0] if expected else None}


class Projects:
    """An editor with a project for each session."""

    def open_documents(self, session: Session) -> list[v2.WorkspaceDocument]:
        return [DOCUMENT(uri=f"file://{session.cwd}/open.py", language_id="python")]

    async def recent_documents(
        self, limit: int | None, session: Session
    ) -> list[v2.WorkspaceDocument]:
        return [DOCUMENT(uri=f"file://{session.cwd}/{limit}.py", language_id="python")]

    async def active_document(self, session: Session) -> v2.WorkspaceDocument:
        return DOCUMENT(uri=f"file://{session.cwd}/front.py", language_id="python")


@requirement("V1-WS-11")
@in_both_versions
async def test_an_editor_answers_each_session_for_itself_and_no_unknown_one(version: int) -> None:
    agent = RawAgent(version)
    ids = iter(("one", "two"))
    agent.answers["session/new"] = lambda params: {"sessionId": next(ids)}
    async with connected(agent, editor=Projects()) as connection:
        for method in ("open_documents", "recent_documents", "active_document"):
            request = {"sessionId": "one"}
            assert await agent.refusal(f"workspace/{method}", request) == -32602
        await connection.new_session("/first")
        two = await connection.new_session("/second")
        for id, folder in (("one", "/first"), ("two", "/second")):
            found = await agent.call("workspace/open_documents", {"sessionId": id})
            assert [each["uri"] for each in found["documents"]] == [f"file://{folder}/open.py"]
            found = await agent.call("workspace/recent_documents", {"sessionId": id, "limit": 7})
            assert [each["uri"] for each in found["documents"]] == [f"file://{folder}/7.py"]
            found = await agent.call("workspace/active_document", {"sessionId": id})
            assert found["document"]["uri"] == f"file://{folder}/front.py"
        connection._state.forget(two._state)
        agent.send_updates(
            update("agent_message_chunk", messageId="m", content=text("hi")), session="own"
        )
        for id in ("two", "nope", "", "own"):
            assert await agent.refusal("workspace/open_documents", {"sessionId": id}) == -32602
        agent.send_updates(update("subagent_update", sessionId="own"), session="one")
        assert "documents" in await agent.call("workspace/open_documents", {"sessionId": "own"})


class OneMethod:
    """An editor that tells only which file is in front."""

    def active_document(self, session: Session) -> None:
        return None


class Nothing(Editor):
    """An editor in which nothing is open."""

    def open_documents(self, session: Session) -> list[v2.WorkspaceDocument]:
        return []


@requirement("V1-WS-08", "V1-WS-09", "V1-WS-10")
@in_both_versions
async def test_each_of_the_editors_methods_is_offered_for_itself(version: int) -> None:
    agent = RawAgent(version)
    async with opened(agent, editor=OneMethod()):
        assert await agent.call("workspace/active_document", {"sessionId": "s"}) == {
            "document": None
        }
        assert await agent.refusal("workspace/open_documents", {"sessionId": "s"}) == -32601
    (hello,) = agent.got("initialize")
    for offered in (hello["clientCapabilities"], hello["capabilities"]):
        assert offered["workspace"] == {"activeDocument": {}}
    empty = RawAgent(version)
    async with opened(empty, editor=Nothing(None)):
        response = await empty.call("workspace/open_documents", {"sessionId": "s"})
        assert response == {"documents": []}


@requirement("V1-ELIC-08")
@in_both_versions
async def test_a_form_in_an_unknown_session_is_refused(version: int) -> None:
    agent = RawAgent(version)
    async with opened(agent, elicit=always({"name": "x"})):
        assert await agent.refusal(CREATE, {**FORM, "sessionId": "nope"}) == -32602
