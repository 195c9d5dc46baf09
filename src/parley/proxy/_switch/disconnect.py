"""Error and log texts for a peer that has disconnected."""

from __future__ import annotations

from parley.errors import ConnectionClosed, InternalError, ProcessExited, RequestError

_LAST_WORDS = 2000
_LAST_LINE = 200


def disconnect_error(name: str, reason: ConnectionClosed) -> RequestError:
    """Return the error of a request that a disconnected peer will not answer."""
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
    """Return the same as one short line, with the last line of stderr."""
    text = disconnect_error(name, reason).message
    dialect = reason.stderr.split("\n") if isinstance(reason, ProcessExited) else []
    last = next((each.strip() for each in reversed(dialect) if each.strip()), "")
    return f"{text}; its last words: {last[:_LAST_LINE]}" if last else text
