"""A recording as a client: drives an agent and reports what differs."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from parley._display_text import sanitize_text
from parley.errors import ConnectFailed, ConnectionClosed, ProcessExited
from parley.recording import RecordedEvent, RecordedLine
from parley.recording._replay.client import ClientReplay
from parley.recording._replay.comparison import Comparison, Difference, compare
from parley.recording._replay.loading import LoadedRecording
from parley.rpc._framing import Frame
from parley.transport._base import Transport
from parley.transport._target import open_target

from .flags import remote
from .json_output import print_json
from .paint import painted
from .reporting import Exit, Failure, say, write_agent_stderr
from .targets import Resolved, resolve

__all__ = ["replay_client"]

_LINGER = 1.0
"""How many seconds the last updates may take after the last response."""
_MAX_VALUE = 300
"""How many characters of a value are shown."""


def replay_client(recording: LoadedRecording, arguments: argparse.Namespace) -> int:
    """Drive an agent with the recorded client, and print what differs."""
    if not any(
        isinstance(each, RecordedLine) and each.source == "client" for each in recording.items
    ):
        raise Failure(f"{recording.name} has nothing that a client sent", Exit.USAGE)
    command: list[str] = arguments.after_dashes
    found = Resolved(target=command) if command else resolve(arguments.agent)
    agent = found.merged(inherit=arguments.inherit, remote=remote(arguments))
    try:
        comparison = asyncio.run(_drive(recording, agent, arguments))
    except ConnectFailed as error:
        raise Failure(str(error), Exit.DIED) from error
    if arguments.json:
        _print_json(recording, agent, comparison)
    else:
        _print_text(recording, comparison)
    return Exit.FAILED if comparison.differences else Exit.DONE


async def _drive(
    recording: LoadedRecording, agent: Resolved, arguments: argparse.Namespace
) -> Comparison:
    options = agent.target_options
    options["on_stderr"] = write_agent_stderr if arguments.verbose else lambda _: None
    async with open_target(agent.target, **options) as transport:
        driver = _Driver(recording, transport, arguments.speed)
        await driver.run(arguments.timeout)
        await transport.aclose()
        return compare(recording.items, driver.items)


class _Driver:
    """One run of the recorded client; it keeps what passes, as a recording does."""

    def __init__(
        self, recording: LoadedRecording, transport: Transport, speed: float | None
    ) -> None:
        self.items: list[RecordedLine | RecordedEvent] = []
        self._replay = ClientReplay(recording.items, speed=speed)
        self._transport = transport
        self._expected = _count_agent_lines(recording.items)
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._news = asyncio.Event()
        self._lost: ConnectionClosed | None = None
        self._is_closed = False

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Take what the agent has sent."""
        for frame in frames:
            line = bytes(frame)
            self.items.append(RecordedLine(self._at(), "agent", line))
            self._replay.receive(line, self._loop.time())
        self._news.set()

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Record the exit of an agent that ended by itself."""
        self._lost = reason
        if not self._is_closed and isinstance(reason, ProcessExited):
            self.items.append(_exit_event(self._at(), reason.code))
        self._news.set()

    async def run(self, patience: float) -> None:
        """Send everything, and wait for the responses, up to this long for each of them."""
        self._transport.start(self)
        while self._lost is None and not self._replay.is_done:
            self._send()
            at = self._replay.next_at()
            wait = patience if at is None else max(0.0, at - self._loop.time())
            if not await self._wait(wait) and at is None:
                self._report_silence(patience)
                break
        deadline = self._loop.time() + _LINGER
        while self._lost is None and _count_agent_lines(self.items) < self._expected:
            if not await self._wait(deadline - self._loop.time()):
                break
        self._is_closed = True
        self.items.append(RecordedEvent(at=self._at(), event="closed", source="client"))

    def _send(self) -> None:
        for line in self._replay.lines(self._loop.time()):
            self.items.append(RecordedLine(self._at(), "client", line))
            with suppress(ConnectionClosed):  # `connection_lost` reports it
                self._transport.send(line)

    async def _wait(self, seconds: float) -> bool:
        """Wait until something comes; return whether it did."""
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True

    def _report_silence(self, patience: float) -> None:
        methods = ", ".join(self._replay.waits_for) or "a message"
        say(f"parley replay: the agent sent nothing for {patience:g} seconds; missing: {methods}")

    def _at(self) -> float:
        return round(self._loop.time() - self._began, 6)


def _count_agent_lines(items: Sequence[RecordedLine | RecordedEvent]) -> int:
    return sum(isinstance(each, RecordedLine) and each.source == "agent" for each in items)


def _exit_event(at: float, code: int) -> RecordedEvent:
    if code >= 0:
        return RecordedEvent(at=at, event="exited", code=code)
    return RecordedEvent(at=at, event="exited", signal=signal.Signals(-code).name)


def _print_json(recording: LoadedRecording, agent: Resolved, comparison: Comparison) -> None:
    print_json(
        {
            "recording": recording.name,
            "agent": agent.command,
            "differences": msgspec.to_builtins(comparison.differences),
            "timing": msgspec.to_builtins(comparison.timing),
        }
    )


def _print_text(recording: LoadedRecording, comparison: Comparison) -> None:
    count = len(comparison.differences)
    name = sanitize_text(recording.name, is_line=True)
    if count == 0:
        print(f"Nothing differs from {name}.")
    else:
        print(f"{count} difference{'s' * (count != 1)} from {name}:")
    for difference in comparison.differences:
        _print_difference(difference)
    if comparison.timing:
        print("\nAverage time until the response, recorded and now:")
    for timing in comparison.timing:
        times = f"{timing.recorded:8.3f} s  {timing.live:8.3f} s"
        print(f"  {times}  {sanitize_text(timing.method, is_line=True)}")


def _print_difference(difference: Difference) -> None:
    where = sanitize_text(difference.where, is_line=True)
    what = sanitize_text(difference.what, is_line=True)
    print(f"\n{painted(where, 'bold')}: {what}")
    for sign, value, colour in (
        ("-", difference.recorded, "red"),
        ("+", difference.live, "green"),
    ):
        print(painted(f"  {sign} {_shown(value)}", colour))


def _shown(value: Any) -> str:
    """Return a value on one line; of a long one its beginning."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = sanitize_text(text.replace("\n", "⏎"), is_line=True)
    return line if len(line) <= _MAX_VALUE else f"{line[:_MAX_VALUE]}… ({len(line)} characters)"
