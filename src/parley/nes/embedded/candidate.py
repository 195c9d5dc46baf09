"""A change that a generator thinks of, before anybody knows how good it is."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["Candidate"]


class Candidate(Struct, kw_only=True):
    """Lines `start:end` of a file might become other lines."""

    uri: str
    start: int
    end: int
    lines: list[str]
    rule: str
    """Which generator made it."""
    cause: str
    """What it follows from; a rejection counts against the same cause elsewhere too."""
    features: dict[str, float] = {}
    score: float = 0.0
    """How likely it is kept."""
    worth: float = 0.0
    """How good it is, all in all."""
    remaining: int = 0
    """How many more places there are that are as likely to be changed."""
    is_sure: bool = True
    """Whether the text is known; if not, only the place counts and the lines stay as they are."""
    goes_on: bool = False
    """Whether it belongs right behind what was edited."""
    column: int | None = None
    """Where it begins in the first line, if that is known."""
    names: tuple[str, str] | None = None
    """The old name and the new one, if it is a part of a rename."""
    places: Sequence[tuple[int, int]] = ()
    """All places of that name in the file that are not renamed yet; columns are bytes."""

    @property
    def key(self) -> tuple[str, int, int, str]:
        """What it does, whichever rule made it."""
        return self.uri, self.start, self.end, "\n".join(self.lines)
