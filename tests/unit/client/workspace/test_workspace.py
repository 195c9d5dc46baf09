from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from parley.client import Connection, Session, Workspace
from parley.client.workspace._workspace import add_connection_guard
from parley.errors import InvalidParams, RequestError
from parley.policy import Policy, Rule, Subject
from parley.schema import v2

from .terminal_commands import until
from .workspace_agent import new_session, workspace_connection


class Guard:
    """Allows what it is told to, and keeps what it was asked."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.subjects: list[Subject] = []

    async def __call__(self, subject: Subject, session: Session) -> bool:
        assert (subject.session, subject.agent) == (session.id, session.connection.name)
        self.subjects.append(subject)
        return subject.kind in self.allowed


@pytest.mark.requirement("SAFE-REACH-03")
async def test_a_guard_is_asked_about_what_will_be_done(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("sub")
    guard = Guard("read", "edit", "execute")
    async with workspace_connection(tmp_path, guard=guard) as (agent, _):
        await agent.write(tmp_path / "link" / "a.txt", "a")
        await agent.read(tmp_path / "sub" / ".." / "sub" / "a.txt")
        env = [{"name": "X", "value": "1 2"}]
        await agent.finished("echo", "a b", cwd=f"{tmp_path}/link", env=env)
    edit, read, execute = guard.subjects
    real = f"{tmp_path}/sub/a.txt"
    assert (edit.kind, edit.paths, edit.mentioned) == ("edit", (real,), (f"{tmp_path}/link/a.txt",))
    assert (read.kind, read.paths, read.commands) == ("read", (real,), ())
    assert (execute.kind, execute.commands) == ("execute", ("X='1 2' echo 'a b'",))
    assert (execute.cwd, execute.paths) == (f"{tmp_path}/sub", ())


async def test_what_a_guard_does_not_allow_is_not_done(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("secret")
    async with workspace_connection(tmp_path, guard=Guard()) as (agent, _):
        path = f"{tmp_path}/a.txt"
        code, message = await agent.fail("fs/read_text_file", path=path)
        assert (code, message) == (-32600, f"Permission to read {path} was denied")
        code, message = await agent.fail("fs/write_text_file", path=path, content="x")
        assert (code, message) == (-32600, f"Permission to edit {path} was denied")
        code, message = await agent.fail("terminal/create", command="touch", args=["made"])
        assert (code, message) == (-32600, "Permission to execute touch made was denied")
    assert not (tmp_path / "made").exists()
    assert (tmp_path / "a.txt").read_text() == "secret"


@pytest.mark.parametrize("response", [None, 1, "yes", ["allow"]])
async def test_only_true_allows(response: Any, tmp_path: Path) -> None:
    def guard(subject: Subject, session: Session) -> Any:
        return response

    async with workspace_connection(tmp_path, guard=guard) as (agent, _):
        assert (await agent.fail("terminal/create", command="true"))[0] == -32600


async def test_a_guard_that_fails_allows_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> bool:
        raise RuntimeError("a secret of ours")

    async with workspace_connection(tmp_path, guard=fail) as (agent, _):
        code, message = await agent.fail("terminal/create", command="true")
        assert (code, "secret" in message) == (-32603, False)
    assert "a secret of ours" in caplog.text


async def test_a_guard_is_not_asked_about_what_is_outside(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    guard = Guard("read", "edit", "execute")
    async with workspace_connection(tmp_path / "root", guard=guard) as (agent, _):
        await agent.fail("fs/read_text_file", path=f"{tmp_path}/a.txt")
        await agent.fail("fs/write_text_file", path=f"{tmp_path}/a.txt", content="x")
        await agent.fail("terminal/create", command="true", cwd=str(tmp_path))
    assert guard.subjects == []


async def test_each_connection_may_have_a_guard_of_its_own(tmp_path: Path) -> None:
    workspace = Workspace()
    async with (
        workspace_connection(tmp_path, workspace=workspace) as (free, _),
        workspace_connection(tmp_path, workspace=workspace) as (bound, session),
    ):
        guard = Guard("read")

        async def guard_with_preview(subject: Subject, session: Session, preview: object) -> bool:
            return await guard(subject, session)

        add_connection_guard(workspace, session.connection, guard_with_preview)
        await free.write(tmp_path / "a.txt", "a")
        assert await bound.read(tmp_path / "a.txt") == "a"
        path = f"{tmp_path}/a.txt"
        assert (await bound.fail("fs/write_text_file", path=path, content="x"))[0] == -32600


async def test_a_workspace_keeps_no_connection_that_has_ended(tmp_path: Path) -> None:
    workspace = Workspace()
    policy = Policy([Rule(decision="allow", kind="edit")], cwd=tmp_path)
    connections = weakref.WeakSet[Connection]()
    for _ in range(3):
        connected = workspace_connection(tmp_path, workspace=workspace, policy=policy)
        async with connected as (agent, session):
            await agent.write(tmp_path / "a.txt", "a")
            connections.add(session.connection)
        del agent, session, connected
    await until(lambda: gc.collect() >= 0 and not connections)  # a thread may hold the last one


async def test_a_connection_that_ends_leaves_the_commands_of_another(tmp_path: Path) -> None:
    workspace = Workspace()
    async with workspace_connection(tmp_path, workspace=workspace) as (lasting, session):
        kept = await lasting.run("sleep", "1000")
        async with workspace_connection(tmp_path, workspace=workspace) as (other, ending):
            await other.run("sleep", "1000")
        (ended,) = ending.transcript.terminals.values()
        assert ended.exit_status is not None
        assert "exitStatus" not in await lasting.output(kept)
        await workspace.aclose()
        assert session.transcript.terminals[kept].exit_status is not None


class Remote:
    """Files and terminals somewhere else."""

    def __init__(self) -> None:
        self.log: list[tuple[Any, ...]] = []

    async def read_text_file(
        self, path: str, line: int | None, limit: int | None, session: Session
    ) -> str:
        self.log.append(("read", path, line, limit, session.id))
        if "missing" in path:
            raise FileNotFoundError(path)
        return "remote away"

    def write_text_file(self, path: str, content: str, session: Session) -> None:
        self.log.append(("write", path, content, session.id))

    def create_terminal(self, request: Any, session: Session) -> Any:
        self.log.append(("run", request.command, session.id))
        return {"terminalId": "remote"}

    def terminal_output(self, request: Any, session: Session) -> Any:
        return {"output": request.terminal_id, "truncated": False}

    async def wait_for_terminal_exit(self, request: Any, session: Session) -> Any:
        return {"exitCode": 0}

    def kill_terminal(self, request: Any, session: Session) -> None:
        self.log.append(("kill", request.terminal_id))

    def release_terminal(self, request: Any, session: Session) -> None:
        self.log.append(("release", request.terminal_id))


async def test_parts_are_replaced_by_other_objects(tmp_path: Path) -> None:
    remote = Remote()
    async with workspace_connection(tmp_path, files=remote, terminals=remote) as (agent, _):
        assert await agent.read("/remote/a.txt", line=2, limit=3) == "remote away"
        await agent.write("/remote/a.txt", "text")
        assert (await agent.fail("fs/read_text_file", path="/remote/missing"))[0] == -32002
        assert await agent.run("ls") == "remote"
        assert await agent.output("remote") == {"output": "remote", "truncated": False}
        assert await agent.wait("remote") == {"exitCode": 0}
        assert await agent.get("terminal/kill", terminalId="remote") == {}
        assert await agent.get("terminal/release", terminalId="remote") == {}
        assert (await agent.fail("terminal/output", "nope", terminalId="remote"))[0] == -32602
    assert remote.log == [
        ("read", "/remote/a.txt", 2, 3, "s"),
        ("write", "/remote/a.txt", "text", "s"),
        ("read", "/remote/missing", None, None, "s"),
        ("run", "ls", "s"),
        ("kill", "remote"),
        ("release", "remote"),
    ]


async def test_parts_of_others_are_guarded_too(tmp_path: Path) -> None:
    guard, remote = Guard(), Remote()
    async with workspace_connection(tmp_path, files=remote, terminals=remote, guard=guard) as (
        agent,
        _,
    ):
        path = "/remote/x/../a.txt"
        assert (await agent.fail("fs/read_text_file", path=path))[0] == -32600
        assert (await agent.fail("fs/write_text_file", path=path, content="x"))[0] == -32600
        assert (await agent.fail("terminal/create", command="a && b"))[0] == -32600
    assert remote.log == []
    assert [each.paths for each in guard.subjects] == [("/remote/a.txt",), ("/remote/a.txt",), ()]
    assert (guard.subjects[2].commands, guard.subjects[2].cwd) == (("a && b",), str(tmp_path))


async def test_a_part_may_be_wrapped_and_is_asked_about_once(tmp_path: Path) -> None:
    class Counted:
        is_guarded = True

        def __init__(self, inner: Any) -> None:
            self.inner, self.count = inner, 0

        async def read_text_file(self, *arguments: Any) -> Any:
            self.count += 1
            return await self.inner.read_text_file(*arguments)

    (tmp_path / "a.txt").write_text("a")
    guard = Guard("read")
    workspace = Workspace(guard=guard, terminals=None)
    workspace.files = counted = Counted(workspace.files)
    async with workspace_connection(tmp_path, workspace=workspace) as (agent, _):
        assert await agent.read(tmp_path / "a.txt") == "a"
        assert (await agent.fail("fs/write_text_file", path="/a", content=""))[0] == -32601
    assert (counted.count, len(guard.subjects)) == (1, 1)


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        ({}, {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}),
        ({"terminals": None}, {"fs": {"readTextFile": True, "writeTextFile": True}}),
        ({"files": None}, {"terminal": True}),
        ({"files": None, "terminals": None}, {}),
    ],
)
async def test_what_is_not_there_is_not_offered(
    options: Any, offered: dict[str, Any], tmp_path: Path
) -> None:
    async with workspace_connection(tmp_path, **options) as (agent, _):
        reported = agent.hello["params"]["clientCapabilities"]
        assert {
            name: reported[name] for name in ("fs", "terminal") if reported.get(name)
        } == offered
        for method, is_offered in (("fs/read_text_file", "fs"), ("terminal/create", "terminal")):
            response = await agent.ask(method, path=f"{tmp_path}/no", command="true")
            refused = response.get("error", {}).get("code") == -32601
            assert refused is (is_offered not in offered)


async def test_an_unknown_session_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    async with workspace_connection(tmp_path) as (agent, _):
        path = f"{tmp_path}/a.txt"
        assert (await agent.fail("fs/read_text_file", "nope", path=path))[0] == -32602
        assert (await agent.fail("fs/write_text_file", "nope", path=path, content=""))[0] == -32602
    assert (tmp_path / "a.txt").read_text() == "a"


async def test_a_session_that_the_agent_has_invented_reaches_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    async with workspace_connection(tmp_path) as (agent, session):
        agent.say("I am new.", "invented")
        await agent.is_read()
        assert "invented" in session.connection.sessions
        code, message = await agent.fail("fs/read_text_file", "invented", path=f"{tmp_path}/a.txt")
        assert (code, message) == (-32602, "The session has no directory")
        assert (await agent.fail("terminal/create", "invented", command="true"))[0] == -32602


async def test_a_subagent_reaches_what_its_session_does(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.txt").write_text("secret")
    async with workspace_connection(tmp_path / "root") as (agent, session):
        await new_session(session, agent, "t", tmp_path / "other")
        session.transcript.fold(v2.SubagentUpdate(session_id="sub", cwd=str(tmp_path / "other")))
        path = f"{tmp_path}/root/a.txt"
        await agent.get("fs/write_text_file", "sub", path=path, content="a")
        assert (await agent.get("fs/read_text_file", "sub", path=path))["content"] == "a"
        created = await agent.get("terminal/create", "sub", command="pwd")
        await agent.get("terminal/wait_for_exit", "sub", **created)
        assert (await agent.get("terminal/output", "sub", **created))["output"] == (
            f"{tmp_path}/root\n"
        )
        secret = f"{tmp_path}/other/secret.txt"
        assert (await agent.fail("fs/read_text_file", "sub", path=secret))[0] == -32602


def test_an_option_that_does_not_exist_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="there is no option pyt=; did you mean pty="):
        Workspace(pyt=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="requires cwd="):
        Workspace(additional_directories=["lib"])
    with pytest.raises(TypeError, match="names of variables"):
        Workspace(inherit="PATH")
    with pytest.raises(TypeError, match="directories, such as"):
        Workspace(".", "lib")


async def test_a_refused_write_is_reported_and_a_callback_that_fails_changes_nothing(
    tmp_path: Path,
) -> None:
    seen: list[tuple[str, str]] = []

    def see(session: Session, path: str, error: RequestError) -> None:
        seen.append((path, error.message))
        raise RuntimeError("no")

    outside = tmp_path.parent / "outside.txt"
    async with workspace_connection(tmp_path, on_write_refused=see) as (agent, _):
        code, _ = await agent.fail("fs/write_text_file", path=str(outside), content="")
        assert code == InvalidParams.code
        await agent.write(tmp_path / "inside.txt", "in")
    assert [path for path, _ in seen] == [str(outside)]
    assert "outside" in seen[0][1]
