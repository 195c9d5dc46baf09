"""What a secret looks like, and texts without any.

A value that has a name is judged generously: by the name, or by how the value begins. A word in a
text is judged strictly, by its whole shape: to miss a secret of no known shape is better than to
spoil ordinary text. What is known to be secret needs no judging; the journal masks it by its value.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

__all__ = ["MASK", "SHORTEST", "is_secret", "redact", "redactor"]

MASK = "[redacted]"
"""What stands where a secret was."""
SHORTEST = 6
"""A shorter value is no secret: what it would hide is everywhere."""

_SECRET_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|passphrase|credentials?)$"
    r"|(?:^|[_-])(?:pat|authorization|cookie)$",
    re.IGNORECASE,
)
_NAMES = r"(?:pass(?:word|wd|phrase)|secret|token|credentials?|(?:api|access|private|auth)[_-]?key)"
_SHAPES = (
    r"\beyJ[\w-]{8,2000}\.[\w-]{8,2000}\.[\w-]*",
    r"\bsk-(?=[\w-]{0,200}\d)[\w-]{20,}",
    r"\b[rs]k_(?:live|test)_\w{16,}",
    r"\bgh[pousr]_\w{20,}",
    r"\bgithub_pat_\w{20,}",
    r"\bglpat-[\w-]{16,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bxox[a-z]-[\w-]{10,}",
    r"\bxapp-[\w-]{10,}",
    r"\bAIza[\w-]{35}",
    r"\bya29\.[\w-]{20,}",
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\bnpm_[A-Za-z0-9]{36}",
    r"\bpypi-[\w-]{40,}",
)
_BEGINNINGS = (
    r"\b(?:sk|pk|rk|gh[pousr]|github_pat|glpat|npm)[-_][\w-]{12,}",
    r"\b(?:AKIA|ASIA|AIza|eyJ)[\w-]{12,}",
    r"^(?:Bearer|Basic)\s+\S{8,}",
)
"""How a value begins that is hardly anything else, if it stands alone."""
_LOOKS_SECRET = re.compile("|".join((*_SHAPES, *_BEGINNINGS)), re.ASCII)
_VALUE = (  # letters and a digit, and neither `a.name` nor `a_call(`
    r"(?=[^\s\"'\\]{0,200}\d)(?=[^\s\"'\\]{0,200}[A-Za-z])"
    r"(?![A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)[\w\-+/=!@#%^&*~.]{8,2000}(?![\w(])"
)
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*KEY-----|\Z)", re.S),
        MASK,
    ),
    (re.compile("|".join(_SHAPES), re.ASCII), MASK),
    (re.compile(r"(?i)\b(bearer|basic) +(?=[\w.~+/-]{0,200}\d)[\w.~+/-]{12,}=*"), rf"\1 {MASK}"),
    (
        re.compile(
            r"(?i)\b([a-z][a-z0-9+.-]{0,20}://)(?:[^\s/:@\"']{0,200}:[^\s/@\"']{1,200}|[^\s/:@\"']{16,200})@"
        ),
        rf"\1{MASK}@",
    ),
    (
        re.compile(
            rf"(?i)({_NAMES}\\?[\"']?\s*[:=]\s*(?P<quote>\\?[\"']))[^\s\"'\\\[<$]{{6,}}(?=(?P=quote))"
        ),
        rf"\1{MASK}",
    ),
    (
        re.compile(rf"(?i)({_NAMES}\\?[\"']?\s*[:=]\s*|--[\w-]{{0,40}}{_NAMES} +){_VALUE}"),
        rf"\1{MASK}",
    ),
)
_SHORT = 64
"""Texts of frames that are no longer come again and again."""


def is_secret(name: str, value: str) -> bool:
    """Tell whether a value seems to be a secret, by its name or by what it looks like."""
    if len(value) < SHORTEST:
        return False
    return _SECRET_NAME.search(name) is not None or _LOOKS_SECRET.search(value) is not None


def redact(text: str, *, environ: Mapping[str, str] | None = None) -> str:
    """Hide what looks like a secret in a text, and the secrets of the environment.

    Keys and tokens of well-known shapes are found, passwords in assignments and URLs, and the
    values of variables whose names say that they are secret, unless they are paths.

    Args:
        text: Something that somebody else will read.
        environ: The environment; None is that of this process.
    """
    return redactor(environ)(text)


def redactor(environ: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """Return what does as `redact` to one text after the other; the environment is read once."""
    variables = (os.environ if environ is None else environ).items()
    values = {
        value
        for name, value in variables
        if len(value) >= SHORTEST and not value.startswith("/") and _SECRET_NAME.search(name)
    }
    secrets = sorted(values, key=len, reverse=True)  # one may be the beginning of another

    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, MASK)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text

    known = lru_cache(maxsize=1024)(hide)
    return lambda text: known(text) if len(text) <= _SHORT else hide(text)
