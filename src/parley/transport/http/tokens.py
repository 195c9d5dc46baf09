"""Tokens on disk: one line in a file that only its owner may read.

A token is never an argument of a command and never in a log: a command names the file. What is
served without a token of the user's own gets one that is made here, once, and kept in the state
directory.
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from parley.errors import ConfigError
from parley.places import private_dir, state_dir

__all__ = ["SHORTEST", "invitation", "kept_token", "new_token", "read_token", "token_path"]

SHORTEST = 16
"""How long a token of a server has to be; a shorter one can be guessed."""
_BYTES = 32
_MAX_BYTES = 4096


def token_path() -> Path:
    """Return where the token is kept that is made for a server without one."""
    return state_dir() / "serve.token"


def read_token(path: Path, *, shortest: int = 1) -> str:
    """Return the token in a file.

    Args:
        path: The file; its first line is the token, and there is nothing else in it.
        shortest: How long it has to be.

    Raises:
        ConfigError: It cannot be read, others may read it, or it is no token.
    """
    try:
        with path.open("rb") as file:
            _check_mode(path, os.fstat(file.fileno()))
            text = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"the token in {path} cannot be read: {error.strerror}") from error
    token = text.decode("ascii", "replace").strip()
    if not token:
        raise ConfigError(f"the token in {path} is empty, which would let everybody in")
    if len(text) > _MAX_BYTES or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"what is in {path} is no token: expected one line without blanks")
    if len(token) < shortest:
        raise ConfigError(
            f"the token in {path} is too easy to guess; make one of {shortest} characters or more, "
            f"as with `openssl rand -hex 32 > {shlex.quote(str(path))}`"
        )
    return token


def kept_token(path: Path | None = None) -> str:
    """Return the token in a file, which is made with a new one if it is not there.

    Args:
        path: The file; `token_path()` unless told otherwise.

    Raises:
        ConfigError: It cannot be made, or not be used; see `read_token`.
    """
    path = token_path() if path is None else path
    try:
        private_dir(path.parent)
        with suppress(FileExistsError):
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(made, "w") as file:
                file.write(f"{secrets.token_urlsafe(_BYTES)}\n")
    except OSError as error:
        raise ConfigError(f"no token can be kept in {path}: {error.strerror}") from error
    return read_token(path, shortest=SHORTEST)


def new_token(path: Path) -> None:
    """Put a new token into a file, in the place of what is there, whole or not at all.

    Raises:
        ConfigError: It cannot be written.
    """
    try:
        if path == token_path():
            private_dir(path.parent)
        number, made = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
        try:
            with os.fdopen(number, "w") as file:
                file.write(f"{secrets.token_urlsafe(_BYTES)}\n")
            Path(made).replace(path)
        except BaseException:  # also when interrupted: half a token is not left lying about
            Path(made).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"no token can be kept in {path}: {error.strerror}") from error


def invitation(url: str, token_file: Path | None) -> str:
    """Return a command that reaches what is served, to be pasted; the token is not in it."""
    words = ["parley", "run", "Hello", "-a", url]
    if token_file is not None:
        words += ["--token-file", str(token_file)]
    return shlex.join(words)


def _check_mode(path: Path, found: os.stat_result) -> None:
    """Refuse a file that others may read; of one that is not ours, its owner's group may."""
    if os.name != "posix" or not stat.S_ISREG(found.st_mode):
        return
    is_ours = found.st_uid == os.geteuid()
    if found.st_mode & (0o077 if is_ours else 0o007):
        raise ConfigError(
            f"others may read the token in {path}; `chmod 600 {shlex.quote(str(path))}`, and "
            "change it if they have"
        )
