"""A hint for logins: variables of the user that the agent may be missing.

Agents get an allow-list of variables, so an API key in the user's environment does not reach them
unless it is passed on. An agent without its key usually requires a login, and the user, who has set
the key, cannot see why.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from parley.client import Connection
from parley.errors import AuthRequired
from parley.schema.base import Unknown

from .setup import ConversationSetup

__all__ = ["env_hint", "key_hint", "missing_keys"]

_KEY = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:API_)?(?:KEY|TOKEN)\b")
"""The name of a variable that holds a key."""
_KEYS_OF = {
    "amp": ("AMP_API_KEY",),
    "auggie": ("AUGMENT_API_TOKEN",),
    "claude": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    "codex": ("OPENAI_API_KEY", "CODEX_API_KEY"),
    "copilot": ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
    "cursor": ("CURSOR_API_KEY",),
    "droid": ("FACTORY_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "goose": ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"),
    "kimi": ("KIMI_API_KEY", "MOONSHOT_API_KEY"),
    "mistral": ("MISTRAL_API_KEY",),
    "qwen": ("OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
    "vibe": ("MISTRAL_API_KEY",),
}
"""The variables that known agents read their keys from, by a word of their name or command."""


def missing_keys(
    texts: Iterable[str], names: Iterable[str], environ: Mapping[str, str], passed: Iterable[str]
) -> list[str]:
    """Return the keys that are set here and that the agent probably needs but does not get.

    Args:
        texts: The agent's error and its login methods. A key that they name is meant.
        names: The name and the command of the agent, by which known agents are recognized.
        environ: The user's environment.
        passed: The names of the variables that the agent gets.
    """
    wanted = [name for text in texts for name in _KEY.findall(text)]
    words = {word for name in names for word in re.split(r"[^a-z]+", name.lower())}
    wanted += [key for word, keys in _KEYS_OF.items() if word in words for key in keys]
    hidden = set(passed)
    return [name for name in dict.fromkeys(wanted) if environ.get(name) and name not in hidden]


def key_hint(error: AuthRequired, setup: ConversationSetup, connection: Connection | None) -> str:
    """Return a sentence that names keys to pass on to an agent that requires a login, or nothing.

    Args:
        error: The agent's refusal.
        setup: How the agent was started.
        connection: The connection to it, if it got that far.
    """
    if setup.is_remote:
        return ""
    texts = [error.description]
    names = [setup.agent.name, setup.agent.command]
    if connection is not None:
        known = [each for each in connection.auth_methods if not isinstance(each, Unknown)]
        texts += [f"{each.name} {each.description or ''}" for each in known]
        names.append(connection.info.name)
    process = setup.process
    return env_hint(missing_keys(texts, names, os.environ, [*process.inherit, *process.env]))


def env_hint(keys: list[str]) -> str:
    """Return a sentence on how to pass keys on; empty without any."""
    if not keys:
        return ""
    flags = " ".join(f"--env {name}" for name in keys)
    are, them = ("is", "it") if len(keys) == 1 else ("are", "them")
    return (
        f"{', '.join(keys)} {are} set here but not passed to the agent; pass {them} on with {flags}"
    )
