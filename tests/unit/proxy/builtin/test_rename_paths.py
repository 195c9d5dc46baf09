from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import notification, proxied_pair, request, result

from parley.agent import Agent, Turn
from parley.client import Workspace
from parley.proxy import builtin
from parley.schema import v2

from .command_chain import VERSIONS, allow, chain

PAIR = ("/home/me/x", "/work")


@VERSIONS
async def test_an_agent_sees_its_own_names_and_the_client_its_own(
    tmp_path: Path, version: int
) -> None:
    agent = Agent("inside")
    seen: list[str] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        seen.append(turn.session.cwd)
        seen.extend(each.uri for each in turn.prompt if isinstance(each, v2.ResourceLink))
        async with turn.tool("Edit", kind="edit", locations=["/work/a.txt"]) as call:
            await call.diff("/work/a.txt", "old\n", "new\n")
        await turn.say("I changed /work/a.txt")

    proxy = builtin.rename_paths((str(tmp_path), "/work"))
    async with chain(proxy, agent=agent, version=version, cwd=tmp_path) as client:
        session = await client.new_session()
        connection = v2.ResourceLink(name="a b", uri=f"file://{tmp_path}/a%20b.txt#L3")
        assert await session.ask("go", connection) == "I changed /work/a.txt"
        [call] = session.transcript.tool_calls.values()
    assert seen == ["/work", "file:///work/a%20b.txt#L3"]
    assert [each.path for each in call.locations] == [f"{tmp_path}/a.txt"]
    [diff] = call.content
    assert isinstance(diff, v2.Diff)
    [change] = diff.changes
    assert isinstance(change, v2.DiffModify)
    assert change.path == f"{tmp_path}/a.txt"


async def test_files_and_terminals_of_version_1_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    agent = Agent("inside")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        text = await turn.read_text_file("/work/a.txt")
        async with turn.run("cat", "/work/a.txt", cwd="/work") as terminal:
            await terminal.wait()
            text += (await terminal.output()).output
        await turn.say(text)

    proxy = builtin.rename_paths((str(tmp_path), "/work"))
    options: dict[str, Any] = {"workspace": Workspace(), "permission": allow}
    async with chain(proxy, agent=agent, version=1, cwd=tmp_path, **options) as client:
        session = await client.new_session()
        assert await session.ask("go") == "hellohello"


TO_AGENT: list[tuple[str, Any, Any]] = [
    (
        "session/new",
        {
            "cwd": "/home/me/x/y",
            "additionalDirectories": ["/home/me/x", "/home/me/xy", "/tmp"],
            "mcpServers": [
                {
                    "name": "s",
                    "command": "/home/me/x/bin/s",
                    "args": ["--root", "/home/me/x/", "--at=/home/me/x"],
                    "env": [{"name": "HOME", "value": "/home/me/x"}],
                }
            ],
            "_meta": {"cwd": "/home/me/x"},
        },
        {
            "cwd": "/work/y",
            "additionalDirectories": ["/work", "/home/me/xy", "/tmp"],
            "mcpServers": [
                {
                    "name": "s",
                    "command": "/work/bin/s",
                    "args": ["--root", "/work/", "--at=/home/me/x"],
                    "env": [{"name": "HOME", "value": "/home/me/x"}],
                }
            ],
            "_meta": {"cwd": "/home/me/x"},
        },
    ),
    (
        "session/prompt",
        {
            "sessionId": "/home/me/x",
            "prompt": [
                {"type": "text", "text": "/home/me/x"},
                {"type": "resource", "resource": {"uri": "file:///home/me/x/%C3%A9", "text": ""}},
                {"type": "resource_link", "name": "n", "uri": "https://home/me/x"},
            ],
        },
        {
            "sessionId": "/home/me/x",
            "prompt": [
                {"type": "text", "text": "/home/me/x"},
                {"type": "resource", "resource": {"uri": "file:///work/%C3%A9", "text": ""}},
                {"type": "resource_link", "name": "n", "uri": "https://home/me/x"},
            ],
        },
    ),
    ("session/list", {"cwd": "/home/me/x"}, {"cwd": "/work"}),
    ("_x/y", {"cwd": "/home/me/x"}, {"cwd": "/home/me/x"}),
    ("document/didOpen", {"uri": "file:///home/me/x/a.py"}, {"uri": "file:///work/a.py"}),
]


@VERSIONS
@pytest.mark.parametrize(("method", "said", "heard"), TO_AGENT)
async def test_what_the_client_names_is_renamed(
    version: int, method: str, said: Any, heard: Any
) -> None:
    talk = await proxied_pair(builtin.rename_paths(PAIR), version)
    talk.client.say(notification(method, said) if "did" in method else request(1, method, said))
    assert (await talk.agent.hear())["params"] == heard


TO_CLIENT: list[tuple[str, Any, Any]] = [
    (
        "fs/write_text_file",
        {"sessionId": "s", "path": "/work/a", "content": "/work/a"},
        {"sessionId": "s", "path": "/home/me/x/a", "content": "/work/a"},
    ),
    (
        "terminal/create",
        {"sessionId": "s", "command": "/work/run", "args": ["/work/a"], "cwd": "/work"},
        {
            "sessionId": "s",
            "command": "/home/me/x/run",
            "args": ["/home/me/x/a"],
            "cwd": "/home/me/x",
        },
    ),
    (
        "session/request_permission",
        {
            "sessionId": "s",
            "title": "/work/a?",
            "subject": {"type": "command", "command": "rm /work/a", "cwd": "/work"},
            "options": [],
        },
        {
            "sessionId": "s",
            "title": "/work/a?",
            "subject": {"type": "command", "command": "rm /work/a", "cwd": "/home/me/x"},
            "options": [],
        },
    ),
]


@VERSIONS
@pytest.mark.parametrize(("method", "said", "heard"), TO_CLIENT)
async def test_what_the_agent_names_is_renamed(
    version: int, method: str, said: Any, heard: Any
) -> None:
    talk = await proxied_pair(builtin.rename_paths(PAIR), version)
    talk.agent.say(request(1, method, said))
    assert (await talk.client.hear())["params"] == heard


UPDATES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "locations": [{"path": "/work/a", "line": 3}, {"path": "/workshop"}],
            "rawInput": {"path": "/work/a"},
            "content": [{"type": "diff", "path": "/work/a", "oldText": "/work", "newText": ""}],
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "locations": [{"path": "/home/me/x/a", "line": 3}, {"path": "/workshop"}],
            "rawInput": {"path": "/work/a"},
            "content": [
                {"type": "diff", "path": "/home/me/x/a", "oldText": "/work", "newText": ""}
            ],
        },
    ),
    (
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "content": [
                {
                    "type": "diff",
                    "changes": [{"operation": "move", "path": "/work/b", "oldPath": "/work/a"}],
                }
            ],
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "content": [
                {
                    "type": "diff",
                    "changes": [
                        {"operation": "move", "path": "/home/me/x/b", "oldPath": "/home/me/x/a"}
                    ],
                }
            ],
        },
    ),
    (
        {"sessionUpdate": "terminal_update", "command": "ls /work", "cwd": "/work"},
        {"sessionUpdate": "terminal_update", "command": "ls /work", "cwd": "/home/me/x"},
    ),
]


@VERSIONS
@pytest.mark.parametrize(("said", "heard"), UPDATES)
async def test_updates_are_renamed(
    version: int, said: dict[str, Any], heard: dict[str, Any]
) -> None:
    talk = await proxied_pair(builtin.rename_paths(PAIR), version)
    talk.agent.say(notification("session/update", {"sessionId": "s", "update": said}))
    assert (await talk.client.hear())["params"]["update"] == heard


@VERSIONS
async def test_answers_are_renamed(version: int) -> None:
    talk = await proxied_pair(builtin.rename_paths(PAIR), version)
    talk.client.say(request(1, "session/list", {}))
    asked = await talk.agent.hear()
    talk.agent.say(result(asked["id"], {"sessions": [{"sessionId": "s", "cwd": "/work/y"}]}))
    answered = await talk.client.hear()
    assert answered["result"]["sessions"] == [{"sessionId": "s", "cwd": "/home/me/x/y"}]


@VERSIONS
async def test_the_longest_name_counts_and_what_is_outside_keeps_its_bytes(version: int) -> None:
    talk = await proxied_pair(builtin.rename_paths(("/a", "/one"), ("/a/b", "/two")), version)
    for said, heard in (("/a/b/c", "/two/c"), ("/a/c", "/one/c"), ("/ab", "/ab")):
        talk.client.say(request(said, "session/list", {"cwd": said}))
        assert (await talk.agent.hear())["params"] == {"cwd": heard}
    frame = b'{"jsonrpc":"2.0","method":"_x/y","params":{ "cwd" : "/else", "n": 1.50 }}'
    talk.client.say(frame)
    assert await talk.agent.next() == frame


@VERSIONS
async def test_texts_are_renamed_if_that_is_wanted(version: int) -> None:
    talk = await proxied_pair(builtin.rename_paths(PAIR, text=True), version)
    update = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t",
        "title": "cat /work/a, not /workshop or my/work",
        "rawInput": {"command": "rm '/work/a'", "uri": "file:///work/a"},
    }
    talk.agent.say(notification("session/update", {"sessionId": "s", "update": update}))
    told = (await talk.client.hear())["params"]["update"]
    assert told["title"] == "cat /home/me/x/a, not /workshop or my/work"
    assert told["rawInput"] == {"command": "rm '/home/me/x/a'", "uri": "file:///home/me/x/a"}


async def test_numbers_and_names_that_are_no_text_stay_as_they_are() -> None:
    talk = await proxied_pair(builtin.rename_paths(PAIR))
    talk.agent.say(b'{"jsonrpc":"2.0","id":1,"method":"_x/y","params":{}}')
    await talk.client.hear()
    for number in (b"1e400", b"1.50", b"123456789012345678901234567890", b"1" * 5000):
        body = b'{"sessionId":"s","update":{"sessionUpdate":"x","n":%b,"path":"/work/a"}}' % number
        talk.agent.say(b'{"jsonrpc":"2.0","method":"session/update","params":%b}' % body)
        told = await talk.client.next()
        assert b'"n":%b,"path":"/home/me/x/a"' % number in told
    update = {"sessionUpdate": "x", "uri": "file:///work/%FF%20a"}
    talk.agent.say(notification("session/update", {"sessionId": "s", "update": update}))
    told = (await talk.client.hear())["params"]["update"]
    assert told["uri"] == "file:///home/me/x/%FF%20a"


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("/work/../etc/passwd", "/work/../etc/passwd"),
        ("/work/a/../../etc/passwd", "/work/a/../../etc/passwd"),
        ("/work/..", "/work/.."),
        ("/work/a/../b", "/home/me/x/b"),
        ("/tmp/../work/b", "/home/me/x/b"),
        ("/work/../work", "/home/me/x"),
        ("/work/a..b/..c", "/home/me/x/a..b/..c"),
        ("/work//b/", "/home/me/x//b/"),
    ],
)
async def test_a_path_that_leaves_a_directory_is_not_in_it(said: str, heard: str) -> None:
    talk = await proxied_pair(builtin.rename_paths(PAIR), 1)
    talk.agent.say(request(1, "fs/read_text_file", {"sessionId": "s", "path": said}))
    assert (await talk.client.hear())["params"]["path"] == heard
    update = {"sessionUpdate": "plan", "uri": f"file://{said.replace('..', '%2e%2e')}"}
    talk.agent.say(notification("session/update", {"sessionId": "s", "update": update}))
    uri = (await talk.client.hear())["params"]["update"]["uri"]
    assert uri.replace("%2e", ".") == f"file://{heard}"


async def test_a_path_of_windows_that_leaves_a_directory_is_not_in_it() -> None:
    talk = await proxied_pair(builtin.rename_paths(("/home/me/x", r"C:\work")), 1)
    for said, heard in (
        (r"C:\work\..\secret", r"C:\work\..\secret"),
        (r"C:\work\a", r"/home/me/x\a"),
    ):
        talk.agent.say(request(said, "fs/read_text_file", {"sessionId": "s", "path": said}))
        assert (await talk.client.hear())["params"]["path"] == heard
