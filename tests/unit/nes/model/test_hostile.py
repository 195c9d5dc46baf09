"""A server that does everything that it should not: nothing is proposed, and nothing is told."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest

from parley.nes._documents.document import Document
from parley.nes.engine import Span, Spot
from parley.nes.model import FORMATS, ModelEngine

from .model_server import Answer, Clock, Editor, Exchange, failing, saying, scripted, silence

NOTES = "file:///project/notes.txt"
TEXT = "def total(items):\n    return su\n"
DONE = "```python\ndef total(items):\n    return sum(items)\n```"
KEY = "s3cret-key"
GOOD = json.dumps({"choices": [{"message": {"content": DONE}}]}).encode()
CHUNKED = b"HTTP/1.1 200 Said\r\ntransfer-encoding: chunked\r\n\r\n"


def editor_at(url: str, clock: Clock | None = None, *, timeout: float = 10.0) -> Editor:
    engine = ModelEngine(url, "m", api_key=KEY, timeout=timeout, clock=clock or Clock())
    return Editor(engine, TEXT)


async def drip(exchange: Exchange) -> None:
    """Send a good answer, a byte now and then, and never the last one."""
    exchange.writer.write(b"HTTP/1.1 200 Said\r\ncontent-length: %d\r\n\r\n" % (len(GOOD) + 1000))
    for byte in GOOD:
        exchange.writer.write(bytes([byte]))
        try:
            await asyncio.wait_for(exchange.gone.wait(), 0.02)
        except TimeoutError:
            continue
        return


async def endless(exchange: Exchange) -> None:
    """Send pieces as long as somebody listens."""
    exchange.writer.write(CHUNKED)
    try:
        while not exchange.gone.is_set():
            exchange.writer.write(b"1000\r\n" + b" " * 4096 + b"\r\n")
            await exchange.writer.drain()
    except ConnectionError:
        exchange.gone.set()


async def endless_head(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 200 Said\r\n")
    try:
        while not exchange.gone.is_set():
            exchange.writer.write(b"x-more: " + b"x" * 4096 + b"\r\n")
            await exchange.writer.drain()
    except ConnectionError:
        exchange.gone.set()


async def cut(exchange: Exchange) -> None:
    """Hang up in the middle of a good answer."""
    exchange.writer.write(b"HTTP/1.1 200 Said\r\ncontent-length: 5000\r\n\r\n" + GOOD)
    await exchange.writer.drain()
    exchange.writer.close()


async def no_http(exchange: Exchange) -> None:
    exchange.writer.write(b"SSH-2.0-OpenSSH_9.6\r\n" * 100)
    await exchange.writer.drain()


def body(data: bytes, *headers: str) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.reply(200, data, *headers)

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(endless, id="endless"),
        pytest.param(endless_head, id="endless-head"),
        pytest.param(cut, id="cut"),
        pytest.param(no_http, id="no-http"),
        pytest.param(
            body(b"data: " + GOOD + b"\n\ndata: [DONE]\n\n", "content-type: text/event-stream"),
            id="events",
        ),
        pytest.param(body(GOOD.decode().encode("utf-16")), id="utf-16"),
        pytest.param(body('{"choices": [{"text": "é"}]}'.encode("latin-1")), id="latin-1"),
        pytest.param(body(gzip.compress(GOOD), "content-encoding: gzip"), id="gzip"),
        pytest.param(body(b'{"choices": [], "x": ' + b"[" * 300_000), id="deep"),
        pytest.param(body(b'{"error": {"message": "no"}}'), id="error-with-200"),
        pytest.param(body(GOOD[:-9]), id="half-json"),
        pytest.param(body(b'{"choices": [{"text": "\\ud800"}]}'), id="half-character"),
        pytest.param(saying("```a\n" * 200_000), id="fences"),
        pytest.param(saying("\n" * 900_000), id="lines"),
        pytest.param(saying("x" * 900_000), id="one-line"),
        pytest.param(saying("`" * 60_000), id="ticks"),
        pytest.param(saying("```\n" + "\n" * 60_000 + "```"), id="many-lines"),
    ],
)
async def test_nothing_is_proposed_and_the_next_answer_counts_again(answer: Answer) -> None:
    async with scripted(answer, saying(DONE)) as server:
        editor = editor_at(server.url)
        assert await editor.ask(1, 13) == []
        # By hand, for a server that hangs up is left alone for a while.
        assert len(await editor.ask(1, 13, trigger="manual")) == 1
        editor.predictor.close()


async def test_who_drips_is_given_up_like_who_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    async with scripted(drip) as server:
        editor = editor_at(server.url, timeout=0.1)
        assert await editor.ask(1, 13) == []
        await server.requests[0].gone.wait()
        assert await editor.ask(1, 13) == []
        assert len(server.requests) == 1
        editor.predictor.close()
    assert "does not answer in 0.1 seconds" in caplog.text


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_takes_neither_the_key_nor_the_code_elsewhere(status: int) -> None:
    async with scripted(saying(DONE)) as other:
        there = f"location: http://localhost:{other.port}/v1/chat/completions"
        async with scripted(failing(status, "", there)) as server:
            editor = editor_at(server.url)
            assert await editor.ask(1, 13) == []
            assert await editor.ask(1, 13, trigger="manual") == []
            assert len(server.requests) == 2
            editor.predictor.close()
        assert other.requests == []


@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize("lines", [0, 30])
async def test_who_repeats_the_prompt_proposes_nothing(name: str, lines: int) -> None:
    async def echo(exchange: Exchange) -> None:
        asked = exchange.json
        said = asked.get("prompt") or "\n".join(x["content"] for x in asked["messages"])
        await saying(said)(exchange)

    async with scripted(echo) as server:
        engine = ModelEngine(server.url, "m", format=name)
        text = "".join(f"a_{number} = {number}\n" for number in range(lines))
        editor = Editor(engine, TEXT + text, uri=NOTES, language="plaintext")
        other = Document("file:///project/b.txt", "", 1, "quite\nanother\ntext\n")
        editor.predictor.opened(other)
        editor.predictor.focused(other, Spot(0, 0), Span(Spot(0, 0), Spot(3, 0)))
        editor.type(0, "total", "amount")
        assert await editor.ask(1, 13) == []
        assert len(server.requests) == 1
        editor.predictor.close()


async def test_no_server_is_left_alone_for_longer_than_five_minutes() -> None:
    clock = Clock()
    async with scripted(failing(429, "no", "retry-after: 999999"), saying(DONE)) as server:
        editor = editor_at(server.url, clock)
        assert await editor.ask(1, 13) == []
        clock.now += 299
        assert await editor.ask(1, 13) == []
        clock.now += 2
        assert len(await editor.ask(1, 13)) == 1
        editor.predictor.close()


async def test_a_shorter_rest_does_not_end_a_longer_one() -> None:
    clock = Clock()
    async with scripted(failing(401), failing(500), saying(DONE)) as server:
        editor = editor_at(server.url, clock)
        assert await editor.ask(1, 13) == []
        assert await editor.ask(1, 13, trigger="manual") == []
        clock.now += 30
        assert await editor.ask(1, 13) == []
        assert len(server.requests) == 2
        editor.predictor.close()


async def test_who_answers_nonsense_three_times_is_left_alone() -> None:
    clock = Clock()
    async with scripted(body(b"<html>"), body(b"<html>"), body(b"<html>"), saying(DONE)) as server:
        editor = editor_at(server.url, clock)
        for _ in range(5):
            assert await editor.ask(1, 13) == []
        assert len(server.requests) == 3
        clock.now += 11
        assert len(await editor.ask(1, 13)) == 1
        editor.predictor.close()


async def test_a_newer_question_that_fails_does_not_end_the_older() -> None:
    release = asyncio.Event()

    async def late(exchange: Exchange) -> None:
        await release.wait()
        await saying(DONE)(exchange)

    async with scripted(late, failing(500)) as server:
        editor = editor_at(server.url)
        older = asyncio.create_task(editor.ask(1, 13))
        await server.arrived(1)
        assert await editor.ask(1, 13) == []
        release.set()
        assert len(await older) == 1
        editor.predictor.close()


async def test_a_connection_that_lay_idle_too_long_is_closed() -> None:
    async def once(exchange: Exchange) -> None:
        await exchange.reply(200, GOOD, "keep-alive: timeout=1")

    async with scripted(once) as server:
        editor = editor_at(server.url)
        assert len(await editor.ask(1, 13)) == 1
        assert len(await editor.ask(1, 13)) == 1
        await server.requests[0].gone.wait()
        assert server.requests[1].writer is not server.requests[0].writer
        editor.predictor.close()


async def test_who_cancels_while_nobody_has_answered_the_call_leaves_nothing() -> None:
    async with scripted(silence) as server:
        editor = editor_at(server.url)
        asking = asyncio.create_task(editor.ask(1, 13))
        exchange = await server.arrived()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await exchange.gone.wait()
        editor.predictor.close()
        assert editor.predictor._flights._flying == []
