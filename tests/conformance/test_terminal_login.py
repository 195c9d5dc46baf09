"""Logging in by the agent's own program in a terminal, as a client has it.

https://agentclientprotocol.com/protocol/v1/authentication
https://agentclientprotocol.com/protocol/v2/authentication
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from parley.client import Connection, Process, Session, TerminalLogin, connect, run_login
from parley.errors import AuthRequired
from parley.schema import v2
from parley.testing import Recorder
from parley.testing._recorder import CapturedFrame

from .raw_client import in_both_versions

requirement = pytest.mark.requirement

PROGRAM = """
import json, os, signal, socket, sys
from pathlib import Path
from parley import Agent, AuthRequired

folder, token = Path(sys.argv[1]), Path(sys.argv[1], "token")
env = {name: os.environ.get(name) for name in ("BASE", "OURS", "MORE")}
with (folder / "starts").open("a") as starts:
    print(json.dumps({"argv": sys.argv[2:], "env": env, "cwd": str(Path.cwd())}), file=starts)
if "--login" in sys.argv:
    how = (folder / "how").read_text()
    if how.startswith("call "):
        call = socket.create_connection(("127.0.0.1", int(how.split()[1])))
        signal.pause()
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "0":
        token.touch()
    sys.exit(int(how))

agent = Agent("members")
agent.terminal_login("tty", name="Here", args=["--login", "now"], env={"BASE": "2", "MORE": "x"})

@agent.open_session
async def prepare(session):
    if not token.exists():
        raise AuthRequired()

@agent.logout
async def log_out(connection):
    token.unlink()

@agent.prompt
async def reply(turn):
    await turn.say("Welcome")

agent.run()
"""


def first(methods: list[v2.AuthMethod]) -> v2.AuthMethod:
    return methods[0]


class Place:
    """An agent that notes how it is started, and whose login ends as it is told."""

    def __init__(self, folder: Path, how: str = "0") -> None:
        self.folder = folder
        (folder / "agent.py").write_text(PROGRAM)
        (folder / "how").write_text(how)
        self.recorder = Recorder()
        self.logins: list[TerminalLogin] = []

    async def run(self, login: TerminalLogin) -> int | None:
        self.logins.append(login)
        return await run_login(login)

    def connect(self, version: int, **options: Any) -> AbstractAsyncContextManager[Connection]:
        command = [sys.executable, str(self.folder / "agent.py"), str(self.folder), "base"]
        usual: dict[str, Any] = {
            "login": first,
            "terminal_login": self.run,
            "process": Process(env={"BASE": "1", "OURS": "1"}),
            "observer": self.recorder,
            "versions": (version,),
        }
        return connect(command, self.folder, **{**usual, **options})

    def starts(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "starts").read_text().splitlines()]


@requirement("V1-AUTH-12", "V1-AUTH-13", "V1-AUTH-15", "V1-AUTH-17", "V1-AUTH-11")
@requirement("V2-AUTH-12", "V2-AUTH-15")
@in_both_versions
async def test_the_agents_command_is_run_and_then_all_begins_anew(
    version: int, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    async with place.connect(version) as connection:
        first = connection.pid
        session = await connection.new_session()
        assert await session.ask("Hello") == "Welcome"
        assert connection.pid != first
    base = {"BASE": "1", "OURS": "1", "MORE": None}
    where = {"cwd": str(tmp_path)}
    assert place.starts() == [
        {"argv": ["base"], "env": base, **where},
        {"argv": ["base", "--login", "now"], "env": {**base, "BASE": "2", "MORE": "x"}, **where},
        {"argv": ["base"], "env": base, **where},
    ]
    assert place.recorder.methods("outbound")[:4] == ["initialize", "session/new"] * 2
    assert "auth/login" not in str(place.recorder.methods("outbound"))
    (login,) = place.logins
    assert isinstance(login.method, v2.AuthMethodTerminal)
    assert login.command[0] == sys.executable


def no_status(login: TerminalLogin) -> None:
    """Run nothing."""


def yes(login: TerminalLogin) -> bool:
    return True


RETURNING = {"no status": no_status, "True": yes}


@requirement("V1-AUTH-14", "V2-AUTH-14")
@in_both_versions
@pytest.mark.parametrize("how", ["1", "killed", "no status", "True"])
async def test_only_exit_status_0_is_a_success(version: int, tmp_path: Path, how: str) -> None:
    place = Place(tmp_path, how)
    options = {"terminal_login": RETURNING[how]} if how in RETURNING else {}
    async with place.connect(version, **options) as connection:
        for _ in range(2):
            with pytest.raises(AuthRequired, match="The login in a terminal failed: it"):
                await connection.new_session()
    assert [each["argv"] for each in place.starts()].count(["base"]) == 1, "it is not started again"


@requirement("V1-AUTH-14", "V2-AUTH-14")
@in_both_versions
async def test_a_login_that_is_cancelled_has_failed_and_is_ended(
    version: int, tmp_path: Path
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def called(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        begun.set()
        assert await reader.read() == b""
        writer.close()
        ended.set()

    server = await asyncio.start_server(called, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    place = Place(tmp_path, f"call {port}")
    async with server, place.connect(version) as connection:
        opening = asyncio.create_task(connection.new_session())
        await begun.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await ended.wait()
        assert [each["argv"] for each in place.starts()] == [["base"], ["base", "--login", "now"]]


@in_both_versions
async def test_sessions_that_want_a_login_at_once_get_one(version: int, tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with place.connect(version) as connection:
        both = await asyncio.gather(connection.new_session(), connection.new_session())
        assert [await each.ask("Hello") for each in both] == ["Welcome"] * 2
    assert len(place.logins) == 1


def opens_session(captured: CapturedFrame) -> bool:
    return captured.direction == "inbound" and "sessionId" in captured.message.get("result", ())


@in_both_versions
async def test_a_session_that_the_old_agent_opens_during_a_login_is_opened_again(
    version: int, tmp_path: Path
) -> None:
    place = Place(tmp_path)
    second: list[asyncio.Task[Session]] = []

    async def log_in(login: TerminalLogin) -> int:
        (tmp_path / "token").touch()
        second.append(asyncio.create_task(connection.new_session()))
        await place.recorder.until(opens_session)
        return 0

    async with place.connect(version, terminal_login=log_in) as connection:
        first = await connection.new_session()
        for session in (first, await second[0]):
            assert await session.ask("Hello") == "Welcome"


@in_both_versions
async def test_a_login_by_hand_ends_the_sessions_that_were_open(
    version: int, tmp_path: Path
) -> None:
    (tmp_path / "token").touch()
    place = Place(tmp_path)
    async with place.connect(version) as connection:
        session = await connection.new_session()
        await connection.login("tty")
        assert session.is_closed
        assert connection.sessions == {}
        assert await (await connection.new_session()).ask("Hello") == "Welcome"
