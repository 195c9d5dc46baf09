from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.proxy.proxied_pair import proxied_pair, request, result

from parley.agent import Turn
from parley.errors import InvalidRequest
from parley.proxy import Component, Proxy, Request, builtin
from parley.schema import v2

from .command_chain import VERSIONS, Heard, chain


def blocks(turn: Turn) -> list[str]:
    return [each.text for each in turn.prompt if isinstance(each, v2.TextContent)]


@VERSIONS
async def test_files_go_with_the_first_prompt_of_each_session(tmp_path: Path, version: int) -> None:
    (tmp_path / "AGENTS.md").write_text("Be brief.")
    agent = Heard("yes")
    async with chain(builtin.context(), agent=agent, version=version, cwd=tmp_path) as client:
        session = await client.new_session()
        await session.ask("one")
        await session.ask("two")
        await (await client.new_session()).ask("three")
    told = f"This is {tmp_path}/AGENTS.md:\n\nBe brief."
    assert [blocks(turn) for turn in agent.turns] == [[told, "one"], ["two"], [told, "three"]]
    first = agent.turns[0].prompt[0]
    assert isinstance(first, v2.TextContent)
    assert first.annotations == v2.Annotations(audience=["assistant"])


@VERSIONS
async def test_a_session_that_is_resumed_has_heard_them(tmp_path: Path, version: int) -> None:
    (tmp_path / "AGENTS.md").write_text("Be brief.")
    agent = Heard()
    async with chain(builtin.context(), agent=agent, version=version, cwd=tmp_path) as client:
        session = await client.new_session()
        await session.ask("one")
    async with chain(builtin.context(), agent=agent, version=version, cwd=tmp_path) as client:
        await (await client.resume_session(session.id)).ask("two")
    assert [len(blocks(turn)) for turn in agent.turns] == [2, 1]


@VERSIONS
async def test_what_is_too_long_is_cut_and_what_is_missing_is_left_out(
    tmp_path: Path, version: int
) -> None:
    (tmp_path / "a.md").write_text("a" * 10)
    (tmp_path / "b.md").write_text("b" * 10)
    (tmp_path / "c.md").write_text("c")
    agent = Heard()
    proxy = builtin.context("no.md", "a.md", "b.md", "c.md", max_bytes=15)
    async with chain(proxy, agent=agent, version=version, cwd=tmp_path) as client:
        await (await client.new_session()).ask("x")
    assert blocks(agent.turns[0]) == [
        f"This is {tmp_path}/a.md:\n\n{'a' * 10}",
        f"This is {tmp_path}/b.md:\n\nbbbbb\n[The rest of {tmp_path}/b.md is left out.]",
        "x",
    ]


async def test_a_link_out_of_the_directory_and_what_is_no_file_are_left_out(tmp_path: Path) -> None:
    inside = tmp_path / "project"
    inside.mkdir()
    (tmp_path / "secret").write_text("secret")
    (inside / "AGENTS.md").symlink_to(tmp_path / "secret")
    os.mkfifo(inside / "pipe")
    agent = Heard()
    proxy = builtin.context("AGENTS.md", "pipe", ".", "../secret")
    async with chain(proxy, agent=agent, version=2, cwd=inside) as client:
        await (await client.new_session()).ask("x")
    assert blocks(agent.turns[0]) == ["x"]


async def test_an_absolute_file_is_added_wherever_the_session_is(tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("Rules.")
    (tmp_path / "there").mkdir()
    agent = Heard()
    proxy = builtin.context(tmp_path / "rules.md")
    async with chain(proxy, agent=agent, version=2, cwd=tmp_path / "there") as client:
        await (await client.new_session()).ask("x")
    assert blocks(agent.turns[0])[0] == f"This is {tmp_path}/rules.md:\n\nRules."


@VERSIONS
async def test_a_prompt_that_was_refused_was_not_the_first(tmp_path: Path, version: int) -> None:
    (tmp_path / "AGENTS.md").write_text("Be brief.")
    agent = Heard()
    refusing = [True]
    guard = refuser(refusing)
    async with chain(
        builtin.context(), guard, agent=agent, version=version, cwd=tmp_path
    ) as client:
        session = await client.new_session()
        with pytest.raises(InvalidRequest, match="Not now"):
            await session.ask("one")
        refusing.clear()
        await session.ask("two")
    assert [blocks(turn)[-1] for turn in agent.turns] == ["two"]
    assert len(blocks(agent.turns[0])) == 2


def refuser(refusing: list[bool]) -> Component:
    guard = Proxy("guard")

    @guard.from_client("session/prompt")
    def reject(request: Request) -> None:
        if refusing:
            raise InvalidRequest("Not now")

    return guard


def test_something_may_be_added() -> None:
    with pytest.raises(ValueError, match="max_bytes"):
        builtin.context(max_bytes=0)


async def test_a_directory_whose_name_is_none_has_no_files() -> None:
    talk = await proxied_pair(builtin.context())
    talk.client.say(request(1, "session/new", {"cwd": "/a\0b"}))
    talk.agent.say(result((await talk.agent.hear())["id"], {"sessionId": "s"}))
    await talk.client.hear()
    talk.client.say(request(2, "session/prompt", {"sessionId": "s", "prompt": []}))
    assert (await talk.agent.hear())["params"]["prompt"] == []
