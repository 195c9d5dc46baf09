"""A model's server that refuses, fails, hangs, babbles or never stops talking."""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path

import pytest
from tests.unit.transport.http.certificate import written

from parley.asgi_server.tls import server_tls
from parley.errors import ConnectFailed
from parley.nes.model import ModelEngine

from .model_server import Clock, Editor, Exchange, failing, saying, scripted, silence

TEXT = "def total(items):\n    return su\n"
DONE = "```python\ndef total(items):\n    return sum(items)\n```"
KEY = "s3cret-key"


def editor_at(url: str, clock: Clock, *, timeout: float = 10.0) -> Editor:
    return Editor(ModelEngine(url, "m", api_key=KEY, timeout=timeout, clock=clock), TEXT)


@pytest.mark.parametrize(
    ("status", "header", "seconds"),
    [
        (401, "", 60),
        (403, "", 60),
        (404, "", 60),
        (429, "retry-after: 30", 30),
        (429, "", 10),
        (500, "", 10),
        (503, "retry-after: soon", 10),
        (302, "location: http://127.0.0.1:1/", 10),
    ],
)
async def test_a_server_that_refuses_is_left_alone_for_a_while(
    status: int, header: str, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    refusal = failing(status, f"bad key {KEY}", *([header] if header else []))
    async with scripted(refusal, saying(DONE)) as server:
        editor = editor_at(server.url, clock)
        assert await editor.ask(1, 13) == []
        assert await editor.ask(1, 13) == []
        clock.now += seconds - 0.1
        assert await editor.ask(1, 13) == []
        assert len(server.requests) == 1
        clock.now += 0.2
        assert len(await editor.ask(1, 13)) == 1
        editor.predictor.close()
    assert len(caplog.records) == 1
    assert f"responds with {status}" in caplog.text
    assert "[redacted]" in caplog.text
    assert KEY not in caplog.text


async def test_who_asks_by_hand_is_not_made_to_wait() -> None:
    async with scripted(failing(500), saying(DONE)) as server:
        editor = editor_at(server.url, Clock())
        assert await editor.ask(1, 13) == []
        assert len(await editor.ask(1, 13, trigger="manual")) == 1
        editor.predictor.close()


async def test_a_server_that_hangs_is_given_up_and_left_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = Clock()
    async with scripted(silence, saying(DONE)) as server:
        editor = editor_at(server.url, clock, timeout=0.05)
        assert await editor.ask(1, 13) == []
        await server.requests[0].gone.wait()
        assert await editor.ask(1, 13) == []
        assert len(server.requests) == 1
        clock.now += 10
        editor.predictor._source.timeout = 10.0
        assert len(await editor.ask(1, 13)) == 1
        editor.predictor.close()
    assert "does not answer in 0.05 seconds" in caplog.text


async def test_who_cancels_ends_the_request_on_the_wire() -> None:
    async with scripted(silence) as server:
        editor = editor_at(server.url, Clock())
        asking = asyncio.create_task(editor.ask(1, 13))
        exchange = await server.arrived()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await exchange.gone.wait()
        editor.predictor.close()


async def test_the_end_of_the_session_ends_what_is_under_way() -> None:
    async with scripted(silence) as server:
        editor = editor_at(server.url, Clock())
        asking = asyncio.create_task(editor.ask(1, 13))
        exchange = await server.arrived()
        editor.predictor.close()
        assert await asking == []
        await exchange.gone.wait()
        assert await editor.ask(1, 13) == []


async def test_of_three_questions_the_first_and_the_last_are_under_way(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release = asyncio.Event()

    async def late(exchange: Exchange) -> None:
        await release.wait()
        await saying(DONE)(exchange)

    async with scripted(silence, silence, late) as server:
        editor = editor_at(server.url, Clock())
        first = asyncio.create_task(editor.ask(1, 13))
        await server.arrived(1)
        second = asyncio.create_task(editor.ask(1, 13))
        await server.arrived(2)
        third = asyncio.create_task(editor.ask(1, 13))
        await server.arrived(3)
        assert await second == []
        await server.requests[1].gone.wait()
        assert not first.done()
        release.set()
        assert len(await third) == 1
        assert await first == []
        await server.requests[0].gone.wait()
        editor.predictor.close()
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>hello</html>", "not what an OpenAI-compatible server says"),
        (b"\xff\xfe\x00", "not what an OpenAI-compatible server says"),
        (b"[]", "not what an OpenAI-compatible server says"),
        (b'{"choices": 3}', "not what an OpenAI-compatible server says"),
        (b'{"choices": []}', "has no choices"),
        (b"", "not what an OpenAI-compatible server says"),
    ],
)
async def test_an_answer_that_is_none_is_no_suggestion(
    body: bytes, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def garbage(exchange: Exchange) -> None:
        await exchange.reply(200, body)

    async with scripted(garbage, garbage, saying(DONE)) as server:
        editor = editor_at(server.url, Clock())
        assert await editor.ask(1, 13) == []
        assert await editor.ask(1, 13) == []
        assert len(await editor.ask(1, 13)) == 1
        editor.predictor.close()
    assert len(caplog.records) == 1
    assert said in caplog.text


async def test_a_null_is_no_suggestion_either() -> None:
    async def null(exchange: Exchange) -> None:
        await exchange.reply(200, b'{"choices": [{"message": {"content": null}}]}')

    async with scripted(null) as server:
        editor = editor_at(server.url, Clock())
        assert await editor.ask(1, 13) == []
        editor.predictor.close()


async def test_an_answer_of_50_megabytes_is_not_read_to_its_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    size = 50 * 1024 * 1024
    sent = 0

    async def endless(exchange: Exchange) -> None:
        nonlocal sent
        exchange.writer.write(f"HTTP/1.1 200 Said\r\ncontent-length: {size}\r\n\r\n".encode())
        try:
            while sent < size:
                exchange.writer.write(b"x" * 65536)
                sent += 65536
                await exchange.writer.drain()
        except ConnectionError:
            exchange.gone.set()

    async with scripted(endless) as server:
        editor = editor_at(server.url, Clock())
        assert await editor.ask(1, 13) == []
        await server.requests[0].gone.wait()
        editor.predictor.close()
    assert sent < size / 2
    assert "longer than 1048576 bytes" in caplog.text


async def test_a_server_that_hangs_up_at_once_is_no_suggestion(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def hang_up(exchange: Exchange) -> None:
        exchange.writer.close()

    async with scripted(hang_up) as server:
        editor = editor_at(server.url, Clock())
        assert await editor.ask(1, 13) == []
        editor.predictor.close()
    assert "the server closed the connection" in caplog.text


async def test_a_connection_that_went_while_idle_costs_nothing() -> None:
    async def once(exchange: Exchange) -> None:
        await saying("NO_EDIT")(exchange)
        exchange.writer.transport.abort()

    async with scripted(once, saying(DONE)) as server:
        editor = editor_at(server.url, Clock())
        assert await editor.ask(1, 13) == []
        assert len(await editor.ask(1, 13)) == 1
        editor.predictor.close()


async def test_where_nobody_listens_there_is_no_suggestion(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scripted(silence) as server:
        port = server.port
    editor = editor_at(f"http://127.0.0.1:{port}", Clock())
    assert await editor.ask(1, 13) == []
    assert "connection refused" in caplog.text
    editor.predictor.close()
    assert caplog.records[0].levelno == logging.WARNING


async def test_a_certificate_is_checked_and_ones_own_can_be_given(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = written(tmp_path)
    async with scripted(saying(DONE), tls=server_tls(certificate, key)) as server:
        url = f"https://localhost:{server.port}"
        stranger = Editor(ModelEngine(url, "m", api_key=KEY), TEXT)
        assert await stranger.ask(1, 13) == []
        assert server.requests == []
        assert "is not trusted" in caplog.text
        friend = Editor(ModelEngine(url, "m", api_key=KEY, ca_file=certificate), TEXT)
        assert len(await friend.ask(1, 13)) == 1
        stranger.predictor.close()
        friend.predictor.close()


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
    for name in ("parley.nes.model._endpoint", "parley.transport.http._client.h1"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ConnectFailed, match=r"a model needs: pip install 'parley-acp\[http\]'"):
        ModelEngine("http://localhost", "m")
