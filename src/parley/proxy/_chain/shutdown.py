"""The last moments of a chain: what was asked or said before the end still reaches the client.

An agent may die in the middle of a flood. What it has said by then is on its way through the
proxies, and the errors of what it was asked are behind that. So the chain stays for a moment: until
the client has all the answers that it waits for, and nothing more comes.
"""

from __future__ import annotations

import asyncio

from parley.proxy._switch.port import Port
from parley.proxy._transports.peeked import PeekedTransport
from parley.transport._process import ProcessTransport

_WORDS_SECONDS = 2.0
"""How long the way to the client may be silent while something of a dead component is on it."""
_ALL_WORDS_SECONDS = 30.0
"""How long all that may take; a proxy may go on talking for ever."""
_QUIET_SECONDS = 0.1
"""For how long nothing has come when that was all."""
_ANSWERS_SECONDS = 10.0
"""How long a client that says no more waits for what it has asked."""
_LOOK_SECONDS = 0.02
_END_SECONDS = 0.5
"""How long components have when nobody waits for their end any more."""


async def terminate_soon(processes: list[ProcessTransport], ends: set[asyncio.Task[None]]) -> None:
    """End components that have not ended in their time, with little more of it."""
    for process in processes:
        process.terminate()
    await asyncio.wait(ends, timeout=_END_SECONDS)
    for process in processes:
        process.kill()


async def flush_pending(client: Port, opening: PeekedTransport) -> None:
    """Wait until what was said before the end has reached the client."""
    sent, seen = opening.count_sent(), -1
    silent, ends = 0.0, _now() + _ALL_WORDS_SECONDS
    while client.lost is None and _now() < ends and (client.pending or seen != sent()):
        if seen != sent():
            seen, silent = sent(), _now() + _WORDS_SECONDS
        elif _now() > silent:
            break
        await asyncio.sleep(_LOOK_SECONDS if client.pending else _QUIET_SECONDS)


async def wait_for_answers(client: Port) -> None:
    """Wait until a client that says no more has its answers; a turn is not waited for."""
    ends = _now() + _ANSWERS_SECONDS
    while client.lost is None and _now() < ends:
        if not _asks(client):
            break
        await asyncio.sleep(_LOOK_SECONDS)


def _asks(client: Port) -> bool:
    return any(call.method != "session/prompt" for call in client.pending_requests)


def _now() -> float:
    return asyncio.get_running_loop().time()
