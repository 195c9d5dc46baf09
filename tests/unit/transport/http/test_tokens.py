from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from parley.errors import ConfigError
from parley.transport.http.tokens import (
    SHORTEST,
    invitation,
    kept_token,
    new_token,
    read_token,
    token_path,
)


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "token"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.requirement("SAFE-IN-03")
def test_a_token_is_made_once_for_its_owner_alone() -> None:
    token = kept_token()
    assert kept_token() == token
    assert len(token) * 6 >= 256
    assert token_path().stat().st_mode & 0o777 == 0o600
    assert token_path().parent.stat().st_mode & 0o777 == 0o700
    token_path().unlink()
    assert kept_token() != token


@pytest.mark.requirement("SAFE-IN-03")
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o644])
def test_a_token_that_others_may_read_is_none(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, "a-token-that-is-long", mode)
    with pytest.raises(ConfigError, match=f"others may read the token in {path}; `chmod 600"):
        read_token(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("two words", "is no token"),
        ("one\ntwo", "is no token"),
        ("tök", "is no token"),
        ("x" * 5000, "is no token"),
        ("x" * (SHORTEST - 1), "too easy to guess"),
    ],
)
def test_what_is_no_token_is_refused_and_not_quoted(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=told) as caught:
        read_token(path, shortest=SHORTEST)
    assert not text.strip() or text not in str(caught.value)


def test_a_token_is_read_without_what_is_around_it(tmp_path: Path) -> None:
    assert read_token(written(tmp_path, "  short \r\n")) == "short"
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_token(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="no token can be kept"):
        kept_token(tmp_path / "file" / "token")


def test_an_invitation_can_be_pasted_and_names_the_file() -> None:
    line = invitation("http://127.0.0.1:7400/acp", Path("/with a blank/token"))
    words = ["parley", "run", "Hello", "-a", "http://127.0.0.1:7400/acp"]
    assert shlex.split(line) == [*words, "--token-file", "/with a blank/token"]
    assert shlex.split(invitation("http://127.0.0.1:7400/acp", None)) == words


def test_a_new_token_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    old = kept_token()
    new_token(token_path())
    assert kept_token() != old
    assert token_path().stat().st_mode & 0o777 == 0o600
    file = tmp_path / "own.token"
    new_token(file)
    assert len(read_token(file, shortest=SHORTEST)) * 6 >= 256
    assert [each.name for each in tmp_path.iterdir() if "token" in each.name] == ["own.token"]
    with pytest.raises(ConfigError, match="no token can be kept in"):
        new_token(tmp_path / "nowhere" / "token")
