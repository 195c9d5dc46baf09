"""Requests of an agent to its client: files, terminals, forms and pages, only if offered.

https://agentclientprotocol.com/protocol/v1/file-system
https://agentclientprotocol.com/protocol/v1/terminals
https://agentclientprotocol.com/protocol/v1/elicitation
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from .raw_client import FULL, everywhere, in_both_versions, initialized
from .raw_connection import ErrorResponse

requirement = pytest.mark.requirement


def requested_methods(log: list[Any]) -> list[str]:
    """Return the methods of the agent's requests."""
    return [each["method"] for each in log if "id" in each and "method" in each]


@requirement("V1-FS-01", "V1-FS-02", "V1-INIT-14", "V2-INIT-11", "V1-TERM-01")
@in_both_versions
@pytest.mark.parametrize("offered", [{}, {"fs": {"readTextFile": "yes"}, "terminal": {}}])
async def test_files_and_terminals_that_were_not_offered_are_not_used(
    version: int, offered: dict[str, Any]
) -> None:
    async with initialized(version, capabilities=offered) as client:
        session = await client.new_session()
        for text in ("read /a", "write /a", "run"):
            assert (await client.turn(session, text)).text == "unsupported"
        assert requested_methods(client.log) == []


@requirement("V2-EXT-07", "V2-INIT-10")
async def test_version_2_has_no_files_and_terminals_of_the_client_whatever_it_says() -> None:
    offered = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
    async with initialized(2, capabilities=offered) as client:
        session = await client.new_session()
        for text in ("read /a", "write /a", "run"):
            assert (await client.turn(session, text)).text == "unsupported"
        assert requested_methods(client.log) == []


@requirement("V1-FS-01", "V1-FS-02", "V1-FS-04", "V1-RPC-19")
@pytest.mark.parametrize("name", ["readTextFile", "writeTextFile"])
async def test_reading_and_writing_are_offered_each_for_itself(name: str) -> None:
    async with initialized(1, capabilities={"fs": {name: True}}) as client:
        client.answers["fs/read_text_file"] = lambda params: {"content": "é\r\nno end"}
        client.answers["fs/write_text_file"] = lambda params: {}
        session = await client.new_session("/project")
        read, write = await client.turn(session, "read a"), await client.turn(session, "write /b")
        reads = name == "readTextFile"
        assert read.text == ("é\r\nno end" if reads else "unsupported")
        assert write.text == ("unsupported" if reads else "written")
        (question,) = [each for each in client.log if each.get("method", "").startswith("fs/")]
        assert question["params"]["sessionId"] == session
        assert question["params"]["path"] == ("/project/a" if reads else "/b")


@requirement("V1-FS-12", "V1-FS-19")
@pytest.mark.parametrize("result", [None, {}, {"_meta": {"x": 1}}])
async def test_null_and_an_empty_object_are_success_of_a_write(result: Any) -> None:
    async with initialized(1, capabilities={"fs": {"writeTextFile": True}}) as client:
        client.answers["fs/write_text_file"] = lambda params: result
        session = await client.new_session()
        assert (await client.turn(session, "write /a")).text == "written"
        (question,) = [each for each in client.log if each.get("method", "").startswith("fs/")]
        assert question["params"]["content"] == "é\r\n"


@requirement("V1-ELIC-01", "V1-ELIC-02", "V1-ELIC-22", "V2-ELIC-01")
@in_both_versions
@pytest.mark.parametrize(
    ("offered", "forms", "pages"),
    [
        ({}, False, False),
        ({"elicitation": None}, False, False),
        ({"elicitation": {}}, False, False),
        ({"elicitation": {"form": {}}}, True, False),
        ({"elicitation": {"url": {}, "form": None}}, False, True),
        (FULL, True, True),
    ],
)
async def test_a_mode_is_used_only_if_the_client_offers_it(
    version: int, offered: dict[str, Any], forms: bool, pages: bool
) -> None:
    async with initialized(version, capabilities=offered) as client:
        client.answers["elicitation/create"] = lambda params: {"action": "decline"}
        session = await client.new_session()
        form, page = await client.turn(session, "elicit"), await client.turn(session, "visit")
        assert form.text == ('{"action":"decline"}' if forms else "unsupported")
        assert page.text == ("accepted:False" if pages else "unsupported")
        modes = [each["params"]["mode"] for each in client.log if "mode" in each.get("params", {})]
        assert modes == ["form"] * forms + ["url", "url"] * pages


@requirement("V1-ELIC-05", "V1-ELIC-06", "V1-ELIC-12", "V2-ELIC-03", "V2-ELIC-05", "V2-PROMPT-09")
@everywhere
async def test_a_form_is_asked_for_with_mode_scope_and_schema(version: int, over: str) -> None:
    async with initialized(version, over, capabilities=FULL) as client:
        session = await client.new_session()
        id = client.prompt(session, "elicit")
        question = await client.requested("elicitation/create")
        params = question["params"]
        assert (params["mode"], params["sessionId"], params["message"]) == ("form", session, "Who?")
        assert params["requestedSchema"] == {
            "type": "object",
            "properties": {"name": {"type": "string", "title": "Name", "minLength": 1}},
            "required": ["name"],
        }
        client.send(id=question["id"], result={"action": "accept", "content": {"name": "me"}})
        turn = await client.ended(session, id, 0)
        assert json.loads(turn.text) == {"action": "accept", "content": {"name": "me"}}


def refuse(params: Any) -> Any:
    raise ErrorResponse(-32603)


@requirement("V1-ELIC-26", "V1-ELIC-29", "V1-ELIC-30", "V2-ELIC-10", "V2-ELIC-11", "V2-ELIC-12")
@in_both_versions
@pytest.mark.parametrize(
    "response",
    [
        {"action": "decline", "content": {"name": "x"}},
        {"action": "cancel"},
        {"action": "_snooze"},
        {"action": "accept", "content": "x"},
        {"content": {"name": "x"}},
        None,
    ],
)
async def test_nothing_but_accept_is_success_and_the_session_goes_on(
    version: int, response: Any
) -> None:
    async with initialized(version, capabilities=FULL) as client:
        client.answers["elicitation/create"] = (
            refuse if response is None else lambda params: response
        )
        session = await client.new_session()
        turn = await client.turn(session, "elicit")
        assert "accept" not in turn.text
        assert '"x"' not in turn.text
        page = await client.turn(session, "visit")
        assert "accepted:True" not in page.text or response == {"action": "accept", "content": "x"}
        assert (await client.turn(session, "say on")).text == "on"


@requirement("V1-ELIC-19", "V1-ELIC-28", "V2-ELIC-06")
@in_both_versions
@pytest.mark.parametrize(
    "content", [None, {}, {"name": 5}, {"name": ["x"]}, {"name": "x", "more": "x"}, {"other": "x"}]
)
async def test_an_answer_that_does_not_fit_the_form_is_not_taken_for_one(
    version: int, content: Any
) -> None:
    async with initialized(version, capabilities=FULL) as client:
        response = {"action": "accept", "content": content}
        client.answers["elicitation/create"] = lambda params: response
        session = await client.new_session()
        turn = await client.turn(session, "elicit")
        assert "accept" not in turn.text
        response["content"] = {"name": "me"}
        assert '"me"' in (await client.turn(session, "elicit")).text


@requirement("V1-ELIC-23", "V1-ELIC-31", "V1-ELIC-33", "V1-ELIC-34", "V1-ELIC-37")
@requirement("V2-ELIC-13", "V2-ELIC-17", "V2-ELIC-18")
@in_both_versions
async def test_a_page_has_an_id_of_its_own_and_is_completed_by_it(version: int) -> None:
    async with initialized(version, capabilities=FULL) as client:
        client.answers["elicitation/create"] = lambda params: {"action": "accept"}
        turn = await client.turn(await client.new_session(), "visit")
        assert turn.text == "accepted:True"
        asked_for = [each["params"] for each in client.log if "elicitationId" in str(each)]
        questions = [each["elicitationId"] for each in asked_for if "url" in each]
        done = [each["elicitationId"] for each in asked_for if "url" not in each]
        assert len(set(questions)) == 2
        assert done == questions
        completed = [each for each in client.log if each.get("method") == "elicitation/complete"]
        assert len(completed) == 2
        assert not any("id" in each for each in completed)


@requirement("V1-ELIC-37", "V2-ELIC-17", "V1-ELIC-34")
@in_both_versions
async def test_what_one_client_is_asked_another_never_sees(version: int) -> None:
    async with initialized(version, capabilities=FULL) as client:
        client.answers["elicitation/create"] = lambda params: {"action": "accept"}
        async with initialized(version, capabilities=FULL) as other:
            await client.turn(await client.new_session(), "visit")
            await other.call("session/list")
            assert "elicitation" not in str(other.log)


DOCUMENTS = {"open_documents": "openDocuments", "recent_documents": "recentDocuments"}


@requirement("V1-WS-01", "V1-WS-07", "V1-WS-09")
@in_both_versions
@pytest.mark.parametrize(
    "offered", [{}, {"openDocuments": {}}, {"recentDocuments": {}, "openDocuments": None}]
)
async def test_the_editor_is_asked_only_what_it_offers_and_for_a_session(
    version: int, offered: dict[str, Any]
) -> None:
    file = {"uri": "file:///a", "languageId": "text"}
    expected = '[{"uri":"file:///a","languageId":"text"}]'
    async with initialized(version, capabilities={"workspace": offered}) as client:
        session = await client.new_session()
        for name, flag in DOCUMENTS.items():
            client.answers[f"workspace/{name}"] = lambda params: {"documents": [file]}
            turn = await client.turn(session, f"look {name}")
            is_offered = offered.get(flag) is not None
            assert turn.text == (expected if is_offered else "unsupported")
        asked_for = [
            each["params"] for each in client.log if "workspace/" in each.get("method", "")
        ]
        assert [each["sessionId"] for each in asked_for] == [session] * len(asked_for)
        assert len(asked_for) == sum(value is not None for value in offered.values())
