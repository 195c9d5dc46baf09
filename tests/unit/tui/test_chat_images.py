"""Pictures in the whole app: what goes to the agent, and what it shows."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.unit.tui.dialog_app import EVIL, FORBIDDEN
from tests.unit.tui.running_app import Talk, talking
from textual import events

from parley.agent import Agent, AgentFeatures, Turn
from parley.conversation import mentions
from parley.schema import v2
from parley.tui.dialogs.picker import ListPicker

PNG = b"\x89PNG\r\n\x1a\nand so on"


def seer(got: list[v2.ContentBlock], *, image: bool = False) -> Agent:
    """An agent that keeps what it gets besides text."""
    agent = Agent("seer", features=AgentFeatures(image=image))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        got.extend(each for each in turn.prompt if not isinstance(each, v2.TextContent))
        await turn.say("seen")

    return agent


def painter(data: bytes, kind: str = "image/png") -> Agent:
    """An agent that answers with a picture."""
    agent = Agent("painter")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("Here it is:")
        picture = v2.ImageContent(data=base64.b64encode(data).decode(), mime_type=kind)
        await turn.say(picture)
        await turn.say("done")

    return agent


async def paste(talk: Talk, text: str) -> None:
    talk.app.post_message(events.Paste(text))
    await talk.until(lambda: talk.chat.composer.text)


async def test_a_picture_goes_along_to_an_agent_that_takes_pictures(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    got: list[v2.ContentBlock] = []
    async with talking(seer(got, image=True), cwd=tmp_path) as talk:
        await talk.until_state("idle")
        await talk.say("look at @shot.png")
        await talk.until_shown("seen")
        [picture] = got
        assert isinstance(picture, v2.ImageContent)
        assert (base64.b64decode(picture.data), picture.mime_type) == (PNG, "image/png")
        await talk.until_painted("▣ image  image/png  17 bytes")


async def test_to_another_agent_goes_a_link_and_that_is_said_before(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(PNG)
    got: list[v2.ContentBlock] = []
    async with talking(seer(got), cwd=tmp_path) as talk:
        await talk.until_state("idle")
        await talk.say("look at @shot.png")
        await talk.until_shown("seen")
        [link] = got
        assert isinstance(link, v2.ResourceLink)
        assert link.uri == (tmp_path / "shot.png").as_uri()
        said = "@shot.png goes along as a link only: this agent takes no pictures"
        assert talk.shown.index(said) < talk.shown.index("look at @shot.png")


async def test_a_picture_that_is_too_long_stays_here_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "MAX_BLOB_BYTES", 10)
    (tmp_path / "shot.png").write_bytes(PNG)
    got: list[v2.ContentBlock] = []
    async with talking(seer(got, image=True), cwd=tmp_path) as talk:
        await talk.until_state("idle")
        await talk.say("look at @shot.png")
        await talk.until_shown("seen")
        assert got == []
        assert "@shot.png is not attached: it is longer than" in talk.shown


async def test_a_picture_that_is_dropped_on_the_terminal_goes_along(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    picture = tmp_path / "my desk.png"
    picture.write_bytes(PNG)
    got: list[v2.ContentBlock] = []
    async with talking(seer(got, image=True), cwd=work) as talk:
        await talk.until_state("idle")
        await paste(talk, f"'{picture}'")
        assert talk.chat.composer.text == f'@"{picture}" '
        await talk.press("enter")
        await talk.until_shown("seen")
        assert [getattr(each, "uri", "") for each in got] == [picture.as_uri()]


async def test_other_text_is_pasted_as_it_is(tmp_path: Path) -> None:
    async with talking(cwd=tmp_path) as talk:
        await talk.until_state("idle")
        await paste(talk, "two\nlines of /etc/hosts")
        assert talk.chat.composer.text == "two\nlines of /etc/hosts"


# What an agent shows


class Viewer:
    """Opens nothing, but notes what it was to open, and what that was."""

    def __init__(self, *, works: bool = True) -> None:
        self.seen: list[bytes] = []
        self.place = Path()
        self._works = works

    def __call__(self, url: str) -> bool:
        self.place = Path(urlsplit(url).path)
        self.seen.append(self.place.read_bytes())
        return self._works


async def opened(talk: Talk, is_so: Callable[[], object]) -> None:
    """Choose the only picture in the list of them."""
    await talk.say("/pictures")
    await talk.until(lambda: isinstance(talk.app.screen, ListPicker))
    await talk.press("enter")
    await talk.until(is_so)


@pytest.mark.parametrize("works", [True, False])
async def test_a_picture_is_a_line_and_opened_as_a_copy(works: bool) -> None:
    viewer = Viewer(works=works)
    async with talking(painter(PNG, "text/html"), opener=viewer) as talk:
        await talk.say("paint")
        await talk.until_shown("done")
        await talk.until_painted("▣ image  text/html  17 bytes  /pictures opens it")
        assert viewer.seen == []
        await opened(talk, lambda: "until you leave" in talk.shown)
        assert ("no program to open it was found" in talk.shown) is not works
        assert viewer.seen == [PNG]
        assert viewer.place.suffix == ".png"
        assert viewer.place.stat().st_mode & 0o077 == 0
        assert viewer.place.parent.stat().st_mode & 0o077 == 0
    assert not viewer.place.parent.exists()


async def test_what_only_claims_to_be_a_picture_is_neither_written_nor_opened() -> None:
    viewer = Viewer()
    async with talking(painter(b"<svg onload='alert(1)'/>"), opener=viewer) as talk:
        await talk.say("paint")
        await talk.until_shown("done")
        await opened(talk, lambda: "the image is not opened: its content is no" in talk.shown)
        assert viewer.seen == []


async def test_hostile_words_about_a_picture_are_inert() -> None:
    async with talking(painter(PNG, EVIL), size=(140, 24)) as talk:
        await talk.say("paint")
        await talk.until_shown("done")
        await talk.until_painted("[/etc/passwd]")
        assert not set(FORBIDDEN) & set(talk.painted)
        await talk.say("/pictures")
        await talk.until(lambda: isinstance(talk.app.screen, ListPicker))
        await talk.until(lambda: "Open a picture" in talk.painted)
        assert not set(FORBIDDEN) & set(talk.painted)
