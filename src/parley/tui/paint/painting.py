"""Colours of the screen, and the last look at what is painted.

A `Look` is every style that a block paints with; there is one for dark screens, one for light ones
and one without colours. The themes give the same colours to Textual's own widgets. `Guard` is the
last filter before the terminal: blocks make text inert themselves, and what was forgotten
somewhere ends there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme
from textual.widget import Widget

__all__ = [
    "ANSI_DARK",
    "ANSI_LIGHT",
    "DARK",
    "LIGHT",
    "PLAIN",
    "THEMES",
    "Guard",
    "Look",
    "look_of",
]

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Guard(LineFilter):
    """Delete control characters and links from everything that is painted.

    Such a character takes no cell, so nothing moves when it is gone. A link would be written to the
    terminal with its address as it is.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return segments that no terminal obeys."""
        return [
            segment
            if not _CONTROL.search(segment.text) and not (segment.style and segment.style.link)
            else Segment(
                _CONTROL.sub("", segment.text), segment.style and segment.style.update_link(None)
            )
            for segment in segments
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Every style that a block paints with."""

    has_colours: bool
    faint: Style
    """What is less important than text."""
    strong: Style
    accent: Style
    """Marks, and what is going on now."""
    good: Style
    bad: Style
    warning: Style
    heading: Style
    code: Style
    """Code within a sentence."""
    fence: Style
    """The ground of a block of code."""
    link: Style
    quote: Style
    user: Style
    """What the user has said."""
    added: Style
    """The ground of a line that a diff adds."""
    removed: Style
    match: Style
    """Words that were searched for."""
    syntax: Mapping[str, Style]
    """The colours of code, by what it is made of: `Keyword`, `Name.Function`."""


NONE = Style.null()


# Grounds are nearly grey: where a terminal has 256 colours, a tint of dark blue becomes navy.


def _dark() -> Look:
    return Look(
        has_colours=True,
        faint=Style(color="#8b93a1"),
        strong=Style(bold=True),
        accent=Style(color="#7aa2f7"),
        good=Style(color="#7fc97f"),
        bad=Style(color="#f2777a"),
        warning=Style(color="#e6b450"),
        heading=Style(color="#8fb8ff", bold=True),
        code=Style(color="#e0c58f", bgcolor="#292d34"),
        fence=Style(bgcolor="#20242a"),
        link=Style(color="#6fc3df", underline=True),
        quote=Style(color="#a8b0bd", italic=True),
        user=Style(bgcolor="#2b3039"),
        added=Style(bgcolor="#16301f"),
        removed=Style(bgcolor="#3a1c20"),
        match=Style(color="#10141b", bgcolor="#e6b450"),
        syntax={
            "Keyword": Style(color="#c792ea"),
            "Name.Function": Style(color="#82aaff"),
            "Name.Class": Style(color="#82aaff"),
            "Name.Tag": Style(color="#f2777a"),
            "Name.Decorator": Style(color="#e6b450"),
            "Name.Builtin": Style(color="#6fc3df"),
            "Literal.String": Style(color="#a5d6a7"),
            "Literal.Number": Style(color="#f2a97a"),
            "Comment": Style(color="#7a8494", italic=True),
            "Operator.Word": Style(color="#c792ea"),
            "Generic.Deleted": Style(color="#f2777a"),
            "Generic.Inserted": Style(color="#7fc97f"),
        },
    )


def _light() -> Look:
    return Look(
        has_colours=True,
        faint=Style(color="#636b78"),
        strong=Style(bold=True),
        accent=Style(color="#2456c4"),
        good=Style(color="#1d7a32"),
        bad=Style(color="#b3261e"),
        warning=Style(color="#8a5a00"),
        heading=Style(color="#1f4aa8", bold=True),
        code=Style(color="#7a4b00", bgcolor="#ececea"),
        fence=Style(bgcolor="#f2f3f3"),
        link=Style(color="#0b6b8a", underline=True),
        quote=Style(color="#565e6b", italic=True),
        user=Style(bgcolor="#e6e8ea"),
        added=Style(bgcolor="#dcf3e1"),
        removed=Style(bgcolor="#fbe1e1"),
        match=Style(color="#ffffff", bgcolor="#8a5a00"),
        syntax={
            "Keyword": Style(color="#7b2fb5"),
            "Name.Function": Style(color="#1f4aa8"),
            "Name.Class": Style(color="#1f4aa8"),
            "Name.Tag": Style(color="#b3261e"),
            "Name.Decorator": Style(color="#8a5a00"),
            "Name.Builtin": Style(color="#0b6b8a"),
            "Literal.String": Style(color="#1d7a32"),
            "Literal.Number": Style(color="#a34a10"),
            "Comment": Style(color="#6b7280", italic=True),
            "Operator.Word": Style(color="#7b2fb5"),
            "Generic.Deleted": Style(color="#b3261e"),
            "Generic.Inserted": Style(color="#1d7a32"),
        },
    )


DARK = _dark()
LIGHT = _light()
PLAIN = Look(
    has_colours=False,
    faint=Style(dim=True),
    strong=Style(bold=True),
    accent=Style(bold=True),
    good=NONE,
    bad=Style(bold=True),
    warning=Style(bold=True),
    heading=Style(bold=True, underline=True),
    code=Style(bold=True),
    fence=NONE,
    link=Style(underline=True),
    quote=Style(italic=True),
    user=Style(bold=True),
    added=NONE,
    removed=NONE,
    match=Style(reverse=True),
    syntax={},
)

THEMES = (
    Theme(
        name="parley-dark",
        primary="#7aa2f7",
        secondary="#6fc3df",
        accent="#e6b450",
        foreground="#d7dce4",
        background="#14181f",
        surface="#1a1f27",
        panel="#262a31",
        success="#7fc97f",
        warning="#e6b450",
        error="#f2777a",
        dark=True,
    ),
    Theme(
        name="parley-light",
        primary="#2456c4",
        secondary="#0b6b8a",
        accent="#8a5a00",
        foreground="#1c2129",
        background="#fdfdfc",
        surface="#f4f5f7",
        panel="#e7e8ea",
        success="#1d7a32",
        warning="#8a5a00",
        error="#b3261e",
        dark=False,
    ),
)
"""Parley's themes for Textual, dark and light."""


def _sixteen(ground: str, text: str, *colours: str) -> TerminalTheme:
    """Return what the sixteen colours look like that programs ask for: eight, and eight bright."""
    plain = [Color.parse(each).rgb for each in (ground, text, *colours)]
    return TerminalTheme(plain[0], plain[1], plain[2:10], plain[10:])


ANSI_DARK = _sixteen(
    *("#14181f", "#d7dce4"),
    *("#5a6372", "#f2777a", "#7fc97f", "#e6b450", "#7aa2f7", "#c792ea", "#6fc3df", "#d7dce4"),
    *("#8b93a1", "#ff9a9c", "#a5e0a5", "#ffd27a", "#a3c0ff", "#dcb4f5", "#96d9ee", "#ffffff"),
)
ANSI_LIGHT = _sixteen(
    *("#fdfdfc", "#1c2129"),
    *("#1c2129", "#b3261e", "#1d7a32", "#8a5a00", "#2456c4", "#7b2fb5", "#0b6b8a", "#8b93a1"),
    *("#636b78", "#d03a30", "#2a9a45", "#a87000", "#3f74e0", "#9a4fd4", "#1288ad", "#c5cad3"),
)


def look_of(shown: App[Any] | Widget) -> Look:
    """Return the look of an app, or of a widget's: by its theme, without colours where wanted."""
    # Textual does not say what the app of a widget is.
    app: App[Any] = shown if isinstance(shown, App) else shown.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if app.no_color:
        return PLAIN
    return DARK if app.current_theme.dark else LIGHT
