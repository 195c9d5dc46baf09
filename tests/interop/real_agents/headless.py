"""A user at their machine for one test: an agent in the configuration, a history, `parley`.

Whatever a test starts has the directory of the test in its environment, so that it can be found,
and must be gone at the end.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from parley.journal import Record, SqliteJournal
from parley.session._transcript import Transcript
from parley.session.frame_replay import transcript_from_frames

from .launch import KINDS, Kind, Launch
from .model import Model
from .turn import BOUND_SECONDS

__all__ = ["Begun", "Desk", "Run", "every_agent", "until"]

PARLEY = (sys.executable, "-m", "parley")

every_agent = pytest.mark.parametrize("kind", KINDS, ids=[each.name for each in KINDS])


def until(is_so: Callable[[], object], what: str, seconds: float = BOUND_SECONDS) -> None:
    """Wait until something is so, looking again and again."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"it did not come true: {what}"
        time.sleep(0.02)


class Run(Struct):
    """What `parley run` did."""

    code: int
    out: str
    err: str

    @property
    def events(self) -> list[Any]:
        """What `--json` printed."""
        return [json.loads(line) for line in self.out.splitlines()]


class Begun:
    """A `parley` that was started and goes on beside the test."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path, notes: Path) -> None:
        self._files = notes.with_suffix(".out"), notes.with_suffix(".err")
        with self._files[0].open("wb") as out, self._files[1].open("wb") as err:
            self._process = subprocess.Popen(
                command,
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    @property
    def agent(self) -> int:
        """The process that it has started, the leader of a group."""
        children = (pid for pid, parent in _processes() if parent == self._process.pid)
        return next(pid for pid in children if os.getpgid(pid) == pid)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    @property
    def has_ended(self) -> bool:
        """Whether it is no longer running."""
        return self._process.poll() is not None

    def finish(self) -> Run:
        """Wait for its end."""
        code = self._process.wait(BOUND_SECONDS)
        out, err = (file.read_text() for file in self._files)
        return Run(code, out, err)


class Desk:
    """The user's places, with an agent that is called `peer` and is the default."""

    def __init__(self, kind: Kind, launch: Launch, top: Path, model: Model) -> None:
        self.kind = kind
        self.model = model
        self.top = top
        self.work = top / "work"
        self.state = top / "state"
        self.env = {
            **os.environ,
            "HOME": str(top / "user"),
            "XDG_CONFIG_HOME": str(top / "config"),
            "XDG_STATE_HOME": str(self.state),
        }
        self._begun: list[Begun] = []
        for each in (self.work, top / "user", top / "config/parley"):
            each.mkdir(parents=True)
        self._config = top / "config/parley/config.toml"
        variables = [f"{name} = {_quoted(value)}" for name, value in launch.env.items()]
        self._config.write_text(
            f"""
default_agent = "peer"
[agents.peer]
command = {json.dumps(launch.command)}
protocol = {kind.protocol}
[agents.peer.env]
{os.linesep.join(variables)}
"""
        )

    def configure(self, text: str) -> None:
        """Add something to the configuration."""
        with self._config.open("a") as file:
            file.write(text)

    def begin(self, prompt: str, *options: str) -> Begun:
        """Start `parley run` with a prompt."""
        return self._begin("run", prompt, *options)

    def hold(self, prompt: str, *options: str) -> Begun:
        """Start `parley run` and wait until the model is in the middle of its answer."""
        is_holding = self.model.is_holding
        is_holding.clear()
        begun = self.begin(f"{prompt} HOLD", *options)
        until(lambda: is_holding.is_set() or begun.has_ended, "the model is in its answer")
        assert is_holding.is_set(), begun.finish().err
        return begun

    def run(self, prompt: str, *options: str) -> Run:
        """Let `parley run` go to its end."""
        return self.begin(prompt, *options).finish()

    def parley(self, *words: str) -> Run:
        """Let another command go to its end."""
        return self._begin(*words).finish()

    def _begin(self, *words: str) -> Begun:
        notes = self.top / f"parley-{len(self._begun)}"
        self._begun.append(Begun([*PARLEY, *words], self.env, self.work, notes))
        return self._begun[-1]

    # The history

    @property
    def journal(self) -> SqliteJournal:
        """The journal, opened anew."""
        return SqliteJournal(self.state / "parley/journal.db")

    @property
    def record(self) -> Record:
        """The only session that there is."""
        (record,) = self.journal.list()
        return record

    @property
    def transcript(self) -> Transcript:
        """What the journal has of the only session."""
        return transcript_from_frames(self.journal.entries(self.record.key))

    @property
    def frames(self) -> list[bytes]:
        """Everything that the journal has of the only session."""
        return [each.data for each in self.journal.entries(self.record.key)]

    def asked_for(self, *beginnings: str) -> list[str]:
        """Return the methods by which the agent asked us for something, if they begin so."""
        entries = self.journal.entries(self.record.key)
        frames = [json.loads(each.data) for each in entries if each.kind == "to_client"]
        methods = [each["method"] for each in frames if "id" in each and "method" in each]
        return [*dict.fromkeys(each for each in methods if each.startswith(beginnings))]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        """What the journal has of permissions."""
        entries = self.journal.entries(self.record.key)
        notes = [json.loads(each.data) for each in entries if each.kind == "note"]
        return [each for each in notes if each["note"] == "permission"]

    # What runs

    def alive(self) -> list[int]:
        """Return the processes that came from this desk and live."""
        mark = os.fsencode(self.top)
        found: list[int] = []
        for pid, _ in _processes():
            with suppress(OSError):
                if mark in Path(f"/proc/{pid}/environ").read_bytes():
                    found.append(pid)
        return found

    def clear(self) -> list[str]:
        """Kill what is left, and return what that was."""
        left: list[str] = []
        for pid in self.alive():
            with suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
                left.append(command.decode(errors="replace"))
                os.kill(pid, signal.SIGKILL)
        for each in self._begun:
            each.finish()
        return left


def _quoted(value: str) -> str:
    return json.dumps(value.replace("$", "$$"))


def _processes() -> Iterator[tuple[int, int]]:
    """Yield all processes with their parents; none where the system does not tell."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                yield int(stat.parent.name), int(fields[1])
