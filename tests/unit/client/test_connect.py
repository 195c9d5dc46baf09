from __future__ import annotations

import asyncio
import inspect
import json
import pydoc
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import parley
from parley.client import ConnectOptions, Process, PromptTurn, Remote, connect
from parley.config import Config, config_path, load
from parley.errors import (
    ConfigError,
    ConnectFailed,
    ConnectionClosed,
    InternalError,
    ProcessExited,
    RemoteProtocolError,
    VersionMismatch,
)
from parley.peer import TypedHandler
from parley.peer._tracing import Direction
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.transport import memory_pair

from .scripted_agent import Message, ScriptedAgent, connected

AGENT = """
import json, sys

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def update(**update):
    send({"method": "session/update", "params": {"sessionId": "s", "update": update}})

RESULTS = {
    "initialize": {
        "protocolVersion": 2,
        "info": {"name": "child", "version": "1"},
        "capabilities": {"session": {}},
    },
    "session/new": {"sessionId": "s"},
    "session/prompt": {"messageId": "u"},
}
print("Welcome!")
for line in sys.stdin:
    message = json.loads(line)
    send({"id": message["id"], "result": RESULTS[message["method"]]})
    if message["method"] == sys.argv[1]:
        update(sessionUpdate="state_update", state="running")
        content = {"type": "text", "text": "Adieu."}
        update(sessionUpdate="agent_message_chunk", messageId="a", content=content)
        print("out of ideas", file=sys.stderr)
        sys.exit(3)
"""
"""An agent that says something before it begins, and dies of what its argument names."""


async def test_the_front_door_has_connect() -> None:
    assert parley.connect is connect


async def test_a_connection_knows_its_agent() -> None:
    meta: Message = {"capabilities": {"session": {"delete": {}}, "_meta": {"example.org": 1}}}
    async with connected(meta, name="painter") as (connection, _):
        assert (connection.name, connection.info.name, connection.version) == ("painter", "far", 2)
        assert connection.features.delete
        assert not connection.features.fork
        assert connection.features.meta == {"example.org": 1}
        assert connection.auth_methods == []
        assert repr(connection) == "Connection('painter', version 2, 0 sessions)"


async def test_we_say_who_we_are() -> None:
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)
    asking = asyncio.create_task(remote.initialize())
    info = v2.Implementation(name="scripts", version="7")
    async with connect(local, versions=(2,), info=info):
        params = (await asking)["params"]
        assert (params["info"], params["protocolVersion"]) == (
            {"name": "scripts", "version": "7"},
            2,
        )


async def test_what_the_agent_asks_right_after_initialize_finds_its_handler() -> None:
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)

    async def agent() -> Message:
        await remote.initialize()
        remote.call(1, "_early", {})
        return await remote.take()

    asking = asyncio.create_task(agent())
    async with connect(local, versions=(2,), extensions={"_early": lambda _: "here"}):
        assert (await asking)["result"] == "here"


async def test_the_versions_we_speak_are_offered_in_one_body() -> None:
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)

    async def agent() -> Message:
        request = await remote.take("initialize")
        remote.respond(request, {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}})
        params: Message = request["params"]
        return params

    asking = asyncio.create_task(agent())
    async with connect(local) as connection:
        params = await asking
        assert params["protocolVersion"] == 2
        assert {"info", "clientInfo"} <= params.keys()
        assert connection.version == 1
        assert connection.features.load


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"protocolVersion": 1}, VersionMismatch),
        ({"protocolVersion": 3, "info": {}}, VersionMismatch),
        ({"protocolVersion": 2, "info": 5}, RemoteProtocolError),
        ({"protocolVersion": "2025-01-01"}, RemoteProtocolError),
        (None, RemoteProtocolError),
    ],
)
async def test_an_agent_that_cannot_be_talked_to_is_one_clear_error(
    response: Any, error: type[Exception]
) -> None:
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)

    async def agent() -> None:
        remote.respond(await remote.take("initialize"), response)

    asking = asyncio.create_task(agent())
    with pytest.raises(error, match=r"painter|initialize"):
        async with connect(local, versions=(2,), name="painter"):
            pass
    await asking


async def test_an_agent_that_refuses_or_hangs_up_at_initialize() -> None:
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)
    waiting = asyncio.create_task(connect(local, versions=(2,)).__aenter__())
    remote.refuse(await remote.take("initialize"), -32603, "No")
    with pytest.raises(InternalError):
        await waiting
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)
    waiting = asyncio.create_task(connect(local, versions=(2,), name="painter").__aenter__())
    await remote.take("initialize")
    await transport.aclose()
    with pytest.raises(ConnectionClosed, match=r"^painter: the peer closed the connection$"):
        await waiting


@pytest.mark.parametrize(
    ("name", "expected"), [("", "agent is not an agent"), ("painter", "painter is not")]
)
async def test_something_that_sends_back_what_it_is_sent_is_no_agent(
    name: str, expected: str
) -> None:
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)

    async def mirror() -> None:
        while (message := await remote.received.get()).get("method") != "lost":
            remote.send(message)

    mirroring = asyncio.create_task(mirror())
    with pytest.raises(ConnectFailed, match=expected):
        async with connect(local, name=name):
            pass
    await mirroring


async def test_an_observer_sees_the_frames_of_both_sides() -> None:
    seen: list[tuple[str, str]] = []

    def observer(direction: Direction, frame: Frame) -> None:
        seen.append((direction, json.loads(bytes(frame)).get("method", "response")))

    async with connected(observer=observer):
        assert seen == [("outbound", "initialize"), ("inbound", "response")]


async def test_a_command_is_started_where_we_say(tmp_path: Path) -> None:
    command = [sys.executable, "-c", AGENT, "nothing"]
    async with connect(command, tmp_path, versions=(2,)) as connection:
        assert (connection.info.name, connection.cwd) == ("child", tmp_path)
        assert (await connection.new_session()).cwd == str(tmp_path)


@pytest.mark.parametrize("is_looped_over", [False, True])
async def test_a_turn_tells_how_its_agent_died(is_looped_over: bool) -> None:
    async def wait(turn: PromptTurn) -> None:
        if is_looped_over:
            async for _ in turn:
                pass
        else:
            await turn

    command = [sys.executable, "-c", AGENT, "session/prompt"]
    async with connect(command, versions=(2,), name="painter") as connection:
        session = await connection.new_session()
        with pytest.raises(ProcessExited, match="out of ideas") as raised:
            await wait(session.prompt("Hi."))
        assert raised.value.code == 3
        assert str(raised.value).startswith(f"painter: {raised.value.command} exited with code 3;")
        assert session.transcript.text == "Adieu."


async def test_a_command_that_is_not_there() -> None:
    with pytest.raises(ConnectFailed, match="was not found"):
        async with connect("no-such-agent --acp"):
            pass


async def test_who_waits_when_the_block_ends_learns_that_it_was_closed() -> None:
    async with connected(name="painter") as (connection, remote):
        opening = asyncio.create_task(connection.new_session())
        await remote.take("session/new")
    with pytest.raises(ConnectionClosed, match="painter"):
        await opening


async def test_an_agent_that_does_not_respond_is_given_up() -> None:
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with pytest.raises(ConnectFailed, match=r"did not respond to initialize within 0\.05 seconds"):
        async with connect(silent, give_up_after=0.05):
            pytest.fail("it has not responded")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"permision": None}, "there is no option permision=; did you mean permission=?"),
        ({"process": {"env": {}}}, "process= takes a Process"),
        ({"remote": "token"}, "remote= takes a Remote"),
        ({"config": "opencode"}, "config= takes True, False or a Config"),
        ({"config": None}, "config= takes True, False or a Config"),
        ({"name": 5}, "name= takes a string"),
        ({"tools": None}, "tools= takes a list of functions"),
        ({"give_up_after": "2"}, "give_up_after= takes a positive number of seconds, or None"),
        ({"give_up_after": 0}, "give_up_after= takes a positive number of seconds, or None"),
        ({"max_message_bytes": 1.5}, "max_message_bytes= takes a positive number of bytes"),
        ({"limits": {}}, "limits= takes a Limits of parley.peer"),
        ({"info": "me"}, "info= takes an Implementation of parley.schema.v2"),
        ({"tracer": print}, "tracer= takes a tracer"),
        ({"meta": "x"}, "meta= takes a dict"),
        ({"extensions": ["_x"]}, "extensions= takes a dict of functions"),
        ({"position_encodings": "utf-8"}, "position_encodings= takes a list of encodings"),
        ({"journal": "x.db"}, "journal= takes a journal, such as SqliteJournal()"),
        ({"policy": []}, "policy= takes a Policy"),
        ({"workspace": True}, "workspace= takes a Workspace"),
        ({"permission": 5}, "permission= takes a function"),
        ({"on_decision": 5}, "on_decision= takes a function"),
        ({"elicit": "no"}, "elicit= takes a function, not str"),
        ({"elicit_url": lambda: None}, "elicit_url= calls its function as <lambda>(request, ses"),
        ({"on_update": lambda: None}, "on_update= calls its function as <lambda>(session"),
        ({"on_elicitation_complete": lambda: None}, "on_elicitation_complete= calls its functi"),
        ({"login": lambda: None}, "login= calls its function as <lambda>(methods), which"),
        ({"extensions": {"_x": lambda: 1}}, "extensions['_x'] calls its function as <lambda>(pa"),
        (
            {"extensions": {"_x": TypedHandler(5, int)}},  # type: ignore[arg-type]
            "extensions['_x'] takes a function, not int",
        ),
        ({"versions": 2}, "versions= takes a tuple of numbers"),
        ({"versions": ("2",)}, "versions= takes a tuple of numbers"),
    ],
    ids=lambda each: "" if isinstance(each, str) else next(iter(each)),
)
def test_an_option_that_is_mistaken_is_named(options: Any, problem: str) -> None:
    with pytest.raises(TypeError) as refused:
        connect(["never", "started"], **options)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        (Process, {"inherit": "PATH"}, "Process(inherit=…) takes names of variables"),
        (Process, {"inherit": 5}, "Process(inherit=…) takes names of variables"),
        (Process, {"env": {"A": 1}}, "Process(env=…) takes a dict of strings"),
        (Process, {"env": ["A=1"]}, "Process(env=…) takes a dict of strings"),
        (Process, {"grace_after": True}, "Process(grace_after=…) takes a number of seconds"),
        (Process, {"on_start": 5}, "Process(on_start=…) takes a function, not int"),
        (Process, {"on_stderr": lambda: None}, "Process(on_stderr=…) calls its function as"),
        (Remote, {"token": b"x"}, "Remote(token=…) takes a string"),
        (Remote, {"headers": {"a": 1}}, "Remote(headers=…) takes a dict of strings"),
        (Remote, {"ca_file": 5}, "Remote(ca_file=…) takes a path"),
        (Remote, {"tls": "yes"}, "Remote(tls=…) takes an SSLContext"),
        (Remote, {"allows_plain_token": 1}, "Remote(allows_plain_token=…) takes a bool"),
        (Remote, {"on_state": lambda: None}, "Remote(on_state=…) calls its function as"),
    ],
    ids=lambda each: each.partition("=")[0] if isinstance(each, str) else "",
)
def test_a_setting_of_a_process_or_a_remote_that_is_mistaken_is_named(
    kind: Any, options: Any, problem: str
) -> None:
    with pytest.raises(TypeError) as refused:
        kind(**options)
    assert str(refused.value).startswith(problem)


def test_what_a_process_or_a_remote_shows_has_no_secrets() -> None:
    shown = repr([Process(env={"KEY": "s3cret"}), Remote(token="s3cret", headers={"a": "s3cret"})])
    assert "s3cret" not in shown


def test_the_signature_of_connect_lists_every_option_with_its_type() -> None:
    signature = inspect.signature(connect).parameters
    listed = {name: each.annotation for name, each in list(signature.items())[2:]}
    options = ConnectOptions.__annotations__
    assert listed == {name: each.__forward_arg__ for name, each in options.items()}
    kinds = {each.kind for name, each in signature.items() if name in listed}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


def test_the_documentation_of_connect_describes_every_parameter() -> None:
    text = pydoc.plain(pydoc.render_doc(connect))
    for name in inspect.signature(connect).parameters:
        assert re.search(rf"^ +{name}: \S", text, re.MULTILINE), name


CONFIGURED = """
[agents.painter]
command = ["{python}", "-c", "{program}"]
env = {{ COLOR = "blue", SIZE = "1" }}
protocol = 2
"""
"""An agent that prints what it finds in its environment, and ends."""
PROGRAM = "import os,sys; sys.exit(os.environ['COLOR'] + os.environ['SIZE'])"


def configure() -> Path:
    path = config_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(CONFIGURED.format(python=sys.executable, program=PROGRAM))
    return path


async def test_without_being_asked_to_connect_does_not_read_the_configuration() -> None:
    configure().write_text("this is not valid")
    with pytest.raises(ConnectFailed) as refused:
        async with connect("painter"):
            pass
    assert str(refused.value) == (
        "painter is not a command on PATH. To use an agent from your configuration file, "
        "pass config=True."
    )


@pytest.mark.parametrize("is_read", [True, False])
async def test_connect_finds_a_name_in_the_configuration_if_it_is_asked_to(is_read: bool) -> None:
    path = configure()
    config: Config | bool = True
    if not is_read:
        config = load(path)
        path.unlink()
    with pytest.raises(ProcessExited, match="blue2") as ended:
        async with connect("painter", config=config, process=Process(env={"SIZE": "2"})):
            pass
    assert str(ended.value).startswith("painter: ")


async def test_a_name_that_is_not_configured_is_a_command() -> None:
    with pytest.raises(ConnectFailed, match=r"^sculptor was not found\. Is it installed and on PA"):
        async with connect("sculptor", config=True):
            pass


async def test_a_configuration_that_is_asked_for_and_wrong_is_an_error() -> None:
    configure().write_text("this is not valid")
    with pytest.raises(ConfigError):
        async with connect("painter", config=True):
            pass


@pytest.mark.parametrize(
    "command",
    [
        ["./agent", "nothing"],
        ["tools/../agent", "nothing"],
        "./agent nothing",
        [sys.executable, "agent.py", "nothing"],
        [sys.executable, "-P", "./tools/../agent.py", "nothing"],
    ],
    ids=["program", "dots", "line", "script", "flag"],
)
@pytest.mark.parametrize("has_decoy", [False, True])
async def test_a_relative_program_or_script_is_the_one_in_our_own_directory(
    command: list[str] | str, has_decoy: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "tools").mkdir()
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "agent").write_text(f"#!{sys.executable}\n{AGENT}")
    (tmp_path / "agent").chmod(0o700)
    for name in ("agent", "agent.py") if has_decoy else ():
        (elsewhere / name).write_text("#!/bin/false\n")
        (elsewhere / name).chmod(0o700)
    monkeypatch.chdir(tmp_path)
    async with connect(command, "elsewhere", versions=(2,)) as connection:
        assert (connection.info.name, connection.cwd) == ("child", elsewhere)


async def test_other_arguments_stay_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "agent.py").write_text("import os, sys; sys.exit(f'{sys.argv[1:]} {os.getcwd()}')")
    (tmp_path / "notes.py").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProcessExited) as ended:
        async with connect([sys.executable, "agent.py", "notes.py", "./notes.py"], "elsewhere"):
            pass
    assert f"['notes.py', './notes.py'] {tmp_path / 'elsewhere'}" in ended.value.stderr


async def test_after_our_own_close_calls_say_that_we_closed_the_connection() -> None:
    command = [sys.executable, "-c", AGENT, "nothing"]
    async with connect(command, versions=(2,), name="painter") as connection:
        await connection.new_session()
    closed = r"^the connection to painter was closed by this program$"
    with pytest.raises(ConnectionClosed, match=closed) as raised:
        await connection.new_session()
    assert isinstance(raised.value.__cause__, ProcessExited)


async def test_an_error_of_the_agent_names_the_agent_and_the_method() -> None:
    async with connected(name="painter") as (connection, far):
        opening = asyncio.create_task(connection.new_session())
        asked = await far.take("session/new")
        error = {"code": -32602, "message": "No", "data": {"details": "the disk is full"}}
        far.send({"id": asked["id"], "error": error})
        with pytest.raises(parley.InvalidParams) as raised:
            await opening
    assert str(raised.value) == "painter: session/new: No (-32602): the disk is full"
    assert (raised.value.peer, raised.value.method) == ("painter", "session/new")
