"""The editor as in the pictures: one line was changed, and another one is suggested."""

from __future__ import annotations

from tests.unit.tui.sample_chat import plain_svg

from .editor_session import EditorSession, Stub, replacing

SIZE = (80, 32)
ENGINE = Stub(replacing("debug", "info", after='info("selling', first=17))
"""Proposes what the engine without a model does after the same change."""


async def change_one(desk: EditorSession) -> None:
    """Do what the hint says."""
    await desk.press(*["delete"] * 5, *"info")
    await desk.until_painted("18 +     log.info")


async def svg(desk: EditorSession) -> str:
    """Return the screen as a picture."""
    await desk.pilot.pause()
    return plain_svg(desk.app.export_screenshot(title="parley nes demo"))
