"""Tokens on disk: one line in a file that only its owner may read.

A token is never a command-line argument and never logged: commands name the file instead. If the
user does not supply a token for a server, one is generated here once and kept in the state
directory.
"""

from __future__ import annotations

import os
import secrets
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from parley._atomic_file import write_temporary
from parley._user_dirs import private_dir, state_dir
from parley.errors import ConfigError

MIN_LENGTH = 16
"""The minimum length of a server's token; a shorter one can be guessed."""
_BYTES = 32
_MAX_BYTES = 4096


def token_path() -> Path:
    """Return the path of the token that is generated for servers without one."""
    return state_dir() / "serve.token"


def read_token(path: Path, *, min_length: int = 1) -> str:
    """Return the token in a file.

    Args:
        path: The file; it contains the token on one line and nothing else.
        min_length: The minimum length of the token.

    Raises:
        ConfigError: The file cannot be read, others may read or replace it, or its content is not
            a token.
    """
    try:
        with path.open("rb") as file:
            _check_mode(path, os.fstat(file.fileno()))
            _check_directory(path)
            text = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read the token in {path}: {error.strerror}") from error
    token = text.decode("ascii", "replace").strip()
    if not token:
        raise ConfigError(
            f"the token in {path} is empty, which would give everybody access; create one with "
            f"`openssl rand -hex 32 > {shlex.quote(str(path))}`"
        )
    if len(text) > _MAX_BYTES or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"{path} does not contain a token: expected one line of printable ASCII without spaces"
        )
    if len(token) < min_length:
        raise ConfigError(
            f"the token in {path} is too short; create one of {min_length} characters or more, for "
            f"example with `openssl rand -hex 32 > {shlex.quote(str(path))}`"
        )
    return token


def load_or_create_token(path: Path | None = None) -> str:
    """Return the token in a file, generating one if the file is missing or empty.

    Args:
        path: The file; `token_path()` by default.

    Raises:
        ConfigError: The file cannot be written, or the token cannot be used; see `read_token`.
    """
    path = token_path() if path is None else path
    try:
        private_dir(path.parent)
        if _is_empty(path):
            new_token(path)
        elif not path.exists():
            _write_token(path, is_new=True)
    except OSError as error:
        raise ConfigError(f"cannot write a token to {path}: {error.strerror}") from error
    return read_token(path, min_length=MIN_LENGTH)


def _is_empty(path: Path) -> bool:
    """Return whether the file exists but is empty, for example because the disk was full."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == 0


def new_token(path: Path) -> None:
    """Write a new token to a file atomically, replacing its content.

    Raises:
        ConfigError: The file cannot be written.
    """
    try:
        if path == token_path():
            private_dir(path.parent)
        _write_token(path)
    except OSError as error:
        raise ConfigError(f"cannot write a token to {path}: {error.strerror}") from error


def _write_token(path: Path, *, is_new: bool = False) -> None:
    """Write a token atomically; with `is_new`, keep a file that appeared in the meantime."""
    token = f"{secrets.token_urlsafe(_BYTES)}\n"
    with write_temporary(path, token.encode()) as file:
        if is_new:
            with suppress(FileExistsError):  # another server has just created one
                path.hardlink_to(file)
        else:
            file.replace(path)


def example_command(url: str, token_file: Path | None) -> str:
    """Return a command to paste that connects to the server; it does not contain the token."""
    words = ["parley", "run", "Hello", "-a", url]
    if token_file is not None:
        words += ["--token-file", str(token_file)]
    return shlex.join(words)


def _check_directory(path: Path) -> None:
    """Reject a file that others could replace with one whose token they know."""
    found = path.resolve().parent.stat()
    is_open = os.name == "posix" and found.st_mode & stat.S_IWOTH
    if is_open and not found.st_mode & stat.S_ISVTX:
        folder = path.resolve().parent
        raise ConfigError(
            f"other users may replace the token in {path}; run "
            f"`chmod o-w {shlex.quote(str(folder))}`, and change the token if they did"
        )


def _check_mode(path: Path, found: os.stat_result) -> None:
    """Reject a file that others may read; a file we do not own may be readable by its group."""
    if os.name != "posix" or not stat.S_ISREG(found.st_mode):
        return
    is_ours = found.st_uid == os.geteuid()
    if found.st_mode & (0o077 if is_ours else 0o007):
        raise ConfigError(
            f"other users may read the token in {path}; run "
            f"`chmod 600 {shlex.quote(str(path))}`, and change the token if they did"
        )
