"""What is said of a peer that is gone: in the error of a request, and in a line."""

from __future__ import annotations

from parley.errors import ConnectionClosed, InternalError, ProcessExited, RequestError

_LAST_WORDS = 2000
_LAST_LINE = 200


def disconnect_error(name: str, reason: ConnectionClosed) -> RequestError:
    """Return the error of a request that will not be answered: who is gone, how, its last words."""
    data: dict[str, object] = {"gone": name}
    if isinstance(reason, ProcessExited):
        data |= {"exitCode": reason.code, "lastWords": reason.stderr[-_LAST_WORDS:]}
        how = f"exited with code {reason.code}"
        if reason.code < 0:
            how = f"was killed by signal {-reason.code}"
        who = f"{name}: {reason.name}" if reason.name else name
        return InternalError(f"{who} {how}", data)
    return InternalError(f"{name} is gone: {reason}", data)


def disconnect_summary(name: str, reason: ConnectionClosed) -> str:
    """Return the same in one short line, for who waits for nothing: with the last of its words."""
    told = disconnect_error(name, reason).message
    dialect = reason.stderr.split("\n") if isinstance(reason, ProcessExited) else []
    last = next((each.strip() for each in reversed(dialect) if each.strip()), "")
    return f"{told}; its last words: {last[:_LAST_LINE]}" if last else told
