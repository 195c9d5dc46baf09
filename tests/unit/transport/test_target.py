from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from parley.errors import ConnectFailed
from parley.transport import MemoryTransport, ProcessTransport, Transport, memory_pair
from parley.transport._target import is_on_other_host, open_target, target_identity

from .recorder import Recorder


class Echo:
    """An agent that sends everything back, until it is told to fail."""

    def __init__(self) -> None:
        self.ended: BaseException | None = None

    async def serve(self, transport: Transport) -> None:
        recorder = Recorder()
        transport.start(recorder)
        try:
            for number in range(1000):
                frame = (await recorder.until_frames(number + 1))[number]
                if frame == b"fail":
                    raise RuntimeError("as told")
                transport.send(bytes(frame))
        except BaseException as error:
            self.ended = error
            raise


async def test_an_agent_object_is_served_in_this_process() -> None:
    agent = Echo()
    async with open_target(agent) as transport:
        recorder = Recorder()
        transport.start(recorder)
        transport.send(b"hello")
        assert await recorder.until_frames(1) == [b"hello"]
    assert isinstance(agent.ended, asyncio.CancelledError)


async def test_an_agent_object_that_fails_ends_its_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_target(Echo()) as transport:
        recorder = Recorder()
        transport.start(recorder)
        transport.send(b"fail")
        assert "the peer closed" in await recorder.until_lost()
    assert "the agent in this process failed" in caplog.text
    assert "as told" in caplog.text


CAT = "import sys\nfor line in sys.stdin: sys.stdout.write(line); sys.stdout.flush()"


async def test_a_list_is_a_command_and_ends_with_the_block(tmp_path: Path) -> None:
    async with open_target([sys.executable, "-c", CAT], cwd=tmp_path) as transport:
        assert isinstance(transport, ProcessTransport)
        recorder = Recorder()
        transport.start(recorder)
        transport.send(b'{"x":1}')
        assert await recorder.until_frames(1) == [b'{"x":1}']
    assert "exited with code 0" in await recorder.until_lost()


async def test_a_string_is_split_as_a_shell_would_and_no_shell_sees_it(tmp_path: Path) -> None:
    script = tmp_path / "a b.py"
    script.write_text("import sys\nprint(sys.argv[1:], flush=True)\nsys.stdin.read()")
    line = f"{sys.executable} '{script}' \"two words\" '$HOME' ';'"
    async with open_target(line) as transport:
        recorder = Recorder()
        transport.start(recorder)
        (output,) = await recorder.until_frames(1)
        assert bytes(output) == b"['two words', '$HOME', ';']"


async def test_a_transport_is_used_as_it_is_and_closed() -> None:
    local, remote = memory_pair()
    recorder = Recorder()
    remote.start(recorder)
    async with open_target(local) as transport:
        assert isinstance(transport, MemoryTransport)
    assert "the peer closed" in await recorder.until_lost()


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("ftp://example.org/acp", "ftp:// is not supported"),
        ("unix:///run/agent", "unix:// is not supported"),
        ("", "empty"),
        ([], "empty"),
        ("agent 'unfinished", "no closing quotation"),
        ("no-such-program-at-all", "was not found"),
        (42, "cannot connect to int"),
    ],
)
async def test_what_cannot_be_reached_says_why(target: object, why: str) -> None:
    with pytest.raises(ConnectFailed, match=why):
        async with open_target(target):  # type: ignore[arg-type]
            pass


@pytest.mark.parametrize(
    ("target", "is_there"),
    [
        ("parley demo", False),
        ("http://127.0.0.1:7400/acp", False),
        ("ws://localhost/acp", False),
        ("wss://[::1]:7400/acp", False),
        ("https://agents.example.com/acp", True),
        ("ws://192.0.2.7/acp", True),
        ("WSS://AGENTS.EXAMPLE.COM", True),
        ("http://[nonsense/acp", True),
    ],
)
def test_an_address_of_this_machine_is_not_elsewhere(target: str, is_there: bool) -> None:
    assert is_on_other_host(target) is is_there


def test_an_agent_is_identified_by_how_it_is_reached_and_by_nothing_that_it_says() -> None:
    command = target_identity("agent --acp")
    assert command == target_identity(["agent", "--acp"])
    assert command != target_identity(["agent", "--acp", "x"])
    assert command != target_identity("agent --acp", "configured")
    assert target_identity("ws://h:1/a") != target_identity("ws://h:2/a")
    assert target_identity("ws://h/?token=secret").isalnum(), "a digest tells no secret"
    assert target_identity(Echo()) == "", "nothing tells one object from another program's"
