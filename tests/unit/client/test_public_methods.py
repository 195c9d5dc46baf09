"""The public classes of `parley.client` show exactly these attributes to programs."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

import pytest

import parley.client
from parley.client import Workspace

from .scripted_agent import opened

CONNECTION = {
    "aclose",
    "adapter",
    "archive_session",
    "auth_methods",
    "auth_status",
    "auth_status_update",
    "cwd",
    "delete_session",
    "disable_provider",
    "features",
    "fork_session",
    "identity",
    "info",
    "list_providers",
    "list_sessions",
    "list_sessions_page",
    "login",
    "logout",
    "meta",
    "name",
    "new_session",
    "notify",
    "offered",
    "peer",
    "pid",
    "recorder",
    "request",
    "resume_session",
    "session_status",
    "sessions",
    "set_provider",
    "set_session_title",
    "unarchive_session",
    "version",
    "with_login",
    "workspace",
}
SESSION = {
    "additional_directories",
    "ask",
    "cancel",
    "cancel_terminal",
    "cancel_tool_call",
    "close",
    "connection",
    "cwd",
    "id",
    "is_closed",
    "is_replaying",
    "opening",
    "prompt",
    "set_config_option",
    "tool_call_of",
    "transcript",
    "until_idle",
}
PROMPT_TURN = {
    "cancel",
    "is_accepted",
    "is_begun",
    "is_cancelled",
    "is_done",
    "message_id",
    "request",
    "session",
    "text_stream",
    "wait",
}
WORKSPACE = {
    "aclose",
    "files",
    "guard",
    "on_write_refused",
    "permit",
    "stop_commands",
    "terminals",
}
VALUES = {
    "Buffers": {"read", "write"},
    "PermissionDecision": {"by", "is_allowed", "option", "request", "subject", "verdict"},
    "Process": {"env", "grace_after", "inherit", "on_start", "on_stderr"},
    "Remote": {"allows_plain_token", "ca_file", "headers", "on_state", "tls", "token"},
    "TerminalLogin": {"command", "cwd", "env", "line", "method"},
    "TurnResult": {"entries", "message_id", "meta", "stop_reason", "text", "tokens"},
}
"""Classes without attributes that only their objects have."""
OPTIONS = {"ConnectOptions", "SessionOptions", "WorkspaceOptions"}
"""Typed dictionaries, whose keys are documented by their annotations."""


def _public(names: Iterable[str]) -> set[str]:
    return {each for each in names if not each.startswith("_")}


async def test_a_connection_its_session_and_a_turn_show_only_what_programs_use() -> None:
    async with opened() as (session, _):
        assert _public(dir(session.connection)) == CONNECTION
        assert _public(dir(session)) == SESSION
        turn = session.prompt("Hi.")
        assert _public(dir(turn)) == PROMPT_TURN
        with pytest.warns(RuntimeWarning, match="never sent"):
            del turn


def test_a_workspace_shows_only_what_programs_and_their_files_and_terminals_use() -> None:
    assert _public(dir(Workspace())) == WORKSPACE


def test_values_show_only_their_fields() -> None:
    for name, expected in VALUES.items():
        assert _public(dir(getattr(parley.client, name))) == expected, name


def test_every_public_class_is_listed_here() -> None:
    names = parley.client.__all__
    classes = {name for name in names if inspect.isclass(getattr(parley.client, name))}
    listed = {"Connection", "Session", "PromptTurn", "Workspace", *VALUES, *OPTIONS}
    assert classes == listed
