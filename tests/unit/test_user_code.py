"""Exceptions of users' code are failures, unless they end the task or the program."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest

from parley._user_code import as_exception, reraise_if_ending


class Odd(BaseException):
    """Something that is not an `Exception`."""


def caught(error: BaseException) -> BaseException:
    """Return an exception after it was raised."""
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001 - that is what this is about
        return raised


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), KeyboardInterrupt(), Odd("strange"), ValueError("usual")],
    ids=["exit", "interrupt", "odd", "usual"],
)
async def test_what_code_raises_itself_is_a_failure(error: BaseException) -> None:
    reraise_if_ending(caught(error))
    failure = as_exception(caught(error))
    assert failure is error or failure.__cause__ is error


@pytest.mark.parametrize("error", [asyncio.CancelledError(), GeneratorExit()], ids=type)
async def test_what_ends_a_task_passes(error: BaseException) -> None:
    with pytest.raises(type(error)):
        reraise_if_ending(caught(error))
    with pytest.raises(type(error)):
        as_exception(caught(error))


def test_an_interrupt_passes_where_pythons_own_handler_is_installed() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            reraise_if_ending(caught(KeyboardInterrupt()))
    finally:
        signal.signal(signal.SIGINT, before)


async def test_an_interrupt_in_a_thread_is_never_a_signal() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        await asyncio.to_thread(reraise_if_ending, caught(KeyboardInterrupt()))
    finally:
        signal.signal(signal.SIGINT, before)


BUSY = """
import asyncio, os, sys
import parley
from parley.testing.demo import demo_agent

def busy(session, update):
    os.write(1, b"ready\\n")
    while True:
        pass

async def main():
    async with parley.connect(demo_agent(), on_update=busy) as connection:
        session = await connection.new_session()
        await session.ask("echo hello")

asyncio.run(main())
"""


@pytest.mark.requirement("SAFE-COST-03")
def test_a_second_ctrl_c_ends_a_program_whose_callback_never_returns() -> None:
    command: list[Any] = [sys.executable, "-c", BUSY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        for _ in range(1500):
            os.kill(program.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                program.wait(0.2)
                break
        program.kill()
        assert program.returncode in (-signal.SIGINT, 1, 130)
