"""The error for a missing library of the extra `http`: h2, h11 or websockets."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from parley.errors import ConnectFailed

_LIBRARIES = ("h2", "h11", "websockets")


@contextmanager
def require_http_extra(what: str) -> Generator[None]:
    """Translate a failed import of one of the extra's libraries within the block.

    Args:
        what: The feature that needs the extra, for the error message.

    Raises:
        ConnectFailed: The extra is not installed; the message says how to install it.
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
