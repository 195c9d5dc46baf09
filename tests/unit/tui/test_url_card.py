"""Questions whether to open a page, each alone on the screen."""

from __future__ import annotations

import webbrowser

import pytest
from tests.unit.tui.dialog_app import (
    EVIL,
    FORBIDDEN,
    DialogApp,
    finished,
    press,
    screen_text,
    settled,
)

from parley.client._web_address import warnings_about
from parley.schema import v2
from parley.tui.dialogs.url_card import UrlCard, open_page


async def _shown(card: UrlCard) -> str:
    app = DialogApp(card)
    async with app.run_test(size=(80, 60)) as pilot:
        await settled(pilot)
        return screen_text(app)


def _page(url: str = "https://example.org/login?id=1", message: str = "Log in") -> UrlCard:
    return _opened_by(url, message, {})


def _opened_by(url: str, message: str, opened: dict[str, bool]) -> UrlCard:
    request = v2.ElicitationUrlMode(message=message, session_id="s", elicitation_id="e", url=url)
    return UrlCard(request, agent="opencode", opener=lambda url: opened.setdefault(url, True))


@pytest.mark.requirement("V1-ELIC-43", "V1-ELIC-45", "SAFE-USER-05")
async def test_all_of_an_address_and_its_host_are_shown() -> None:
    url = f"https://good.example@evil.example/{'a' * 200}?end=1"
    text = await _shown(_page(url))
    assert url in "".join(line.strip() for line in text.split("\n"))
    assert "on evil.example" in text


async def test_letters_that_look_like_others_are_written_out_in_a_host() -> None:
    assert "(xn--" in await _shown(_page("https://ex\u0430mple.org/"))


@pytest.mark.requirement("SAFE-USER-05")
@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ssh://host/",
        "https:///nothing",
        "https://[",
        "https://a.example/\x1b]0;x\x07",
        "https://evil.example\\@good.example/",
        "https://a b/",
        "",
    ],
)
async def test_what_is_no_page_is_refused(url: str) -> None:
    opened: dict[str, bool] = {}
    card = _opened_by(url, "Go", opened)
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "o", "a", "c")
        assert "Refused" in screen_text(app)
        assert not card.is_answered
        await press(pilot, "d")
        assert await card.answer() == v2.ElicitationDeclineAction()
    assert opened == {}


@pytest.mark.requirement("V1-ELIC-42", "SAFE-USER-05")
async def test_a_page_is_opened_when_the_user_says_so_and_not_before() -> None:
    opened: dict[str, bool] = {}
    card = _opened_by("https://example.org/", "Go", opened)
    async with DialogApp(card).run_test() as pilot:
        await settled(pilot)
        assert opened == {}
        await press(pilot, "o")
        assert await card.answer() == v2.ElicitationAcceptAction()
    assert opened == {"https://example.org/": True}


@pytest.mark.parametrize(
    ("url", "message", "warning"),
    [
        ("https://example.org/", "See https://example.org/help, or www.example.org.", ""),
        ("http://localhost:8080/", "", ""),
        ("http://example.org/", "", "plain http"),
        ("https://me@example.org/", "", "before the @"),
        ("https://ex\u0430mple.org/", "", "may only look like others"),
        ("https://sub.xn--exmple-4nf.org/", "", "may only look like others"),
        ("https://example.org.evil.example/", "https://example.org", "mentions example.org"),
        ("https://evil.example/", "on www.example.org/x", "mentions example.org"),
        ("https://evil.example/", "https://[ http://", ""),
    ],
)
def test_what_is_odd_about_an_address(url: str, message: str, warning: str) -> None:
    found = warnings_about(url, message)
    assert len(found) == bool(warning)
    assert warning in "".join(found)


async def test_a_page_that_the_agent_is_done_with_is_closed() -> None:
    card = _page()
    async with DialogApp(card).run_test() as pilot:
        await settled(pilot)
        card.complete()
        assert await card.answer() == v2.ElicitationCancelAction()
    card = _page()
    async with DialogApp(card).run_test() as pilot:
        await press(pilot, "c")
        card.complete()
        assert await card.answer() == v2.ElicitationAcceptAction()


async def test_where_there_is_no_browser_that_is_said_and_the_user_opens_it() -> None:
    opened = {"https://example.org/": False}
    card = _opened_by("https://example.org/", "Go", opened)
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "o")
        await finished(pilot)
        assert "No browser can be opened here" in screen_text(app)
        assert not card.is_answered
        await press(pilot, "a")
        assert await card.answer() == v2.ElicitationAcceptAction()


async def test_an_address_is_copied() -> None:
    card = _page("https://example.org/x")
    app = DialogApp(card)
    async with app.run_test() as pilot:
        await press(pilot, "c")
        assert app.clipboard == "https://example.org/x"
        assert "Copied" in screen_text(app)
        assert not card.is_answered


async def test_escape_leaves_a_page_without_an_answer() -> None:
    card = _page()
    async with DialogApp(card).run_test() as pilot:
        await press(pilot, "escape")
        assert await card.answer() == v2.ElicitationCancelAction()


async def test_hostile_text_around_an_address_stays_text() -> None:
    text = await _shown(_page(f"x:{EVIL}", EVIL))
    assert not set(FORBIDDEN) & set(text)
    assert text.count("[@click=app.bell]now[/]") == 2


@pytest.mark.requirement("V1-ELIC-44")
def test_a_page_is_opened_in_the_browser_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    class Window(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            opened.append(url)
            return True

    monkeypatch.setattr(webbrowser, "get", Window)
    assert open_page("https://example.org/") is True
    assert opened == ["https://example.org/"]


@pytest.mark.requirement("V1-ELIC-44")
def test_a_browser_that_would_draw_on_the_terminal_is_not_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("false"))
    assert open_page("https://example.org/") is False


def test_without_any_browser_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> webbrowser.BaseBrowser:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", none)
    assert open_page("https://example.org/") is False


def test_a_browser_that_fails_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
            raise OSError("no display")

    monkeypatch.setattr(webbrowser, "get", Broken)
    assert open_page("https://example.org/") is False
