"""`parley run` while it has given its terminal to somebody else."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from parley.cli import run
from parley.cli.held_stderr import is_stderr_held
from parley.cli.run_view import RunView
from parley.client import TerminalLogin
from parley.schema import v2


async def test_nothing_is_written_over_a_login_in_the_terminal(tmp_path: Path) -> None:
    begun, end = tmp_path / "begun", tmp_path / "end"
    for each in (begun, end):
        os.mkfifo(each)
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)
    view = RunView(parser.parse_args(["Hi"]))
    login = TerminalLogin(
        method=v2.AuthMethodTerminal(method_id="here", name="Here"),
        command=["sh", "-c", 'echo > "$0"; cat "$1"', str(begun), str(end)],
        cwd=tmp_path,
        env=dict(os.environ),
    )
    running = asyncio.create_task(view.run_login(login))
    await asyncio.to_thread(begun.read_text)
    assert is_stderr_held()
    await asyncio.to_thread(end.write_text, "")
    assert await running == 0
    assert not is_stderr_held()
