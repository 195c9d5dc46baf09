"""Error and log texts for a peer that has disconnected."""

from __future__ import annotations

from parley.errors import ConnectionClosed, InternalError, ProcessExited, RequestError

_MAX_STDERR_CHARS = 2000
_MAX_LINE_CHARS = 200


def disconnect_error(name: str, reason: ConnectionClosed) -> RequestError:
    """Return the error of a request that a disconnected peer will not answer."""
    data: dict[str, object] = {"gone": name}
    if isinstance(reason, ProcessExited):
        data |= {"exitCode": reason.code, "lastWords": reason.stderr[-_MAX_STDERR_CHARS:]}
        end = f"exited with code {reason.code}"
        if reason.code < 0:
            end = f"was killed by signal {-reason.code}"
        label = f"{name}: {reason.name}" if reason.name else name
        return InternalError(f"{label} {end}", data)
    return InternalError(f"{name} is gone: {reason}", data)


def disconnect_summary(name: str, reason: ConnectionClosed) -> str:
    """Return the same as one short line, with the last line of stderr."""
    text = disconnect_error(name, reason).message
    lines = reason.stderr.split("\n") if isinstance(reason, ProcessExited) else []
    last = next((each.strip() for each in reversed(lines) if each.strip()), "")
    return f"{text}; stderr ends with: {last[:_MAX_LINE_CHARS]}" if last else text
