"""Whole screens as pictures: any change of what they look like is seen here.

After a wanted change run this file with `--snapshot-update`, and look at the pictures.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.tui.history_app import HistoryApp
from tests.unit.tui.transcript_samples import every_update
from textual.app import App

Compare = Callable[..., bool]


class Scene(HistoryApp):
    """Shows everything at once."""

    async def on_mount(self) -> None:
        self.history.focus()
        await self.play(*every_update())


async def _unfold(pilot: object) -> None:
    app = getattr(pilot, "app", None)
    assert isinstance(app, HistoryApp)
    for block in app.history.blocks:
        app.history.fold(block, is_folded=False)


def test_everything_on_a_dark_screen_of_80_columns(snap_compare: Compare) -> None:
    assert snap_compare(Scene(), terminal_size=(80, 110))


def test_everything_on_a_light_screen_of_130_columns(snap_compare: Compare) -> None:
    assert snap_compare(Scene("parley-light"), terminal_size=(130, 100))


def test_everything_unfolded_without_colours(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app: App[None] = Scene()
    assert snap_compare(app, terminal_size=(80, 130), run_before=_unfold)
