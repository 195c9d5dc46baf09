"""Argument types for `argparse`: numbers and sizes."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError

_SIZE = re.compile(r"(\d+)\s*(?:(k|m|g)i?b?|b)?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}


def positive_float(text: str) -> float:
    """Parse a positive number."""
    value = _number(text)
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def non_negative_float(text: str) -> float:
    """Parse a number that is zero or positive."""
    value = _number(text)
    if not 0 <= value < math.inf:
        raise ArgumentTypeError(f"{text!r} is not zero or a positive number")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def positive_int(text: str) -> int:
    """Parse a positive integer."""
    if not text.isascii() or not text.isdecimal() or int(text) == 0:
        raise ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


def byte_size(text: str) -> int:
    """Parse a positive number of bytes, such as `4096`, `64k` or `1M`."""
    found = _SIZE.fullmatch(text.strip())
    value = 0 if found is None else int(found[1]) * _FACTORS[(found[2] or "").lower()]
    if not value:
        raise ArgumentTypeError(f"{text!r} is not a positive number of bytes, such as 64k")
    return value
