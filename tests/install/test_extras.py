"""The installed wheel: it works alone, each extra adds its feature, and `all` adds all of them."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.terminal import run_in_terminal

from .environments import EXAMPLES, EXTRAS, PROGRAMS, Environment

Environments = Callable[[str], Environment]
Feature = Callable[[Environment], str]
"""Uses the feature of an extra. Returns what it printed, the error included."""

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}
EXIT = {"jsonrpc": "2.0", "method": "exit"}


def run_example(environment: Environment, *names: str) -> str:
    """Run the first of some examples outside of the checkout."""
    for name in names:
        shutil.copy(EXAMPLES / name, environment.home)
    done = environment.run(environment.python, environment.home / names[0])
    return done.stdout + done.stderr


def chat(environment: Environment) -> str:
    command = (str(environment.parley), "chat", "parley demo")
    with run_in_terminal(*command, env=environment.variables) as terminal:
        terminal.until("demo")
        terminal.press("Hello\r")
        terminal.shows("echo: Hello")
        terminal.leave()
        return terminal.text


def serve_and_connect(environment: Environment) -> str:
    return run_example(environment, "remote.py")


def call_tools(environment: Environment) -> str:
    return run_example(environment, "think.py", "counting_agent.py")


def suggest_edits(environment: Environment) -> str:
    return run_example(environment, "nes_embedded.py")


def start_language_server(environment: Environment) -> str:
    bodies = [json.dumps(INITIALIZE), json.dumps(EXIT)]
    given = "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies)
    done = environment.run(environment.parley, "nes", "lsp", given=given)
    return done.stdout + done.stderr


def record_spans(environment: Environment) -> str:
    done = environment.run(environment.python, PROGRAMS / "spans.py")
    return done.stdout + done.stderr


def name_event_loop(environment: Environment) -> str:
    agent = shlex.join([str(environment.python), str(PROGRAMS / "loop_agent.py")])
    done = environment.run(environment.parley, "run", "which", "-q", "-a", agent)
    return done.stdout + done.stderr


FEATURES: dict[str, tuple[Feature, list[str]]] = {
    "tui": (chat, ["echo: Hello"]),
    "http": (serve_and_connect, ["http: From afar: Hello", "ws: From afar: Hello"]),
    "mcp": (call_tools, ["the most frequent: walnut, 2 times"]),
    "nes": (suggest_edits, ["line 4: debug -> info\nline 6: debug -> info"]),
    "lsp": (start_language_server, ['"inlineCompletionProvider"']),
    "telemetry": (record_spans, ["initialize", "session/new", "session/prompt"]),
    "speed": (name_event_loop, ["uvloop"]),
}
INSTALLED_BY = {extra: f"pip install 'parley-acp[{extra}]'" for extra in EXTRAS} | {
    "lsp": "pip install 'parley-acp[lsp,nes]'",
}
"""What the error names; next edits over LSP need both extras to be useful."""


def test_every_extra_has_a_feature_here() -> None:
    assert tuple(FEATURES) == EXTRAS


@pytest.mark.parametrize("extra", ["", *EXTRAS, "all"], ids=lambda extra: extra or "none")
def test_the_demo_agent_answers(extra: str, environment: Environments) -> None:
    bare = environment(extra)
    done = bare.run(bare.parley, "run", "help", "-a", "parley demo")
    assert done.returncode == 0, done.stderr
    assert "repeats what you say" in done.stdout


@pytest.mark.parametrize("installed", ["itself", "all"])
@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_makes_its_feature_work(
    extra: str, installed: str, environment: Environments
) -> None:
    use, expected = FEATURES[extra]
    printed = use(environment("all" if installed == "all" else extra))
    assert [text for text in expected if text not in printed] == [], printed
    assert "pip install" not in printed


@pytest.mark.parametrize("extra", ["http", "mcp", "nes", "lsp", "telemetry"])
def test_without_an_extra_the_feature_says_how_to_install_it(
    extra: str, environment: Environments
) -> None:
    use, _ = FEATURES[extra]
    assert INSTALLED_BY[extra] in use(environment(""))


def test_without_tui_the_chat_says_how_to_install_it(environment: Environments) -> None:
    bare = environment("")
    with run_in_terminal(str(bare.parley), "chat", "parley demo", env=bare.variables) as terminal:
        terminal.until("pip install 'parley-acp[tui]'")
        assert terminal.exit_code() == 1


def test_without_speed_the_loop_of_asyncio_is_used(environment: Environments) -> None:
    assert "asyncio" in name_event_loop(environment(""))


@pytest.mark.parametrize("extra", ["", "all"], ids=["none", "all"])
def test_doctor_reports_the_extras_that_are_missing(extra: str, environment: Environments) -> None:
    bare = environment(extra)
    done = bare.run(bare.parley, "doctor")
    assert ("pip install 'parley-acp[all]'" in done.stdout) == (extra == "")


def test_nothing_comes_from_the_checkout(environment: Environments) -> None:
    bare = environment("")
    done = bare.run(bare.python, "-c", "import parley; print(parley.__file__)")
    assert Path(done.stdout.strip()).is_relative_to(bare.home / "venv"), done.stderr
