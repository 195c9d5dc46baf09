"""Numbers as a command line has them."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError

__all__ = ["count", "not_negative", "positive", "size"]

_SIZE = re.compile(r"(\d+)\s*(?:(k|m|g)i?b?|b)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def positive(text: str) -> float:
    """Read a number above zero."""
    value = _number(text)
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number above zero")
    return value


def not_negative(text: str) -> float:
    """Read a number that may be zero."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number from zero on")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def count(text: str) -> int:
    """Read a whole number above zero."""
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is no whole number above zero")
    return int(text)


def size(text: str) -> int:
    """Read a number of bytes: `4096`, `64k`, `1M`."""
    found = _SIZE.fullmatch(text.strip())
    value = 0 if found is None else int(found[1]) * _FACTORS[(found[2] or "").lower()]
    if not value:
        raise ArgumentTypeError(f"{text!r} is no number of bytes above zero, such as 64k")
    return value
