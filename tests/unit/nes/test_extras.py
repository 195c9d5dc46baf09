"""What is not always installed is named in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

import parley

SOURCE = Path(parley.__file__).parent


@pytest.mark.parametrize(
    ("word", "places"),
    [
        # Commands ask whether it is there.
        ("tree_sitter", ["cli/nes_demo.py", "nes/_syntax.py"]),
        (
            "pygls",
            ["cli/diagnostics.py", "cli/nes_lsp.py", "nes/_lsp/protocol.py", "nes/_lsp/server.py"],
        ),
        ("lsprotocol", ["nes/_lsp/protocol.py", "nes/_lsp/server.py"]),
    ],
)
def test_a_library_of_an_extra_is_named_in_its_place_alone(word: str, places: list[str]) -> None:
    named = [path for path in SOURCE.rglob("*.py") if word in path.read_text(encoding="utf-8")]
    assert sorted(str(path.relative_to(SOURCE)) for path in named) == places
