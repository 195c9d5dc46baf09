"""How the real agents are started: each with a home of its own, pointed at the scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct
from tests.peers import CODEX, FAST_AGENT, OPENCODE, Peer, node_environment

__all__ = ["KINDS", "Kind", "Launch", "codex", "fast_agent", "opencode"]


class Launch(Struct):
    """A command with its environment."""

    command: list[str]
    env: dict[str, str]


def _at_home(command: list[str], home: Path, **more: str) -> Launch:
    """Give a program an empty home, and no proxy between it and the model."""
    home.mkdir(parents=True, exist_ok=True)
    names = {
        "HOME": home,
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local/share",
        "XDG_STATE_HOME": home / ".local/state",
        "XDG_CACHE_HOME": home / ".cache",
    }
    env = {name: str(path) for name, path in names.items()}
    return Launch(command, {**env, "PATH": node_environment()["PATH"], "NO_PROXY": "*", **more})


def opencode(program: Path, home: Path, model_url: str) -> Launch:
    """Version 1; asks before it edits and before it runs something."""
    model = {"name": "Scripted", "tool_call": True, "limit": {"context": 200_000, "output": 8_192}}
    provider: dict[str, Any] = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": model_url, "apiKey": "none"},
        "models": {"scripted": model},
    }
    config: dict[str, Any] = {
        "model": "local/scripted",
        "small_model": "local/scripted",
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": ["local"],
        "permission": {"edit": "ask", "bash": "ask", "webfetch": "deny"},
        "provider": {"local": provider},
    }
    launch = _at_home([str(program), "acp"], home, OPENCODE_DISABLE_MODELS_FETCH="true")
    where = home / ".config/opencode"
    where.mkdir(parents=True)
    (where / "opencode.json").write_text(json.dumps(config))
    return launch


def codex(program: Path, home: Path, model_url: str) -> Launch:
    """Versions 1 and 2; asks before a command leaves its sandbox.

    In the mode it has by default it asks a model instead of the user.
    """
    launch = _at_home([str(program)], home, INITIAL_AGENT_MODE="read-only")
    where = home / ".codex"
    where.mkdir()
    (where / "config.toml").write_text(
        f"""
model = "scripted"
model_provider = "local"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.local]
name = "local"
base_url = "{model_url}"
wire_api = "responses"
"""
    )
    return launch


def fast_agent(program: Path, home: Path, model_url: str | None = None) -> Launch:
    """Version 1; asks before it uses any tool, and uses our files and terminals.

    Without a model to ask it repeats the prompt, or calls the tool that the prompt names.
    """
    command = [str(program), "--model", "generic.scripted" if model_url else "passthrough", "-x"]
    if model_url is None:
        return _at_home(command, home)
    return _at_home(command, home, GENERIC_BASE_URL=model_url, GENERIC_API_KEY="none")


class Kind(Struct, frozen=True):
    """An agent that the scripted model steers, in one version of the protocol."""

    name: str
    peer: Peer
    launch: Callable[[Path, Path, str], Launch]
    protocol: int


KINDS = (
    Kind("fast-agent", FAST_AGENT, fast_agent, 1),
    Kind("opencode", OPENCODE, opencode, 1),
    Kind("codex-v1", CODEX, codex, 1),
    Kind("codex-v2", CODEX, codex, 2),
)
