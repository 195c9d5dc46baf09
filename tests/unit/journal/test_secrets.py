"""Secrets are hidden in frames, whatever the frame is made of."""

from __future__ import annotations

import base64
import json

import pytest

from parley._redaction import MASK, redactor
from parley.journal._secrets import mask, mask_setup, redact_frame

from .frames import chunk, update

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


def test_a_frame_stays_json_and_what_is_in_base64_is_looked_at() -> None:
    output = base64.b64encode(b"\xff export TOKEN=abcdef123456\n").decode()
    frame = update("s", "terminal_output_chunk", terminalId="t", data=output)
    hidden = json.loads(redact_frame(frame, redactor({})))["params"]["update"]
    assert base64.b64decode(hidden["data"]) == f"\udcff export TOKEN={MASK}\n".encode(
        errors="surrogateescape"
    )
    assert hidden["terminalId"] == "t"
    (spoken,) = [json.loads(redact_frame(chunk("s", f"here: {PEM[:40]}"), redactor({})))]
    assert spoken["params"]["update"]["content"]["text"] == f"here: {MASK}"


def test_a_frame_without_secrets_is_the_same_bytes() -> None:
    odd = b'{ "b" : 1.0, "a":[1e400] , "data":"AAAA"}'
    assert redact_frame(odd, redactor({})) == odd
    assert redact_frame(b"\xff noise", redactor({})) == b"\xff noise"
    assert mask(odd, ["walnut-walnut"]) == odd
    assert mask_setup(odd) == (odd, [])


def test_what_is_no_json_is_redacted_as_text() -> None:
    hidden = f"\udcff password={MASK}".encode(errors="surrogateescape")
    assert redact_frame(b"\xff password=hunter2x9", redactor({})) == hidden


@pytest.mark.parametrize("depth", [100, 400, 600, 900, 1000, 5000, 100_000])
def test_a_frame_that_is_nested_too_deep_is_redacted_as_text(depth: int) -> None:
    frame = b"[" * depth + b'"password=hunter2x9 walnut-tree"' + b"]" * depth
    hidden = f'"password={MASK} {MASK}"'.encode()
    assert mask(redact_frame(frame, redactor({})), ["walnut-tree"]).strip(b"[]") == hidden


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
