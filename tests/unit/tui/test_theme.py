"""The last filter, the themes, and how lines are broken."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from tests.unit.tui.history_app import HistoryApp
from tests.unit.tui.transcript_samples import every_update
from textual.app import ComposeResult
from textual.color import Color
from textual.content import Content
from textual.theme import Theme as TextualTheme
from textual.widgets import Static

from parley.tui.render.lines import Run, chop, clip, strips, wrap
from parley.tui.render.theme import DARK, LIGHT, PLAIN, THEMES, ControlFilter, Theme, theme_of

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
NONE = Style.null()
BLACK = Color.parse("black")


@pytest.mark.requirement("V1-ELIC-46")
@given(st.text(max_size=50))
def test_the_filter_lets_no_control_character_and_no_link_through(text: str) -> None:
    link = Style(link="http://x\x1b]52;c;x\x07", bold=True)
    for segment in ControlFilter().apply([Segment(text, link), Segment(text)], BLACK):
        assert not CONTROL.search(segment.text)
        assert segment.style is None or segment.style.link is None
        segment.text.encode()  # what cannot be written would end the program


def test_the_filter_leaves_other_text_alone() -> None:
    segments = [Segment("a [b] é漢👩\u200d👧 ", Style(bold=True)), Segment("x")]
    assert ControlFilter().apply(segments, BLACK) == segments


async def test_the_filter_is_the_last_filter_of_every_widget() -> None:
    class Careless(HistoryApp):
        def compose(self) -> ComposeResult:
            yield Static(Content("a\x1b]52;c;aGk=\x1b\\b\x9b6n"))

        async def on_mount(self) -> None:
            pass

    app = Careless()
    async with app.run_test(size=(40, 5)):
        static = app.query_one(Static)
        assert isinstance(app.get_line_filters()[-1], ControlFilter)
        painted = static.render_lines(static.size.region)
        assert painted[0].text.rstrip() == "a]52;c;aGk=\\b6n"


async def test_the_styles_go_with_the_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    for textual_theme, theme in zip(THEMES, (DARK, LIGHT), strict=True):
        assert theme_of(HistoryApp(textual_theme.name)) is theme
    monkeypatch.setenv("NO_COLOR", "1")
    assert theme_of(HistoryApp()) is PLAIN


async def test_without_colours_nothing_is_painted_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = HistoryApp()
    async with app.run_test(size=(80, 150)) as pilot:
        await app.play(*every_update())
        await pilot.pause()
        for block in app.history.blocks:
            for strip in block.lines(80, theme_of(app)):
                for segment in strip:
                    assert segment.style is None or segment.style.color is None


@pytest.mark.parametrize(("styles", "textual_theme"), [(DARK, THEMES[0]), (LIGHT, THEMES[1])])
def test_text_can_be_read_on_its_ground(styles: Theme, textual_theme: TextualTheme) -> None:
    assert textual_theme.background is not None
    grounds = [Color.parse(textual_theme.background)]
    for style in (styles.fence, styles.user, styles.added, styles.removed):
        assert style.bgcolor is not None
        grounds.append(Color.from_rich_color(style.bgcolor))
    inks = [styles.faint, styles.accent, styles.good, styles.bad, styles.warning, styles.heading]
    for ink in [*inks, styles.link, *styles.syntax.values()]:
        assert ink.color is not None
        for ground in grounds:
            assert _contrast(Color.from_rich_color(ink.color), ground) >= 3


@pytest.mark.parametrize(("styles", "textual_theme"), [(DARK, THEMES[0]), (LIGHT, THEMES[1])])
def test_where_there_are_256_colours_the_grounds_are_grey(
    styles: Theme, textual_theme: TextualTheme
) -> None:
    grounds = [styles.code.bgcolor, styles.fence.bgcolor, styles.user.bgcolor]
    parts = (textual_theme.background, textual_theme.surface, textual_theme.panel)
    for ground in [*grounds, *(RichColor.parse(each) for each in parts if each)]:
        assert ground is not None
        red, green, blue = ground.downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
        assert red == green == blue


def _contrast(one: Color, other: Color) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    parts = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
        for part in colour.normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


RUNS = st.lists(st.tuples(st.text("ab 漢é\u0301👩\u200d", max_size=20), st.just(NONE)), max_size=4)


@given(RUNS, st.integers(3, 12))
def test_broken_lines_fit_and_lose_only_blanks(runs: list[Run], width: int) -> None:
    text = "".join(each for each, _ in runs)
    for lines in (wrap(runs, width), chop(runs, width)):
        shown = [strip.text for strip in strips(lines)]
        assert all(cell_len(line) <= width for line in shown)
        assert "".join(shown).replace(" ", "") == text.replace(" ", "")
    assert "".join(strip.text for strip in strips(chop(runs, width))) == text
    assert cell_len("".join(s.text for s in clip(runs, width))) <= width


def test_lines_are_broken_at_blanks() -> None:
    runs = [("one two ", NONE), ("three", Style(bold=True)), (" four", NONE)]
    assert [strip.text for strip in strips(wrap(runs, 9))] == ["one two", "three", "four"]
    assert [strip.text for strip in strips(wrap([("élan vital", NONE)], 6))] == ["élan", "vital"]
    assert [strip.text for strip in strips(wrap([("", NONE)], 6))] == [""]
