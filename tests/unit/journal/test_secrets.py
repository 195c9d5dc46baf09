"""Secrets are hidden, and ordinary text is not."""

from __future__ import annotations

import base64
import json

import pytest

from parley.journal.secrets import MASK, mask, mask_setup, redact, redact_frame

from .frames import chunk, update

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


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


def test_a_frame_stays_json_and_what_is_in_base64_is_looked_at() -> None:
    output = base64.b64encode(b"\xff export TOKEN=abcdef123456\n").decode()
    frame = update("s", "terminal_output_chunk", terminalId="t", data=output)
    hidden = json.loads(redact_frame(frame, environ={}))["params"]["update"]
    assert base64.b64decode(hidden["data"]) == f"\udcff export TOKEN={MASK}\n".encode(
        errors="surrogateescape"
    )
    assert hidden["terminalId"] == "t"
    (spoken,) = [json.loads(redact_frame(chunk("s", f"here: {PEM[:40]}"), environ={}))]
    assert spoken["params"]["update"]["content"]["text"] == f"here: {MASK}"


def test_a_frame_without_secrets_is_the_same_bytes() -> None:
    odd = b'{ "b" : 1.0, "a":[1e400] , "data":"AAAA"}'
    assert redact_frame(odd, environ={}) == odd
    assert redact_frame(b"\xff noise", environ={}) == b"\xff noise"
    assert mask(odd, ["walnut-walnut"]) == odd
    assert mask_setup(odd) == (odd, [])


def test_what_is_no_json_is_redacted_as_text() -> None:
    assert redact_frame(b"\xff password=hunter2x9", environ={}) == f"\udcff password={MASK}".encode(
        errors="surrogateescape"
    )


def test_the_longest_known_secret_goes_first() -> None:
    frame = chunk("s", "walnut-tree and walnut")
    text = json.loads(mask(frame, ["walnut", "walnut-tree"]))["params"]["update"]["content"]["text"]
    assert text == f"{MASK} and {MASK}"


@pytest.mark.parametrize("before", ["", "a", "ab", "abc"])
@pytest.mark.parametrize("secret", ["walnut", "walnut-tree", "wälnüt"])
def test_a_known_secret_in_base64_is_hidden(before: str, secret: str) -> None:
    data = base64.b64encode(f"{before}{secret} it is".encode()).decode()
    frame = update("s", "terminal_output_chunk", terminalId="t", data=data)
    hidden = json.loads(mask(frame, [secret]))["params"]["update"]["data"]
    assert base64.b64decode(hidden).decode() == f"{before}{MASK} it is"


def test_short_values_are_not_looked_for() -> None:
    frame = chunk("s", "text")
    assert mask(frame, ["text", "", "a"]) == frame


@pytest.mark.parametrize("piece", ["token=", "sk-", "eyJ-", "a.", "a://", "--a-", "http://a:"])
def test_a_long_text_takes_no_long_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(redact(text, environ={})) <= len(text)


def test_what_servers_are_given_is_hidden_and_known_again() -> None:
    servers = [
        {
            "name": "a",
            "env": [{"name": "K", "value": "walnut-4711"}, {"name": "MODE", "value": "production"}],
            "headers": [{"name": "Authorization", "value": "Bearer abcdef123456"}],
        },
        {"name": "b", "url": "https://me:pa55word9@h/p?key=abc123456&at=1@2#end"},
        {"name": "c", "env": {"DIR": "/home/user1"}, "url": "http://h:80/p"},
    ]
    frame = json.dumps({"params": {"mcpServers": servers}}).encode()
    masked, hidden = mask_setup(frame)
    a, b, c = json.loads(masked)["params"]["mcpServers"]
    assert [each["value"] for each in a["env"] + a["headers"]] == [MASK] * 3
    assert b["url"] == f"https://{MASK}@h/p?key={MASK}&at={MASK}#end"
    assert (c["env"], c["url"]) == ({"DIR": MASK}, "http://h:80/p")
    assert hidden == ["walnut-4711", "abcdef123456", "pa55word9", "abc123456"]
