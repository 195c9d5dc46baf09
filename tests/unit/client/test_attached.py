from __future__ import annotations

from pathlib import Path

import pytest

from parley.client._attachments import (
    is_picture,
    kind_of,
    link_block,
    picture_block,
    text_block,
)
from parley.schema import v2


@pytest.mark.parametrize(
    ("name", "kind", "is_one"),
    [
        ("a.png", "image/png", True),
        ("a.svg", "image/svg+xml", False),
        ("a.py", "text/x-python", False),
        ("a", "", False),
    ],
)
def test_what_a_file_is_tells_its_name(name: str, kind: str, is_one: bool) -> None:
    assert kind_of(Path("/x", name)) == kind
    assert is_picture(Path("/x", name)) is is_one


def test_a_file_is_a_block_of_its_kind() -> None:
    picture = picture_block(Path("/my dir/a.png"), b"\x89PNG")
    assert picture == v2.ImageContent(
        data="iVBORw==", mime_type="image/png", uri="file:///my%20dir/a.png"
    )
    text = text_block(Path("/a.py"), "x = 1\n", "#L3-L3").resource
    assert (text.uri, text.mime_type) == ("file:///a.py#L3-L3", "text/x-python")
    assert text_block(Path("/a"), "").resource.mime_type == "text/plain"
    link = link_block(Path("/a"), 7, "lines 1 to 2")
    assert (link.uri, link.name, link.size, link.mime_type) == ("file:///a", "a", 7, None)
    assert link.description == "lines 1 to 2"
