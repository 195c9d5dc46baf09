"""The wire against the official Python SDK, in both roles: 0.12.1, and 1.0.0rc3 in both versions.

What is said is in `wire/conversation.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers import NEXT_PYTHON_SDK, PYTHON_SDK, PYTHON_SDKS, Peer

from .wire.conversation import PEERS, expected, known_to_python
from .wire.run import talk_to_agent, talk_to_client

both = pytest.mark.parametrize(
    ("sdk", "version"),
    [(PYTHON_SDK, 1), (NEXT_PYTHON_SDK, 1), (NEXT_PYTHON_SDK, 2)],
    ids=lambda value: f"v{value}" if isinstance(value, int) else value,
)
PROGRAMS = {
    1: ("python_agent.py", "python_client.py"),
    2: ("python_agent_v2.py", "python_client_v2.py"),
}


@both
def test_our_client_understands_their_agent(
    sdk: str, version: int, find_peer: Callable[[Peer], Path]
) -> None:
    agent = (str(find_peer(PYTHON_SDKS[sdk])), str(PEERS / PROGRAMS[version][0]))
    report = talk_to_agent(agent, version, withdraws=sdk != PYTHON_SDK)
    assert known_to_python(sdk, version, report) == known_to_python(sdk, version, expected(version))


@both
def test_their_client_understands_our_agent(
    sdk: str, version: int, find_peer: Callable[[Peer], Path]
) -> None:
    client = [str(find_peer(PYTHON_SDKS[sdk])), str(PEERS / PROGRAMS[version][1])]
    if sdk == PYTHON_SDK:
        client.append("--no-withdrawal")
    report = talk_to_client(client, version)
    assert known_to_python(sdk, version, report) == known_to_python(sdk, version, expected(version))
