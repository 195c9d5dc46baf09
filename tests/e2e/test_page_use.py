"""The page for everybody: small screens, a keyboard alone, readers of the screen, both grounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM, DESKTOP, PHONE, Page
from tests.e2e.page_session import TOKEN, open_page

from parley.agent import Agent, Turn
from parley.schema import v2

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

READABLE = "document.querySelector('.card') && !document.querySelector('.card.early')"
ACTING = {"button", "textbox", "combobox", "checkbox", "link", "listbox", "DisclosureTriangle"}
PAIRS = [
    ("words", "ground"), ("words", "raised"), ("words", "sunken"), ("words", "user"),
    ("words", "added"), ("words", "removed"), ("faint", "ground"), ("faint", "raised"),
    ("faint", "sunken"), ("accent", "ground"), ("accent", "raised"), ("good", "raised"),
    ("bad", "raised"), ("bad", "ground"), ("warn", "raised"), ("on-accent", "accent"),
]  # fmt: skip


async def unnamed(page: Page) -> list[str]:
    """What can be acted on and does not say what it is."""
    nodes: list[Any] = (await page.call("Accessibility.getFullAXTree"))["nodes"]
    acting = [each for each in nodes if not each["ignored"] and each["role"].get("value") in ACTING]
    assert acting
    return [str(each) for each in acting if not each.get("name", {}).get("value")]


async def test_everything_fits_on_a_small_phone_and_can_be_touched(tmp_path: Path) -> None:
    agent = Agent("wide")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        wide = "w" * 300
        await turn.say(f"{wide}\n\n```\n{wide}\n```\n\n| {wide} | b |\n|---|---|\n| c | {wide} |\n")
        async with turn.tool(wide, raw_input={"command": wide}, locations=[f"/{wide}"]) as call:
            await call.diff(f"/{wide}", "a\n", f"{wide}\n")
            await turn.ask_permission(wide, tool=call)

    async with open_page(tmp_path, agent, size=PHONE) as session:
        page = session.page
        await session.ready()
        await session.say("go " + "w" * 300)
        await page.when(READABLE)
        for element in ("document.documentElement", "document.querySelector('#log')",
                        "document.querySelector('#dock')"):  # fmt: skip
            width, room = await page.run(f"[{element}.scrollWidth, {element}.clientWidth]")
            assert width <= room <= 360, element
        small = await page.run(
            "[...document.querySelectorAll('button, select, textarea')]"
            ".filter((each) => each.checkVisibility() && each.offsetHeight < 44)"
            ".map((each) => each.outerHTML)"
        )
        assert small == []
        assert await page.run("parseFloat(getComputedStyle($('textarea')).fontSize)".replace(
            "$(", "document.querySelector(")) >= 16  # fmt: skip


async def test_a_keyboard_is_enough(tmp_path: Path) -> None:
    async with open_page(tmp_path, size=DESKTOP) as session:
        page = session.page
        await session.ready()
        await focus(page, "document.activeElement.matches('textarea')")
        await page.type("perm")
        await page.press("Enter")
        await page.when(READABLE)
        await focus(page, "document.activeElement.textContent === '\\u2713 Yes'")
        await page.when(READABLE)
        await page.press("Enter")
        await page.sees('"optionId":"yes"', ".agent")
        await focus(page, "document.activeElement.id === 'open-sessions'")
        await page.press("Enter")
        await page.when("document.querySelector('#sessions').open")
        await page.press("Escape")
        await page.when("!document.querySelector('#sessions').open")
        await focus(page, "document.activeElement.matches('textarea')")
        await page.type("slow")
        await page.press("Enter")
        await page.sees("waiting to be cancelled", ".agent")
        await page.press("Escape")
        await page.press("Enter")
        await page.sees("Cancelled.", ".cancelled")


async def focus(page: Page, wanted: str) -> None:
    """Press Tab until something has the focus; round the page once."""
    for _ in range(30):
        if await page.run(wanted):
            return
        await page.press("Tab")
    raise AssertionError(f"no {wanted}")


async def test_a_reader_of_the_screen_learns_what_everything_is(tmp_path: Path) -> None:
    async with open_page(tmp_path, token="") as session:
        page = session.page
        await page.call("Accessibility.enable")
        await page.when("document.querySelector('#token').checkVisibility()")
        assert await unnamed(page) == []
        await page.click("#token")
        await page.type(TOKEN)
        await page.press("Enter")
        await session.ready()
        for prompt in ("tool", "diff", "plan", "perm"):
            await session.say(prompt)
        await page.when(READABLE)
        assert await unnamed(page) == []
        nodes = (await page.call("Accessibility.getFullAXTree"))["nodes"]
        roles = {each["role"].get("value") for each in nodes if not each["ignored"]}
        assert {"log", "status", "banner", "article", "combobox"} <= roles
        live = await page.run(
            "['#log', '#dock'].map((each) => document.querySelector(each).ariaLive)"
        )
        assert live == ["polite", "assertive"]
        await page.click("#open-sessions")
        await page.sees("tool", "#session-list")
        assert await unnamed(page) == []


@pytest.mark.parametrize("dark", [False, True])
async def test_words_stand_out_from_both_grounds(tmp_path: Path, dark: bool) -> None:
    async with open_page(tmp_path, dark=dark) as session:
        colours: dict[str, str] = {}
        for name in {name for pair in PAIRS for name in pair}:
            colours[name] = await session.page.run(
                f"getComputedStyle(document.documentElement).getPropertyValue('--{name}').trim()"
            )
        assert is_dark(colours["ground"]) is dark
        for front, back in PAIRS:
            assert contrast(colours[front], colours[back]) >= 4.5, (front, back)


def is_dark(colour: str) -> bool:
    return luminance(colour) < 0.2


def contrast(one: str, other: str) -> float:
    """How much two colours differ, as the guidelines for accessible pages count it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


async def test_a_session_without_a_title_is_called_by_how_it_began_or_shortly(
    tmp_path: Path,
) -> None:
    names = "#session-list .session span"
    async with open_page(tmp_path) as session:
        page = session.page
        await session.ready()
        await session.say("Please look at this " + "very " * 20 + "long prompt")
        await page.sees("echo: Please", "#log .agent")
        await page.click("#open-sessions")
        await page.sees("Please look at this very", names)
        shown = await page.text(names)
        assert (shown[-1], len(shown)) == ("…", 61)
        id = json.loads(await page.run("sessionStorage.getItem('parley.location')"))["session"]
        other = await session.second()
        await session.ready(other)
        await other.click("#open-sessions")
        await other.sees(f"Session …{id[-8:]}", names)
        assert id not in await other.text("#session-list")
        session.check()


async def test_the_button_of_a_form_is_not_called_as_that_of_the_composer(tmp_path: Path) -> None:
    agent = Agent("curious")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        form = v2.ElicitationSchema(type="object", properties={})
        await turn.elicit("Sure?", form)

    async with open_page(tmp_path, agent) as session:
        await session.ready()
        await session.say("go")
        await session.page.sees("Sure?", ".card")
        names = "[...document.querySelectorAll('button[type=submit]')].map((it) => it.textContent)"
        shown = await session.page.run(f"{names}.filter((it) => it === 'Send').length")
        assert shown == 1
