"""A stream by itself: whatever is cut wherever, every event arrives once and in order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.transport.http._app.event_log import MemoryEventLog
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.stream_router import StreamRouter
from parley.transport.http._stream_routing import UPDATE_HEAD

from .manual_clock import ManualClock


def _router(clock: ManualClock, limits: AppLimits | None = None) -> StreamRouter:
    limits = limits or AppLimits()
    log = MemoryEventLog(limits.log_bytes, limits.log_seconds, clock.time)
    return StreamRouter(limits=limits, clock=clock, log=log, is_negotiated=True)


def _update(session: str, text: str) -> bytes:
    rest = json.dumps({"sessionUpdate": "x", "text": text}, separators=(",", ":"))
    return UPDATE_HEAD + f'{session}","update":{rest}}}}}'.encode()


def _read(data: bytes) -> list[tuple[int, str]]:
    """Return the events that are whole, each with its number and its text."""
    blocks = data.decode().split("\n\n")[:-1]
    events = [block.split("\n") for block in blocks]
    return [
        (int(event[0][4:]), json.loads(event[-1][6:])["params"]["update"]["text"])
        for event in events
    ]


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(1, 40)),
        st.tuples(st.just("long"), st.integers(1, 30_000)),
        st.tuples(st.just("other"), st.integers(1, 5)),
        st.tuples(st.just("take"), st.integers(1, 3)),
        st.tuples(st.just("cut"), st.integers(0, 20_000)),
    ),
    max_size=40,
)


class Cut:
    """A stream, and a client of it that is cut off now and then."""

    def __init__(self) -> None:
        self._router = _router(ManualClock())
        self._router.open("s", None)
        self.stream = self._router.sessions["s"]
        self.sent: list[str] = []
        self.seen: list[tuple[int, str]] = []

    def put(self, count: int) -> None:
        for _ in range(count):
            self.long(len(self.sent))

    def long(self, size: int) -> None:
        self.sent.append(f"{len(self.sent)} ".ljust(size))
        self._router.send(_update("s", self.sent[-1]))

    def other(self, count: int) -> None:
        for _ in range(count):
            self._router.send(_update("other", "x"))

    def take(self, count: int) -> None:
        for _ in range(count):
            self.seen += _read(self._piece())

    def cut(self, size: int) -> None:
        """Get a part of what was taken, and come back."""
        self.seen += _read((self._piece() + self._piece())[:size])
        self._router.open("s", self.seen[-1][0] if self.seen else 0)

    def _piece(self) -> bytes:
        piece = self.stream.take_chunk()
        self.stream.chunk_sent(len(piece))
        return piece


@pytest.mark.requirement("SAFE-LIVE-05")
@given(_STEPS)
def test_a_stream_that_is_cut_anywhere_loses_nothing_and_repeats_nothing(
    steps: list[tuple[str, int]],
) -> None:
    cut = Cut()
    for step, size in [*steps, ("take", 1000)]:
        getattr(cut, step)(size)
    assert [text for _, text in cut.seen] == cut.sent
    assert [n for n, _ in cut.seen] == sorted({n for n, _ in cut.seen})
    assert cut.stream.unsent_bytes == 0


@pytest.mark.parametrize("session", ["t", "ü", 'quo"ted', "back\\slash", 'both\\"', "line\nbreak"])
def test_an_update_goes_to_its_session_however_that_is_written(session: str) -> None:
    router = _router(ManualClock())
    for each in ("s", session) * 3:
        params: dict[str, Any] = {"sessionId": each, "update": {}}
        frame = {"jsonrpc": "2.0", "method": "session/update", "params": params}
        for ascii in (True, False):
            text = json.dumps(frame, separators=(",", ":"), ensure_ascii=ascii)
            router.send(text.encode())
    counts = {each: len(_numbers(stream.take_chunk())) for each, stream in router.sessions.items()}
    assert counts == {"s": 6, session: 6}


@pytest.mark.parametrize("id", ['""', '"\\ud83d"', "7", "null"])
def test_an_update_of_no_session_goes_to_the_connection(id: str) -> None:
    router = _router(ManualClock())
    head = UPDATE_HEAD[:-1].decode()
    router.send(f'{head}{id},"update":{{}}}}}}'.encode())
    assert not router.sessions
    assert _numbers(router.stream.take_chunk()) == [1]


def _numbers(data: bytes) -> list[int]:
    return [int(block.split(b"\n")[0][4:]) for block in data.split(b"\n\n")[:-1]]


@pytest.mark.requirement("SAFE-REACH-07")
@pytest.mark.parametrize(
    ("frame", "session"),
    [
        (b'{"jsonrpc":"2.0","method":"a","params":{"sessionId":"s"}}', "s"),
        (b'{"method":"a","params":{"_meta":{"sessionId":"t"},"sessionId":"s"}}', "s"),
        (b'{"method":"a","params":{"sessionId":"s","update":{"sessionId":"t"}}}', "s"),
        (b'{"sessionId":"t","method":"a","params":{"sessionId":"s","requestId":[]}}', "s"),
        (b'{"_meta":{"params":{"sessionId":"t"}},"method":"a"}', None),
        (b'{"method":"a","params":{"sessionId":7}}', None),
        (b'{"method":"a","params":["sessionId"]}', None),
        (b'{"method":"a","params":null}', None),
        (b"nonsense", None),
    ],
)
def test_nothing_but_its_params_says_where_a_message_belongs(
    frame: bytes, session: str | None
) -> None:
    router = _router(ManualClock())
    router.send(frame)
    stream = router.stream if session is None else router.sessions[session]
    assert list(router.sessions) == ([] if session is None else [session])
    assert frame in stream.take_chunk()


def test_forgotten_requests_of_the_agent_are_bounded() -> None:
    router = _router(ManualClock())
    for id in range(10_000):
        router.send(b'{"jsonrpc":"2.0","id":%d,"method":"a","params":{"sessionId":"s"}}' % id)
    assert router.agent_request_session(9_999) == "s"
    assert router.agent_request_session(1) is None
