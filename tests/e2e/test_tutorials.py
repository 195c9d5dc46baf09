"""The tutorials work: a reader who follows one from top to bottom sees what it shows.

A page is executed in order, in an empty directory that stands for `/home/ada/notes`. A block after
a line that ends with a file name and a colon is saved as that file. Each command of a `console`
block runs, and what it prints is compared: in a terminal if the block shows a question, in the
background if it is a server or `parley chat`. A chat stays open during the next command, whose last
line it has to show.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import parley
from parley.schema.version import Version

from .gateway_process import GatewayProcess
from .shell import EXAMPLES, ROOT, Shell
from .terminal import Terminal, run_in_terminal

PAGES = sorted((ROOT / "docs" / "start").glob("tutorial-*.md"))
BLOCK = re.compile(r"(?:`([\w.-]+)`:\n\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HOME, ADDRESS = "/home/ada", "127.0.0.1:7400"
QUESTION = re.compile(r"^(.*\(Enter: no answer\):) (.*)$")


class Reader:
    """Does what a tutorial says, in a home directory of its own."""

    def __init__(self, home: Path, shell: Shell) -> None:
        self.directory = home / "notes"
        self.directory.mkdir(parents=True)
        self._home = home
        self._shell = shell
        self._address = ADDRESS
        self._running = ExitStack()
        self._chat: Terminal | None = None

    def follow(self, page: Path) -> None:
        with self._running:
            for file, language, text in BLOCK.findall(page.read_text()):
                if file:
                    (self.directory / file).write_text(self._local(text))
                elif language == "console":
                    for entry in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                        command, *shown = entry.splitlines()
                        self._run(command, shown)

    def _run(self, command: str, shown: list[str]) -> None:
        if shown and shown[-1].endswith("press Ctrl-C to stop"):
            self._serve(command, shown)
        elif command.startswith("parley chat"):
            self._open_chat(command)
        elif any(map(QUESTION.match, shown)):
            self._answer(command, shown)
        else:
            seen = self._general(self._output(command)).splitlines()
            assert [*map(without_measurements, seen)] == [*map(without_measurements, shown)]
            self._close_chat(shown)

    def _output(self, command: str) -> str:
        line = f"cd {self.directory} && ({self._local(command)}) 2>&1"
        return self._shell("sh", "-c", line).stdout

    def _answer(self, command: str, shown: list[str]) -> None:
        """Run a command in a terminal, and answer its questions as the page does."""
        line = f"cd {self.directory} && {self._local(command)}"
        env = self._shell.variables
        with run_in_terminal("/bin/sh", "-c", line, env=env, columns=200) as terminal:
            for asked in filter(None, map(QUESTION.match, shown)):
                terminal.until(asked[1])
                terminal.press(f"{asked[2]}\r")
            assert terminal.exit_code() == 0
        assert self._general(terminal.output).splitlines() == shown, command

    def _open_chat(self, command: str) -> None:
        line = f"cd {self.directory} && exec {command}"
        terminal = run_in_terminal("/bin/sh", "-c", line, env=self._shell.variables)
        self._chat = self._running.enter_context(terminal)
        self._chat.shows("ready")

    def _close_chat(self, shown: list[str]) -> None:
        if self._chat is not None:
            self._chat.shows(shown[-1])
            assert self._chat.leave() == 0
            self._chat = None

    def _serve(self, command: str, shown: list[str]) -> None:
        """Start a server, instead of the one before, on a free port."""
        self._running.close()
        words = [*shlex.split(self._local(command))[2:], "--http", "127.0.0.1:0"]
        served = self._running.enter_context(serving(words, self._shell, self.directory))
        served.until("press Ctrl-C to stop")
        listening = next(line for line in served.lines if " listening " in line)
        self._address = listening.rpartition("//")[2]
        said = [self._general(line) for line in served.lines if line != listening]
        assert said == shown

    def _local(self, text: str) -> str:
        return text.replace(HOME, str(self._home)).replace(ADDRESS, self._address)

    def _general(self, text: str) -> str:
        return text.replace(str(self._home), HOME).replace(self._address, ADDRESS)


def without_measurements(line: str) -> str:
    """Return a line without what differs each time: times, sizes, and the version of Parley."""
    line = re.sub(r"(Parley's demo agent) [\d.]+", r"\1 …", line)
    return re.sub(r" *[\d.]+( / [\d.]+$| MiB| m?s\b)", " …", line)


@contextmanager
def serving(words: list[str], shell: Shell, directory: Path) -> Generator[GatewayProcess]:
    served = GatewayProcess(tuple(words), shell.variables, cwd=directory)
    try:
        yield served
    finally:
        served.signal()
        assert served.end() == 0
        served.close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_reader_sees_what_the_tutorial_shows(
    page: Path, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name)
    Reader(tmp_path, shell).follow(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_program_of_a_tutorial_is_a_whole_example(page: Path) -> None:
    examples = [path.read_text() for path in EXAMPLES.rglob("*.py")]
    for _, language, text in BLOCK.findall(page.read_text()):
        assert language != "python" or text in examples, text


def proofreader(agent: str) -> list[str]:
    return [sys.executable, str(EXAMPLES / agent)]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("agent", ["tutorial/agent_3_stream.py", "complete_agent.py"])
async def test_a_cancelled_proofreader_says_that_it_stopped(
    agent: str, version: Version, tmp_path: Path
) -> None:
    (tmp_path / "long.md").write_text("teh\n" * 10_000)
    async with parley.connect(proofreader(agent), tmp_path, versions=(version,)) as client:
        session = await client.new_session()
        async with session.prompt("long.md") as turn:
            async for _ in turn.text_stream():
                await turn.cancel()
        result = await turn
    assert result.stop_reason == "cancelled"
    assert result.text.endswith("I stopped before the end of the file.")


async def test_the_form_of_the_proofreader_teaches_it(tmp_path: Path) -> None:
    filled_in: dict[str, str] | str = {"wrong": "mail", "right": "post"}
    answers = iter([filled_in, "decline"])
    (tmp_path / "a.md").write_text("mail\n")
    target = proofreader("complete_agent.py")
    async with parley.connect(target, tmp_path, elicit=lambda form, session: next(answers)) as c:
        session = await c.new_session()
        assert await session.ask("/teach") == "From now on, mail should be post."
        assert await session.ask("/teach") == ""
        await session.set_config_option("mode", "review")
        assert await session.ask("a.md") == "Line 1: mail should be post.\n"
        assert session.transcript.title == "Review of a.md"
