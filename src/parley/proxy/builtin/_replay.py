"""`replay`: a recorded session is played in place of the agent, which is never spoken to.

The proxies before it see what they saw then, so a chain can be tried without a model. It may also
stand where the agent does. How a record is played is in `parley.proxy._recording.replay`.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from parley._argtypes import positive_float
from parley.errors import ConfigError
from parley.proxy._chain.terminating import TerminatingProxy
from parley.proxy._recording.replay import Replay
from parley.proxy._transports.peeked import PeekedTransport
from parley.transport._base import Transport
from parley.transport._target import Target


class _Replayed(TerminatingProxy):
    """Plays a record to each client."""

    def __init__(self, played: Replay) -> None:
        super().__init__("replay", is_agent=True)
        self._played = played

    async def serve(self, transport: Transport, *, agent: Target | None = None) -> None:
        """Serve one connection until it ends: as a proxy, or as the agent that it stands for."""
        opening = PeekedTransport(transport)
        first = await opening.first()
        if first is not None and first.method == "initialize" and agent is None:
            await self._played.serve(opening)
        else:
            await super().serve(opening, agent=agent)

    async def join(self, client: Transport, agent: Transport) -> None:
        """Play until the client is gone."""
        try:
            await self._played.serve(client)
        finally:
            await agent.aclose()


def replay(path: str | Path, *, speed: float | None = None, acts: bool = False) -> TerminatingProxy:
    """Return a component that plays a record.

    Args:
        path: What `record` wrote, or `parley sessions export`, or a recorder of `parley.testing`.
        speed: How fast: 1 as it was, 2 twice as fast; None: it never waits.
        acts: Whether the agent's requests are sent again: files, terminals, extensions.

    Raises:
        ConfigError: The file cannot be played.
        ValueError: The speed is not above zero.
    """
    if speed is not None and speed <= 0:
        raise ValueError("the speed of a replay is above zero")
    file = Path(path).expanduser()
    try:
        played = Replay.load(file, speed=speed, acts=acts)
    except OSError as error:
        raise ConfigError(f"{file}: it cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigError(f"{file}: it cannot be played: {error}") from error
    return _Replayed(played)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("file", metavar="FILE", help="what record has written")
    parser.add_argument("--speed", type=positive_float, metavar="N", help="1: as fast as it was")
    parser.add_argument(
        "--acts", action="store_true", help="have the client write and run again, too"
    )


def from_options(options: Namespace) -> TerminatingProxy:
    """Return the component that parsed options describe."""
    return replay(options.file, speed=options.speed, acts=options.acts)
