"""Agents that die, hang, fork, resist and shout: nothing hangs with them and nothing is left.

Every agent here is a real process that misbehaves in one way.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.raw_process import child

from parley.errors import ConnectionClosed, ProcessExited
from parley.peer import Peer
from parley.peer._initialize import initialize
from parley.schema import v1
from parley.schema.base import JsonObject, Method
from parley.schema.v1 import methods
from parley.transport import ProcessTransport

ASK: Method[JsonObject, JsonObject] = Method(
    name="_ask", to="agent", kind="request", params=JsonObject, result=JsonObject
)
AGENT = Path(__file__).with_name("agent.py")
IGNORES_SIGTERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
LIFE = """
step, how = sys.argv[1:]
chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}

def reach(name):
    if name == step:
        write(b"last words\\n", 2)
        os.kill(os.getpid(), int(how)) if int(how) > 1 else os._exit(int(how))

reach("start")
while (message := read()) is not None:
    method = message["method"]
    reach(method)
    if method == "initialize":
        say(id=message["id"], result={"protocolVersion": 1})
        reach("initialized")
    elif method == "session/new":
        say(id=message["id"], result={"sessionId": "s"})
        reach("opened")
    else:
        for number in range(3):
            say(method="session/update", params={"sessionId": "s", "update": chunk})
        reach("speaking")
        say(id=message["id"], result={"stopReason": "end_turn"})
        reach("idle")
reach("asked to go")
"""
"""Goes through the life of an agent and ends at one step of it, with a code or by a signal."""
STEPS = [
    *("start", "initialize", "initialized", "session/new", "opened", "session/prompt"),
    *("speaking", "idle", "asked to go"),
]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Tell whether it has ended and merely waits for whoever adopts orphans here."""
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


def is_group_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that tells nobody when it happens."""
    while not is_so():  # noqa: ASYNC110 - process ids announce nothing
        await asyncio.sleep(0.001)


async def live(peer: Peer) -> None:
    """Go through the life of a client."""
    await initialize(peer, {1: v1.InitializeRequest(protocol_version=1)})
    session = await peer.request(methods.NEW_SESSION, v1.NewSessionRequest(cwd="/", mcp_servers=[]))
    question = v1.PromptRequest(session_id=session.session_id, prompt=[])
    await peer.request(methods.PROMPT, question)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("how", "code"), [("0", 0), ("1", 1), ("9", -9), ("11", -11)])
@pytest.mark.requirement("SAFE-LIVE-02")
async def test_an_agent_may_die_at_any_step_of_its_life(step: str, how: str, code: int) -> None:
    updates: list[Any] = []
    transport = await ProcessTransport.spawn(child(LIFE, step, how))
    peer = Peer(transport, "client")
    peer.set_handlers(methods.TABLE, notifications={"session/update": updates.append})
    async with peer:
        if step in ("idle", "asked to go"):
            await live(peer)
            if step == "asked to go":
                await peer.aclose()
        else:
            with pytest.raises(ProcessExited) as caught:
                await live(peer)
            assert (caught.value.code, caught.value.stderr) == (code, "last words\n")
        reason = await peer.wait_closed()
        ended = reason.__cause__ if step == "asked to go" else reason
        assert isinstance(ended, ProcessExited)
        assert (ended.code, ended.stderr) == (code, "last words\n")
        with pytest.raises(type(reason)):
            await peer.request(ASK, {})
    assert not is_group_alive(transport.pid)


async def test_updates_said_before_death_are_handled_before_the_call_fails() -> None:
    updates: list[Any] = []

    async def update(note: v1.SessionNotification) -> None:
        await asyncio.sleep(0)
        updates.append(note)

    peer = Peer(await ProcessTransport.spawn(child(LIFE, "speaking", "9")), "client")

    async with peer:
        await initialize(
            peer,
            {1: v1.InitializeRequest(protocol_version=1)},
            lambda agreement: peer.set_handlers(
                agreement.table, notifications={"session/update": update}
            ),
        )
        question = v1.PromptRequest(session_id="s", prompt=[])
        with pytest.raises(ProcessExited):
            await peer.request(methods.PROMPT, question)
        assert len(updates) == 3


@pytest.mark.requirement("SAFE-LIVE-02")
async def test_many_pending_calls_all_fail_with_the_exit_code_and_the_last_words() -> None:
    program = """
for count in range(50):
    asked = read()
write(b"x" * 100_000 + b"the end", 2)
os._exit(3)
"""
    async with Peer(await ProcessTransport.spawn(child(program)), "client") as peer:
        calls = [asyncio.create_task(peer.request(ASK, {})) for _ in range(50)]
        await asyncio.wait(calls)
        for call in calls:
            error = call.exception()
            assert isinstance(error, ProcessExited)
            assert error.code == 3
            assert error.stderr.endswith("xthe end")


@pytest.mark.parametrize("program", ["signal.pause()", IGNORES_SIGTERM + "read()\nsignal.pause()"])
@pytest.mark.requirement("SAFE-LIVE-02")
async def test_an_agent_that_hangs_at_initialize_can_be_given_up(program: str) -> None:
    transport = await ProcessTransport.spawn(child(program), grace_after=0.1)
    async with Peer(transport, "client") as peer:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await initialize(peer, {1: v1.InitializeRequest(protocol_version=1)})
        waiting = asyncio.create_task(peer.request(ASK, {}))
        await asyncio.sleep(0)
        await peer.aclose()
        with pytest.raises(ConnectionClosed):
            await waiting
    assert not is_group_alive(transport.pid)


@pytest.mark.parametrize("end", ["os._exit(5)", "asked = read()", "while True: signal.pause()"])
@pytest.mark.requirement("SAFE-LIVE-02")
async def test_a_grandchild_ends_with_its_parent_also_when_it_holds_the_pipes(end: str) -> None:
    program = f"""
{IGNORES_SIGTERM}
pid = os.fork()
while pid == 0:
    signal.pause()
say(method="_grandchild", params=pid)
asked = read()
say(id=asked["id"], result={{}})
{end}
"""
    pids: list[int] = []
    transport = await ProcessTransport.spawn(child(program), grace_after=0.1)
    peer = Peer(transport, "client")
    known = asyncio.Event()

    def note(params: Any) -> None:
        pids.append(int(bytes(params)))
        known.set()

    peer.set_handlers(methods.TABLE, notifications={"_grandchild": note})
    async with peer:
        await peer.request(ASK, {})
        await known.wait()
        if end.startswith("os"):
            await peer.wait_closed()
        else:
            await peer.aclose()
    await until(lambda: not is_alive(pids[0]))
    assert not is_alive(transport.pid)


@pytest.mark.requirement("SAFE-LIVE-02")
async def test_an_agent_that_ignores_sigterm_is_killed() -> None:
    program = IGNORES_SIGTERM + "say(method='_ready')\nwhile True: signal.pause()"
    ready = asyncio.Event()
    transport = await ProcessTransport.spawn(child(program), grace_after=0.1)
    peer = Peer(transport, "client")
    peer.set_handlers(methods.TABLE, notifications={"_ready": lambda _: ready.set()})
    async with peer:
        await ready.wait()
    reason = (await peer.wait_closed()).__cause__
    assert isinstance(reason, ProcessExited)
    assert reason.code == -signal.SIGKILL
    assert not is_group_alive(transport.pid)


@pytest.mark.parametrize("closed", ["os.close(1)", "os.close(0)", "os.close(0); os.close(1)"])
@pytest.mark.requirement("SAFE-LIVE-02")
async def test_an_agent_that_closes_its_pipes_and_lives_is_ended(closed: str) -> None:
    program = f"""
asked = read()
write(b"I am still here\\n", 2)
{closed}
while True:
    signal.pause()
"""
    transport = await ProcessTransport.spawn(child(program), grace_after=1.0)
    async with Peer(transport, "client") as peer:
        waiting = asyncio.create_task(peer.request(ASK, {}))
        while not waiting.done():
            with pytest.raises((ProcessExited, TimeoutError)):
                async with asyncio.timeout(0.05):
                    await peer.request(ASK, {})
        with pytest.raises(ProcessExited) as caught:
            await waiting
    assert caught.value.code == -signal.SIGTERM
    assert caught.value.stderr == "I am still here\n"
    assert not is_group_alive(transport.pid)


@pytest.mark.requirement("SAFE-LIVE-02")
async def test_a_gigabyte_of_stderr_is_drained_and_not_kept() -> None:
    program = """
asked = read()
piece = b"y" * (1 << 20)
for number in range(1024):
    write(piece, 2)
write(b"the end of it", 2)
say(id=asked["id"], result={})
assert read() is None
"""
    seen_bytes = 0

    def count(data: bytes) -> None:
        nonlocal seen_bytes
        seen_bytes += len(data)

    transport = await ProcessTransport.spawn(child(program), on_stderr=count)
    async with Peer(transport, "client") as peer:
        tracemalloc.start()
        assert await peer.request(ASK, {}) == {}
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak_bytes < 1_000_000
    assert seen_bytes == (1 << 30) + len("the end of it")
    assert len(transport.stderr_tail) == 16 * 1024
    assert transport.stderr_tail.endswith("ythe end of it")


CLIENT = """
import asyncio, os, sys
from parley.peer import Peer
from parley.transport import ProcessTransport

async def main():
    transport = await ProcessTransport.spawn(sys.argv[2:])
    peer = Peer(transport, "client")
    peer.start()
    print(transport.pid, flush=True)
    if sys.argv[1] == "killed":
        await peer.wait_closed()
    kept.append(peer)

kept = []
asyncio.run(main())
"""
"""Starts an agent and is killed, or forgets it."""


async def _orphan(how: str, agent: list[str]) -> int:
    """Return the process id of an agent whose client has gone."""
    client = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", CLIENT, how, *agent), stdout=asyncio.subprocess.PIPE
    )
    assert client.stdout is not None
    pid = int(await client.stdout.readline())
    if how == "killed":
        client.kill()
    await client.wait()
    return pid


async def test_an_agent_outlives_neither_a_killed_client_nor_one_that_forgets_it() -> None:
    ours = await _orphan("killed", [sys.executable, str(AGENT)])
    await until(lambda: not is_alive(ours))
    stubborn = child(IGNORES_SIGTERM + "while True: signal.pause()")
    theirs = await _orphan("forgotten", stubborn)
    await until(lambda: not is_alive(theirs))


NOISY = r"""
for number in range(2_000):
    write(b"%d INFO starting up\n" % number)
write(b"\x1b[2J\x1b[H  Welcome!\n\n* plugin loaded\r\n\xff\xfe\n")
asked = read()
write(b'\x1b]0;title\x07\x1b[0m{"jsonrpc":"2.0","id":%d,"result":{"n":1}}\n' % asked["id"])
write(b'loading...{"jsonrpc":"2.0","method":"_note","params":[1]}\n')
write(b"bye\n")
refused = 0
while (message := read()) is not None:
    if "method" in message:
        say(id=message["id"], result={"refused": refused})
    else:
        refused += message["error"]["code"] == -32700
"""
"""Writes all over its stdout, and counts how often that is refused."""


@pytest.mark.requirement("SAFE-WIRE-03")
async def test_noise_on_stdout_is_passed_over() -> None:
    notes: list[bytes] = []
    peer = Peer(await ProcessTransport.spawn(child(NOISY)), "client", skips_noise=True)
    peer.set_handlers(
        methods.TABLE, notifications={"_note": lambda params: notes.append(bytes(params))}
    )
    async with peer:
        assert await peer.request(ASK, {}) == {"n": 1}
        assert await peer.request(ASK, {}) == {"refused": 0}
    assert notes == [b"[1]"]


async def test_noise_on_stdout_is_refused_line_by_line_in_strict_mode() -> None:
    async with Peer(await ProcessTransport.spawn(child(NOISY)), "client") as peer:
        first = asyncio.create_task(peer.request(ASK, {}))
        await asyncio.sleep(0)  # it is sent
        refused = 0
        while refused < 2_006:
            refused = (await peer.request(ASK, {}))["refused"]
        assert await peer.request(ASK, {}) == {"refused": 2_006}
        assert not first.done()
        first.cancel()
