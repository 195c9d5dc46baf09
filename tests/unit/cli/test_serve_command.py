"""`parley serve` where nothing is served: what it refuses before it listens."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command_line import CommandLine

TOKEN = "the-secret-token-of-ann"


def test_what_cannot_be_is_told_in_a_sentence(parley: CommandLine, tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text('http = "127.0.0.1:0"\n\n[limits]\nconnections = 10\nspawn = 3\n')
    done = parley("serve", "--config", str(config))
    told = f"parley: {config}:5: limits.spawn is not known; did you mean spawns?\n"
    assert (done.returncode, done.stderr) == (2, told)
    assert parley("serve", "/no/such/program").returncode == 5
    assert parley("serve", "--http", "nowhere").returncode == 2
    assert parley("serve", "--name", "a b=c").returncode == 2
    twice = parley("serve", "--name", "demo=x", "--name", "demo=y")
    assert "two agents would be named demo" in twice.stderr
    for words in (
        ("--allow-host", "http://x/"), ("--allow-origin", "chat.example"), ("--proxy", "192.0.2.1"),
        ("--trusted-header", "X User"), ("--trusted-header", "X-User", "--proxy", "10.0.0.0/8"),
    ):  # fmt: skip
        assert parley("serve", "--http", "127.0.0.1:0", *words).returncode == 2, words


@pytest.mark.requirement("SAFE-IN-04")
def test_it_does_not_listen_for_other_machines_without_a_token(parley: CommandLine) -> None:
    for address in ("0.0.0.0:0", "[::]:0"):
        done = parley("serve", "--no-token", "--http", address)
        assert done.returncode == 2
        assert "set a token first, or listen on 127.0.0.1" in done.stderr


@pytest.mark.requirement("SAFE-IN-03")
def test_a_token_that_protects_nothing_is_refused(parley: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "token"
    for text, mode, told in (
        ("", 0o600, "is empty, which would give everybody access"),
        ("\n", 0o600, "is empty"),
        ("short", 0o600, "too short"),
        ("two words of a token", 0o600, "does not contain a token"),
        (TOKEN, 0o644, "other users may read the token"),
        (TOKEN, 0o640, "chmod 600"),
    ):
        file.write_text(text)
        file.chmod(mode)
        done = parley("serve", "--token-file", str(file), "--http", "127.0.0.1:0")
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert "cannot read the token" in parley("serve", "--token-file", str(tmp_path)).stderr
