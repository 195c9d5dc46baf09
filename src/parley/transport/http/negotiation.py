"""The headers of the transport, and `Parley-Resume`, by which two Parley peers know each other.

A plain peer never sends `Parley-Resume` and never sees it. Its value is `1`, and parameters as
those of other headers: `1; grace=60`, `1; received=17`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .answers import Refused

__all__ = [
    "CONNECTION_ID",
    "LAST_EVENT_ID",
    "MESSAGE",
    "RESUME",
    "SESSION_ID",
    "format_resume",
    "parse_number",
    "parse_resume",
]

CONNECTION_ID = b"acp-connection-id"
SESSION_ID = b"acp-session-id"
RESUME = b"parley-resume"
MESSAGE = b"parley-message"
LAST_EVENT_ID = b"last-event-id"

_NUMBER = re.compile(r"[0-9]{1,18}")


def parse_resume(value: str | None) -> dict[str, int] | None:
    """Return the parameters of `Parley-Resume`; None for a peer that does not negotiate.

    A version that we do not know is none: both sides then behave as plain peers.

    Raises:
        Refused: A parameter is no number.
    """
    if value is None:
        return None
    number, *parameters = (part.strip() for part in value.split(";"))
    if number != "1":
        return None
    pairs = (parameter.partition("=") for parameter in parameters if parameter)
    return {name.strip(): parse_number(text, name.strip()) for name, _, text in pairs}


def format_resume(parameters: Mapping[str, int]) -> bytes:
    """Return the value of `Parley-Resume`."""
    return "; ".join(["1", *(f"{name}={value}" for name, value in parameters.items())]).encode()


def parse_number(text: str, name: str) -> int:
    """Return a number of a header.

    Raises:
        Refused: It is none, or has more digits than anybody counts.
    """
    if not _NUMBER.fullmatch(text.strip()):
        raise Refused(400, "bad_number", f"{name} is not a number: count from 0")
    return int(text)
