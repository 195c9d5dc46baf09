"""The extra `http`: what is said where one of its libraries is missing."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from parley.errors import ConnectFailed

__all__ = ["needing_http"]

_LIBRARIES = ("h2", "h11", "websockets")


@contextmanager
def needing_http(what: str) -> Generator[None]:
    """Import in the block what needs the extra; `what` needs it.

    Raises:
        ConnectFailed: It is not installed; the text says what to do.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in _LIBRARIES:
            raise
        raise ConnectFailed(
            f"{name} is not installed, which {what} needs: pip install 'parley-acp[http]'"
        ) from error
