from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from parley.client.workspace._command_line import command_line_of
from parley.errors import InvalidParams
from parley.schema import v1

from .workspace_agent import workspace_connection


def request(command: str, *args: str, **env: str) -> v1.CreateTerminalRequest:
    variables = [v1.EnvVariable(name=name, value=value) for name, value in env.items()]
    return v1.CreateTerminalRequest(session_id="s", command=command, args=list(args), env=variables)


@pytest.mark.parametrize(
    ("message", "words", "text"),
    [
        (request("make"), ["make"], "make"),
        (request("echo", "a b", "$(id)"), ["echo", "a b", "$(id)"], "echo 'a b' '$(id)'"),
        (request("git status"), ["git", "status"], "git status"),
        (request("  git   commit -m 'a b'"), ["git", "commit", "-m", "a b"], "git commit -m 'a b'"),
        (request("make", X="y z", PATH="/p"), ["make"], "X='y z' PATH=/p make"),
        (request("odd name", "x"), ["odd name", "x"], "'odd name' x"),
        (request("sh", "-c", "a | b"), ["sh", "-c", "a | b"], "sh -c 'a | b'"),
    ],
)
def test_a_line_is_read_by_a_shell_as_the_words_that_run(
    message: v1.CreateTerminalRequest, words: list[str], text: str
) -> None:
    line = command_line_of(message, "/")
    assert (line.words, line.text) == (words, text)
    variables = [f"{each.name}={each.value}" for each in message.env]
    assert shlex.split(line.text) == [*variables, *words]


@pytest.mark.parametrize(
    "command",
    [
        *("ls && ls src", "a | b", "a; b", "a > b", "echo $HOME", "echo `id`", "ls *.py", "ls ~"),
        *("a\nb", "X=1 make", "echo 'a", "(a)", "a &", "echo \\a", "! a", "echo {a,b}", "#"),
    ],
)
def test_what_needs_a_shell_gets_one_only_if_requested(command: str) -> None:
    with pytest.raises(InvalidParams, match="needs a shell, and commands run without one"):
        command_line_of(request(command), "/")
    line = command_line_of(request(command), "/", shell=True)
    assert (line.words, line.text) == (["/bin/sh", "-c", command], command)
    assert command_line_of(request(command, A="1"), "/", shell=True).text == f"A=1 {command}"


@pytest.mark.parametrize("name", ["my tool", "a&b"])
def test_a_program_with_an_odd_name_is_one_word(name: str, tmp_path: Path) -> None:
    program = tmp_path / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for command in (str(program), f"./{name}"):
        assert command_line_of(request(command), str(tmp_path)).words == [command]
    assert command_line_of(request(name, PATH=str(tmp_path)), "/").words == [name]


@pytest.mark.parametrize(
    "message",
    [
        *(request(""), request("a", **{"": "b"}), request("a", **{"=": "b"})),
        # In the text these would stand first, and be taken for the command.
        *(
            request("a", **{name: "b"})
            for name in ("git status X", "ls;", "$(x)", "a-b", "1", "x\n")
        ),
    ],
)
def test_what_cannot_be_passed_on_is_refused(message: v1.CreateTerminalRequest) -> None:
    with pytest.raises(InvalidParams):
        command_line_of(message, "/")


async def test_a_whole_line_runs_as_it_can(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        assert (await agent.finished("echo a  'b  c'"))["output"] == "a b  c\n"
        code, message = await agent.fail("terminal/create", command="touch made && true")
        assert code == -32602
        assert 'for example command "sh" with args ["-c", …]' in message
        assert not (tmp_path / "made").exists()
    async with workspace_connection(tmp_path, shell=True) as (agent, _):
        assert (await agent.finished("echo a && echo $((1 + 1))"))["output"] == "a\n2\n"
