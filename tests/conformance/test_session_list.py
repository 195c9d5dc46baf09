"""Listing and deleting sessions, as an agent does it.

https://agentclientprotocol.com/protocol/v1/session-list
https://agentclientprotocol.com/protocol/v1/session-delete
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from .raw_client import everywhere, in_both_versions, in_process, initialized

requirement = pytest.mark.requirement


@requirement("V1-SESS-38", "V1-SESS-40", "V1-SESS-41", "V1-SESS-47", "V2-SESS-26", "V2-SESS-27")
@everywhere
async def test_sessions_are_listed_by_directory(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        first = await client.new_session("/one", additionalDirectories=["/x"])
        second = await client.new_session("/two")
        await client.turn(second, "report")
        listed = (await client.call("session/list"))["sessions"]
        known = {each["sessionId"]: each for each in listed}
        assert known.keys() == {first, second}
        assert known[second]["cwd"] == "/two"
        assert known[second]["title"] == "T"
        assert datetime.fromisoformat(known[second]["updatedAt"]).tzinfo is not None
        assert known[first].get("additionalDirectories", ["/x"]) == ["/x"]
        found = (await client.call("session/list", {"cwd": "/one"}))["sessions"]
        assert [each["sessionId"] for each in found] == [first]
        assert (await client.call("session/list", {"cwd": "/none"}))["sessions"] == []


@requirement("V1-SESS-39", "V2-SESS-28")
@in_both_versions
async def test_all_params_of_a_list_are_optional(version: int) -> None:
    async with initialized(version) as client:
        await client.new_session()
        wanted: list[dict[str, Any]] = [{}, {"params": None}, {"params": {}}]
        for number, params in enumerate(wanted, 100):
            client.send(id=number, method="session/list", **params)
            assert len((await client.reply(number))["result"]["sessions"]) == 1


@requirement("V1-SESS-44", "V1-SESS-45", "V2-SESS-30")
@in_both_versions
async def test_pages_are_bounded_and_a_wrong_cursor_is_an_error(version: int) -> None:
    async with initialized(version) as client:
        made = {await client.new_session() for _ in range(120)}
        seen: list[str] = []
        cursor: dict[str, Any] = {}
        while True:
            page = await client.call("session/list", cursor)
            seen += [each["sessionId"] for each in page["sessions"]]
            assert len(page["sessions"]) <= 100
            if page.get("nextCursor") is None:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert sorted(seen) == sorted(made)
        assert cursor != {}
        for wrong in ("garbage", "", "AAAA", "é"):
            assert await client.refusal("session/list", {"cursor": wrong}) == -32602


@requirement("V1-SESS-46", "V2-SESS-31")
@in_both_versions
async def test_listing_opens_nothing(version: int) -> None:
    async with initialized(version) as client:
        session = await client.new_session()
        await client.call("session/close", {"sessionId": session})
        assert len((await client.call("session/list"))["sessions"]) == 1
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
        assert await client.refusal("session/prompt", prompt) in (-32002, -32602)


@requirement("V1-SESS-52", "V1-SESS-53", "V1-SESS-54", "V2-SESS-33", "V2-SESS-34")
@in_process
async def test_a_deleted_session_is_gone_and_may_be_deleted_again(version: int, over: str) -> None:
    async with initialized(version, over) as client:
        session, kept = await client.new_session(), await client.new_session()
        client.prompt(session, "slow")
        await client.saw(session, sessionUpdate="agent_message_chunk")
        for id in (session, session, "nope"):
            assert await client.call("session/delete", {"sessionId": id}) == {}
        listed = (await client.call("session/list"))["sessions"]
        assert [each["sessionId"] for each in listed] == [kept]
        resume: Any = {"sessionId": session, "cwd": "/", "mcpServers": []}
        assert await client.refusal("session/resume", resume) == -32002
