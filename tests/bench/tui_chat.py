"""`python -m tests.bench.tui_chat`: `parley chat` beside Textual's own Markdown streaming.

Both are whole programs in a terminal of 120 x 40, with the same agent, which says 10,000 updates at
full speed (`tui_agent.py`). Meanwhile keys are pressed, one after the other, and the time is taken
until each is in the bytes of the terminal. Then Parley alone: a session of 100,000 lines, and one
that is opened again.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from time import monotonic

from .environments import BENCH, PARLEY, ROOT
from .plan import Plan, Sample
from .report import Report, Row, Target
from .tui_agent import last_word
from .tui_terminal import Cost, Terminal

TEXTUAL = f"textual {version('textual')}"
UPDATES = 10_000
LINES = 6_953
"""So many lines are that on the screen."""
LAST_PART = 408
"""Which part of the text the last of them are in."""
TURNS = 15
PATIENCE = 15.0
"""How long a program has for one turn; the peer needs longer."""
SIZES = ((100, 30), (120, 40), (90, 40), (120, 40))
MEGABYTE = 1e6
TAB, HOME, END, FIND = b"\t", b"\x1b[H", b"\x1b[F", b"\x06"
AGENT = f"{sys.executable} {BENCH / 'tui_agent.py'}"
CHAT = (sys.executable, "-m", "parley", "chat")
PEER = (sys.executable, str(BENCH / "tui_peer.py"), AGENT)


def tui(plan: Plan) -> Iterator[Row]:
    """Echo while 10,000 updates come; memory and time of a long session; how soon it is ready."""
    turns = plan.scaled(TURNS)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with _run(home, *CHAT, AGENT) as terminal:
            ours = _stream(terminal, turns)
            long = _long_session(terminal, turns)
        with _run(home, *PEER) as terminal:
            theirs = _stream(terminal, 1)
        opened = _opened(home)
    plan.notes.append(f"the chat is measured once, with {turns} turns of {UPDATES:,} updates")
    if theirs["share"] < 1:
        said = f"{TEXTUAL} had painted {theirs['share']:.0%} of the updates after {PATIENCE:g} s"
        plan.notes.append(f"{said}, and was stopped")
    yield from _stream_rows(ours, theirs)
    lines = turns * LINES
    grown = (ours["last memory"] - ours["first memory"]) / max(lines - LINES, 1) * 10_000
    yield _row("chat, memory per 10,000 lines", "MB", grown / MEGABYTE)
    yield _row(f"chat, memory with {lines:,} lines", "MB", ours["last memory"] / MEGABYTE)
    for name, cost in long.items():
        bounds = (Target(200),) if name == "resize" else ()
        yield _row(f"chat, {name}, {lines:,} lines, CPU", "ms", cost.cpu * 1e3, bounds)
        yield _row(f"chat, {name}, {lines:,} lines, time", "ms", cost.wall * 1e3)
    for name, seconds in opened.items():
        yield _row(f"chat, {name}", "s", seconds)


def _row(figure: str, unit: str, value: float, targets: tuple[Target, ...] = ()) -> Row:
    return Row(figure, unit, {PARLEY: [value]}, targets)


def _stream_rows(ours: Sample, theirs: Sample) -> Iterator[Row]:
    """What both do; who has not shown everything has no time for it."""
    done = {PARLEY: ours} if theirs["share"] < 1 else {PARLEY: ours, TEXTUAL: theirs}
    both = {PARLEY: ours, TEXTUAL: theirs}
    for name, unit, scale, taking_part, targets in (
        ("echo p50", "ms", 1e3, both, (Target(50),)),
        ("echo p95", "ms", 1e3, both, (Target(100),)),
        ("keys pressed", "", 1, both, ()),
        ("time", "s", 1, done, ()),
        ("CPU", "s", 1, done, ()),
    ):
        samples = {subject: [each[name] * scale] for subject, each in taking_part.items()}
        yield Row(f"chat, {UPDATES:,} updates, {name}", unit, samples, targets)


def _run(home: Path, *command: str) -> Terminal:
    env = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT / "src"),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }
    return Terminal(command, env, home)


def _stream(terminal: Terminal, turns: int) -> Sample:
    """Let the agent speak so many times, and press keys meanwhile."""
    assert terminal.until("ready", patience=PATIENCE), "the chat did not start"
    echoes: list[float] = []
    took: list[Cost] = []
    memory: list[float] = []
    share = 0.0
    for turn in range(1, turns + 1):
        terminal.cost(b"\x15")
        terminal.cost(f"say {UPDATES}".encode())
        began, cpu = monotonic(), terminal.cpu()
        terminal.press_and_see(b"\r")  # in Textual's input the next key would overtake it
        echoes += terminal.echoes(last_word(turn), patience=PATIENCE)
        share = terminal.highest("Part ") / LAST_PART
        assert share, "the agent has said nothing"
        took.append(Cost(monotonic() - began, terminal.cpu() - cpu))
        terminal.rest()
        memory.append(terminal.memory())
    is_done = terminal.has_seen(last_word(turns))
    return {
        "share": 1.0 if is_done else share,
        "keys pressed": len(echoes),
        "echo p50": statistics.median(echoes),
        "echo p95": _p95(echoes),
        "time": statistics.median(each.wall for each in took),
        "CPU": statistics.median(each.cpu for each in took),
        "first memory": memory[0],
        "last memory": memory[-1],
    }


def _p95(echoes: Sequence[float]) -> float:
    return statistics.quantiles(echoes, n=20)[-1] if len(echoes) > 1 else echoes[0]


def _long_session(terminal: Terminal, turns: int) -> dict[str, Cost]:
    """Do what takes longer in a long session."""
    terminal.cost(b"\x15")
    resizes = [terminal.cost(size=size) for size in SIZES]
    costs = {"resize": Cost(*(statistics.median(each) for each in zip(*resizes, strict=True)))}
    terminal.cost(TAB)
    for name, keys, seen in (
        ("go to the beginning", HOME, "Part 0"),
        ("go to the end", END, last_word(turns)),
        ("begin to search", FIND, "find"),
        ("find a word", b"callers", "· Esc"),
    ):
        costs[name] = terminal.cost(keys)
        assert terminal.has_seen(seen), f"{name}: {seen!r} is not on the screen"
    return costs


def _opened(home: Path) -> dict[str, float]:
    """Return how many seconds it takes from the start until the user can go on."""
    loading = f"{AGENT} load {UPDATES}"
    session = (*CHAT, loading, "--session", "bench")
    with _run(home, *session) as terminal:
        assert terminal.until("ready", patience=PATIENCE)
        began = monotonic() - terminal.started
        terminal.press(f"say {UPDATES}\r".encode())
        assert terminal.until(last_word(1), patience=PATIENCE)
        terminal.rest()
    with _run(home, *session) as terminal:
        assert terminal.until(last_word(0), "ready", patience=PATIENCE)
        loaded = monotonic() - terminal.started
    with _run(home, *CHAT, "--replay", "bench", "--speed", "0") as terminal:
        assert terminal.until(last_word(1), patience=PATIENCE)
        replayed = monotonic() - terminal.started
    return {
        "start to ready": began,
        f"start to ready, {UPDATES:,} updates loaded": loaded,
        f"start to the end of a replay of {UPDATES:,} updates at once": replayed,
    }


TUI_FIGURES: dict[str, Callable[[Plan], Iterator[Row]]] = {"tui": tui}


def main() -> None:
    plan = Plan([], 1, 1.0)
    report = Report([PARLEY, TEXTUAL], 1, notes=plan.notes)
    report.rows += tui(plan)
    for line in [*report.markdown(), "", report.summary(), *report.notes]:
        print(line)


if __name__ == "__main__":
    main()
