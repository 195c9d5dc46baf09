"""The wire against the official TypeScript SDK, in both roles and both versions of the protocol.

What is said is in `wire/conversation.py`.
"""

from __future__ import annotations

import pytest

from .wire.conversation import PEERS, expected
from .wire.run import talk_to_agent, talk_to_client

both = pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])


@both
def test_our_client_understands_their_agent(version: int, node: str) -> None:
    agent = (node, str(PEERS / "typescript_agent.mjs"), str(version))
    assert talk_to_agent(agent, version) == expected(version)


@both
def test_their_client_understands_our_agent(version: int, node: str) -> None:
    client = (node, str(PEERS / "typescript_client.mjs"), str(version))
    assert talk_to_client(client, version) == expected(version)
