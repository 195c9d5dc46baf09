"""The scene of the pictures: one line was changed, and another one is suggested."""

from __future__ import annotations

from tests.unit.tui.story import plain_svg

from .desk import Desk, Stub, replacing

SIZE = (80, 32)
ENGINE = Stub(replacing("debug", "info", after='info("selling', first=17))
"""Proposes what the engine without a model does after the same change."""


async def change_one(desk: Desk) -> None:
    """Do what the hint says."""
    await desk.press(*["delete"] * 5, *"info")
    await desk.until_painted("18 +     log.info")


async def svg(desk: Desk) -> str:
    """Return the screen as a picture."""
    await desk.pilot.pause()
    return plain_svg(desk.app.export_screenshot(title="parley nes demo"))
