"""The journal of the user's sessions, as commands open it and find something in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from parley import config
from parley.errors import ConfigError, JournalError
from parley.journal import Journal, Record, SqliteJournal

from .exits import Exit, Failure

__all__ = ["find_session", "keeping", "sessions_called"]

_DAY = 24 * 60 * 60
SHORTEST = 4
"""How much of a key has to be given."""


@asynccontextmanager
async def keeping(*, is_wanted: bool = True) -> AsyncGenerator[Journal | None]:
    """Open the journal for as long as the block runs; None where none is kept.

    What the configuration says is too old or too much is forgotten on the way.
    """
    try:
        settings = config.load().journal
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    if not is_wanted or not settings.enabled:
        yield None
        return
    journal = SqliteJournal()
    try:
        _prune(journal, settings)
        yield journal
    finally:
        await journal.aclose()


def _prune(journal: Journal, settings: config.JournalSettings) -> None:
    """Forget what the user wants forgotten; a journal that cannot be used says so by itself."""
    days, sessions, size = settings.max_age_days, settings.max_sessions, settings.max_bytes
    if days is sessions is size is None:
        return
    with suppress(JournalError):
        journal.prune(
            max_age=None if days is None else days * _DAY, max_sessions=sessions, max_bytes=size
        )


def find_session(
    journal: Journal | None, word: str | None, cwd: str, *, must_exist: bool
) -> Record | None:
    """Return the session that the user wants to go on with.

    Args:
        journal: Where to look.
        word: Its name, its key, or how its key begins; None: the last one of the directory.
        cwd: The directory.
        must_exist: Whether it is wrong if there is none.

    Raises:
        Failure: There is none, or several could be meant.
    """
    if journal is None:
        missing = "no session can be found without the journal; leave --no-journal out"
        raise Failure(missing, Exit.USAGE)
    where = str(Path(cwd).absolute())
    if word is None:
        found = journal.list(role="client", cwd=where, limit=1)
        missing = f"there is no session in {where} yet; `parley sessions list --all` has all"
    else:
        found = sessions_called(journal, word, where)
        missing = f"there is no session {word!r}; `parley sessions list --all` has all"
    if len(found) > 1:
        keys = ", ".join(each.key for each in found)
        raise Failure(f"{word!r} may be any of {keys}; give more of the key", Exit.USAGE)
    if not found and must_exist:
        raise Failure(missing, Exit.USAGE)
    return found[0] if found else None


def sessions_called(journal: Journal, word: str, cwd: str) -> list[Record]:
    """Return the sessions that a word may mean: by name here, by key, by name elsewhere."""
    if found := journal.list(role="client", name=word, cwd=cwd, limit=1):
        return found
    if (exact := journal.get(word)) is not None:
        return [exact]
    known = journal.list(role="client")
    begun = [each for each in known if len(word) >= SHORTEST and each.key.startswith(word)]
    return begun or [each for each in known if each.name == word]
