"""`parley agents providers`: where an agent's model calls go, shown and changed."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from parley.testing.scripted import Expect, Respond

from .command import TRAP, parley, scripted

CHOOSER = """
import sys

from msgspec.structs import replace
from parley import Agent
from parley.schema import v2

agent = Agent("chooser")
providers = {
    id: v2.ProviderInfo(provider_id=id, supported=["openai"], required=id == "main")
    for id in ("main", "spare")
}


@agent.prompt
async def reply(turn):
    await turn.say("Hello!")


@agent.list_providers
async def list_providers(connection):
    return list(providers.values())


@agent.set_provider
async def set_provider(request, connection):
    sys.stderr.write(f"headers: {request.headers}\\n")
    current = v2.ProviderCurrentConfig(api_type=request.api_type, base_url=request.base_url)
    providers[request.provider_id] = replace(providers[request.provider_id], current=current)


@agent.disable_provider
async def disable_provider(provider_id, connection):
    del providers[provider_id]


agent.run()
"""


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """Return the command of an agent with two providers; `main` is required."""
    program = tmp_path / "chooser.py"
    program.write_text(CHOOSER)
    return shlex.join([sys.executable, str(program)])


def test_the_providers_of_an_agent_are_shown(agent: str) -> None:
    done = parley("agents", "providers", agent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "main   disabled (required)",
        "       APIs: openai",
        "spare  disabled",
        "       APIs: openai",
    ]


def test_a_provider_is_configured_and_its_key_is_shown_nowhere(agent: str) -> None:
    words = ["--set", "main", "--api", "openai", "--url", "https://models.example/v1"]
    header = "Authorization=Bearer $SOME_KEY"
    environ = {"SOME_KEY": "planted-marker"}
    done = parley(
        "agents", "providers", agent, *words, "--header", header, "--json", "-v", env=environ
    )
    assert done.returncode == 0, done.stderr
    assert "headers: {'Authorization': 'Bearer planted-marker'}" in done.stderr
    main = json.loads(done.stdout)[0]
    assert main == {
        "id": "main",
        "required": True,
        "supported": ["openai"],
        "api": "openai",
        "url": "https://models.example/v1",
    }
    assert "planted-marker" not in done.stdout


def test_a_provider_is_disabled_unless_the_agent_needs_it(agent: str) -> None:
    done = parley("agents", "providers", agent, "--disable", "spare")
    assert done.returncode == 0, done.stderr
    assert "spare" not in done.stdout
    refused = parley("agents", "providers", agent, "--disable", "main")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "the provider 'main' cannot be disabled" in refused.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--api", "openai"], "--api, --url and --header need --set ID"),
        (["--set", "main", "--api", "openai"], "--set needs --api TYPE and --url URL"),
        (["--set", "main", "--api", "a", "--url", "b", "--header", "c"], "must be NAME=VALUE"),
        (
            ["--set", "main", "--api", "a", "--url", "b", "--header", "c=$NOT_SET_ANYWHERE"],
            "refers to $NOT_SET_ANYWHERE, which is not set",
        ),
        (["--set", "main", "--disable", "main"], "not allowed with argument"),
    ],
    ids=["alone", "without-url", "header", "variable", "both"],
)
def test_a_wrong_command_line_is_refused_before_the_agent_starts(
    words: list[str], problem: str
) -> None:
    assert "NOT_SET_ANYWHERE" not in os.environ
    done = parley("agents", "providers", "touch started", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert not Path("started").exists()


def test_an_agent_without_providers_is_named() -> None:
    done = parley("agents", "providers", "parley demo")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "parley: parley demo does not let its providers be configured\n"


def test_what_an_agent_calls_its_providers_cannot_control_the_terminal(tmp_path: Path) -> None:
    provider = {
        "providerId": TRAP,
        "supported": [TRAP],
        "required": False,
        "current": {"apiType": TRAP, "baseUrl": TRAP},
    }
    command = scripted(
        tmp_path,
        Expect({"method": "initialize"}),
        Respond(
            {
                "protocolVersion": 1,
                "agentInfo": {"name": TRAP, "version": "0"},
                "agentCapabilities": {"providers": {}},
            }
        ),
        Expect({"method": "providers/list"}),
        Respond({"providers": [provider]}),
        Expect({"method": "never"}),
    )
    done = parley("agents", "providers", command)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert not set("\x1b\x07\x9b\u202e") & set(done.stdout + done.stderr)


def test_a_long_id_does_not_widen_the_lines_of_other_providers(tmp_path: Path) -> None:
    names: list[str] = []
    ids = ("i" * 5000, "short")
    providers = [{"id": id, "supported": names, "required": True} for id in ids]
    command = scripted(
        tmp_path,
        Expect({"method": "initialize"}),
        Respond(
            {
                "protocolVersion": 1,
                "agentInfo": {"name": "wide", "version": "0"},
                "agentCapabilities": {"providers": {}},
            }
        ),
        Expect({"method": "providers/list"}),
        Respond({"providers": providers}),
        Expect({"method": "never"}),
    )
    done = parley("agents", "providers", command)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    assert all(len(line) < 200 for line in done.stdout.splitlines()[1:])
