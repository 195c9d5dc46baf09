"""Secrets are known by their names and their shapes, and ordinary text is left alone."""

from __future__ import annotations

import pytest

from parley._redaction import (
    MASK,
    hide_in_command,
    is_secret,
    redact,
)

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "12345678"),
        ("apiKey", "abcdefgh"),
        ("GITHUB_TOKEN", "abcdefgh"),
        ("Authorization", "Bearer abc"),
        ("DB_PASSWORD", "correct horse"),
        ("X", "sk-abcdefghijklmnop"),
        ("X", "ghp_abcdefghijklmnop"),
        ("X", "Bearer abcdefgh"),
        ("PGPASSWORD", "walnut"),
        ("SSH_PASSPHRASE", "walnut"),
        ("GITHUB_PAT", "walnut"),
        ("pass", "walnut"),
        ("db-pass", "walnut"),
        ("AUTH_JWT", "walnut"),
        ("HF", "hf_" + "aB3" * 11),
    ],
)
def test_a_secret_is_known_by_its_name_or_its_looks(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MODE", "a plain sentence"),
        ("PATH", "/usr/bin:/bin"),
        ("API_KEY", "short"),
        ("KEYBOARD", "qwertyuiop"),
        ("MONKEYS", "many of them"),
        ("bypass", "qwertyuiop"),
        ("PWD", "/home/ann"),
    ],
)
def test_what_is_plain_is_no_secret(name: str, value: str) -> None:
    assert not is_secret(name, value)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("sk-ant-api03-abcDEF0123456789abcDEF", MASK),
        ("use sk-proj-1234567890abcdefghij now", f"use {MASK} now"),
        ("ghp_" + "a1" * 18, MASK),
        ("gho_" + "a1" * 18, MASK),
        ("github_pat_11AAA0_" + "x" * 30, MASK),
        ("AKIAIOSFODNN7EXAMPLE", MASK),
        ("xoxb-123456789012-abcdef", MASK),
        ("AIza" + "Sy0" * 11 + "ab", MASK),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc123", MASK),
        (f"key:\n{PEM}\nend", f"key:\n{MASK}\nend"),
        ("-----BEGIN PRIVATE KEY-----\ncut off", MASK),
        ("Authorization: Bearer abcdef0123456789", f"Authorization: Bearer {MASK}"),
        ("password=hunter2x9", f"password={MASK}"),
        ("password: 'hunter'", f"password: '{MASK}'"),
        ('{"api_key": "abcdefgh"}', f'{{"api_key": "{MASK}"}}'),
        (r'{\"token\": \"abcdefgh1\"}', rf'{{\"token\": \"{MASK}\"}}'),
        ("DB_PASSWORD=s3cr3tpass make", f"DB_PASSWORD={MASK} make"),
        ("https://user:pw@host/x", f"https://{MASK}@host/x"),
        ("tool --api-key abcd1234efgh", f"tool --api-key {MASK}"),
        ("curl -H 'X-Api-Key: 0123456789abcdef'", f"curl -H 'X-Api-Key: {MASK}'"),
        ("?access_token=abc123def456", f"?access_token={MASK}"),
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_is_hidden(text: str, hidden: str) -> None:
    assert redact(text, environ={}) == hidden
    assert redact(hidden, environ={}) == hidden


@pytest.mark.parametrize(
    "text",
    [
        "password: string;",
        "token: Optional[str] = None",
        "max_tokens: 4096, total_tokens=150000",
        "token = get_token2()",
        "secret = os.environ['X']",
        "password = self.password1",
        "the bearer of this 12345678",
        "Basic authentication is used",
        "sk-learn is a library; sk-container-id-1",
        "tokenizer: 'unicode61'",
        '"token_type": "bearer"',
        "git@github.com:foo/bar.git",
        "ssh://git@github.com/foo",
        "https://localhost:8080/path",
        "api_key=$OPENAI_API_KEY",
        "the password: please choose one",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "secret: 'What is your 1st secret?'",
        "--token TOKEN",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text, environ={}) == text


def test_the_secrets_of_the_environment_are_hidden() -> None:
    environ = {
        "MY_API_KEY": "correct horse",
        "DB_PASSWORD": "battery",
        "TOKEN_FILE": "/run/token",
        "SHORT_KEY": "abc",
        "SSH_KEY": "/home/me/.ssh/id",
        "KEYBOARD": "qwertz-de",
    }
    text = "correct horse battery staple /run/token abc /home/me/.ssh/id qwertz-de"
    hidden = f"{MASK} {MASK} staple /run/token abc /home/me/.ssh/id qwertz-de"
    assert redact(text, environ=environ) == hidden


def test_the_environment_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "a planted marker")
    assert redact("here is a planted marker.") == f"here is {MASK}."


def test_a_secret_that_begins_another_leaves_nothing_of_it() -> None:
    environ = {"A_TOKEN": "walnut", "B_TOKEN": "walnut-tree"}
    assert redact("walnut-tree and walnut", environ=environ) == f"{MASK} and {MASK}"


@pytest.mark.parametrize("piece", ["token=", "sk-", "eyJ-", "a.", "a://", "--a-", "http://a:"])
def test_a_long_text_takes_no_long_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(redact(text, environ={})) <= len(text)


@pytest.mark.parametrize(
    ("words", "shown", "secrets"),
    [
        (["a", "--api-key", "hunter2"], ["a", "--api-key", MASK], {"hunter2"}),
        (["a", "--api-key=hunter2"], ["a", f"--api-key={MASK}"], {"hunter2"}),
        (["a", "-token", "x"], ["a", "-token", MASK], {"x"}),
        (["a", "--password", "-x1"], ["a", "--password", MASK], {"-x1"}),
        (["env", "API_TOKEN=ab=c", "a"], ["env", f"API_TOKEN={MASK}", "a"], {"ab=c"}),
        (
            ["a", "-H", "Authorization: Bearer t0ken"],
            ["a", "-H", f"Authorization: {MASK}"],
            {"Bearer t0ken"},
        ),
        (["a", "X-Api-Key: k"], ["a", f"X-Api-Key: {MASK}"], {"k"}),
        (["a", "https://me:pw@h/x"], ["a", f"https://me:{MASK}@h/x"], {"pw"}),
        (["a", "https://t0ken@h/x"], ["a", f"https://{MASK}@h/x"], {"t0ken"}),
        (
            ["a", "https://h/x?q=1&token=abc#f"],
            ["a", f"https://h/x?q=1&token={MASK}#f"],
            {"abc"},
        ),
        (["a", "sk-abcdefghijklmnop"], ["a", MASK], {"sk-abcdefghijklmnop"}),
        (["a", "--db=sk-abcdefghijklmnop"], ["a", f"--db={MASK}"], {"sk-abcdefghijklmnop"}),
        (["a", "--token", "--verbose"], ["a", "--token", "--verbose"], set[str]()),
        (["a", "--env=KEY=value12"], ["a", f"--env=KEY={MASK}"], {"value12"}),
        (["a", "--set=x.api_key=value12"], ["a", f"--set=x.api_key={MASK}"], {"value12"}),
        (
            ["a", "--header=Authorization: Bearer value123"],
            ["a", f"--header=Authorization: {MASK}"],
            {"Bearer value123"},
        ),
        (
            ["a", "-HAuthorization: Bearer value123"],
            ["a", f"-HAuthorization: {MASK}"],
            {"Bearer value123"},
        ),
        (
            ["sh", "-c", "export TOKEN=value12; agent --api-key 'value34'"],
            ["sh", "-c", f"export TOKEN={MASK}; agent --api-key '{MASK}'"],
            {"value12", "value34"},
        ),
        (["a", '{"token": "value12"}'], ["a", f'{{"token": "{MASK}"}}'], set[str]()),
        (["a", "--pwd", "walnut"], ["a", "--pwd", MASK], {"walnut"}),
        (["a", "--db-pwd=walnut"], ["a", f"--db-pwd={MASK}"], {"walnut"}),
        (["a", "-pw", "walnut"], ["a", "-pw", MASK], {"walnut"}),
        (["a", "--auth", "me:walnut"], ["a", "--auth", MASK], {"me:walnut"}),
        (["a", "--auth=w4lnut"], ["a", f"--auth={MASK}"], {"w4lnut"}),
        (["a", "/token:walnut"], ["a", f"/token:{MASK}"], {"walnut"}),
        (["a", "/Password=walnut"], ["a", f"/Password={MASK}"], {"walnut"}),
        (["a", "--api-key", "--W4lnut"], ["a", "--api-key", MASK], {"--W4lnut"}),
        (["a", "--api-key", "--w4lnut"], ["a", "--api-key", MASK], {"--w4lnut"}),
        (["sh", "-c", "a --pwd walnut"], ["sh", "-c", f"a --pwd {MASK}"], {"walnut"}),
    ],
    ids=[
        *("option", "assigned option", "one dash", "dash in value", "variable", "header"),
        *("key header", "password in url", "token in url", "query", "shape", "shape in option"),
        *("option without value", "assigned variable", "assigned setting", "assigned header"),
        *("glued header", "shell line", "json", "pwd", "assigned pwd", "pw", "auth"),
        *("assigned auth", "slash and colon", "slash and equals", "dashes and capital in value"),
        *("dashes and digit in value", "pwd in shell line"),
    ],
)
def test_secrets_on_a_command_line_are_hidden(
    words: list[str], shown: list[str], secrets: set[str]
) -> None:
    assert hide_in_command(words) == (shown, secrets)


@pytest.mark.parametrize(
    "line",
    [
        "opencode acp",
        "npx -y @zed-industries/claude-code-acp",
        "agent --max-tokens 4000 --keymap vim --token-file /run/token",
        "python -c print(1)",
        "https://agents.example:8443/acp",
        "agent --url http://localhost:8080/?page=2 --model sk",
        "agent --pwd /home/ann --auth basic --auth=oauth2 --creds ~/creds.json PWD=/home/ann",
        "agent --token --max-tokens=4000 --api-key --verbose",
        "agent -p 8080 -p walnut-tree /home:/work /a:b",
    ],
)
def test_ordinary_command_lines_stay_as_they_are(line: str) -> None:
    words = line.split()
    assert hide_in_command(words) == (words, set())
