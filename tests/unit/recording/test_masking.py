"""Masking: the bytes of secrets, and no others."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.recording._masking import (
    Masker,
    NeedleSearch,
    command_secrets,
    environment_secrets,
)

KEY = "sk-ant-api03-4f9c8e7d6b5a4f9c8e7d6b5a"


def masked(message: object, masker: Masker | None = None) -> Any:
    line = json.dumps(message).encode()
    data, _ = (masker or Masker()).mask("client", line)
    return json.loads(data)


def setup(**params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": params}


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        base64.b64encode(b"user:" + KEY.encode()).decode(),
        base64.b64encode(b"u:" + KEY.encode()).decode(),
        base64.b64encode(b":" + KEY.encode()).decode(),
    ],
    ids=["plain", "base64-5", "base64-2", "base64-1"],
)
def test_a_known_secret_is_masked_wherever_it_is(form: str) -> None:
    masker = Masker({KEY: "the environment variable API_KEY"})
    for line in (b'{"a":"x %b y"}', b"no JSON %b", b"%b", b'{"%b":1}'):
        data, found = masker.mask("agent", line % form.encode() + b"\n")
        assert form.encode()[3:-3] not in data
        assert b"[redacted]" in data
        assert found == {"the environment variable API_KEY": 1}


def test_a_secret_is_masked_in_the_percent_encoding_of_a_url() -> None:
    masker = Masker({"pä/ss+w0rd==": "x"})
    line = b"GET /?a=1&key=p%C3%A4%2Fss%2Bw0rd%3D%3D&b=2"
    assert masker.mask("stderr", line) == (b"GET /?a=1&key=[redacted]&b=2", {"x": 1})


def test_a_login_in_the_url_of_a_variable_is_masked_but_no_ordinary_word() -> None:
    environ = {
        "DATABASE_URL": "postgres://app:dbpw-13579@host/app",
        "TEST_DATABASE": "postgres://postgres:postgres@localhost/postgres",
        "PROXY": "http://tok-en-424242@proxy:3128/?mode=strict-2000",
        "REPOSITORY": "ssh://git@example.com/x?branch=release-2026",
    }
    masker = Masker(environment_secrets(environ))
    for line, expected in [
        (b"dbpw-13579 for app", b"[redacted] for app"),
        (b"postgres://app:dbpw-13579@host/app", b"postgres://[redacted]@host/app"),
        (b"postgres://postgres:postgres@localhost", b"postgres://[redacted]@localhost"),
        (b"tok-en-424242", b"[redacted]"),
        (b"postgres git strict-2000 release-2026", b"postgres git strict-2000 release-2026"),
    ]:
        assert masker.mask("agent", line + b"\n")[0] == expected + b"\n"


def test_a_secret_with_quotes_and_slashes_is_masked_however_it_is_escaped() -> None:
    secret = 'p/"ä\\w0rd'
    masker = Masker({secret: "x"})
    forms = (json.dumps(secret), json.dumps(secret, ensure_ascii=False))
    for form in (*forms, forms[1].replace("/", "\\/")):
        data, _ = masker.mask("agent", form.encode())
        assert data == b'"[redacted]"'


def test_nothing_but_the_secret_changes() -> None:
    frame = b' {"b" : 1.0, "a":"\\u00e4 \\/", "b":2, "k":"%b"}\r\n\n\xff\xfe'
    masker = Masker({KEY: "x"})
    data, _ = masker.mask("agent", frame % KEY.encode())
    assert data == frame % b"[redacted]"


@pytest.mark.parametrize(
    ("params", "what"),
    [
        ({"mcpServers": [{"env": [{"name": "A", "value": KEY}]}]}, "the environment variable A"),
        ({"mcpServers": [{"env": [{"value": KEY, "name": "A"}]}]}, "the environment variable A"),
        ({"mcpServers": [{"env": {"A": KEY}}]}, "the environment variable A"),
        ({"env": [{"name": "A", "value": KEY}]}, "the environment variable A"),
        ({"headers": {"X-Key": KEY}}, "the header X-Key"),
        (
            {"mcpServers": [{"headers": [{"name": "X", "value": f"Bearer {KEY}"}]}]},
            "the header X",
        ),
        ({"mcpServers": [{"url": f"https://h/mcp?key={KEY}&x=1"}]}, "the secrets of a URL"),
        ({"mcpServers": [{"url": f"https://{KEY}@h/mcp"}]}, "the secrets of a URL"),
        (
            {"mcpServers": [{"url": "u", "args": ["--api-key", KEY]}]},
            "the command line of a server or terminal",
        ),
    ],
    ids=[
        "env",
        "env-swapped",
        "env-object",
        "terminal",
        "headers",
        "bearer",
        "query",
        "user",
        "args",
    ],
)
def test_what_a_request_hands_over_is_masked_there_and_everywhere_after(
    params: dict[str, Any], what: str
) -> None:
    masker = Masker()
    line = json.dumps(setup(**params)).encode()
    data, found = masker.mask("client", line + b"\n")
    assert KEY.encode() not in data
    assert list(found) == [what]
    json.loads(data)
    echo, found = masker.mask("agent", b'{"text":"your key is %b"}\n' % KEY.encode())
    assert echo == b'{"text":"your key is [redacted]"}\n'
    assert list(found) == [what]


def test_short_values_and_values_that_are_not_texts_are_masked_in_their_place_only() -> None:
    masker = Masker()
    server = {"name": "s", "env": [{"name": "MODE", "value": "dev"}, {"name": "N", "value": 12345}]}
    assert masked(setup(cwd="/dev", mcpServers=[server]), masker)["params"] == {
        "cwd": "/dev",
        "mcpServers": [
            {
                "name": "s",
                "env": [
                    {"name": "MODE", "value": "[redacted]"},
                    {"name": "N", "value": "[redacted]"},
                ],
            }
        ],
    }
    assert masker.mask("agent", b"12345 dev\n")[0] == b"12345 dev\n"


def test_every_one_of_two_members_with_the_same_name_is_masked() -> None:
    line = b'{"params":{"env":{"A":"first-1"},"env":{"A":"second-2"}}}'
    data, _ = Masker().mask("client", line)
    assert data == b'{"params":{"env":{"A":"[redacted]"},"env":{"A":"[redacted]"}}}'


def test_setup_is_masked_after_noise_in_batches_and_in_a_frame_that_is_cut_off() -> None:
    frame = json.dumps(setup(env={"A": KEY})).encode()
    for line in (b"\x1b[0m" + frame, b"[%b]" % frame, frame[:-4], frame[:-3], b"log: " + frame):
        data, _ = Masker().mask("client", line)
        assert KEY[:-1].encode() not in data, line


def test_the_secrets_of_a_login_and_of_a_form_are_masked() -> None:
    login = {"method": "authenticate", "params": {"methodId": "key", "_meta": {"apiKey": KEY}}}
    assert masked(login)["params"] == {"methodId": "key", "_meta": {"apiKey": "[redacted]"}}
    form = {"id": 3, "result": {"action": "accept", "content": {"password": "hunter2", "n": "me"}}}
    assert masked(form)["result"]["content"] == {"password": "[redacted]", "n": "me"}


def test_a_terminal_of_the_agent_is_a_setup_too() -> None:
    request = {"id": 1, "method": "terminal/create", "params": {"command": "x", "env": {"A": KEY}}}
    data, _ = Masker().mask("agent", json.dumps(request).encode())
    assert KEY.encode() not in data


def test_prompts_and_tool_calls_about_environments_are_left_alone() -> None:
    prompt = {"method": "session/prompt", "params": {"prompt": [{"text": '{"env":{"A":"b"}}'}]}}
    update = {"params": {"update": {"rawInput": {"env": {"A": "production-1"}}}}}
    assert masked(prompt) == prompt
    assert masked(update) == update


def test_the_lines_of_a_private_key_are_masked_one_by_one() -> None:
    lines = [f"line{number}" * 10 for number in range(3)]
    masker = Masker({"\n".join(lines): "the environment variable PRIVATE_KEY"})
    for line in lines:
        assert masker.mask("stderr", line.encode() + b"\n")[0] == b"[redacted]\n"


def test_the_beginning_of_a_secret_is_masked_where_a_stream_was_cut_off() -> None:
    masker = Masker({KEY: "x"})
    assert masker.mask("agent", b"key: " + KEY[:-5].encode())[0] == b"key: [redacted]"
    assert masker.mask("agent", b"key: " + KEY[:3].encode())[0] == b"key: " + KEY[:3].encode()


def test_secrets_are_known_from_the_environment_and_the_command_line() -> None:
    environ = {"API_KEY": "hunter22", "HOME": "/root", "KEY": "/etc/key.pem", "T_TOKEN": "x"}
    assert environment_secrets(environ) == {"hunter22": "the environment variable API_KEY"}
    shown, secrets = command_secrets(["agent", "--api-key", KEY])
    assert (shown, secrets) == (["agent", "--api-key", "[redacted]"], {KEY: "the command line"})


def test_a_deeply_nested_frame_costs_no_more_than_its_length() -> None:
    line = b'{"params":{"env":' + b"[" * 100_000 + b'"x"' + b"]" * 100_000 + b"}}"
    assert Masker().mask("client", line)[0] == line


@given(
    st.lists(st.binary(min_size=6, max_size=80), min_size=1, max_size=4),
    st.binary(max_size=100),
    st.binary(max_size=100),
    st.data(),
)
def test_a_value_is_found_wherever_it_begins(
    values: list[bytes], before: bytes, after: bytes, data: st.DataObject
) -> None:
    value = data.draw(st.sampled_from(values))
    assert NeedleSearch(values).is_in(before + value + after)


@given(st.binary(max_size=300))
def test_any_line_can_be_masked(line: bytes) -> None:
    marked = b'{"env" "auth" /create" ' + line
    for source in ("client", "agent", "stderr"):
        assert Masker().mask(source, marked)[0]
