from __future__ import annotations

import asyncio

import pytest

from parley.errors import ConnectFailed
from parley.transport.http._app.access import Access
from parley.transport.http._app.serving import parse_address, serve

from .asgi_servers import HttpTestClient
from .scripted_agent import ScriptedAgent, request


async def test_an_agent_is_served_while_the_block_runs() -> None:
    host = ScriptedAgent()
    async with serve(host, "127.0.0.1:0", access=Access({"secret": "ada"})) as serving:
        port = serving.addresses[0][1]
        assert serving.url == f"http://127.0.0.1:{port}/acp"
        client = HttpTestClient(port)
        await client.initialize(authorization="Bearer secret")
        assert len(serving.app.connections) == 1
        response = await client.post(request(1, "session/list"), authorization="Bearer secret")
        assert response.status == 202
        with pytest.raises(
            ConnectFailed, match=r"cannot listen on .*: the address is already in use$"
        ):
            async with serve(host, f"127.0.0.1:{port}", access=Access()):
                pass
    assert "going away" in str(host.last.lost.result())
    await client.client.aclose()


@pytest.mark.requirement("SAFE-IN-04")
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0"])
async def test_without_a_token_it_does_not_listen_for_others(address: str) -> None:
    with pytest.raises(ConnectFailed, match="token"):
        async with serve(ScriptedAgent(), address, access=Access()):
            pass


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("127.0.0.1:7400", ("127.0.0.1", 7400)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:65535", ("localhost", 65535)),
    ],
)
def test_an_address_is_a_host_and_a_port(address: str, found: tuple[str, int]) -> None:
    assert parse_address(address) == found


@pytest.mark.parametrize(
    "address", ["", "7400", ":7400", "localhost", "a:b", "::1:7400", "a:65536"]
)
def test_anything_else_is_no_address(address: str) -> None:
    with pytest.raises(ConnectFailed, match=r"127\.0\.0\.1:7400"):
        parse_address(address)


async def test_it_says_that_it_is_there_without_a_token_but_to_no_other_name() -> None:
    async with serve(ScriptedAgent(), "127.0.0.1:0", access=Access({"secret": "ada"})) as serving:
        port = serving.addresses[0][1]
        for head, status in (
            ("GET /healthz HTTP/1.1\r\nhost: localhost", b"200"),
            ("HEAD /healthz HTTP/1.1\r\nhost: localhost", b"200"),
            ("POST /healthz HTTP/1.1\r\nhost: localhost", b"405"),
            ("GET /healthz HTTP/1.1\r\nhost: evil.example", b"403"),
            ("GET /acp HTTP/1.1\r\nhost: localhost", b"401"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"{head}\r\nconnection: close\r\n\r\n".encode())
            response = await reader.read()
            assert response.split(b" ")[1] == status
            assert (b'{"status":"ok"}' in response) is (status == b"200" and head[:3] == "GET")
            writer.close()
            await writer.wait_closed()
