from __future__ import annotations

import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from parley.errors import ConfigError
from parley.transport.http._tokens import (
    MIN_LENGTH,
    example_command,
    load_or_create_token,
    new_token,
    read_token,
    token_path,
)


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "token"
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.requirement("SAFE-IN-03", "SAFE-USER-07")
def test_a_token_is_made_once_for_its_owner_alone() -> None:
    token = load_or_create_token()
    assert load_or_create_token() == token
    assert len(token) * 6 >= 256
    assert token_path().stat().st_mode & 0o777 == 0o600
    assert token_path().parent.stat().st_mode & 0o777 == 0o700
    token_path().unlink()
    assert load_or_create_token() != token


@pytest.mark.requirement("SAFE-IN-03")
@pytest.mark.parametrize("mode", [0o604, 0o640, 0o660, 0o644])
def test_a_token_that_others_may_read_is_none(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, "a-token-that-is-long", mode)
    with pytest.raises(
        ConfigError, match=f"other users may read the token in {path}; run `chmod 600"
    ):
        read_token(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("two words", "does not contain a token"),
        ("one\ntwo", "does not contain a token"),
        ("tök", "does not contain a token"),
        ("x" * 5000, "does not contain a token"),
        ("x" * (MIN_LENGTH - 1), "too short"),
    ],
)
def test_what_is_no_token_is_refused_and_not_quoted(
    tmp_path: Path, text: str, expected: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=expected) as caught:
        read_token(path, min_length=MIN_LENGTH)
    assert not text.strip() or text not in str(caught.value)


def test_a_token_is_read_without_what_is_around_it(tmp_path: Path) -> None:
    assert read_token(written(tmp_path, "  short \r\n")) == "short"
    with pytest.raises(ConfigError, match=r"cannot read the token in .*: No such file"):
        read_token(tmp_path / "none")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot write a token to"):
        load_or_create_token(tmp_path / "file" / "token")


def test_an_invitation_can_be_pasted_and_names_the_file() -> None:
    line = example_command("http://127.0.0.1:7400/acp", Path("/with a blank/token"))
    words = ["parley", "run", "Hello", "-a", "http://127.0.0.1:7400/acp"]
    assert shlex.split(line) == [*words, "--token-file", "/with a blank/token"]
    assert shlex.split(example_command("http://127.0.0.1:7400/acp", None)) == words


def test_a_new_token_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    old = load_or_create_token()
    new_token(token_path())
    assert load_or_create_token() != old
    assert token_path().stat().st_mode & 0o777 == 0o600
    file = tmp_path / "own.token"
    new_token(file)
    assert len(read_token(file, min_length=MIN_LENGTH)) * 6 >= 256
    assert [each.name for each in tmp_path.iterdir() if "token" in each.name] == ["own.token"]
    with pytest.raises(ConfigError, match="cannot write a token to"):
        new_token(tmp_path / "nowhere" / "token")


def test_an_empty_file_of_ours_gets_a_token_and_one_of_the_users_is_explained(
    tmp_path: Path,
) -> None:
    token_path().parent.mkdir(parents=True)
    token_path().touch()  # left by a process that was killed, or by a full disk
    assert len(load_or_create_token()) >= MIN_LENGTH
    assert token_path().stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigError, match=r"is empty, .*; create one with `openssl rand"):
        read_token(written(tmp_path, ""))


def test_of_servers_that_start_at_once_all_have_the_same_token() -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = [made.result() for made in [pool.submit(load_or_create_token) for _ in range(8)]]
    assert len(set(tokens)) == 1
    assert [each.name for each in token_path().parent.iterdir()] == ["serve.token"]


def test_a_token_that_others_could_replace_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "a-token-of-some-length")
    tmp_path.chmod(0o777)
    with pytest.raises(ConfigError, match=r"other users may replace the token in .*`chmod o-w "):
        read_token(path)
    tmp_path.chmod(0o1777)
    assert read_token(path) == "a-token-of-some-length"
