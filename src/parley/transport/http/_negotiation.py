"""The transport's headers, and `Parley-Resume`, by which two Parley peers recognize each other.

Other implementations do not send `Parley-Resume`. Its value is `1` followed by parameters in
the usual header syntax: `1; grace=60`, `1; received=17`. A server rejects a malformed value (see
`_app/responses.py`); a client treats a server whose value it does not understand as one without
support for resuming.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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
    """Return whether a server's `Parley-Resume` has the version that we support."""
    return _RESUMES.fullmatch(value.strip()) is not None


def resume_parameter(value: str, name: str) -> int | None:
    """Return a parameter of a server's `Parley-Resume`, or None if it is missing."""
    found = re.search(rf";\s*{name}=(\d{{1,18}})\s*(?:;|$)", value)
    return None if found is None else int(found[1])
