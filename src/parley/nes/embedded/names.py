"""The names of a page, whatever its language; each page is read once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple
from weakref import WeakKeyDictionary

from parley.nes.syntax import is_parsed

from .javascript_names import walk_javascript
from .name_table import Names, names_of
from .page import Page
from .plain_names import walk_plain
from .python_names import walk_python
from .scopes import Budget, OutOfTime, Walker

__all__ = ["Limit", "is_read", "limited", "names"]

_WALKERS: dict[str, Walker] = {
    "python": walk_python,
    "javascript": walk_javascript,
    "typescript": walk_javascript,
    "tsx": walk_javascript,
    **dict.fromkeys(("go", "rust", "java", "c", "cpp"), walk_plain),
}
_kept: WeakKeyDictionary[Page, Names | None] = WeakKeyDictionary()


_limit: ContextVar[Limit | None] = ContextVar("limit", default=None)
_A_BYTE = 2e-7
"""How many seconds it takes to parse a byte and read it, about."""


class Limit(NamedTuple):
    """Until when files may be read."""

    clock: Callable[[], float]
    until: float

    def is_over(self) -> bool:
        """Return whether the time has come."""
        return self.clock() > self.until

    def is_enough_for(self, page: Page) -> bool:
        """Return whether there is time to read a page that was never read."""
        return self.until - self.clock() > len(page.text) * _A_BYTE


@contextmanager
def limited(clock: Callable[[], float], until: float) -> Generator[None]:
    """Let `names` return None within the block for what cannot be read in time."""
    token = _limit.set(Limit(clock, until))
    try:
        yield
    finally:
        _limit.reset(token)


def is_read(page: Page) -> bool:
    """Return whether the names of a page are known, or that there are none."""
    return page in _kept


def names(page: Page | None) -> Names | None:
    """Return the names of a page; None if its language is not known.

    Where there is a limit, None may also mean that the time is not enough. What was read by then
    is kept, so that there is less to do the next time.
    """
    if page is None:
        return None
    if page not in _kept:
        limit = _limit.get()
        if limit and not is_parsed(page.uri, page.language) and not limit.is_enough_for(page):
            return None
        try:
            _kept[page] = names_of(page, _WALKERS, Budget(limit.is_over) if limit else Budget())
        except RecursionError:
            # Nobody writes code that deep; what a machine wrote needs no suggestions.
            _kept[page] = None
        except OutOfTime:
            return None
    return _kept[page]
