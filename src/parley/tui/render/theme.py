"""The styles of the screen, and the last filter before the terminal.

A `Theme` has every style that a block paints with; there is one for dark screens, one for light
ones and one without colours. `THEMES` gives the same colours to Textual's own widgets. Blocks make
text inert themselves; `ControlFilter` removes what was missed.
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
from textual.theme import Theme as TextualTheme
from textual.widget import Widget

__all__ = [
    "ANSI_DARK",
    "ANSI_LIGHT",
    "DARK",
    "LIGHT",
    "PLAIN",
    "THEMES",
    "ControlFilter",
    "TextualTheme",
    "theme_of",
]

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class ControlFilter(LineFilter):
    """Removes control characters and links from everything that is painted.

    Such a character takes no cell, so nothing moves when it is gone. A link would be written to the
    terminal with its address as it is.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return segments that a terminal shows but does not interpret."""
        return [
            segment
            if not _CONTROL.search(segment.text) and not (segment.style and segment.style.link)
            else Segment(
                _CONTROL.sub("", segment.text), segment.style and segment.style.update_link(None)
            )
            for segment in segments
        ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Theme:
    """The styles that blocks are painted with."""

    has_colours: bool
    faint: Style
    """Text of minor importance."""
    strong: Style
    accent: Style
    """Marks, and work in progress."""
    good: Style
    bad: Style
    warning: Style
    heading: Style
    code: Style
    """Code within a sentence."""
    fence: Style
    """The background of a code block."""
    link: Style
    quote: Style
    user: Style
    """The background of user messages."""
    added: Style
    """The background of a line that a diff adds."""
    removed: Style
    match: Style
    """Search results."""
    syntax: Mapping[str, Style]
    """The styles of code by token kind, such as `Keyword` or `Name.Function`."""


NONE = Style.null()


# Backgrounds are nearly grey: with 256 colours, a dark blue tint would become navy.


@dataclass(frozen=True, kw_only=True, slots=True)
class _Palette:
    """The colours of a theme; a ground is a background."""

    faint: str
    accent: str
    good: str
    bad: str
    warning: str
    heading: str
    code: str
    code_ground: str
    fence_ground: str
    link: str
    quote: str
    user_ground: str
    added_ground: str
    removed_ground: str
    match: str
    keyword: str
    function: str
    string: str
    number: str
    comment: str


def _make_theme(palette: _Palette) -> Theme:
    keyword, function = Style(color=palette.keyword), Style(color=palette.function)
    good, bad, warning = (
        Style(color=each) for each in (palette.good, palette.bad, palette.warning)
    )
    return Theme(
        has_colours=True,
        faint=Style(color=palette.faint),
        strong=Style(bold=True),
        accent=Style(color=palette.accent),
        good=good,
        bad=bad,
        warning=warning,
        heading=Style(color=palette.heading, bold=True),
        code=Style(color=palette.code, bgcolor=palette.code_ground),
        fence=Style(bgcolor=palette.fence_ground),
        link=Style(color=palette.link, underline=True),
        quote=Style(color=palette.quote, italic=True),
        user=Style(bgcolor=palette.user_ground),
        added=Style(bgcolor=palette.added_ground),
        removed=Style(bgcolor=palette.removed_ground),
        match=Style(color=palette.match, bgcolor=palette.warning),
        syntax={
            "Keyword": keyword,
            "Name.Function": function,
            "Name.Class": function,
            "Name.Tag": bad,
            "Name.Decorator": warning,
            "Name.Builtin": Style(color=palette.link),
            "Literal.String": Style(color=palette.string),
            "Literal.Number": Style(color=palette.number),
            "Comment": Style(color=palette.comment, italic=True),
            "Operator.Word": keyword,
            "Generic.Deleted": bad,
            "Generic.Inserted": good,
        },
    )


DARK = _make_theme(
    _Palette(
        faint="#8b93a1",
        accent="#7aa2f7",
        good="#7fc97f",
        bad="#f2777a",
        warning="#e6b450",
        heading="#8fb8ff",
        code="#e0c58f",
        code_ground="#292d34",
        fence_ground="#20242a",
        link="#6fc3df",
        quote="#a8b0bd",
        user_ground="#2b3039",
        added_ground="#16301f",
        removed_ground="#3a1c20",
        match="#10141b",
        keyword="#c792ea",
        function="#82aaff",
        string="#a5d6a7",
        number="#f2a97a",
        comment="#7a8494",
    )
)
LIGHT = _make_theme(
    _Palette(
        faint="#636b78",
        accent="#2456c4",
        good="#1d7a32",
        bad="#b3261e",
        warning="#8a5a00",
        heading="#1f4aa8",
        code="#7a4b00",
        code_ground="#ececea",
        fence_ground="#f2f3f3",
        link="#0b6b8a",
        quote="#565e6b",
        user_ground="#e6e8ea",
        added_ground="#dcf3e1",
        removed_ground="#fbe1e1",
        match="#ffffff",
        keyword="#7b2fb5",
        function="#1f4aa8",
        string="#1d7a32",
        number="#a34a10",
        comment="#6b7280",
    )
)
PLAIN = Theme(
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
    TextualTheme(
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
    TextualTheme(
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
    """Return the sixteen colours of terminal programs: eight normal and eight bright ones."""
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


def theme_of(shown: App[Any] | Widget) -> Theme:
    """Return the styles for an app or a widget; without colours if the user wants none."""
    # Textual leaves the type of a widget's app open.
    app: App[Any] = shown if isinstance(shown, App) else shown.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if app.no_color:
        return PLAIN
    return DARK if app.current_theme.dark else LIGHT
