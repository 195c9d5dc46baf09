"""What the tests of commands share."""

from __future__ import annotations

import pytest

from .command_line import CommandLine


@pytest.fixture
def parley(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """Return what runs `parley` in this process."""
    return CommandLine(capsys, monkeypatch)
