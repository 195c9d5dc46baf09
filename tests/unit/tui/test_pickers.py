"""Each picker alone over the screen: sessions, agents, logins, options."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs
from tests.unit.tui.dialog_app import (
    EVIL,
    FORBIDDEN,
    DialogApp,
    finished,
    press,
    pressed,
    screen_text,
    settled,
)

from parley.config import AgentEntry
from parley.conversation.config_options import group_model_options
from parley.errors import JournalError
from parley.journal import Hit, Record
from parley.schema import v2
from parley.schema.base import Unknown
from parley.tui.dialogs.picker import ListPicker
from parley.tui.dialogs.pickers import AgentPicker, LoginPicker, OptionPicker, SessionPicker
from parley.tui.dialogs.rows import Row


async def _picked(picker: ListPicker[Any], *keys: str) -> list[Any]:
    app = DialogApp(picker=picker)
    async with app.run_test() as pilot:
        await press(pilot, *keys)
        return app.picked


# Sessions


def _record(key: str, **fields: Any) -> Record:
    return Record(key=key, agent=fields.pop("agent", "demo"), session_id="s", **fields)


async def test_sessions_are_shown_with_agent_time_directory_and_state() -> None:
    records = [
        _record(
            "1", title="Fix the tests", cwd="/work/a", updated_at=1_000_036_800, agent="opencode"
        ),
        _record(
            "2",
            title="Write docs",
            cwd="/work/b",
            state="running",
            process="",
            updated_at=89_985_600,
        ),
        _record("3", name="mine", is_archived=True),
    ]
    app = DialogApp(picker=SessionPicker(records, cwd="/work/b"))
    async with app.run_test() as pilot:
        await settled(pilot)
        lines = [line.strip(" │") for line in screen_text(app).split("\n")]
    here = lines.index("In this directory")
    assert lines[here + 1] == "▸ [interrupted] Write docs"
    assert lines[here + 2] == "demo · 1972-11-07 · /work/b"
    assert lines[here + 3 : here + 6] == [
        "Elsewhere",
        "Fix the tests",
        "opencode · 2001-09-09 · /work/a",
    ]
    assert "[archived] mine: nothing was said" in lines


@pytest.mark.parametrize("typed", ["docs", "opnc", "work/b", "k2", "mine"])
async def test_a_session_is_found_by_all_that_is_known_of_it(typed: str) -> None:
    wanted = _record("k2", title="Docs", agent="opencode", cwd="/work/b", name="mine")
    others = [_record("k1", title="Other", cwd="/elsewhere")]
    assert await _picked(SessionPicker([*others, wanted]), *typed, "enter") == [wanted]


async def test_what_was_said_is_searched_too_for_the_words_typed_last() -> None:
    said = _record("1", name="mine", title="Old talk")
    asked: list[str] = []
    may_answer = asyncio.Event()

    async def search(words: str) -> Sequence[Hit]:
        asked.append(words)
        await may_answer.wait()
        return [Hit(said, 1, f"we \2{words}\3 {EVIL}")] if words == "zebra" else []

    app = DialogApp(picker=SessionPicker([_record("2", title="New talk")], search=search))
    async with app.run_test() as pilot:
        await press(pilot, *"zebra")
        assert asked == ["zeb"]
        may_answer.set()
        await finished(pilot)
        assert asked == ["zeb", "zebra"]
        text = screen_text(app)
        assert "In messages" in text
        assert "we zebra" in text
        assert "0 of 1, and 1 more" in text
        assert "mine: Old talk" in text
        assert not set(FORBIDDEN) & set(text)
        await press(pilot, "down", "enter")
    assert app.picked == [said]


async def test_a_search_that_fails_finds_nothing() -> None:
    async def search(words: str) -> Sequence[Hit]:
        raise JournalError("no search here")

    record = _record("1", title="about zebras")
    assert await _picked(SessionPicker([record], search=search), *"zebra", "enter") == [record]


# Agents and logins


async def test_an_agent_is_chosen_by_name_and_the_one_in_use_is_marked() -> None:
    entries = [
        AgentEntry(name="one", command=["one", "a b"]),
        AgentEntry(name="two", command=["two"], description="the second"),
    ]
    app = DialogApp(picker=AgentPicker(entries, current="two"))
    async with app.run_test() as pilot:
        await settled(pilot)
        assert "one 'a b'" in screen_text(app)
        assert "▸ two  (now)" in screen_text(app)
        await press(pilot, "enter")
    assert app.picked == ["two"]


LOGINS: list[v2.AuthMethod] = [
    v2.AuthMethodAgent(method_id="web", name="In the browser"),
    v2.AuthMethodTerminal(method_id="tty", name="Here", args=["--login"]),
    Unknown("smartcard", b'{"type":"smartcard"}'),
]


async def test_a_way_to_log_in_is_told_with_what_it_does() -> None:
    app = DialogApp(picker=LoginPicker(LOGINS))
    async with app.run_test() as pilot:
        await settled(pilot)
        text = screen_text(app)
        assert "In the browser  (the agent carries it out)" in text
        assert "Here  (its program runs in this terminal --login)" in text
        assert "smartcard  a kind of login that is not known here" in text
        await press(pilot, "down", "down", "enter")
    assert app.picked == ["tty"]


async def test_enter_logs_nobody_in_unless_a_way_was_marked() -> None:
    app = DialogApp(picker=LoginPicker(LOGINS))
    async with app.run_test() as pilot:
        await press(pilot, "enter")
        assert app.picked == []


async def test_what_was_typed_when_a_login_appeared_chooses_none() -> None:
    early = [pressed(key, later=0.0) for key in ("h", "down", "enter")]
    app = DialogApp(picker=LoginPicker(LOGINS))
    async with app.run_test() as pilot:
        await settled(pilot)
        for each in early:
            app.post_message(each)
        await settled(pilot)
        assert app.picked == []


# Options

Choice = v2.SessionConfigSelectOption
MODE = v2.SessionConfigSelect(
    config_id="mode",
    name="Mode",
    category="mode",
    current_value="code",
    options=[
        Choice(value="ask", name="Ask"),
        Choice(value="code", name="Code", description="writes files"),
    ],
)
MODEL = v2.SessionConfigSelect(
    config_id="model",
    name="Model",
    current_value="s",
    options=[
        v2.SessionConfigSelectGroup(
            group_id="g1", name="Small", options=[Choice(value="s", name="Spark")]
        ),
        v2.SessionConfigSelectGroup(
            group_id="g2", name="Big", options=[Choice(value="b", name="Blaze")]
        ),
    ],
)
WEB = v2.SessionConfigBoolean(config_id="web", name="Web search", current_value=True)
OPTIONS: list[v2.SessionConfigOption] = [MODE, MODEL, WEB, Unknown("slider", b"{}")]


async def test_options_are_shown_with_their_values() -> None:
    app = DialogApp(picker=OptionPicker(OPTIONS))
    async with app.run_test() as pilot:
        await settled(pilot)
        text = screen_text(app)
    assert "▸ Mode: Code" in text
    assert "Model: Spark" in text
    assert "Web search: on" in text
    assert "slider  a kind of option that is not known here" in text


@pytest.mark.requirement("V1-CONF-14")
def test_settings_of_the_model_are_offered_next_to_it() -> None:
    def option(id: str, category: str | None) -> v2.SessionConfigBoolean:
        return v2.SessionConfigBoolean(config_id=id, name=id, current_value=True, category=category)

    effort, model, other = option("effort", "model_config"), option("m", "model"), option("x", None)
    unknown = Unknown("slider", b"{}")
    assert group_model_options([effort, unknown, model, other]) == [
        unknown,
        model,
        effort,
        other,
    ]
    assert group_model_options([effort, other]) == [effort, other]


@pytest.mark.requirement("V1-CONF-14")
async def test_the_options_show_settings_of_the_model_below_it() -> None:
    effort = v2.SessionConfigSelect(
        config_id="effort",
        name="Effort",
        category="model_config",
        current_value="h",
        options=[Choice(value="h", name="High")],
    )
    model = structs.replace(MODEL, category="model")
    app = DialogApp(picker=OptionPicker([effort, MODE, model, WEB]))
    async with app.run_test() as pilot:
        await settled(pilot)
        rows = [line for line in screen_text(app).splitlines() if ": " in line]
    assert [row.split(":")[0].strip(" ▸│") for row in rows][:4] == [
        "Mode",
        "Model",
        "Effort",
        "Web search",
    ]


@pytest.mark.parametrize(
    ("keys", "picked"),
    [
        (["enter", "up", "enter"], ("mode", "ask")),
        (["enter", "enter"], ("mode", "code")),
        (["down", "enter", "down", "enter"], ("model", "b")),
        (["up", "enter"], ("web", False)),
        ([*"blaze", "enter"], ("model", "b")),
        ([*"web", "enter"], ("web", False)),
        (["enter", "escape", "down", "down", "enter"], ("web", False)),
        (["escape"], None),
    ],
)
async def test_an_option_and_its_value_are_chosen(keys: list[str], picked: Any) -> None:
    assert await _picked(OptionPicker(OPTIONS), *keys) == [picked]


async def test_the_values_of_one_option_are_offered_in_their_groups() -> None:
    app = DialogApp(picker=OptionPicker(OPTIONS))
    async with app.run_test() as pilot:
        await press(pilot, "down", "enter")
        lines = [line.strip(" │") for line in screen_text(app).split("\n")]
        assert lines.index("Small") + 1 == lines.index("▸ Spark  (now)")
        assert lines.index("Big") + 1 == lines.index("Blaze")
        await press(pilot, "escape", "escape")
    assert app.picked == [None]


# Hostile text


def _hostile() -> list[ListPicker[Any]]:
    choice = Choice(value=EVIL, name=EVIL, description=EVIL)
    group = v2.SessionConfigSelectGroup(group_id=EVIL, name=EVIL, options=[choice])
    select = v2.SessionConfigSelect(
        config_id=EVIL, name=EVIL, description=EVIL, current_value=EVIL, options=[group]
    )
    flag = v2.SessionConfigBoolean(config_id="f", name=EVIL, description=EVIL, current_value=True)
    return [
        ListPicker(EVIL, [Row(EVIL, EVIL, EVIL, EVIL, EVIL)]),
        SessionPicker([_record("1", title=EVIL, name=EVIL, agent=EVIL, cwd=f"/{EVIL}")]),
        AgentPicker([AgentEntry(name=EVIL, command=[EVIL], description=EVIL)]),
        AgentPicker([AgentEntry(name=EVIL, command=[EVIL])]),
        LoginPicker(
            [
                v2.AuthMethodTerminal(method_id=EVIL, name=EVIL, description=EVIL, args=[EVIL]),
                Unknown(EVIL, b"{}"),
            ]
        ),
        OptionPicker([select, flag, Unknown(EVIL, b"{}")]),
    ]


@pytest.mark.parametrize("number", range(6))
async def test_hostile_text_is_shown_as_it_is_in_every_place(number: int) -> None:
    app = DialogApp(picker=_hostile()[number])
    async with app.run_test(size=(300, 40)) as pilot:
        await settled(pilot)
        text = screen_text(app)
        await press(pilot, *"etc")
        text += screen_text(app)
    assert not set(FORBIDDEN) & set(text)
    for piece in ("[/etc/passwd]", "[@click=app.bell]now[/]", "[bold red]x", "␛]52"):
        assert text.count(piece) >= 3, piece
