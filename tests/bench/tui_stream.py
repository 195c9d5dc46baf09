"""A long answer streamed to the screen: Parley's history beside Textual's own Markdown.

Both run in a real pty of 120 x 40 and get the same chunks, as many a second as asked. Meanwhile
keys are pressed, and the time until each shows up in the bytes of the terminal is taken. Run it by
hand: `python -m tests.bench.tui_stream`.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import pty
import resource
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Markdown

from parley.schema import v2
from parley.session.transcript import Transcript
from parley.tui.history import History
from parley.tui.show import Show

CHUNK_CHARS = 20
KEY_EVERY = 0.1
PARAGRAPHS = """## Part {n}

The function `call_{n}` has **two** callers, see [the guide](https://example.org/{n}). It is rather
long, so it is *broken* into several parts, of which this is one.

- first, look at the callers
- then change the signature
  - and the tests

```python
def call_{n}(name: str, count: int = {n}) -> str:
    \"\"\"Return a name so many times.\"\"\"
    return ", ".join([name] * count)  # no trailing comma
```

| file | lines | what |
|---|---|---|
| call_{n}.py | {n} | signature |

"""


def chunks(count: int) -> list[str]:
    text = ""
    number = 0
    while len(text) < count * CHUNK_CHARS:
        text += PARAGRAPHS.replace("{n}", str(number))
        number += 1
    return [text[n * CHUNK_CHARS : (n + 1) * CHUNK_CHARS] for n in range(count)]


class Bench(App[None]):
    """Streams, and then leaves the figures in a file."""

    def __init__(self, texts: list[str], rate: float, report: Path) -> None:
        super().__init__()
        self.texts = texts
        self.rate = rate
        self.report = report
        self.done = 0

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self.run_worker(self.measure())

    async def measure(self) -> None:
        started, cpu = time.monotonic(), time.process_time()

        def tell() -> None:
            figures = {
                "chunks": self.done,
                "seconds": time.monotonic() - started,
                "cpu": time.process_time() - cpu,
                "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "widgets": len(self.query("*")),
            }
            self.report.write_text(json.dumps(figures))

        self.set_interval(2, tell)  # who does not finish has figures too
        await self.stream(started)
        tell()
        self.exit()

    async def stream(self, started: float) -> None:
        raise NotImplementedError

    async def pace(self, number: int, started: float) -> None:
        """Wait until it is time for a chunk."""
        early = started + number / self.rate - time.monotonic()
        if early > 0:
            await asyncio.sleep(early)


class ParleyBench(Bench):
    def compose(self) -> ComposeResult:
        yield History()
        yield Input()

    async def stream(self, started: float) -> None:
        history = self.query_one(History)
        transcript = Transcript()
        show = Show(history, transcript)
        worker = self.run_worker(show.run())
        for number, text in enumerate(self.texts):
            await self.pace(number, started)
            update = v2.AgentMessageChunk(message_id="a", content=v2.TextContent(text=text))
            self.done += 1
            transcript.fold(update)
            room = show.update(update)
            if room is not None:
                await room
        worker.cancel()
        await show.paint()


class TextualBench(Bench):
    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Markdown()
        yield Input()

    async def stream(self, started: float) -> None:
        self.query_one(VerticalScroll).anchor()
        stream = Markdown.get_stream(self.query_one(Markdown))
        for number, text in enumerate(self.texts):
            await self.pace(number, started)
            await stream.write(text)
            self.done += 1
        await stream.stop()


SUBJECTS = {"parley": ParleyBench, "textual": TextualBench}


def measure(subject: str, count: int, rate: float, patience: float) -> dict[str, float]:
    """Run a subject in a pty, press keys, and return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            SUBJECTS[subject](chunks(count), rate, report).run()
            os._exit(0)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        try:
            echoes = press_keys(terminal, patience)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)
        figures: dict[str, float] = json.loads(report.read_text()) if report.exists() else {}
    if len(echoes) > 1:
        figures["echo p50"] = statistics.median(echoes) * 1000
        figures["echo p95"] = statistics.quantiles(echoes, n=20)[-1] * 1000
    return figures


def press_keys(terminal: int, patience: float) -> list[float]:
    """Press a new key now and then until the program ends; return when each was seen."""
    echoes: list[float] = []
    seen = bytearray()
    ends = time.monotonic() + patience
    pressed: tuple[bytes, float] | None = None
    due, number = time.monotonic() + 1.5, 0
    while time.monotonic() < ends:
        if pressed is None and time.monotonic() >= due:
            pressed = (chr(0x4E00 + number).encode(), time.monotonic())
            os.write(terminal, pressed[0])
            number += 1
        if select.select([terminal], [], [], 0.005)[0]:
            try:
                seen += os.read(terminal, 65536)
            except OSError:
                break
        if pressed is not None and pressed[0] in seen:
            echoes.append(time.monotonic() - pressed[1])
            pressed, due = None, time.monotonic() + KEY_EVERY
        del seen[:-16]
    return echoes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=2_000.0, help="chunks a second")
    parser.add_argument("--patience", type=float, default=90.0, help="seconds for each")
    parser.add_argument("subjects", nargs="*", default=list(SUBJECTS))
    arguments = parser.parse_args()
    for subject in arguments.subjects:
        figures = measure(subject, arguments.chunks, arguments.rate, arguments.patience)
        told = "  ".join(f"{name} {value:.1f}" for name, value in figures.items())
        print(f"{subject:8} {told}", file=sys.stderr)


if __name__ == "__main__":
    main()
