"""Three built-in proxies between the official SDKs' clients and agents: neither side sees them.

What is said is in `wire/conversation.py`; tool calls, a permission and a cancel are part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.peers import NEXT_PYTHON_SDK, PYTHON_SDK, PYTHON_SDKS, TYPESCRIPT, Peer, find_node

from parley.journal import SqliteJournal

from .chain import conducted, either_way
from .wire.conversation import FLOOD, PEERS, expected, known_to_python
from .wire.run import talk_to_client

PYTHON = {1: "", 2: "_v2"}


def is_logged(folder: Path) -> bool:
    """Tell whether the first of the proxies has heard the conversation."""
    (record,) = SqliteJournal(folder / "journal.db").list()
    return record.entries > FLOOD


@either_way
@pytest.mark.parametrize("version", [1, 2], ids=["v1", "v2"])
@pytest.mark.requirement("TR-PRX-09", "TR-PRX-21", "TR-PRX-22")
def test_typescripts_client_and_agent(
    version: int, way: str, find_peer: Callable[[Peer], Path], tmp_path: Path
) -> None:
    find_peer(TYPESCRIPT)
    client, agent = (
        [find_node(), str(PEERS / f"typescript_{role}.mjs"), str(version)]
        for role in ("client", "agent")
    )
    report = talk_to_client(client, version, conducted(way, tmp_path, agent))
    assert report == expected(version)
    assert is_logged(tmp_path)


@either_way
@pytest.mark.parametrize(
    ("sdk", "version"),
    [(PYTHON_SDK, 1), (NEXT_PYTHON_SDK, 1), (NEXT_PYTHON_SDK, 2)],
    ids=lambda value: f"v{value}" if isinstance(value, int) else value,
)
@pytest.mark.requirement("TR-PRX-09", "TR-PRX-21", "TR-PRX-22")
def test_pythons_client_and_agent(
    sdk: str, version: int, way: str, find_peer: Callable[[Peer], Path], tmp_path: Path
) -> None:
    client, agent = (
        [str(find_peer(PYTHON_SDKS[sdk])), str(PEERS / f"python_{role}{PYTHON[version]}.py")]
        for role in ("client", "agent")
    )
    if sdk == PYTHON_SDK:
        client.append("--no-withdrawal")
    report = talk_to_client(client, version, conducted(way, tmp_path, agent))
    seen, wanted = (known_to_python(sdk, version, each) for each in (report, expected(version)))
    assert seen == wanted
    assert is_logged(tmp_path)
