"""Where two texts differ, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from msgspec import Struct


class Difference(Struct, frozen=True):
    """Some lines that become others; one of the two may be none."""

    line: int
    """Where, counted from the first line of the old text."""
    old: tuple[str, ...]
    new: tuple[str, ...]


def differences(old: str, new: str) -> list[Difference]:
    """Compare two texts; lines that are replaced one by one are differences each."""
    return list(_differences(old.split("\n"), new.split("\n")))


def _differences(old: list[str], new: list[str]) -> Iterator[Difference]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, top, bottom, new_top, new_bottom in matcher.get_opcodes():
        if tag == "equal":
            continue
        if bottom - top == new_bottom - new_top:
            for line in range(top, bottom):
                yield Difference(line, (old[line],), (new[new_top + line - top],))
        else:
            yield Difference(top, tuple(old[top:bottom]), tuple(new[new_top:new_bottom]))
