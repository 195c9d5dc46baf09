"""The journal of the user's sessions, as commands open it and find something in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from parley import config
from parley.client import _resolve as named
from parley.errors import ConfigError, JournalError
from parley.journal import Journal, Record, SqliteJournal

from .reporting import Exit, Failure

__all__ = ["find_session", "open_journal"]

_DAY = 24 * 60 * 60


@asynccontextmanager
async def open_journal(*, is_wanted: bool = True) -> AsyncGenerator[Journal | None]:
    """Open the journal for the duration of the block; None if sessions are not saved.

    What exceeds the limits of the configuration is removed first.
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
            max_age=None if days is None else days * _DAY,
            max_sessions=sessions,
            max_bytes=size,
            role="client",
        )


def find_session(
    journal: Journal | None,
    word: str | None,
    cwd: str,
    *,
    must_exist: bool,
    anywhere: bool = False,
) -> Record | None:
    """Return the session that the user wants to resume.

    Args:
        journal: Where to look.
        word: Its name, its key, or how its key begins; None: the last one of the directory.
        cwd: The directory.
        must_exist: Whether it is wrong if there is none.
        anywhere: Whether a name may be one of another directory.

    Raises:
        Failure: There is none, or several could be meant.
    """
    if journal is None:
        missing = "no session can be found without the journal; leave --no-journal out"
        raise Failure(missing, Exit.USAGE)
    try:
        found = named.find_session(journal, word, cwd, anywhere=anywhere)
    except LookupError as error:
        raise Failure(str(error), Exit.USAGE) from error
    if found is None and must_exist:
        who = f"in {Path(cwd).absolute()} yet" if word is None else repr(word)
        raise Failure(
            f"there is no session {who}; `parley sessions list --all` has all", Exit.USAGE
        )
    return found
