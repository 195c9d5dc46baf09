"""Detection of secrets, and their redaction in texts.

A value with a name is judged broadly: by the name, or by how the value starts. A word in a text is
judged strictly, by its whole shape: missing a secret of an unknown shape is better than damaging
ordinary text. Values that are known to be secret need no detection; the journal masks them by
value.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

MASK = "[redacted]"
"""The replacement for a secret."""
SHORTEST = 6
"""Shorter values do not count as secrets: they occur everywhere in ordinary text."""

_SECRET_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|passphrase|credentials?|bearer|authorization)$"
    r"|(?:^|[_-])(?:pat|pass|passcode|jwt|cookie)$",
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
"""Patterns that mean a secret in a value that stands alone, but not in running text."""
_LOOKS_SECRET = re.compile("|".join((*_SHAPES, *_BEGINNINGS)), re.ASCII)
_VALUE = (  # letters and a digit, but not `a.name` or `a_call(`
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
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)")
_NAMED_VALUE = re.compile(r"((--?|/)?([A-Za-z_][\w.-]*)(?:=|:(?!//) ?))(.+)", re.S)
"""`NAME=value`, `--name=value`, `/name:value` or a header, `Name: value`."""
_FLAG = re.compile(r"--[a-z]{2,}(?:-[a-z]+)*(?:=.*)?", re.S)
"""An option rather than the value of one: words in lower case."""
_PASSWORD_OPTION = re.compile(r"(?:^|[_-])(?:pwd|pw|creds?)$", re.IGNORECASE)
"""Options whose value is a secret unless it is a path: some programs call a directory `--pwd`."""
_AUTH_OPTION = re.compile(r"(?:^|[_-])auth$", re.IGNORECASE)
"""Options whose value is a secret unless it is a word: some programs take `--auth basic`."""
_PLACE = re.compile(r"[/~.\\]|[A-Za-z]:[/\\]|https?://")
_METHOD = re.compile(r"[A-Za-z]{1,15}(?:[_-][A-Za-z]{1,15})*[12]?")
"""The name of a way to log in, such as `basic`, `api-key` or `oauth2`."""
_IN_URL = re.compile(
    r"(?<=://)(?P<user>[^\s/@:]*:)?(?P<password>[^\s/@]+)(?=@)"
    r"|(?<=[?&#])(?P<name>[\w.-]+)=(?P<value>[^\s&#]+)"
)
_NOT_IN_URL = re.compile(rb"[^A-Za-z0-9_.~-]")
"""The bytes that are percent-encoded in a URL."""
_LINE = re.compile(r"[\s;&|()\"'`]+")
"""Separates the words of a shell command line that is passed as one argument."""
_SHORT = 64
"""Texts up to this length are cached, because they recur in many frames."""


def is_secret(name: str, value: str) -> bool:
    """Return whether a value seems to be a secret, by its name or its shape."""
    if len(value) < SHORTEST:
        return False
    return _SECRET_NAME.search(name) is not None or _LOOKS_SECRET.search(value) is not None


def is_telling(value: str) -> bool:
    """Return whether a value is hardly anything but itself: neither a word nor a place."""
    has_digit = any(each.isdigit() for each in value)
    is_place = value.startswith(("/", "~", ".", "http://", "https://"))
    return len(value) >= 8 and not is_place and (has_digit or len(value) >= 24)


def needles(secrets: Iterable[str]) -> tuple[bytes, ...]:
    """Return the forms of secrets in the bytes of a frame: plain, escaped, in a URL, in base64."""
    found: dict[bytes, None] = {}
    for secret in secrets:
        if len(secret) < SHORTEST:
            continue
        for is_ascii in (False, True):
            text = json.dumps(secret, ensure_ascii=is_ascii)[1:-1]
            careful = re.sub("[<>&]", lambda each: f"\\u{ord(each[0]):04x}", text)
            slashed = text.replace("/", "\\/")
            for form in (secret, text, careful, slashed):
                found[form.encode(errors="surrogatepass")] = None
        whole = secret.encode(errors="surrogatepass")
        found[_NOT_IN_URL.sub(lambda each: b"%%%02X" % each[0][0], whole)] = None
        found |= dict.fromkeys(_in_base64(whole))
    return tuple(found)


def _in_base64(secret: bytes) -> Iterator[bytes]:
    """Yield what is always there of a secret in the base64 of a text, wherever it begins."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + secret)
        yield whole[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]


def hide_in_command(words: Sequence[str]) -> tuple[list[str], set[str]]:
    """Mask the secrets of a command line, so that it can be stored and shown.

    Masks the values of options, variables, headers and query parameters with the name of a secret,
    passwords in URLs, and values that look like a key or a token. The value of `-p` is not masked:
    for most programs it is a port, a prompt or a path.

    Returns:
        The words with each secret masked, and the secrets.
    """
    shown: list[str] = []
    secrets: set[str] = set()
    name = ""
    for word in words:
        if name and not _FLAG.fullmatch(word) and _is_option_secret(name, word):
            secrets.add(word)
            shown.append(MASK)
            name = ""
            continue
        option = _OPTION.fullmatch(word)
        name = "" if option is None else option[1]
        shown.append(_hide_in_word(word, secrets))
    return shown, secrets


def _is_option_secret(name: str, value: str) -> bool:
    """Return whether the value of an option of a command is a secret, by the option's name."""
    if _SECRET_NAME.search(name):
        return True
    if _PASSWORD_OPTION.search(name):
        return _PLACE.match(value) is None
    is_auth = _AUTH_OPTION.search(name) is not None
    return is_auth and not _PLACE.match(value) and not _METHOD.fullmatch(value)


def _hide_in_word(word: str, secrets: set[str]) -> str:
    """Mask the secrets in one word of a command line, and add them to `secrets`."""
    before = ""
    while (named := _NAMED_VALUE.fullmatch(word)) is not None:  # such as `--env=KEY=value`
        start, dashes, name, value = named.groups()
        if _SECRET_NAME.search(name) or (dashes and _is_option_secret(name, value)):
            secrets.add(value)
            return f"{before}{start}{MASK}"
        before, word = before + start, value
    parts = [each for each in _LINE.split(word) if each]
    if len(parts) > 1:
        word = _hide_in_line(word, parts, secrets)

    def hide_in_url(found: re.Match[str]) -> str:
        name, value, password = found["name"], found["value"], found["password"]
        if password is not None:
            secrets.add(password)
            return f"{found['user'] or ''}{MASK}"
        if not _SECRET_NAME.search(name):
            return found[0]
        secrets.add(value)
        return f"{name}={MASK}"

    def hide(found: re.Match[str]) -> str:
        secrets.add(found[0])
        return MASK

    return before + _LOOKS_SECRET.sub(hide, _IN_URL.sub(hide_in_url, word))


def _hide_in_line(line: str, words: Sequence[str], secrets: set[str]) -> str:
    """Mask the secrets in a shell command line, and add them to `secrets`."""
    _, found = hide_in_command(words)
    for secret in sorted(found, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            secrets.add(secret)
            line = line.replace(secret, MASK)
    for pattern, mask in _PATTERNS:
        line = pattern.sub(mask, line)
    return line


def redact(text: str, *, environ: Mapping[str, str] | None = None) -> str:
    """Mask the values in a text that look like secrets, and the secrets of the environment.

    Masks keys and tokens of well-known shapes, passwords in assignments and URLs, and the values of
    environment variables with the name of a secret, unless they are paths.

    Args:
        text: A text that somebody else will read.
        environ: The environment; by default that of this process.
    """
    return redactor(environ)(text)


def redactor(environ: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """Return a function that redacts texts like `redact` but reads the environment only once."""
    variables = (os.environ if environ is None else environ).items()
    values = {
        value
        for name, value in variables
        if len(value) >= SHORTEST and not value.startswith("/") and _SECRET_NAME.search(name)
    }
    secrets = sorted(values, key=len, reverse=True)  # longest first: one may be a prefix of another

    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, MASK)
        for pattern, instead in _PATTERNS:
            text = pattern.sub(instead, text)
        return text

    known = lru_cache(maxsize=1024)(hide)
    return lambda text: known(text) if len(text) <= _SHORT else hide(text)
