"""The headers of the transport, and `Parley-Resume`, by which two Parley peers know each other.

A plain peer never sends `Parley-Resume` and never sees it. Its value is `1`, and parameters as
those of other headers: `1; grace=60`, `1; received=17`. A server refuses what it cannot read of it
(`answers.py`); a client takes a server that it cannot understand for a plain one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = [
    "CONNECTION_ID",
    "LAST_EVENT_ID",
    "MESSAGE",
    "PROTOCOL_VERSION",
    "RESUME",
    "SESSION_ID",
    "format_resume",
    "resume_parameter",
    "resumes",
]

CONNECTION_ID = b"acp-connection-id"
SESSION_ID = b"acp-session-id"
PROTOCOL_VERSION = b"acp-protocol-version"
RESUME = b"parley-resume"
MESSAGE = b"parley-message"
LAST_EVENT_ID = b"last-event-id"

_RESUMES = re.compile(r"1(?:\s*;.*)?")


def format_resume(parameters: Mapping[str, int]) -> bytes:
    """Return the value of `Parley-Resume`."""
    return "; ".join(["1", *(f"{name}={value}" for name, value in parameters.items())]).encode()


def resumes(value: str) -> bool:
    """Tell whether a server's `Parley-Resume` is of the version that we know."""
    return _RESUMES.fullmatch(value.strip()) is not None


def resume_parameter(value: str, name: str) -> int | None:
    """Return a number of a server's `Parley-Resume`; None if it is not there."""
    found = re.search(rf";\s*{name}=(\d{{1,18}})\s*(?:;|$)", value)
    return None if found is None else int(found[1])
