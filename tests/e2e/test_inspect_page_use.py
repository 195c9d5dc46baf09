"""The page of the inspector for everybody: keyboards, screen readers, phones, both themes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM, DESKTOP, PHONE, Page
from tests.e2e.inspector_api import ERROR, ScriptedRecording, make_row, open_inspector
from tests.e2e.test_inspect_page import selected, shown
from tests.e2e.test_page_use import is_dark, unnamed

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

PANELS = {"conversation": ".inspected", "capabilities": ".mistake", "process": ".terminal"}
CONTRASTS = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const ground = (element) => {
    for (; element !== null; element = element.parentElement) {
      const color = rgb(getComputedStyle(element).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const part = (value) => value <= 10 ? value / 3294 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([red, green, blue]) =>
    0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  return [...document.querySelectorAll("body *")]
    .filter((each) => each.checkVisibility() && !each.matches("option, :disabled")
      && [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((each) => {
      const [low, high] = [light(rgb(getComputedStyle(each).color)), light(ground(each))]
        .sort((one, other) => one - other);
      return [(high + 0.05) / (low + 0.05), each.outerHTML];
    })
    .filter(([contrast]) => contrast < 4.5);
})()"""


def sample() -> ScriptedRecording:
    recording = ScriptedRecording(exit="SIGKILL")
    recording.add(5)
    recording.add(source="client", kind="request", method="session/new", id="1", match=7)
    recording.add(kind="error", method="session/new", id="1", match=6, flags=ERROR, summary="bad")
    recording.add(20, flags=2 | 4 | 8 | 16)
    recording.add(source="stderr", kind="text", summary="a warning")
    recording.frames[7] = {
        "match": make_row(6, kind="request"),
        "type": {"name": "Error", "version": 2, "doc": "An error."},
        "violations": [{"path": "error.code", "expected": "int", "received": '"x"', "doc": "Why."}],
    }
    recording.conversation |= {
        "sessions": [{"id": "s", "title": ""}], "session": "s",
        "entries": [{"kind": "user", "title": "", "status": "", "text": "Hello", "rows": [3]}],
    }  # fmt: skip
    recording.capabilities["capabilities"] = [
        {
            "side": "agent",
            "path": "x",
            "is_offered": False,
            "used": [9],
            "uses": 2,
            "methods": ["y"],
        }
    ]
    recording.process |= {"stderr": "words", "stderr_bytes": 5, "lost_bytes": 7}
    return recording


async def test_a_keyboard_is_enough() -> None:
    async with open_inspector(sample()) as session:
        page = session.page
        await session.ready(28)
        assert await page.run("document.activeElement.id") == "timeline"
        await page.press("Home")
        assert await selected(page) == "row-1"
        for key, row in [
            ("ArrowDown", "row-2"), ("j", "row-3"), ("ArrowUp", "row-2"), ("k", "row-1"),
            ("End", "row-28"), ("Home", "row-1"), ("e", "row-7"), ("m", "row-6"),
            ("e", "row-7"), ("e", "row-8"), ("E", "row-7"),
        ]:  # fmt: skip
            await page.press(key)
            await page.when(f"document.querySelector('.row.selected')?.id === '{row}'")
        described = "document.querySelector('#timeline').getAttribute('aria-activedescendant')"
        assert await page.run(described) == "row-7"
        await page.press("Enter")
        await page.sees("error.code", ".violations")
        assert await page.run("document.activeElement.id") == "panel"
        await page.press("Escape")
        assert await page.run("document.activeElement.id") == "timeline"
        await page.press("/")
        assert await page.run("document.activeElement.id") == "query"
        await page.type("f")  # is text here
        assert await page.run("document.querySelector('#query').value") == "f"
        await page.press("Escape")
        await page.press("?")
        await page.when("document.querySelector('#help').open")
        await page.press("Escape")
        await page.when("!document.querySelector('#help').open")
        await page.run("document.querySelector('#tab-detail').focus()")
        await page.press("ArrowRight")
        await page.sees("Hello", ".conversation")
        assert await page.run("document.activeElement.id") == "tab-conversation"


async def test_the_position_in_the_list_is_the_same_wherever_rows_are_drawn() -> None:
    recording = ScriptedRecording()
    recording.add(1_000)
    async with open_inspector(recording) as session:
        page = session.page
        await shown(page, "summary 1000")
        for key in ("Home", "PageDown", "PageDown", "PageUp", "End", "PageUp"):
            await page.press(key)
            numbers = await page.when(
                "document.querySelector('.row.selected')"
                " && document.querySelector('.row.selected').getBoundingClientRect().top >= 0"
                " && [...document.querySelectorAll('.viewport .row')].map((each) =>"
                " [Number(each.id.slice(4)), Number(each.ariaRowIndex) - 1])"
            )
            assert all(number == index for number, index in numbers)
            first = numbers[0][0]
            assert [number for number, _ in numbers] == [*range(first, first + len(numbers))]


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desk", "phone"])
async def test_a_screen_reader_learns_what_everything_is(size: tuple[int, int, bool]) -> None:
    async with open_inspector(sample(), size=size) as session:
        page = session.page
        await session.ready(28)
        await page.call("Accessibility.enable")
        assert await unnamed(page) == []
        await page.press("e")
        await page.press("Enter")
        await page.sees("error.code", ".violations")
        assert await unnamed(page) == []
        nodes = (await page.call("Accessibility.getFullAXTree"))["nodes"]
        roles = {each["role"].get("value") for each in nodes if not each["ignored"]}
        expected = {"grid", "row", "gridcell", "columnheader", "tab", "tabpanel", "status"}
        assert expected - roles <= ({"columnheader"} if size is PHONE else set())
        for name, place in PANELS.items():
            await page.run(f"document.querySelector('#tab-{name}').click()")
            await page.when(f"document.querySelector('{place}')")
            assert await unnamed(page) == []


async def test_on_a_phone_a_frame_opens_as_a_sheet_and_everything_can_be_touched() -> None:
    async with open_inspector(sample(), size=PHONE) as session:
        page = session.page
        await session.ready(28)
        await page.when("!document.querySelector('#panel').checkVisibility()")
        await page.click(".row", "a warning")
        await page.when("document.querySelector('#panel').checkVisibility()")
        await page.sees("stderr", "#panel h2")
        await fits(page)
        await page.click("#close-panel")
        await page.when("!document.querySelector('#panel').checkVisibility()")
        for name in ("Conversation", "Capabilities", "Process"):
            await page.click("[role=tab]", name)
            await page.when("document.querySelector('#panel').checkVisibility()")
            await fits(page)
            await page.press("Escape")
        await page.click("#toggle-recordings")
        await page.click("#recordings button", "demo")
        await page.when("!document.querySelector('#recordings').checkVisibility()")
        await fits(page)


async def fits(page: Page) -> None:
    """Check that nothing is wider than the screen, and that no button is too small for a finger."""
    assert await page.run("document.documentElement.scrollWidth") <= PHONE[0]
    small = await page.run(
        "[...document.querySelectorAll('button, a.button, select, input')]"
        ".filter((each) => each.checkVisibility() && each.offsetHeight < 44)"
        ".map((each) => each.outerHTML)"
    )
    assert small == []
    assert (
        await page.run("parseFloat(getComputedStyle(document.querySelector('#query')).fontSize)")
        >= 16
    )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_words_stand_out_from_both_grounds(dark: bool) -> None:
    async with open_inspector(sample(), dark=dark) as session:
        page = session.page
        await session.ready(28)
        await page.press("e")
        await page.sees("error.code", ".violations")
        assert is_dark(await ground(page)) is dark
        assert await page.run(CONTRASTS) == []
        for name, place in PANELS.items():
            await page.run(f"document.querySelector('#tab-{name}').click()")
            await page.when(f"document.querySelector('{place}')")
            assert await page.run(CONTRASTS) == []


async def test_the_theme_can_be_switched_and_is_remembered() -> None:
    async with open_inspector(sample(), dark=True) as session:
        page = session.page
        await session.ready(28)
        await page.click("#theme", "Auto")
        await page.sees("Light", "#theme")
        assert not is_dark(await ground(page))
        await page.reload()
        await page.sees("Light", "#theme")
        assert not is_dark(await ground(page))
        await page.click("#theme", "Light")
        assert is_dark(await ground(page))


async def ground(page: Page) -> str:
    """Return the color of the page, such as `#ffffff`."""
    color: Any = await page.run(
        "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)"
    )
    return "#" + "".join(f"{part:02x}" for part in color)
