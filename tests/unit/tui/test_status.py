from __future__ import annotations

from pathlib import Path

import pytest
from rich.style import Style
from tests.unit.conversation.recording_view import scripted
from tests.unit.tui.running_app import talking

from parley.schema import v2
from parley.testing.scripted import Expect
from parley.tui.status import Piece, fitted, money, pieces_of, short_number, short_path

PLAIN = Style.null()


def piece(text: str, rank: int = 0, *, is_right: bool = False) -> Piece:
    return Piece(text, PLAIN, rank, is_right=is_right)


def test_pieces_stand_at_both_ends() -> None:
    line = fitted([piece("ready"), piece("here", is_right=True)], 20)
    assert line.text == " ready         here "


def test_what_matters_least_is_left_out_first() -> None:
    pieces = [piece("state"), piece("name", 2), piece("mode", 3), piece("~/cwd", 5, is_right=True)]
    assert fitted(pieces, 40).text.split() == ["state", "name", "mode", "~/cwd"]
    assert fitted(pieces, 22).text.split() == ["state", "name", "mode"]
    assert fitted(pieces, 8).text.split() == ["state"]


@pytest.mark.parametrize("width", [1, 2, 5, 80])
def test_the_line_is_always_as_wide_as_the_screen(width: int) -> None:
    pieces = [piece("a long piece that never goes"), piece("漢字", 1), piece("x", is_right=True)]
    assert fitted(pieces, width).cell_length == width


def test_what_an_agent_calls_itself_is_inert() -> None:
    text = fitted([piece("evil\x1b]0;title\x07\nname \x9b31m")], 60).text
    assert text.strip() == "evil␛]0;title␇ name ␛[31m"


def test_numbers_are_short() -> None:
    numbers = [950, 1000, 12_345, 200_000, 1_234_567]
    assert [short_number(each) for each in numbers] == ["950", "1k", "12.3k", "200k", "1.2M"]


def test_money_has_its_sign() -> None:
    assert money(None) == ""
    assert money(v2.Cost(amount=1.5, currency="USD")) == "$1.50"
    assert money(v2.Cost(amount=0.0123, currency="EUR")) == "€0.0123"
    assert money(v2.Cost(amount=3, currency="SEK")) == "3.00 SEK"


def test_a_path_is_told_from_home_on_or_by_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert short_path(Path("/home/ada/src/project")) == "~/src/project"
    assert short_path(Path("/srv/data")) == "/srv/data"
    assert short_path(Path("/a/very/long/way/down/to/the/last/project")) == "…/last/project"


async def test_usage_cost_and_mode_are_told() -> None:
    async with talking() as talk:
        await talk.until_state("idle")
        transcript = talk.chat.conversation.transcript
        mode = v2.SessionConfigSelect(
            config_id="mode",
            name="Mode",
            category="mode",
            current_value="plan",
            options=[v2.SessionConfigSelectOption(value="plan", name="Plan first")],
        )
        cost = v2.Cost(amount=0.25, currency="USD")
        transcript.fold(v2.ConfigOptionUpdate(config_options=[mode]))
        transcript.fold(v2.UsageUpdate(used=50_000, size=200_000, cost=cost))
        talk.chat.changed()
        await talk.until(lambda: "Plan first" in talk.status)
        assert "50k/200k 25%" in talk.status
        assert "$0.2500" in talk.status
        assert "ready" in talk.status


async def test_an_agent_that_takes_long_to_start_can_be_given_up(tmp_path: Path) -> None:
    agent = scripted(tmp_path, Expect({"method": "_never"}, skips=True))
    async with talking(agent) as talk:
        conversation, theme = talk.chat.conversation, talk.chat.theme
        for seconds, text in (
            (None, "◌ starting"),
            (1.0, "◌ starting"),
            (70.0, "◌ starting 1m10s"),
        ):
            told = pieces_of(conversation, theme, seconds=seconds, has_card=False)[0].text
            assert told.partition(",")[0] == text
            assert ("Esc to cancel" in told) is (seconds == 70.0)
        await talk.press("escape")
        await talk.until_state("dead")
        await talk.until_shown("was cancelled")
