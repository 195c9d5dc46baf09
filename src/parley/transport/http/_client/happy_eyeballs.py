"""Connect a socket to a host that may have several addresses (Happy Eyeballs, RFC 8305).

A host name can resolve to several addresses, some of them unreachable, typically IPv6 ones with a
broken route. So the next address is tried when the previous attempt fails or takes longer than a
moment. The first socket that connects wins, and the other attempts are cancelled.

`loop.create_connection(happy_eyeballs_delay=…)` does the same, but abandons its attempts when it is
cancelled: they can outlive it, with open sockets, until the garbage collector finds them
(https://github.com/python/cpython/pull/128475). uvloop does not support it at all. Here every
attempt belongs to a task group, and every socket to its attempt until it is returned: when
`connect_socket` has ended, however it ended, no other socket is open and no task is left.
"""

from __future__ import annotations

import asyncio
import socket
from itertools import chain, zip_longest
from typing import Any, TypeAlias

ATTEMPT_DELAY = 0.25
"""Seconds after which the next address is tried while the previous attempt is still pending."""

AddressInfo: TypeAlias = tuple[int, int, int, str, Any]
"""A result of `socket.getaddrinfo`: family, type, protocol, canonical name, address."""


async def connect_socket(
    host: str, port: int, *, attempt_delay: float = ATTEMPT_DELAY
) -> socket.socket:
    """Connect to a host and return the non-blocking TCP socket, which the caller must close.

    Raises:
        OSError: The name cannot be resolved, or no address can be connected to.
    """
    infos = await _resolve(host, port)
    if len(infos) == 1:
        return await _attempt(infos[0])
    return await _race(_interleave(infos), attempt_delay)


async def _resolve(host: str, port: int) -> list[AddressInfo]:
    """Return the addresses of a host, in the system's order of preference."""
    try:  # a numeric address needs no resolver, and so no thread
        return list(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        )
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        return list(await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM))


def _interleave(infos: list[AddressInfo]) -> list[AddressInfo]:
    """Alternate between address families, so that the second attempt uses the other one."""
    families: dict[int, list[AddressInfo]] = {}
    for info in infos:
        families.setdefault(info[0], []).append(info)
    return [info for info in chain(*zip_longest(*families.values())) if info is not None]


async def _attempt(info: AddressInfo) -> socket.socket:
    """Connect to one address; the socket is closed unless it is returned."""
    family, kind, protocol, _, address = info
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, address)
    except BaseException:  # including cancellation: the socket is not left open
        sock.close()
        raise
    return sock


async def _race(infos: list[AddressInfo], attempt_delay: float) -> socket.socket:
    """Try the addresses, each a moment after the previous one; return the first to connect."""
    connected: list[socket.socket] = []
    errors: list[OSError] = []

    async def run(info: AddressInfo) -> None:
        try:
            connected.append(await _attempt(info))
        except OSError as error:
            errors.append(error)

    try:
        async with asyncio.TaskGroup() as group:
            pending: set[asyncio.Task[None]] = set()
            for info in infos:
                pending.add(group.create_task(run(info)))
                _, pending = await asyncio.wait(
                    pending, timeout=attempt_delay, return_when=asyncio.FIRST_COMPLETED
                )
                if connected:
                    break
            while pending and not connected:
                _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for task in pending:
                task.cancel()
    except BaseException:  # including cancellation: no socket is left open
        _close(connected)
        raise
    _close(connected[1:])
    if not connected:
        raise _summary(errors)
    return connected[0]


def _close(sockets: list[socket.socket]) -> None:
    for sock in sockets:
        sock.close()


def _summary(errors: list[OSError]) -> OSError:
    """Return one error for all attempts, which usually failed for the same reason."""
    if len({error.errno for error in errors}) == 1:
        return errors[0]
    return OSError("; ".join(dict.fromkeys(error.strerror or str(error) for error in errors)))
