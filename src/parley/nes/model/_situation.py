"""The input of a prompt format."""

from __future__ import annotations

from msgspec import Struct

from ._window import Window


class Event(Struct, frozen=True, kw_only=True):
    """An edit that the user has made."""

    path: str
    uri: str
    before: tuple[str, ...]
    """The lines that it changed, without their ends, and some around them."""
    after: tuple[str, ...]
    """The lines as they are now."""
    line: int | None = None
    """Where `after` stands in the document as it is now, if that is known."""
    diff: str
    """The same as a unified diff, with a head for each hunk and none for the file."""
    was_proposed: bool = False
    """Whether the user took it from us."""


class Excerpt(Struct, frozen=True):
    """Some lines of another file."""

    path: str
    text: str


class Remark(Struct, frozen=True):
    """A diagnostic of a compiler or linter for a line of the document."""

    line: int
    severity: str
    message: str


class Place(Struct, frozen=True):
    """Where somebody else would change something, and to what."""

    path: str
    line: int
    text: str


class Situation(Struct, frozen=True, kw_only=True):
    """Everything around the cursor, cut to measure."""

    path: str
    language: str
    window: Window
    events: tuple[Event, ...] = ()
    """The oldest first."""
    related: tuple[Excerpt, ...] = ()
    remarks: tuple[Remark, ...] = ()
    """The nearest first."""
    places: tuple[Place, ...] = ()
    open_paths: tuple[str, ...] = ()
