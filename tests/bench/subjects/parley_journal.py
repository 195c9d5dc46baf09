"""Fills a journal as recorders do, and asks it; prints what each took as JSON.

The caller's cost of an update is the CPU time of its own thread, with the thread that writes at
work beside it.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path

from parley.journal import Recorder, SqliteJournal

FRAMES = 100
"""How many frames a session has."""
STREAMED, COMMITS, ASKED = 100_000, 100, 30
ABSENT, RARE = "zzabsent", "zzrare"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sample = asyncio.run(_measure(Path(folder) / "journal.db", int(sys.argv[1])))
    sys.stdout.write(json.dumps(sample))


async def _measure(path: Path, frames: int) -> dict[str, float]:
    noise = random.Random(1)
    words = ["".join(noise.choices("etaoinshrdlu", k=noise.randint(2, 10))) for _ in range(20_000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    journal = SqliteJournal(path)
    recorder = Recorder(journal, agent="bench")
    sent = 0
    for number in range(frames // FRAMES):
        text = " ".join(noise.choices(words, cum_weights=weights, k=FRAMES * 15))
        sent += _session(recorder, number, f"{RARE} {text}" if number % 1000 == 7 else text)
        if number % 100 == 0:
            await journal.commit()
    await journal.commit()
    streamed, length = _stream(recorder)
    sample = {"append": streamed, "commit": await _commits(journal, recorder)}
    journal.search("so that all is indexed")
    sample["list"] = _median(lambda: journal.list(limit=50))
    sample["list all"] = _median(journal.list)
    for name, word in (("rare", RARE), ("common", words[0]), ("absent", ABSENT)):
        sample[name] = _median(partial(journal.search, word))
    await journal.aclose()
    return {**sample, "size": _size(path) / (sent + length)}


def _size(path: Path) -> int:
    return path.stat().st_size


def _session(recorder: Recorder, number: int, text: str) -> int:
    """Record one turn of a session; returns how long its frames are together."""
    name = f"sess_{number:08}"
    observe = recorder.observe
    pieces = [text[at : at + 60] for at in range(0, 60 * (FRAMES - 6), 60)]
    frames = [
        ("outbound", _json(id=1, method="session/new", params={"cwd": f"/project/{number % 50}"})),
        ("inbound", _json(id=1, result={"sessionId": name})),
        ("outbound", _prompt(name, f"please look at {text[:60]}")),
        *(("inbound", _update(name, piece)) for piece in pieces),
        ("inbound", _json(id=2, result={"stopReason": "end_turn"})),
        ("outbound", _json(id=3, method="session/close", params={"sessionId": name})),
        ("inbound", _json(id=3, result={})),
    ]
    for direction, frame in frames:
        observe("inbound" if direction == "inbound" else "outbound", frame)
    return sum(len(frame) for _, frame in frames)


def _stream(recorder: Recorder) -> tuple[float, int]:
    """Return what an update costs its caller, and how long all of them are."""
    name = "sess_streamed"
    recorder.observe("outbound", _json(id=1, method="session/new", params={"cwd": "/work"}))
    recorder.observe("inbound", _json(id=1, result={"sessionId": name}))
    recorder.observe("outbound", _prompt(name, "stream"))
    updates = [_update(name, f"chunk {number} of a long answer ") for number in range(STREAMED)]
    begin = time.thread_time()
    for update in updates:
        recorder.observe("inbound", update)
    cost = (time.thread_time() - begin) / STREAMED
    recorder.observe("inbound", _json(id=2, result={"stopReason": "end_turn"}))
    return cost, sum(map(len, updates))


async def _commits(journal: SqliteJournal, recorder: Recorder) -> float:
    await journal.commit()
    times: list[float] = []
    for _ in range(COMMITS):
        recorder.observe("inbound", _update("sess_streamed", "one more"))
        begin = time.perf_counter()
        await journal.commit()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _median(ask: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ASKED):
        begin = time.perf_counter()
        ask()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def _prompt(name: str, text: str) -> bytes:
    params = {"sessionId": name, "prompt": [{"type": "text", "text": text}]}
    return _json(id=2, method="session/prompt", params=params)


def _update(name: str, text: str) -> bytes:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return _json(method="session/update", params={"sessionId": name, "update": chunk})


def _json(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")).encode()


if __name__ == "__main__":
    main()
