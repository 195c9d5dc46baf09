"""Connecting to a host with several addresses: which one wins, and what is left behind: nothing."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.unit.transport.http.certificate import trusting, written

from parley.asgi_server.tls import server_tls
from parley.errors import ConnectFailed
from parley.transport.http._client.address import Address
from parley.transport.http._client.connection_pool import dial
from parley.transport.http._client.happy_eyeballs import connect_socket

NEVER = 3600.0
"""A delay that no test waits for: what happens before it has not waited."""
HOST = "several.example"


@pytest.fixture(params=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    kind: str = request.param
    if kind == "uvloop":
        uvloop = pytest.importorskip("uvloop")
        monkeypatch.setattr("tests.steady_loop.new_event_loop", uvloop.new_event_loop)
    return kind


@asynccontextmanager
async def listening(tls: ssl.SSLContext | None = None) -> AsyncGenerator[int]:
    """A server that accepts everybody; gives out its port."""
    server = await asyncio.get_running_loop().create_server(
        asyncio.Protocol, "127.0.0.1", 0, ssl=tls
    )
    port: int = server.sockets[0].getsockname()[1]
    try:
        yield port
    finally:
        server.close()


@contextmanager
def unresponsive() -> Generator[int]:
    """A port that drops whoever wants to connect, as a firewall does; gives it out."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting: list[socket.socket] = []
        try:
            for _ in range(8):  # the queue of the listener is full after one or two
                waiting.append(each := socket.socket())
                each.setblocking(False)
                each.connect_ex(listener.getsockname())
            yield listener.getsockname()[1]
        finally:
            for each in waiting:
                each.close()


def refusing() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The ports on this machine that `HOST` resolves to; to be filled by a test."""
    ports: list[int] = []
    resolve = socket.getaddrinfo

    def stand_in(host: Any, *arguments: Any, **options: Any) -> Any:
        if host != HOST:
            return resolve(host, *arguments, **options)
        kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        return [(*kind, ("127.0.0.1", port)) for port in ports]

    monkeypatch.setattr("socket.getaddrinfo", stand_in)
    return ports


def _open_files() -> set[Path]:
    """Return the descriptors that this process has open: a socket that is left is one of them."""
    return {path for path in Path("/dev/fd").iterdir() if path.is_symlink()}


async def test_the_next_address_is_tried_beside_one_that_does_not_respond(
    loop: str, addresses: list[int]
) -> None:
    with unresponsive() as silent:
        async with listening() as port:
            addresses += [silent, silent, port]
            with await connect_socket(HOST, 1, attempt_delay=0.01) as connected:
                assert connected.getpeername()[1] == port


async def test_the_next_address_is_tried_at_once_after_one_that_refuses(
    loop: str, addresses: list[int]
) -> None:
    async with listening() as port:
        addresses += [refusing(), port]
        with await connect_socket(HOST, 1, attempt_delay=NEVER) as connected:
            assert connected.getpeername()[1] == port


async def test_a_slow_attempt_wins_if_the_later_ones_fail(addresses: list[int]) -> None:
    """The moment is over before the first attempt has had a turn; nobody gives it up for that."""
    async with listening() as port:
        addresses += [port, refusing()]
        with await connect_socket(HOST, 1, attempt_delay=0) as connected:
            assert connected.getpeername()[1] == port


async def test_of_several_attempts_that_connect_one_is_kept(addresses: list[int]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        addresses += [listener.getsockname()[1]] * 3
        before = _open_files()
        with await connect_socket(HOST, 1, attempt_delay=0):
            assert len(_open_files() - before) == 1


async def test_a_host_nobody_listens_on_is_one_short_sentence(addresses: list[int]) -> None:
    addresses += [refusing(), refusing()]
    with pytest.raises(
        ConnectFailed, match=r"reached: connection refused; is the server running\?$"
    ):
        await dial(Address(f"http://{HOST}", {}))


async def test_different_reasons_are_all_named(
    addresses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses += [refusing(), 2]

    async def refuse(self: object, sock: socket.socket, address: tuple[str, int]) -> None:
        raise OSError(101, "Network is unreachable") if address[1] == 2 else OSError(111, "refused")

    monkeypatch.setattr("asyncio.selector_events.BaseSelectorEventLoop.sock_connect", refuse)
    with pytest.raises(ConnectFailed, match=r"reached: refused; Network is unreachable$"):
        await dial(Address(f"http://{HOST}", {}))


async def test_a_race_that_is_cancelled_at_any_step_leaves_nothing(
    loop: str, addresses: list[int]
) -> None:
    with unresponsive() as silent, socket.create_server(("127.0.0.1", 0)) as listener:
        addresses += [silent, refusing(), silent, listener.getsockname()[1]]
        await _cancel_at_every_step(lambda: connect_socket(HOST, 1, attempt_delay=0))


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "tls"])
async def test_dialling_that_is_cancelled_at_any_step_leaves_nothing(
    is_secure: bool, loop: str, tmp_path: Path
) -> None:
    async with listening(server_tls(*written(tmp_path)) if is_secure else None) as port:
        scheme = "https" if is_secure else "http"
        address = Address(f"{scheme}://127.0.0.1:{port}", {"tls": trusting()})
        await _cancel_at_every_step(lambda: dial(address))


Connect: TypeAlias = Callable[[], Coroutine[Any, Any, socket.socket | asyncio.Transport]]


async def _cancel_at_every_step(connect: Connect) -> None:
    """Cancel one turn of the event loop later each time, until a connect is faster than that."""
    before, turns = _open_files(), 0
    while not await _is_done_in(turns, connect):
        await _until_nothing_is_left(before, f"cancelled after {turns} turns")
        turns += 1
    assert turns > 2, "there was something to cancel"
    await _until_nothing_is_left(before, "connected and closed")


async def _is_done_in(turns: int, connect: Connect) -> bool:
    """Connect, and close that or, if it takes more turns of the event loop, cancel it."""
    connecting = asyncio.create_task(connect())
    for _ in range(turns):
        await asyncio.sleep(0)
    if connecting.done():
        connecting.result().close()
        return True
    connecting.cancel()
    await asyncio.wait([connecting])
    assert connecting.cancelled(), "it says that it was cancelled"
    return False


async def _until_nothing_is_left(before: set[Path], when: str) -> None:
    """Wait until no socket and no task is left: closing takes both ends a few turns."""
    try:
        async with asyncio.timeout(300):
            while not (_open_files() <= before and len(asyncio.all_tasks()) == 1):  # noqa: ASYNC110
                await asyncio.sleep(0)
    except TimeoutError:
        left = _open_files() - before
        pytest.fail(f"{when}: left are {left} and of {asyncio.all_tasks()} all but us")
