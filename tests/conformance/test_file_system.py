"""The files of a client, as an agent of version 1 sees them.

https://agentclientprotocol.com/protocol/v1/file-system
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import parley.client
from parley.client import Workspace

from .raw_agent import RawAgent

requirement = pytest.mark.requirement

THREE = "one\ntwo\nthree\n"
READ, WRITE = "fs/read_text_file", "fs/write_text_file"


@asynccontextmanager
async def workspace_agent(cwd: Path, **options: Any) -> AsyncGenerator[RawAgent, None]:
    """Connect a client that lends its files in a session that works in a directory."""
    agent = RawAgent(1)
    async with parley.client.connect(agent, cwd, workspace=Workspace(**options)) as connection:
        await connection.new_session()
        yield agent


def at(path: Path | str, **more: Any) -> dict[str, Any]:
    return {"sessionId": "s", "path": str(path), **more}


async def content(agent: RawAgent, path: Path | str, **more: Any) -> str:
    text: str = (await agent.call(READ, at(path, **more)))["content"]
    return text


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """A file of three lines."""
    path = tmp_path / "three.txt"
    path.write_text(THREE)
    return path


def is_untouched(path: Path) -> bool:
    return path.read_text() == THREE


@requirement("V1-FS-05")
@pytest.mark.parametrize("path", ["three.txt", "./three.txt", ""])
async def test_a_relative_path_is_refused(path: str, three: Path) -> None:
    async with workspace_agent(three.parent) as agent:
        assert await agent.refusal(READ, at(path)) == -32602
        assert await agent.refusal(WRITE, at(path, content="x")) == -32602
    assert is_untouched(three)


@requirement("V1-FS-06", "V1-FS-07", "V1-RPC-21")
@pytest.mark.parametrize(
    ("span", "text"),
    [
        ({}, "one\ntwo\nthree\n"),
        ({"line": 2}, "two\nthree\n"),
        ({"limit": 2}, "one\ntwo\n"),
        ({"line": 2, "limit": 1}, "two\n"),
        ({"line": 1, "limit": 1}, "one\n"),
        ({"line": None, "limit": None}, "one\ntwo\nthree\n"),
    ],
)
async def test_lines_count_from_one_and_the_limit_bounds_them(
    span: dict[str, Any], text: str, three: Path
) -> None:
    async with workspace_agent(three.parent) as agent:
        assert await content(agent, three, **span) == text


@requirement("V1-FS-14", "V1-FS-15")
async def test_odd_lines_do_no_harm(three: Path) -> None:
    async with workspace_agent(three.parent) as agent:
        assert await content(agent, three, line=0, limit=1) == "one\n"
        assert await content(agent, three, line=4) == ""
        assert await content(agent, three, line=999, limit=5) == ""
        assert await content(agent, three, limit=0) == ""


class Editor:
    """Has one file open that was changed and not saved."""

    def __init__(self, path: Path) -> None:
        self.texts = {str(path): "not saved\n"}

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    def write(self, path: str, content: str) -> bool:
        is_open = path in self.texts
        if is_open:
            self.texts[path] = content
        return is_open


@requirement("V1-FS-08")
async def test_what_is_not_saved_is_read(three: Path) -> None:
    async with workspace_agent(three.parent, buffers=Editor(three)) as agent:
        assert await content(agent, three) == "not saved\n"
        await agent.call(WRITE, at(three, content="from the agent\n"))
        assert await content(agent, three) == "from the agent\n"
    assert is_untouched(three)


@requirement("V1-FS-09", "V1-FS-10")
async def test_a_write_creates_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "new.txt"
    async with workspace_agent(tmp_path) as agent:
        assert await agent.call(WRITE, at(path, content="a long text\n")) == {}
        assert path.read_text() == await content(agent, path) == "a long text\n"
        assert await agent.call(WRITE, at(path, content="short")) == {}
        assert path.read_text() == "short"


@requirement("V1-FS-11")
async def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    async with workspace_agent(tmp_path) as agent:
        response = await agent.ask(READ, at(tmp_path / "no.txt"))
        assert response["error"]["code"] == -32002
        assert response["error"]["data"] == {"path": f"{tmp_path}/no.txt"}


@requirement("V1-FS-16")
async def test_only_the_roots_of_the_session_are_reached(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to("../secret.txt")
    (tmp_path / "root" / "way").symlink_to("..")
    (tmp_path / "secret.txt").write_text("secret")
    async with workspace_agent(tmp_path / "root") as agent:
        for path in ("secret.txt", "root/../secret.txt", "root/link", "root/way/secret.txt"):
            assert await agent.refusal(READ, at(tmp_path / path)) == -32602
            assert await agent.refusal(WRITE, at(f"{tmp_path}/{path}", content="x")) == -32602
    assert (tmp_path / "secret.txt").read_text() == "secret"


@requirement("V1-FS-17")
async def test_an_unknown_session_is_refused(three: Path) -> None:
    async with workspace_agent(three.parent) as agent:
        nope = {"sessionId": "nope", "path": str(three)}
        assert await agent.refusal(READ, nope) == -32602
        assert await agent.refusal(WRITE, {**nope, "content": "x"}) == -32602
    assert is_untouched(three)


@requirement("V1-FS-18")
async def test_what_is_not_lent_is_not_touched(three: Path) -> None:
    async with workspace_agent(three.parent, files=None) as agent:
        assert await agent.refusal(READ, at(three)) == -32601
        assert await agent.refusal(WRITE, at(three, content="x")) == -32601
    assert is_untouched(three)


@requirement("V1-FS-19")
@pytest.mark.parametrize("text", ["a\r\nb\r\n", "😀 no newline", "\n\n", "", "\ufeffmark"])
async def test_text_passes_unchanged(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    async with workspace_agent(tmp_path) as agent:
        await agent.call(WRITE, at(path, content=text))
        assert path.read_bytes() == text.encode()
        assert await content(agent, path) == text


async def test_meta_and_unknown_fields_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    path = str(tmp_path / "secret.txt")
    more = {"session_id": "t", "cwd": "/", "roots": ["/"], "sessionID": "t"}
    async with workspace_agent(tmp_path / "root") as agent:
        params = at(path, **more, _meta={**more, "sessionId": "t", "path": "/x"})
        assert await agent.refusal(READ, params) == -32602
        own = at(tmp_path / "root" / "a.txt", content="a", **more, _meta={"path": path})
        await agent.call(WRITE, own)
    assert (tmp_path / "secret.txt").read_text() == "secret"
    assert (tmp_path / "root" / "a.txt").read_text() == "a"


@requirement("V1-FS-13")
@pytest.mark.parametrize("wrong", ["x", -1, 1.5, [], {}])
async def test_a_broken_line_or_limit_is_refused(wrong: Any, three: Path) -> None:
    async with workspace_agent(three.parent) as agent:
        for name in ("line", "limit"):
            assert await agent.refusal(READ, at(three, **{name: wrong})) == -32602
        assert await content(agent, three) == THREE
