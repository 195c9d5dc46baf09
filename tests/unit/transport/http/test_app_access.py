"""Authentication, and the checks of `Host` and `Origin`."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from parley.errors import ConnectFailed
from parley.transport.http._app.access import Access, is_loopback
from parley.transport.http._app.app import HttpApp

from .asgi_client import EVENTS, INITIALIZE, Client, client_of
from .scripted_agent import ScriptedAgent, request
from .ws_client import WebSocket

TOKEN = "9f1c2b7a4d5e6f708192a3b4c5d6e7f8"
ACCESS = Access({TOKEN: "ada", "0123456789abcdef" * 2: "bob"})
FOREIGN = ["http://evil.example", "https://127.0.0.1.evil.example", "http://localhost:1", "null"]


async def _tries(client: Client, **headers: str) -> list[int]:
    """Return the status of the response to every kind of request."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return [
        (await client.post(INITIALIZE, **headers)).status,
        (await client.request("GET", {**EVENTS, **fields})).status,
        (await client.request("DELETE", fields)).status,
        (await WebSocket.refused(client, fields)).status,
    ]


@pytest.mark.requirement("SAFE-IN-01", "TR-HTTP-32")
@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_foreign_page_gets_403_also_from_this_machine(origin: str) -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        assert await _tries(client, origin=origin) == [403] * 4
        response = await client.post(INITIALIZE, origin=origin)
        assert response.code == "foreign_origin"
        assert not any(name.startswith("access-control") for name in response.headers)
        assert not host.served
        await client.initialize()
        assert (await client.post(request(1, "session/new"), origin=origin)).status == 403
        assert host.last.inbox.empty()


@pytest.mark.requirement("SAFE-IN-01")
async def test_a_page_gets_in_that_is_ours_or_allowed_by_name() -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        await client.initialize(origin="http://127.0.0.1:7400")
    app = HttpApp(ScriptedAgent(), access=Access(origins=["https://chat.example", "null"]))
    for origin in ("https://chat.example", "null"):
        async with client_of(app) as client:
            response = await client.initialize(origin=origin)
            assert response.headers["access-control-allow-origin"] == origin
            assert "acp-connection-id" in response.headers["access-control-expose-headers"]
            assert response.headers["vary"] == "origin"
            assert (await client.post(INITIALIZE, origin="https://chat.example.evil")).status == 403


@pytest.mark.requirement("SAFE-IN-02")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("localhost:7400", 200), ("127.0.0.1:7400", 200), ("[::1]:7400", 200)),
        *(("LocalHost", 200), ("localhost", 200), ("127.0.0.1", 200)),
        *(("evil.example", 403), ("127.0.0.1.evil.example", 403), ("localhost.evil", 403)),
        *(("evil.example:7400", 403), ("localhost@evil.example", 403), ("localhost:x", 403)),
        *(("127.0.0.2:7400", 403), ("localhost/evil.example", 403), ("[::1]evil", 403)),
        *(("0.0.0.0:7400", 403), ("", 400)),
    ],
)
async def test_a_request_to_another_name_is_refused(host: str, status: int) -> None:
    served = ScriptedAgent()
    async with client_of(HttpApp(served)) as client:
        response = await client.post(INITIALIZE, host=host)
        assert response.status == status
        assert len(served.served) == (status == 200)
        assert (await WebSocket.tried(client, {"host": host})) == (101 if status == 200 else status)
        if status != 200:
            same = await client.post(INITIALIZE, host=host, origin=f"http://{host}")
            assert same.status == status  # a page of that name, which points here


@pytest.mark.requirement("SAFE-IN-02")
async def test_two_hosts_or_none_are_refused() -> None:
    async with client_of(HttpApp(ScriptedAgent())) as client:
        for hosts in ([], [b"localhost"] * 2, [b"localhost", b"evil.example"]):
            raw = [(b"host", host) for host in hosts]
            response = await client.request(
                "POST", raw=[*raw, (b"content-type", b"application/json")]
            )
            assert (response.status, response.code) == (400, "bad_host")


@pytest.mark.requirement("SAFE-IN-02")
async def test_a_host_that_is_configured_or_our_own_address_is_ours() -> None:
    access = Access({TOKEN: "ada"}, hosts=["acp.example"])
    async with client_of(
        HttpApp(ScriptedAgent(), access=access), authorization=f"Bearer {TOKEN}"
    ) as client:
        client.server = ("192.0.2.7", 7400)
        for host, status in (("ACP.example:443", 200), ("192.0.2.7:7400", 200), ("192.0.2.8", 403)):
            assert (await client.post(INITIALIZE, host=host)).status == status


@pytest.mark.requirement("SAFE-IN-03")
@pytest.mark.parametrize(
    "value",
    [
        *("", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}"),
        *(TOKEN, f"Bearer {TOKEN.upper()}", "Bearer \u00fc", f"Bearer {TOKEN} {TOKEN}"),
    ],
)
async def test_without_the_token_everything_gets_401_and_nothing_is_started(value: str) -> None:
    host = ScriptedAgent()
    app = HttpApp(host, access=ACCESS)
    async with client_of(app) as client:
        assert await _tries(client, authorization=value) == [401] * 4
        response = await client.post(INITIALIZE, authorization=value)
        assert response.code == "unauthorized"
        assert response.headers["www-authenticate"] == "Bearer"
        assert not host.served
        assert len(app.connections) == 0


@pytest.mark.requirement("SAFE-IN-03")
async def test_two_tokens_are_none() -> None:
    async with client_of(HttpApp(ScriptedAgent(), access=ACCESS)) as client:
        token = (b"authorization", f"Bearer {TOKEN}".encode())
        raw = [(b"host", b"localhost"), (b"content-type", b"application/json"), token, token]
        assert (await client.request("POST", raw=raw)).status == 401


@pytest.mark.requirement("SAFE-IN-03")
async def test_a_token_names_its_principal_and_shows_up_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    host = ScriptedAgent()
    app = HttpApp(host, access=ACCESS)
    async with client_of(app, authorization=f"bearer  {TOKEN}", cookie="a=b") as client:
        response = await client.initialize(user_agent="tests")
        transport = host.last.transport
        assert transport.principal == "ada"
        assert transport.remote == "127.0.0.1"
        assert transport.headers["user-agent"] == "tests"
        assert "cookie" not in transport.headers
        shown = [repr(transport.headers), repr(ACCESS), repr(vars(ACCESS)), str(response.headers)]
        assert not any(TOKEN in text for text in (*shown, caplog.text))


@pytest.mark.requirement("SAFE-IN-03")
@pytest.mark.parametrize("tokens", [{}, {"": "ada"}, {" ": "ada"}, {"t": ""}])
def test_an_empty_token_or_principal_is_refused_at_once(tokens: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="token"):
        Access(tokens)


@pytest.mark.requirement("SAFE-IN-04")
@pytest.mark.parametrize("address", ["0.0.0.0", "::", "", "192.0.2.7", "agents.example"])
def test_without_a_token_only_loopback_is_listened_on(address: str) -> None:
    with pytest.raises(ConnectFailed, match="token"):
        Access().check_address(address)
    ACCESS.check_address(address)
    Access(trusted_header="X-User").check_address(address)


@pytest.mark.requirement("SAFE-IN-04")
@pytest.mark.parametrize(
    "address", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "::ffff:127.0.0.1"]
)
def test_loopback_needs_no_token(address: str) -> None:
    Access().check_address(address)
    assert is_loopback(address)


@pytest.mark.requirement("SAFE-IN-04")
async def test_without_a_token_nobody_from_another_machine_gets_a_response() -> None:
    host = ScriptedAgent()
    async with client_of(HttpApp(host)) as client:
        client.peer = ("192.0.2.7", 50000)
        assert await _tries(client) == [403] * 4
        client.peer = None  # a Unix socket
        assert (await client.post(INITIALIZE)).status == 200


@pytest.mark.requirement("SAFE-IN-05")
async def test_a_preflight_gets_a_response_to_allowed_pages_alone() -> None:
    asks = {"access-control-request-method": "POST"}
    access = Access({TOKEN: "ada"}, origins=["https://chat.example"])
    async with client_of(HttpApp(ScriptedAgent(), access=access)) as client:
        foreign = await client.request("OPTIONS", {**asks, "origin": "https://evil.example"})
        assert foreign.status == 403
        assert not any(name.startswith("access-control") for name in foreign.headers)
        ours = await client.request("OPTIONS", {**asks, "origin": "https://chat.example"})
        assert (ours.status, ours.body) == (204, b"")
        assert ours.headers["access-control-allow-origin"] == "https://chat.example"
        assert "DELETE" in ours.headers["access-control-allow-methods"]
        assert "last-event-id" in ours.headers["access-control-allow-headers"]
        refused = await client.post(INITIALIZE, origin="https://chat.example")
        assert refused.status == 401
        assert refused.headers["access-control-allow-origin"] == "https://chat.example"


@pytest.mark.requirement("SAFE-IN-07", "TR-HTTP-22")
async def test_an_id_of_another_principal_is_as_unknown_as_any() -> None:
    host = ScriptedAgent()
    app = HttpApp(host, access=ACCESS)
    async with client_of(app, authorization=f"Bearer {TOKEN}") as ada:
        await ada.initialize()
        await ada.stream("s")
        bobs = {"authorization": "Bearer " + "0123456789abcdef" * 2}
        responses = [
            await ada.post(request(1, "session/prompt", "s"), "s", **bobs),
            await ada.request("GET", {**EVENTS, **bobs, "last-event-id": "0"}),
            await ada.request("GET", {**EVENTS, **bobs, "acp-session-id": "s"}),
            await ada.request("DELETE", bobs),
            await WebSocket.refused(ada, {**bobs, "parley-resume": "1; received=0"}),
        ]
        unknown = await ada.request("DELETE", {"acp-connection-id": "x"})
        assert {(each.status, each.body) for each in responses} == {(404, unknown.body)}
        assert host.last.inbox.empty()
        assert not host.last.lost.done()


@pytest.mark.requirement("SAFE-IN-07")
async def test_ids_cannot_be_guessed() -> None:
    app = HttpApp(ScriptedAgent())
    async with client_of(app) as client:
        ids: set[str] = set()
        for _ in range(50):
            ids.add((await client.initialize()).headers["acp-connection-id"])
            client.connection = ""
        assert len(ids) == 50
        assert min(map(len, ids)) * 6 >= 128


async def test_a_principal_that_a_proxy_names_counts_only_when_that_is_switched_on() -> None:
    named = {"x-user": "ada"}
    async with client_of(HttpApp(host := ScriptedAgent()), **named) as client:
        await client.initialize()
        assert host.last.transport.principal == ""
    access = Access(trusted_header="X-User", proxies=["192.0.2.1"])
    async with client_of(HttpApp(host := ScriptedAgent(), access=access), **named) as client:
        for peer, status in (("127.0.0.1", 200), ("192.0.2.1", 200), ("192.0.2.2", 401)):
            client.peer = (peer, 1)
            assert (await client.post(INITIALIZE)).status == status
        client.peer = ("127.0.0.1", 1)
        assert (await client.post(INITIALIZE, **{"x-user": ""})).status == 401
        assert [each.transport.principal for each in host.served] == ["ada", "ada"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"hosts": ["http://x/"]}, "not a host name"),
        ({"origins": ["chat.example"]}, "not an origin"),
        ({"origins": ["https://chat.example/page"]}, "not an origin"),
        ({"trusted_header": "X User"}, "not a header name"),
        ({"trusted_header": "X-User", "proxies": ["proxy"]}, "not an IP address"),
        ({"trusted_header": "X-User", "proxies": ["10.0.0.0/8"]}, "not an IP address"),
    ],
)
def test_what_no_request_can_have_is_refused_at_once(given: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        Access({TOKEN: "ada"}, **given)
