"""A tmux of its own with a shell in it: keys go in, and what a person would see comes out."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import pytest

__all__ = ["BOUND_SECONDS", "Tmux", "tmux"]

BOUND_SECONDS = 300.0
_LOOK_AGAIN_AFTER = 0.05
_SETTINGS = "set -g status off\nset -g default-terminal tmux-256color\n"


class Tmux:
    """One window of a fixed size, in a server that nobody else knows of."""

    def __init__(self, program: str, place: Path) -> None:
        self._program = program
        self._place = place

    def call(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Give tmux a command, and return what it prints."""
        command = [self._program, "-S", "tmux.socket", "-f", "tmux.conf", *words]
        done = subprocess.run(
            command, cwd=self._place, env=env, capture_output=True, text=True, timeout=BOUND_SECONDS
        )
        assert done.returncode == 0, f"tmux {words[0]}: {done.stderr}"
        return done.stdout

    def type(self, text: str) -> None:
        """Type a text."""
        if text.endswith(";"):  # which would end the command of tmux
            text = f"{text[:-1]}\\;"
        self.call("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys by the names that tmux has for them, such as `Enter` and `C-c`."""
        self.call("send-keys", *keys)

    def say(self, text: str) -> None:
        """Type a text and send it."""
        self.type(text)
        self.press("Enter")

    @property
    def screen(self) -> str:
        """What is on the screen now, without the spaces at the ends of lines."""
        lines = self.call("capture-pane", "-p").splitlines()
        return "\n".join(line.rstrip() for line in lines)

    @property
    def coloured(self) -> str:
        """What is on the screen now, with its colours as escape sequences."""
        return self.call("capture-pane", "-p", "-e")

    def until(self, *texts: str) -> str:
        """Wait until the screen has all these texts, and return it."""
        return self.until_it(lambda screen: all(each in screen for each in texts), f"{texts}")

    def until_still(self, seconds: float) -> str:
        """Wait until the screen stays as it is for a while, as before somebody who reads it."""
        since, seen = time.monotonic(), self.screen

        def is_still(screen: str) -> bool:
            nonlocal since, seen
            if screen != seen:
                since, seen = time.monotonic(), screen
            return time.monotonic() - since > seconds

        return self.until_it(is_still, "a screen that stays")

    def until_gone(self, text: str) -> str:
        """Wait until the screen no longer has a text, and return it."""
        return self.until_it(lambda screen: text not in screen, f"{text!r} to go")

    def until_it(self, fits: Callable[[str], bool], what: str) -> str:
        """Wait until the screen is as it should be, and return it."""
        end = time.monotonic() + BOUND_SECONDS
        while not fits(screen := self.screen):
            assert time.monotonic() < end, f"waited in vain for {what}:\n{screen}"
            time.sleep(_LOOK_AGAIN_AFTER)
        return screen

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        self.call("resize-window", "-x", str(columns), "-y", str(rows))


@contextmanager
def tmux(
    place: Path, *, env: Mapping[str, str], cwd: Path, size: tuple[int, int] = (80, 24)
) -> Generator[Tmux]:
    """Open a shell in a tmux whose socket is below `place`; at the end both are gone."""
    program = shutil.which("tmux")
    if program is None:
        pytest.skip("tmux is not installed")
    place = Path(mkdtemp(prefix="tmux-", dir=place))
    (place / "tmux.conf").write_text(_SETTINGS)
    window = Tmux(program, place)
    columns, rows = map(str, size)
    words = ("new-session", "-d", "-x", columns, "-y", rows, "-c", str(cwd), "sh")
    window.call(*words, env={**env, "LANG": "C.UTF-8"})
    try:
        yield window
    finally:
        window.call("kill-server")
