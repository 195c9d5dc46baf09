"""Addresses, tokens, cookies: what may be sent where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parley.errors import ConnectFailed
from parley.transport.http._backoff import Backoff
from parley.transport.http._client.address import Address
from parley.transport.http._client.cookies import CookieJar


@pytest.mark.parametrize(
    ("url", "authority", "path"),
    [
        ("http://localhost", b"localhost", b"/acp"),
        ("HTTPS://Example.org/", b"example.org", b"/acp"),
        ("http://127.0.0.1:7400/acp/demo?x=1#part", b"127.0.0.1:7400", b"/acp/demo?x=1"),
        ("ws://[::1]:80/a b", b"[::1]", b"/a%20b"),
        ("wss://bücher.example:443/acp", b"xn--bcher-kva.example", b"/acp"),
    ],
)
def test_an_address_is_taken_apart(url: str, authority: bytes, path: bytes) -> None:
    address = Address(url, {})
    assert (address.authority, address.path) == (authority, path)


def test_a_query_is_not_shown() -> None:
    assert Address("http://localhost:1/acp?key=secret", {}).shown == "http://localhost:1/acp"


@pytest.mark.parametrize(
    ("url", "options", "words"),
    [
        ("ftp://host", {}, "must start with http"),
        ("http://", {}, "must start with http"),
        ("http://host:99999", {}, "not a valid URL"),
        ("http://me:s3cret@host", {}, "must not contain"),
        ("https://host", {"token": ""}, "token must be printable"),
        ("https://host", {"token": "s3cret\r\nx: y"}, "token must be printable"),
        ("https://host", {"headers": {"x": "s3cret\r\ny: z"}}, "header 'x'"),
        ("https://host", {"headers": {"x y": "1"}}, "header 'x y'"),
        ("http://host", {"token": "s3cret"}, "without TLS"),
        ("ws://10.0.0.1", {"token": "s3cret"}, "without TLS"),
        ("http://127.0.0.1.example", {"token": "s3cret"}, "without TLS"),
        ("http://host", {"headers": {"Authorization": "s3cret"}}, "without TLS"),
        ("https://host", {"ca_file": Path("/nowhere")}, "cannot read the certificates"),
    ],
)
def test_an_error_is_reported_without_the_secret(
    url: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConnectFailed, match=words) as caught:
        Address(url, options)  # type: ignore[arg-type]
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://localhost:1", {}),
        ("ws://127.0.0.1", {}),
        ("http://[::1]", {}),
        ("https://host", {}),
        ("http://host", {"allows_plain_token": True}),
    ],
)
def test_a_token_goes_where_nobody_reads_along_or_where_it_is_allowed(
    url: str, options: dict[str, Any]
) -> None:
    address = Address(url, {"token": "s3cret", **options})  # type: ignore[typeddict-item]
    assert address.headers == [(b"authorization", b"Bearer s3cret")]


def test_a_token_may_have_the_newline_of_its_file() -> None:
    assert Address("https://host", {"token": "s3cret\n"}).headers == [
        (b"authorization", b"Bearer s3cret")
    ]


def jar(*lines: bytes, is_secure: bool = True) -> bytes:
    cookies = CookieJar(is_secure=is_secure)
    for line in lines:
        cookies.store([(b"set-cookie", line)])
    return cookies.header


def test_cookies_are_kept_replaced_and_forgotten() -> None:
    assert jar(b"a=1; Path=/", b"b=2; HttpOnly", b"a=3") == b"a=3; b=2"
    assert jar(b"a=1", b"a=; Max-Age=0") == b""
    assert jar(b"a=1", b"a=; expires=Thu, 01 Jan 1970 00:00:00 GMT") == b""
    assert jar(b"a=1; Max-Age=5; expires=Thu, 01 Jan 1970 00:00:00 GMT") == b"a=1"
    assert jar(b"a=1; expires=nonsense", b"=x", b"novalue", b"c=\x01") == b"a=1"
    assert jar(b"a=1; Secure", is_secure=False) == b""
    assert jar(b"a=1; Secure") == b"a=1"


def test_a_jar_is_bounded() -> None:
    assert jar(b"a=" + b"x" * 5000) == b""
    assert jar(*(b"c%d=1" % number for number in range(100))).count(b"=") == 50


def test_waits_grow_to_a_bound_and_begin_again() -> None:
    backoff = Backoff(0.1, 10.0)
    waits = [backoff.next() for _ in range(50)]
    assert 0.05 <= waits[0] <= 0.1
    assert all(wait <= 10.0 for wait in waits)
    assert min(waits[8:]) >= 5.0
    assert len(set(waits[8:])) > 10
    backoff.reset()
    assert backoff.next() <= 0.1


def test_who_was_there_for_a_moment_is_asked_again_soon_but_not_at_once() -> None:
    backoff = Backoff(0.1, 10.0)
    for _ in range(20):
        backoff.next()
    backoff.connection_lasted(0.5)
    assert 0.4 <= backoff.next() <= 0.8
    backoff.connection_lasted(11)
    assert backoff.next() <= 0.1
