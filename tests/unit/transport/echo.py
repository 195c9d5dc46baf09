"""A program on `StdioTransport` that echoes frames and, on request, prints to its stdout.

The arguments name what it does besides: before the transport is made, at each frame, or at its end.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from parley.errors import ConnectionClosed
from parley.rpc._framing import Frame
from parley.transport import StdioTransport


def _read_stdin_in_a_child() -> None:
    eaten = subprocess.run(["cat"], stdout=subprocess.PIPE, check=True).stdout
    assert eaten == b"", "a child has eaten from the conversation"


def _use_all_names_of_stdout() -> None:
    for stream in (sys.stdout, sys.__stdout__):
        assert stream is not None
        stream.write("stray\n")
        stream.flush()


DEEDS: dict[str, Callable[[], object]] = {
    "print": lambda: print("stray", flush=True),  # noqa: T201 - it is the point
    "print-without-flush": lambda: print("stray"),  # noqa: T201 - it is the point
    "write-to-1": lambda: os.write(1, b"stray\n"),
    "write-to-2": lambda: os.write(2, b"stray\n"),
    "streams": _use_all_names_of_stdout,
    "system": lambda: os.system("echo stray"),  # pyright: ignore[reportDeprecated]
    "child-reads-stdin": _read_stdin_in_a_child,
    "read-stdin": lambda: sys.stdin.read(),
}


class Echo:
    def __init__(self, transport: StdioTransport, deeds: Sequence[str]) -> None:
        self.closed = asyncio.Event()
        self._transport = transport
        self._deeds = deeds

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            for deed in self._deeds:
                DEEDS[deed]()
            self._transport.send(bytes(frame))

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        self.closed.set()


async def main(deeds: list[str]) -> None:
    if "early" in deeds:
        print("stray")  # noqa: T201 - it is the point
    if "late" in deeds:
        atexit.register(print, "stray")
    transport = StdioTransport()
    echo = Echo(transport, [deed for deed in deeds if deed in DEEDS])
    transport.start(echo)
    await echo.closed.wait()
    await transport.aclose()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
