"""The demo agent replies to its prompts in both versions, always in the same way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import pytest

from parley.client import Connection, ConnectOptions, Session, Workspace
from parley.errors import RequestError, ResourceNotFound, ToolError
from parley.schema import v1, v2
from parley.testing import Recorder, pair
from parley.testing.demo import HELP, PROMPTS, demo_agent

both_versions = pytest.mark.parametrize("version", [1, 2])


class Files:
    def __init__(self) -> None:
        self.texts = {"/w/a.txt": "Some text\n"}

    def read_text_file(
        self, path: str, line: int | None, limit: int | None, session: Session
    ) -> str:
        return self.texts[path]

    def write_text_file(self, path: str, content: str, session: Session) -> None:
        self.texts[path] = content


class Terminals:
    """Runs nothing and says what `echo hi` would."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.open: set[str] = set()

    def create_terminal(
        self, request: v1.CreateTerminalRequest, session: Session
    ) -> v1.CreateTerminalResponse:
        self.commands.append([request.command, *request.args])
        self.open.add("t")
        return v1.CreateTerminalResponse(terminal_id="t")

    def terminal_output(
        self, request: v1.TerminalOutputRequest, session: Session
    ) -> v1.TerminalOutputResponse:
        return v1.TerminalOutputResponse(output="hi\n", truncated=False)

    def wait_for_terminal_exit(
        self, request: v1.WaitForTerminalExitRequest, session: Session
    ) -> v1.WaitForTerminalExitResponse:
        return v1.WaitForTerminalExitResponse(exit_code=0)

    def kill_terminal(self, request: v1.KillTerminalRequest, session: Session) -> None:
        raise AssertionError("nobody needs this")

    def release_terminal(self, request: v1.ReleaseTerminalRequest, session: Session) -> None:
        self.open.discard(request.terminal_id)


async def ask(prompt: str, **options: Unpack[ConnectOptions]) -> str:
    async with pair(demo_agent(), "/w", **options) as client:
        session = await client.new_session()
        return await session.ask(prompt)


@both_versions
@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("Hello  you", "echo: Hello  you"),
        ("flood 3", "chunk 0chunk 1chunk 2"),
        ("flood 0", ""),
        ("plan", "plan:done"),
        ("tool", "tool:done"),
        ("diff", "diff:done"),
        ("help", HELP),
        ("/help", HELP),
        ("commands", f"commands:{','.join(PROMPTS)}"),
        ("perm", 'perm:{"outcome":"cancelled"}'),
        ("elicit", "elicit: the client does not support forms (capability elicitation.form)"),
        ("fs a.txt", "fs: the client does not offer fs/read_text_file"),
        ("term", "term: the client does not offer terminal/create"),
        ("ext", "ext: _demo/value: Method not found (-32601)"),
    ],
)
async def test_it_says_what_it_always_says(version: int, prompt: str, expected: str) -> None:
    assert await ask(prompt, versions=(version,)) == expected


@both_versions
async def test_it_asks_for_permission(version: int) -> None:
    requests: list[v2.RequestPermissionRequest] = []

    def decide(request: v2.RequestPermissionRequest, session: Session) -> str:
        requests.append(request)
        return "no"

    text = await ask("perm", versions=(version,), permission=decide)
    assert text == 'perm:{"outcome":"selected","optionId":"no"}'
    assert [each.option_id for each in requests[0].options] == ["yes", "no"]
    assert isinstance(requests[0].subject, v2.ToolCallPermissionSubject)


@both_versions
async def test_it_asks_for_a_name(version: int) -> None:
    text = await ask("elicit", versions=(version,), elicit=lambda _, session: {"name": "Ada"})
    assert text == 'elicit:{"action":"accept","content":{"name":"Ada"}}'
    text = await ask("elicit", versions=(version,), elicit=lambda _, session: "decline")
    assert text == 'elicit:{"action":"decline"}'


async def test_it_uses_the_files_of_the_client() -> None:
    files = Files()
    assert (
        await ask("fs a.txt", versions=(1,), workspace=Workspace(files=files)) == "read:Some text\n"
    )
    assert files.texts["/w/a.txt.out"] == "SOME TEXT\n"


async def test_it_runs_a_command_in_a_terminal_of_the_client() -> None:
    terminals = Terminals()
    assert (
        await ask("term", versions=(1,), workspace=Workspace(terminals=terminals)) == "term:0:hi\n"
    )
    assert (terminals.commands, terminals.open) == ([["echo", "hi"]], set())


@both_versions
async def test_it_calls_an_extension_of_the_client(version: int) -> None:
    values: dict[str, Callable[[Any], Any]] = {"_demo/value": lambda _: {"a": [1, None]}}
    assert await ask("ext", versions=(version,), extensions=values) == 'ext:{"a":[1,null]}'


@both_versions
async def test_it_fails_with_code_and_data_and_lives_on(version: int) -> None:
    async with pair(demo_agent(), versions=(version,)) as client:
        session = await client.new_session()
        with pytest.raises(RequestError) as caught:
            await session.ask("boom")
        assert (caught.value.code, caught.value.data) == (-32050, {"detail": 42})
        assert await session.ask("still there?") == "echo: still there?"


async def test_it_crashes_when_the_script_says_so() -> None:
    codes: list[int] = []
    async with pair(demo_agent(crash=codes.append)) as client:
        await (await client.new_session()).ask("crash")
    assert codes == [3]


@both_versions
async def test_it_works_until_it_is_cancelled(version: int) -> None:
    async with pair(demo_agent(), versions=(version,)) as client:
        session = await client.new_session()
        turn = session.prompt("slow")
        async for update in turn:
            if isinstance(update, v2.AgentMessageChunk):
                await turn.cancel()
        assert (await turn).stop_reason == "cancelled"
        assert await session.ask("next") == "echo: next"


@both_versions
async def test_its_plan_tools_and_diffs_are_in_the_transcript(version: int) -> None:
    async with pair(demo_agent(), "/w", versions=(version,)) as client:
        session = await client.new_session()
        for prompt in ("plan", "tool", "diff", "commands"):
            await session.ask(prompt)
        (plan,) = session.transcript.plans.values()
        assert isinstance(plan, v2.PlanItems)
        assert [each.status for each in plan.entries] == ["completed"] * 3
        counting, editing = session.transcript.tool_calls.values()
        assert (counting.status, counting.raw_output) == ("completed", {"count": 3})
        assert len(counting.content) == 3
        (diff,) = editing.content
        assert isinstance(diff, v2.Diff)
        assert isinstance(diff.changes[0], v2.DiffModify)
        assert diff.changes[0].path == "/w/demo.txt"
        assert len(session.transcript.commands) == len(PROMPTS)


async def listed(client: Connection) -> set[str]:
    return {each.session_id async for each in client.list_sessions()}


@both_versions
async def test_it_lists_loads_resumes_forks_closes_and_deletes(version: int) -> None:
    agent = demo_agent()
    async with pair(agent, "/w", versions=(version,)) as client:
        first = await client.new_session()
        await first.ask("remember this")
        await first.close()
        assert await listed(client) == {first.id}
        again = await client.resume_session(first.id)
        assert again.transcript.text == "echo: remember this"
        await again.close()
        silent = await client.resume_session(first.id, replay=False)
        assert silent.transcript.messages == []
        copy = await client.fork_session(first.id)
        assert await copy.ask("go on") == "echo: go on"
        assert await listed(client) == {first.id, copy.id}
    async with pair(agent, "/w", versions=(version,)) as client:
        await client.delete_session(first.id)
        assert await listed(client) == {copy.id}
        with pytest.raises(ResourceNotFound):
            await client.resume_session(first.id)


@both_versions
async def test_a_pair_speaks_the_given_version_and_can_be_recorded(version: int) -> None:
    recorder = Recorder()
    async with pair(demo_agent(), versions=(version,), observer=recorder) as client:
        assert client.version == version
        await (await client.new_session()).ask("hi")
    assert recorder.methods("outbound")[:3] == ["initialize", "session/new", "session/prompt"]
    assert set(recorder.methods("inbound")) == {"session/update"}


def lookup(word: str) -> str:
    """Look a word up."""
    if word == "nothing":
        raise ToolError("there is no such word")
    return f"{word} is a fruit"


@both_versions
@pytest.mark.parametrize(
    ("prompt", "said", "status"),
    [
        ('call {"word": "pear"}', "call:pear is a fruit", "completed"),
        (
            'call {"word": "nothing"}',
            "call:Error executing tool lookup: there is no such word",
            "failed",
        ),
        ("call pear", "call: the arguments must be a JSON object, such as", None),
        ("call [1]", "call: the arguments must be a JSON object, such as", None),
    ],
)
async def test_it_calls_the_first_tool_of_the_client(
    version: int, prompt: str, said: str, status: str | None
) -> None:
    async with pair(demo_agent(), versions=(version,)) as client:
        session = await client.new_session(tools=[lookup])
        assert (await session.ask(prompt)).startswith(said)
        calls = session.transcript.tool_calls.values()
        assert [each.status for each in calls] == ([] if status is None else [status])


async def test_it_says_that_there_are_no_tools() -> None:
    assert await ask("call") == "call: there are no tools in this session"
