"""How wide the terminal is that questions are written to."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from parley.cli.paint import terminal_size


@contextmanager
def stderr_at(lines: int, columns: int) -> Generator[None]:
    """Make stderr a terminal of this size."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    with (
        pytest.MonkeyPatch.context() as patch,
        os.fdopen(slave, "w") as stderr,
        os.fdopen(master, "rb", 0),
    ):
        patch.setattr("sys.stderr", stderr)
        patch.setenv("COLUMNS", "101")
        patch.setenv("LINES", "33")
        yield


@pytest.mark.parametrize(
    ("lines", "columns", "expected"),
    [(20, 60, (60, 20)), (0, 0, (101, 33)), (20, 0, (101, 33)), (0, 60, (101, 33))],
    ids=["known", "none", "no-columns", "no-lines"],
)
def test_a_terminal_without_a_size_is_as_large_as_the_usual_one(
    lines: int, columns: int, expected: tuple[int, int]
) -> None:
    with stderr_at(lines, columns):
        assert terminal_size() == expected
