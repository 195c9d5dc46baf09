"""Errors of agents as one sentence for the user, with what to do next, and the exit code."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from parley._stderr_excerpt import stderr_excerpt
from parley.conversation.start_hint import WRONG_COMMAND
from parley.errors import (
    AcpError,
    AuthRequired,
    ConnectionClosed,
    InternalError,
    ProcessExited,
    RequestError,
    TransportError,
    Unauthorized,
)

from .reporting import Exit, Failure

__all__ = ["failure_of"]


def failure_of(
    error: AcpError,
    *,
    is_connected: bool,
    is_configured: bool = False,
    login_hint: str = "",
    log_hint: str = "",
) -> Failure:
    """Return what to show the user for an error.

    Args:
        error: What was raised.
        is_connected: Whether the agent had answered initialize.
        is_configured: Whether it is an agent of the configuration, whose command was right once.
        login_hint: What to do if it wants a login.
        log_hint: How to see what an agent logged that does not say what is wrong.
    """
    match error:
        case AuthRequired():
            hint = "" if "offers no login" in error.message else login_hint
            return Failure(f"{error.description}{hint}", Exit.AUTH)
        case InternalError(data={"gone": str(), **rest}):  # from a gateway in front of it
            excerpt = stderr_excerpt(str(rest.get("lastWords", "")))
            tail = f"; stderr:\n{excerpt}" if excerpt else ""
            return Failure(f"{error.message}{tail}", Exit.DIED)
        case RequestError():
            has_no_details = error.description == error.message and error.data is not UNSET
            data = msgspec.json.encode(error.data).decode() if has_no_details else ""
            text = f"the agent returned an error: {error}"
            hint = log_hint if isinstance(error, InternalError) else ""
            return Failure(f"{text}: {data}{hint}" if data else f"{text}{hint}")
        case Unauthorized():
            return Failure(f"{error}; give --token-file FILE, or set PARLEY_TOKEN", Exit.AUTH)
        case ProcessExited() if error.code and error.stderr.strip():
            return Failure(str(error), Exit.DIED)
        case ConnectionClosed() if not is_connected and not error.diagnosis:
            ended = f"it ended before it responded to initialize{log_hint}"
            hint = ended if is_configured else WRONG_COMMAND
            return Failure(f"{error}\nparley: {hint}", Exit.DIED)
        case TransportError():
            return Failure(str(error), Exit.DIED)
        case _:
            return Failure(str(error))
