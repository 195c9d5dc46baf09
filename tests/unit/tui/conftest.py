"""Pictures of the screen, without addresses of fonts in them.

`--snapshot-update` makes all of them anew, after a wanted change; then look at them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from tests.unit.tui.idle import wait_for_idle
from tests.unit.tui.sample_chat import plain_svg

PLUGIN = "pytest_textual_snapshot"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is animated, and the pilot waits no longer than it must."""
    monkeypatch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
    monkeypatch.setattr("textual.app.wait_for_idle", wait_for_idle)
    monkeypatch.setattr("textual.pilot.wait_for_idle", wait_for_idle)


@pytest.fixture
def snap_compare(
    snap_compare: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., bool]:
    """Compares an app with the picture of it that was kept."""
    monkeypatch.setattr(f"{PLUGIN}.normalize_svg", plain_svg)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return snap_compare


@pytest.fixture
def kept(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> SnapshotAssertion:
    """The picture that was kept of the screen in this test."""
    monkeypatch.setattr(f"{PLUGIN}.normalize_svg", plain_svg)
    return snapshot.use_extension(importlib.import_module(PLUGIN).SVGImageExtension)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a project in it; there, paths are short and the same everywhere."""
    (tmp_path / "shop").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NO_COLOR", raising=False)
    return tmp_path
