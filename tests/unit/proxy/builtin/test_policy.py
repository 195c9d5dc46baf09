from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import notification, proxied_pair, request, result

from parley.agent import Agent, Turn
from parley.client import Session, Workspace
from parley.errors import InvalidRequest, RequestError
from parley.policy import Policy, Rule, Subject, Verdict
from parley.proxy import builtin
from parley.proxy.builtin._policy import MAX_CALLS, MAX_PIECES, MAX_SESSIONS
from parley.schema import v2

from .command_chain import VERSIONS, allow, chain


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def asker() -> Agent:
    """Return an agent that asks before it edits what the prompt names."""
    agent = Agent("asker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        path = str(Path(turn.session.cwd, turn.text))
        async with turn.tool("Edit", kind="edit", locations=[path]) as call:
            await turn.say(str(await turn.ask_permission(tool=call)))

    return agent


@VERSIONS
async def test_what_is_decided_is_answered_and_the_rest_goes_to_the_client(
    tmp_path: Path, version: int
) -> None:
    asked: list[str] = []
    decided: list[tuple[str, str]] = []

    def ask(request: v2.RequestPermissionRequest, session: Session) -> str:
        asked.append(request.title)
        return "allow"

    def see(subject: Subject, verdict: Verdict) -> None:
        decided.append((Path(subject.paths[0]).name, verdict.decision))

    rules = [Rule(decision="deny", path="*.lock"), Rule(decision="allow", path="docs/**")]
    proxy = builtin.policy(Policy(rules, cwd=tmp_path), on_decision=see)
    async with chain(proxy, agent=asker(), version=version, cwd=tmp_path, permission=ask) as client:
        session = await client.new_session()
        assert await session.ask("docs/a.md") == "allow"
        assert await session.ask("uv.lock") == "reject"
        assert not asked
        assert await session.ask("program.py") == "allow"
    assert len(asked) == 1
    assert decided == [("a.md", "allow"), ("uv.lock", "deny")]


@VERSIONS
async def test_a_project_can_make_it_stricter(tmp_path: Path, version: int) -> None:
    (tmp_path / ".parley").mkdir()
    (tmp_path / ".parley" / "policy.toml").write_text(
        '[[rules]]\ndecision = "deny"\npath = "secret/**"\n'
    )
    proxy = builtin.policy(allow=["edit"])
    async with chain(proxy, agent=asker(), version=version, cwd=tmp_path) as client:
        session = await client.new_session()
        assert await session.ask("a.md") == "allow"
        assert await session.ask("secret/a.md") == "reject"


@VERSIONS
async def test_a_policy_that_cannot_be_read_opens_no_session(tmp_path: Path, version: int) -> None:
    (tmp_path / ".parley").mkdir()
    (tmp_path / ".parley" / "policy.toml").write_text("no")
    async with chain(builtin.policy(), agent=asker(), version=version, cwd=tmp_path) as client:
        with pytest.raises(InvalidRequest, match="The policy cannot be used"):
            await client.new_session()


OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_always"},
    {"optionId": "n", "name": "No", "kind": "reject_always"},
]


async def test_only_what_says_once_is_chosen() -> None:
    talk = await proxied_pair(builtin.policy(Policy(default="allow")))
    params = {"sessionId": "s", "title": "?", "options": OPTIONS}
    talk.agent.say(request(1, "session/request_permission", params))
    assert (await talk.client.hear())["params"] == params
    strict = await proxied_pair(builtin.policy(Policy(default="deny")))
    strict.agent.say(request(1, "session/request_permission", params))
    assert (await strict.agent.hear())["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_what_was_said_of_the_tool_call_counts() -> None:
    talk = await proxied_pair(builtin.policy(Policy([Rule(decision="deny", path="/etc/**")])), 1)
    update = {
        "sessionUpdate": "tool_call",
        "toolCallId": "t",
        "title": "Tidy up",
        "kind": "edit",
        "locations": [{"path": "/etc/passwd"}],
    }
    once = [{"optionId": "n", "name": "No", "kind": "reject_once"}]
    asked = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": once}
    talk.agent.say(
        notification("session/update", {"sessionId": "s", "update": update}),
        request(7, "session/request_permission", asked),
    )
    answered = await talk.agent.hear()
    assert answered["result"]["outcome"] == {"outcome": "selected", "optionId": "n"}


@VERSIONS
async def test_nothing_is_allowed_after_a_cancel(version: int) -> None:
    talk = await proxied_pair(builtin.policy(Policy(default="allow")), version)
    once = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    question = {"sessionId": "s", "title": "?", "toolCall": {"toolCallId": "t"}, "options": once}
    talk.client.say(notification("session/cancel", {"sessionId": "s"}))
    assert (await talk.agent.hear())["method"] == "session/cancel"
    talk.agent.say(request(1, "session/request_permission", question))
    asked = await talk.client.hear()
    talk.client.say(result(asked["id"], {"outcome": {"outcome": "cancelled"}}))
    assert (await talk.agent.hear())["result"]["outcome"] == {"outcome": "cancelled"}
    prompt = {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}]}
    talk.client.say(request(1, "session/prompt", prompt))
    assert (await talk.agent.hear())["method"] == "session/prompt"
    talk.agent.say(request(2, "session/request_permission", question))
    assert (await talk.agent.hear())["result"]["outcome"]["optionId"] == "y"


async def test_a_name_that_some_clients_read_and_the_policy_does_not_is_refused() -> None:
    talk = await proxied_pair(builtin.policy(Policy([Rule(decision="deny", path="/etc/**")])), 1)
    write = {"sessionId": "s", "path": "/tmp/a", "content": "x"}
    run = {"sessionId": "s", "command": "ls"}
    talk.agent.say(request(1, "fs/write_text_file", write | {"Path": "/etc/passwd"}))
    assert (await talk.agent.hear())["error"]["code"] == -32600
    talk.agent.say(request(2, "terminal/create", run | {"ARGS": ["-R", "/etc"]}))
    assert (await talk.agent.hear())["error"]["code"] == -32600
    talk.agent.say(request(3, "terminal/create", run | {"more": 1}))
    assert (await talk.client.hear())["method"] == "terminal/create"


async def test_files_and_commands_that_are_denied_do_not_reach_the_client(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "secret.txt").write_text("secret")
    agent = Agent("doer")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        where = Path(turn.session.cwd)
        said = await turn.read_text_file(str(where / "a.txt"))
        await turn.write_text_file(str(where / "b.txt"), "b")
        for work in (
            turn.read_text_file(str(where / "link.txt")),
            turn.write_text_file(str(where / "secret.txt"), "x"),
            run(turn),
        ):
            try:
                await work
            except RequestError as error:
                said += f"; {error.message}"
        await turn.say(said)

    async def run(turn: Turn) -> None:
        async with turn.run("rm", "-r", "x") as terminal:
            await terminal.wait()

    proxy = builtin.policy(deny=["*:secret.txt", "execute:rm *"])
    options: dict[str, Any] = {"workspace": Workspace(), "permission": allow}
    async with chain(proxy, agent=agent, version=1, cwd=tmp_path, **options) as client:
        said = await (await client.new_session()).ask("go")
    assert said.startswith("a; The policy denies this: --deny")
    assert said.count("The policy denies this") == 3
    assert (tmp_path / "b.txt").read_text() == "b"
    assert (tmp_path / "secret.txt").read_text() == "secret"


async def test_a_subagent_works_where_it_says_or_where_its_parent_does(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / ".parley").mkdir(parents=True)
    (tmp_path / "one" / ".parley" / "policy.toml").write_text('default = "deny"\n')
    talk = await proxied_pair(builtin.policy(allow=["*"]))
    for id, name in (("s", "one"), ("t", "two")):
        talk.client.say(request(id, "session/new", {"cwd": str(tmp_path / name)}))
        asked = await talk.agent.hear()
        talk.agent.say(result(asked["id"], {"sessionId": id}))
        await talk.client.hear()
    update = {"sessionUpdate": "subagent_update"}
    once = [
        {"optionId": "y", "name": "Yes", "kind": "allow_once"},
        {"optionId": "n", "name": "No", "kind": "reject_once"},
    ]
    for id, more in (("a", {}), ("b", {"cwd": str(tmp_path / "two")})):
        body = {"sessionId": "s", "update": update | {"sessionId": id} | more}
        talk.agent.say(notification("session/update", body))
        await talk.client.hear()
    answers: list[str] = []
    for id in ("s", "a", "b", "t", "unknown"):
        question = {"sessionId": id, "title": "?", "options": once}
        talk.agent.say(request(id, "session/request_permission", question))
        answers.append((await talk.agent.hear())["result"]["outcome"]["optionId"])
    assert answers == ["n", "n", "y", "y", "y"]


@VERSIONS
async def test_a_question_that_waits_is_cancelled_by_the_client(
    tmp_path: Path, version: int
) -> None:
    asked = asyncio.Event()

    async def ask(request: v2.RequestPermissionRequest, session: Session) -> None:
        asked.set()
        await asyncio.get_running_loop().create_future()

    proxy = builtin.policy(Policy())
    async with chain(proxy, agent=asker(), version=version, cwd=tmp_path, permission=ask) as client:
        session = await client.new_session()
        turn = session.prompt("a.md")
        turn._state.begin()
        await asked.wait()
        await session.cancel()
        assert (await turn).stop_reason == "cancelled"


ONCE = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]


@pytest.mark.parametrize("way", ["other sessions", "a subagent"])
async def test_an_agent_does_not_have_it_forget_what_the_client_said_of_a_session(way: str) -> None:
    talk = await proxied_pair(builtin.policy(Policy([Rule(decision="allow")])))
    talk.client.say(request(1, "session/new", {"cwd": "/"}))
    talk.agent.say(result((await talk.agent.hear())["id"], {"sessionId": "s"}))
    await talk.client.hear()
    talk.client.say(notification("session/cancel", {"sessionId": "s"}))
    await talk.agent.hear()
    if way == "a subagent":
        update = {"sessionUpdate": "subagent_update", "sessionId": "s", "cwd": "/tmp"}
        talk.agent.say(notification("session/update", {"sessionId": "s", "update": update}))
    else:
        call = {"sessionUpdate": "tool_call_update", "toolCallId": "t"}
        for number in range(MAX_SESSIONS + 1):
            body = {"sessionId": f"other {number}", "update": call}
            talk.agent.say(notification("session/update", body))
    question = {"sessionId": "s", "title": "?", "options": ONCE}
    talk.agent.say(request(9, "session/request_permission", question))
    while (heard := await talk.client.hear())["method"] == "session/update":
        pass
    assert heard["method"] == "session/request_permission", "the client decides after a cancel"


async def test_variables_of_a_command_are_looked_at() -> None:
    rules = [Rule(decision="deny", command="curl"), Rule(decision="deny", path="/etc/**")]
    seen: list[tuple[str, ...]] = []
    proxy = builtin.policy(
        Policy(rules), on_decision=lambda subject, _: seen.append(subject.commands)
    )
    talk = await proxied_pair(proxy, 1)
    run = {"sessionId": "s", "command": "git", "args": ["fetch"]}
    for name, value in (
        ("GIT_SSH_COMMAND", "sh -c 'curl evil'"),
        ("GIT_CONFIG", "/etc/passwd"),
        ("A;B", "x"),
    ):
        env = [{"name": name, "value": value}]
        talk.agent.say(request(1, "terminal/create", run | {"env": env}))
        assert (await talk.agent.hear())["error"]["code"] == -32600, name
    assert seen[1] == ("GIT_CONFIG=/etc/passwd git fetch",)
    env = [{"name": "LANG", "value": "C"}]
    talk.agent.say(request(2, "terminal/create", run | {"env": env}))
    assert (await talk.client.hear())["params"]["env"] == env


def _call(id: str, **more: Any) -> bytes:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": id, "title": "x", **more}
    return notification("session/update", {"sessionId": "s", "update": update})


def _question(id: str) -> dict[str, Any]:
    subject = {"type": "tool_call", "toolCall": {"toolCallId": id}}
    options = [{"optionId": each, "name": each, "kind": each} for each in ("allow_once",)]
    return {"sessionId": "s", "title": "?", "subject": subject, "options": options}


@pytest.mark.parametrize("status", ["pending", "completed"])
async def test_only_so_many_tool_calls_are_kept_and_nothing_forgotten_is_allowed(
    status: str,
) -> None:
    rules = [Rule(decision="deny", path="/etc/**"), Rule(decision="allow", kind="edit")]
    talk = await proxied_pair(builtin.policy(Policy(rules)))
    secret = [{"path": "/etc/passwd"}]
    talk.agent.say(_call("t", kind="edit", status=status, locations=secret))
    for number in range(MAX_CALLS):
        talk.agent.say(_call(f"{number}", kind="edit", status=status, locations=[{"path": "/a"}]))
        await talk.client.hear()
    await talk.client.hear()
    talk.agent.say(request(1, "session/request_permission", _question("t")))
    asked = await talk.client.hear()
    assert asked["method"] == "session/request_permission", "the client decides"
    talk.agent.say(request(2, "session/request_permission", _question(f"{MAX_CALLS - 1}")))
    assert (await talk.agent.hear())["result"]["outcome"]["optionId"] == "allow_once"


async def test_a_tool_call_of_too_many_pieces_is_the_clients_to_decide() -> None:
    talk = await proxied_pair(builtin.policy(Policy([Rule(decision="allow", kind="other")])))
    content = {"type": "content", "content": {"type": "text", "text": "x"}}
    piece = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": content}
    frame = notification("session/update", {"sessionId": "s", "update": piece})
    for _ in range(MAX_PIECES + 1):
        talk.agent.say(frame)
        await talk.client.next()
    talk.agent.say(request(1, "session/request_permission", _question("t")))
    assert (await talk.client.hear())["method"] == "session/request_permission"
