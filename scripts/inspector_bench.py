"""Measure the page of the inspector in Chromium: loading, memory, scrolling, filters, a live flood.

The recording is generated; the server, the page and the browser are the real ones.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from tests.e2e.browser import DESKTOP, Page, browser, close_chromium

from parley.inspector._library import Library
from parley.inspector._serving import serve
from parley.recording import RecordingStore, RecordingWriter, Source

LOADED = (
    "document.querySelector('#status').textContent.includes('{:,} frames')"
    " && !document.querySelector('#status').textContent.includes('Loading')"
)
FRAMES = """new Promise((done) => {
  const view = document.querySelector(".viewport");
  const times = [];
  let last = performance.now();
  const step = () => {
    const now = performance.now();
    times.push(now - last);
    last = now;
    SCROLL;
    if (times.length <= COUNT) requestAnimationFrame(step);
    else done(times.slice(1).sort((one, other) => one - other));
  };
  requestAnimationFrame(step);
})"""
FILTER = """new Promise((done) => {
  const query = document.querySelector("#query");
  const result = document.querySelector("#query-result");
  const start = performance.now();
  new MutationObserver((_, observer) => {
    if (!result.textContent.includes(" of ")) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  }).observe(result, { childList: true });
  query.value = QUERY;
  query.dispatchEvent(new Event("input"));
})"""


def frames(count: int) -> Iterator[tuple[Source, dict[str, Any]]]:
    """Yield who sends a frame, and the frame: prompts, calls of the agent, and many updates."""
    start = {"id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    yield "client", start
    yield "agent", {"id": 0, "result": {"protocolVersion": 1, "agentCapabilities": {}}}
    for number in range(3, count + 1):
        place = number % 50
        if place == 0:
            read = {"sessionId": "session-1", "path": f"/srv/shop/file-{number}.py"}
            yield "agent", {"id": number, "method": "fs/read_text_file", "params": read}
        elif place == 1:
            yield "client", {"id": number - 1, "result": {"content": f"text of file {number}"}}
        elif place < 10:
            yield "agent", _update("tool_call", toolCallId=f"call-{number}", title=f"Run {number}")
        else:
            content = {"type": "text", "text": f"some words of the agent, {number}. "}
            yield "agent", _update("agent_message_chunk", content=content)


def _update(kind: str, **members: Any) -> dict[str, Any]:
    update = {"sessionUpdate": kind, **members}
    return {"method": "session/update", "params": {"sessionId": "session-1", "update": update}}


def line(message: dict[str, Any]) -> bytes:
    """Return a message as it is sent."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def show(name: str, milliseconds: list[float]) -> None:
    """Print the distribution of the times between frames."""
    middle, high = milliseconds[len(milliseconds) // 2], milliseconds[len(milliseconds) * 95 // 100]
    print(f"{name}: p50 {middle:.0f} ms, p95 {high:.0f} ms, max {milliseconds[-1]:.0f} ms")


async def measure_finished(store: RecordingStore, count: int) -> None:
    """Measure a recording that has ended."""
    with RecordingWriter(store) as writer:
        recording = writer.start("bench", ["agent"])
        for source, message in frames(count):
            recording.write(source, line(message))
        recording.close()
    async with serve(Library(store)) as url, browser() as opened:
        page = await opened.open(url, DESKTOP)
        await page.when(LOADED.format(count))
        print(f"first load, with reading the file: {await page.run('performance.now()'):.0f} ms")
        await page.reload()
        await page.when(LOADED.format(count))
        print(f"load: {await page.run('performance.now()'):.0f} ms")
        await page.call("HeapProfiler.collectGarbage")
        heap = await page.call("Runtime.getHeapUsage")
        used = (heap["usedSize"] + heap["embedderHeapUsedSize"] + heap["backingStorageSize"]) / 1e6
        print(f"heap: {used:.0f} MB, elements: {await page.count('*')}")
        jump = "view.scrollTop = Math.random() * view.scrollHeight"
        show("scroll, random jumps", await watch_frames(page, jump, 200))
        show("scroll, 120 pixels a frame", await watch_frames(page, "view.scrollTop -= 120", 200))
        for query in ("is:error", "method:fs/", "file-1", "no such words"):
            took = await page.run(FILTER.replace("QUERY", json.dumps(query)))
            print(f"filter {query!r}: {took:.0f} ms, {await page.text('#query-result')}")
        print(f"problems: {page.problems}")


async def watch_frames(page: Page, scroll: str, count: int) -> list[float]:
    """Scroll in each frame; returns the times between them, sorted."""
    script = FRAMES.replace("SCROLL", scroll).replace("COUNT", str(count))
    times: list[float] = await page.run(script)
    return times


async def measure_live(store: RecordingStore, rate: int, seconds: int) -> None:
    """Measure a recording while it grows."""
    total = rate * seconds
    with RecordingWriter(store) as writer:
        recording = writer.start("bench", ["agent"])
        async with serve(Library(store)) as url, browser() as opened:
            page = await opened.open(url, DESKTOP)
            await page.sees("live", "#status")
            watching = asyncio.ensure_future(watch_frames(page, "", 60 * seconds))
            start = time.perf_counter()
            for number, (source, message) in enumerate(frames(total), 1):
                recording.write(source, line(message))
                if number % 100 == 0:
                    await asyncio.sleep(max(0, start + number / rate - time.perf_counter()))
            written = time.perf_counter()
            await page.sees(f"{total:,} frames", "#status")
            lag = time.perf_counter() - written
            print(f"live: {total:,} in {written - start:.1f} s, shown {lag * 1000:.0f} ms later")
            show("live, frame times", await watching)
            print(f"problems: {page.problems}")


async def run(count: int, rate: int, seconds: int) -> None:
    """Measure everything."""
    with tempfile.TemporaryDirectory() as folder:
        await measure_finished(RecordingStore(folder), count)
    with tempfile.TemporaryDirectory() as folder:
        await measure_live(RecordingStore(folder), rate, seconds)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=100_000, help="frames of the recording")
    parser.add_argument("--rate", type=int, default=5_000, help="live frames per second")
    parser.add_argument("--seconds", type=int, default=10, help="how long they arrive")
    given = parser.parse_args()
    try:
        asyncio.run(run(given.frames, given.rate, given.seconds))
    finally:
        close_chromium()
    return 0


if __name__ == "__main__":
    sys.exit(main())
