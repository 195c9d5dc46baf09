"""What agents are called that nobody has named."""

from __future__ import annotations

import pytest

from parley.client._resolve import Resolved
from parley.gateway.names import distinct, name_of


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("opencode acp", "opencode"),
        ("codex --acp", "codex"),
        ("/opt/bin/agent.sh", "agent"),
        ("python agent.py", "agent"),
        ("python3.12 -u src/my_agent.py --fast", "my_agent"),
        ("/usr/bin/python3 -m my_agent.main", "my_agent"),
        ("python -c 1", "python"),
        ("npx @scope/thing@1.2 acp", "thing"),
        ("npx -y thing@latest", "thing"),
        ("npx --yes --package @scope/all thing", "thing"),
        ("npm exec @scope/thing", "thing"),
        ("uvx foo", "foo"),
        ("uvx foo==1.2", "foo"),
        ("uvx --from foo[acp] bar", "bar"),
        ("uv run agent.py", "agent"),
        ("uv run python agent.py", "agent"),
        ("env KEY=value python agent.py", "agent"),
        ("node dist/index.js", "index"),
        ("python", "python"),
        ("my.agent", "myagent"),
        ("…", "agent"),
        (["C:/Tools/agent.exe", "acp"], "agent"),
        ("https://agents.example.com/acp", "agents"),
        ("wss://agents.example.com:7400/acp/claude", "claude"),
        ("http://localhost:7400/acp/", "localhost"),
        ("http://127.0.0.1:7400/acp", "remote"),
        ("http://[::1]:7400/acp", "remote"),
        ("https://agents.example.com/acp/%20", "agents"),
    ],
)
def test_an_agent_is_called_as_what_is_run_or_where_it_is(
    target: str | list[str], name: str
) -> None:
    assert name_of(Resolved(target=target)) == name


def test_an_agent_that_is_configured_is_called_so() -> None:
    assert name_of(Resolved(target="python agent.py", name="mine")) == "mine"


def test_no_two_have_the_same_name_and_what_is_given_stays() -> None:
    assert distinct(["", "", ""], ["agent", "agent", "agent"]) == ["agent", "agent-2", "agent-3"]
    assert distinct(["", "agent"], ["agent", "x"]) == ["agent-2", "agent"]
    assert distinct(["", "", "agent-2"], ["agent", "agent", "x"]) == ["agent", "agent-3", "agent-2"]
