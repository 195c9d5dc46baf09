"""A desk with an agent and a model; nothing that was started there may outlive its test."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from tests.peers import Peer

from .headless import Desk, until
from .launch import Kind
from .model import Model, serve_model


@pytest.fixture
def model() -> Generator[Model]:
    with serve_model() as model:
        yield model


@pytest.fixture
def desk(
    kind: Kind, find_peer: Callable[[Peer], Path], tmp_path: Path, model: Model
) -> Generator[Desk]:
    """The desk of a user who has configured the agent of the test."""
    program = find_peer(kind.peer)
    desk = Desk(kind, kind.launch(program, tmp_path / "home", model.url), tmp_path, model)
    try:
        yield desk
        until(lambda: not desk.alive(), "everything has ended", 15.0)
    finally:
        left = desk.clear()
    assert not left
