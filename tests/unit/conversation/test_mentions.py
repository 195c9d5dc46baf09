"""Files that a prompt names, and what goes along."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from parley.conversation import mentions
from parley.conversation.mentions import attach_mentions, mention
from parley.conversation.pasted_files import find_pasted_files
from parley.schema import v2
from parley.session._capabilities import AgentFeatures

ALL = AgentFeatures(embedded_context=True, image=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src" / "a.py").write_text("one\ntwo\nthree\nfour\n")
    (work / "my notes.md").write_text("notes")
    (work / "shot.png").write_bytes(b"\x89PNG")
    (work / "data.bin").write_bytes(b"\xff\xfe")
    (tmp_path / "secret").write_text("secret")
    return work


def uris(text: str, place: Path, features: AgentFeatures = ALL) -> list[str]:
    blocks, problems = attach_mentions(text, [place], features)
    assert not problems
    return [
        (
            each.resource.uri if isinstance(each, v2.EmbeddedResource) else getattr(each, "uri", "")
        ).removeprefix(place.as_uri())
        for each in blocks
    ]


@pytest.mark.requirement("V1-CONTENT-13")
def test_a_text_goes_along_whole_or_as_a_link(place: Path) -> None:
    [whole], _ = attach_mentions("see @src/a.py", [place], ALL)
    assert whole == v2.EmbeddedResource(
        resource=v2.TextResourceContents(
            uri=(place / "src/a.py").as_uri(),
            text="one\ntwo\nthree\nfour\n",
            mime_type="text/x-python",
        )
    )
    [link], _ = attach_mentions("see @src/a.py", [place], AgentFeatures())
    assert isinstance(link, v2.ResourceLink)
    assert (link.name, link.size, link.description) == ("a.py", 19, None)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("2-3", "two\nthree\n"),
        ("4", "four\n"),
        ("0-1", "one\n"),
        ("3-99", "three\nfour\n"),
        ("9", ""),
    ],
)
def test_some_lines_of_a_text(place: Path, lines: str, text: str) -> None:
    [block], _ = attach_mentions(f"see @src/a.py:{lines}.", [place], ALL)
    assert isinstance(block, v2.EmbeddedResource)
    assert isinstance(block.resource, v2.TextResourceContents)
    assert block.resource.text == text
    assert "#L" in block.resource.uri
    [link], _ = attach_mentions(f"see @src/a.py:{lines}", [place], AgentFeatures())
    assert isinstance(link, v2.ResourceLink)
    assert "#" not in link.uri
    assert link.description is not None
    assert link.description.startswith("lines ")


def test_where_a_mention_ends(place: Path) -> None:
    assert uris("@src/a.py, and (@src/a.py)! @src/a.py:", place) == ["/src/a.py"]
    assert uris('about @"my notes.md".', place) == ["/my%20notes.md"]
    assert uris('about @"src/a.py":2-3 too', place) == ["/src/a.py#L2-L3"]
    assert uris("look at @src/ there", place) == ["/src"]
    assert uris("me@src/a.py, @nothing, @, @@src/a.py, a/@src/a.py", place) == []
    (place / "a:2").write_text("odd")
    assert uris("@a:2", place) == ["/a%3A2"]


def test_pictures_go_to_agents_that_take_them(place: Path) -> None:
    [picture], _ = attach_mentions("@shot.png", [place], ALL)
    assert isinstance(picture, v2.ImageContent)
    assert (base64.b64decode(picture.data), picture.mime_type) == (b"\x89PNG", "image/png")
    [link], problems = attach_mentions("@shot.png", [place], AgentFeatures())
    assert isinstance(link, v2.ResourceLink)
    assert (link.name, link.mime_type, link.size) == ("shot.png", "image/png", 4)
    assert problems == ["@shot.png goes along as a link only: this agent takes no pictures"]


def test_all_together_is_bounded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "MAX_TOTAL_BYTES", 7)
    (place / "more.png").write_bytes(b"\x89PNG")
    blocks, [problem] = attach_mentions("@shot.png @more.png", [place], ALL)
    assert [type(each) for each in blocks] == [v2.ImageContent]
    assert "@more.png is not attached: with the others it is more than" in problem


def test_a_picture_from_elsewhere_goes_along_only_where_it_was_given(place: Path) -> None:
    picture = place.parent / "desk.png"
    picture.write_bytes(b"\x89PNG")
    blocks, [problem] = attach_mentions(f"@{picture}", [place], ALL)
    assert (blocks, "is outside the workspace" in problem) == ([], True)
    [block], problems = attach_mentions(f"@{picture}", [place], ALL, {str(picture)})
    assert isinstance(block, v2.ImageContent)
    assert (block.uri, problems) == (picture.as_uri(), [])


def test_what_is_no_text_or_too_long_is_a_link(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mentions, "MAX_TEXT_BYTES", 10)
    blocks, _ = attach_mentions("@data.bin @src/a.py @src/a.py:1", [place], ALL)
    assert [type(each) for each in blocks] == [
        v2.ResourceLink,
        v2.ResourceLink,
        v2.EmbeddedResource,
    ]
    monkeypatch.setattr(mentions, "MAX_BLOB_BYTES", 3)
    blocks, problems = attach_mentions("@shot.png @src/a.py:1", [place], ALL)
    assert blocks == []
    assert [each.partition(" is not attached: ")[2] for each in problems] == [
        "it is longer than 0 MiB"
    ] * 2


def test_nothing_outside_of_the_workspace_goes_along(place: Path) -> None:
    outside = place.parent / "secret"
    (place / "link").symlink_to(outside)
    for text in (f"@{outside}", "@../secret", "@link"):
        blocks, [problem] = attach_mentions(text, [place], ALL)
        assert blocks == []
        assert "is outside the workspace" in problem
    blocks, problems = attach_mentions(f"@{outside}", [place, place.parent], ALL)
    assert (len(blocks), problems) == (1, [])


def test_what_is_no_file_is_not_opened(place: Path) -> None:
    os.mkfifo(place / "pipe")
    blocks, problems = attach_mentions("@pipe", [place], ALL)
    assert (blocks, problems) == ([], ["@pipe is not attached: it is not a file"])
    assert attach_mentions("@" + "x" * 5000 + " @\0", [place], ALL) == ([], [])


def test_the_number_is_bounded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mentions, "MAX_MENTIONS", 1)
    blocks, problems = attach_mentions("@src/a.py @shot.png", [place], ALL)
    assert (len(blocks), problems) == (1, ["only the first 1 files are attached"])


# Paths that are pasted, as when a file is dropped on the terminal


@pytest.mark.parametrize("form", ["{}", "'{}'", '"{}"', "{} \n", "file://{}", "file://localhost{}"])
def test_the_path_of_a_file_becomes_a_mention(place: Path, form: str) -> None:
    assert find_pasted_files(form.format(place / "src/a.py"), [place]) == ("@src/a.py ", [])
    outside = str(place.parent / "desk.png")
    Path(outside).write_bytes(b"\x89PNG")
    assert find_pasted_files(form.format(outside), [place]) == (f"@{outside} ", [outside])


def test_blanks_and_several_files(place: Path) -> None:
    notes, picture = place / "my notes.md", place / "shot.png"
    escaped = str(notes).replace(" ", "\\ ")
    for form in (str(notes), escaped, notes.as_uri()):
        assert find_pasted_files(form, [place]) == ('@"my notes.md" ', [])
    assert find_pasted_files(f"{escaped} '{picture}'", [place]) == ('@"my notes.md" @shot.png ', [])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "/nothing/here.png",
        "src/a.py",
        "see {place}/src/a.py",
        "{place}/src/a.py is wrong",
        "{place}/../secret",
        "{place}/src",
        "file://elsewhere{place}/src/a.py",
        "~nobody-at-all/x.png",
        "'{place}/src/a.py",
        "/\0",
    ],
)
def test_other_text_stays_as_it_was_pasted(place: Path, text: str) -> None:
    assert find_pasted_files(text.format(place=place), [place]) is None


NAMES = some.text(some.sampled_from("ab \"'\\.,:)@"), min_size=1, max_size=8)


@given(name=NAMES.filter(lambda name: name.strip(". ") != ""))
def test_what_is_completed_is_what_is_attached(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    place = tmp_path_factory.mktemp("names", numbered=True)
    (place / name).write_text("x")
    [block], problems = attach_mentions(f"see {mention(name)} there", [place], ALL)
    assert isinstance(block, v2.EmbeddedResource)
    assert block.resource.uri == (place / name).as_uri()
    assert not problems
