"""`parley sessions --agent`: an agent's own sessions are listed, deleted, forked and renamed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from parley.testing.scripted import Expect, Respond

from .command import PARLEY, TRAP, parley, scripted
from .terminal import run_in_terminal

AGENT = """
import sys
from parley import Agent, Turn
from parley.agent import AgentFeatures
from parley.agent.journal_store import JournalStore
from parley.journal import SqliteJournal

features = AgentFeatures(fork=True, title=True)
agent = Agent("keeper", store=JournalStore(SqliteJournal(sys.argv[1])), features=features)


@agent.prompt
async def reply(turn: Turn) -> None:
    words = turn.session.data.setdefault("words", [])
    words.append(turn.text)
    await turn.session.set_title(" ".join(words))
    await turn.say(" ".join(words))


agent.run()
"""


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """Return the command of an agent that keeps its sessions in a file."""
    program = tmp_path / "keeper.py"
    program.write_text(AGENT)
    return shlex.join([sys.executable, str(program), str(tmp_path / "kept.sqlite")])


def prompt(agent: str, text: str) -> None:
    done = parley("run", text, "-a", agent, "--quiet", "--no-journal")
    assert (done.returncode, done.stdout) == (0, f"{text}\n"), done.stderr


def listed(agent: str) -> list[dict[str, str]]:
    done = parley("sessions", "list", "--agent", agent, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def test_the_sessions_of_an_agent_are_listed_with_or_without_the_action(agent: str) -> None:
    prompt(agent, "Rain")
    prompt(agent, "Sun")
    newest, oldest = listed(agent)
    assert (newest["title"], oldest["title"]) == ("Sun", "Rain")
    assert newest["cwd"] == str(Path.cwd())
    done = parley("sessions", "--agent", agent)
    assert [line.split() for line in done.stdout.splitlines()] == [
        [newest["sessionId"], "just", "now", "Sun"],
        [oldest["sessionId"], "just", "now", "Rain"],
    ]
    one = parley("sessions", "list", "-a", agent, "--limit", "1")
    assert one.stdout.splitlines() == done.stdout.splitlines()[:1]
    assert "--limit 5" in one.stderr


def test_only_the_sessions_of_this_directory_are_listed_unless_all_are_wanted(
    agent: str, tmp_path: Path
) -> None:
    done = parley("run", "Rain", "-a", agent, "-q", "--no-journal", "--cwd", str(tmp_path))
    assert done.returncode == 0, done.stderr
    here = parley("sessions", "--agent", agent)
    assert (here.returncode, here.stdout) == (0, "")
    assert "has no sessions in this directory; add --all" in here.stderr
    everywhere = parley("sessions", "list", "--agent", agent, "--all").stdout
    assert "Rain" in everywhere
    assert tmp_path.name in everywhere


def test_a_session_is_deleted_by_how_its_id_begins(agent: str) -> None:
    prompt(agent, "Rain")
    [session] = listed(agent)
    done = parley("sessions", "delete", "--agent", agent, session["sessionId"][:12], "--yes")
    assert (done.returncode, done.stdout) == (0, "")
    assert f"deleted {session['sessionId']}" in done.stderr
    assert listed(agent) == []


def test_nothing_is_deleted_without_a_clear_yes(agent: str) -> None:
    prompt(agent, "Rain")
    [session] = listed(agent)
    words = ["sessions", "delete", "--agent", agent, session["sessionId"]]
    refused = parley(*words)
    assert refused.returncode == 2
    assert "add --yes" in refused.stderr
    with run_in_terminal(*PARLEY, *words) as terminal:
        terminal.until("delete this session? [y/N]")
        terminal.press("\n")
        assert terminal.exit_code() == 130
    assert [each["title"] for each in listed(agent)] == ["Rain"]


def test_a_fork_knows_what_was_said_and_can_be_resumed(agent: str) -> None:
    prompt(agent, "Rain")
    [session] = listed(agent)
    done = parley("sessions", "fork", "--agent", agent, session["sessionId"])
    assert done.returncode == 0, done.stderr
    forked = done.stdout.strip()
    assert {each["sessionId"] for each in listed(agent)} == {session["sessionId"], forked}
    key = done.stderr.split("--session ")[1].split()[0]
    resumed = parley("run", "Sun", "--session", key, "-q")
    assert resumed.stdout == "Rain Sun\n", resumed.stderr


def test_a_recorded_session_is_forked_by_its_key(agent: str) -> None:
    done = parley("run", "Rain", "-a", agent, "-q", "--session", "first")
    assert done.returncode == 0, done.stderr
    forked = parley("sessions", "fork", "first")
    assert forked.returncode == 0, forked.stderr
    key = forked.stderr.split("--session ")[1].split()[0]
    assert parley("run", "Sun", "--session", key, "-q").stdout == "Rain Sun\n"
    assert parley("run", "Snow", "--session", "first", "-q").stdout == "Rain Snow\n"


def test_an_agent_gives_a_session_a_title(agent: str) -> None:
    prompt(agent, "Rain")
    [session] = listed(agent)
    done = parley("sessions", "rename", "--agent", agent, session["sessionId"], "Weather")
    assert done.returncode == 0, done.stderr
    assert [each["title"] for each in listed(agent)] == ["Weather"]


def test_a_recorded_session_gets_a_name_and_loses_it_again() -> None:
    assert parley("run", "hello", "-a", "parley demo", "-q", "--session", "first").returncode == 0
    renamed = parley("sessions", "rename", "first", "second")
    assert renamed.returncode == 0, renamed.stderr
    [record] = json.loads(parley("sessions", "list", "--json").stdout)
    assert record["name"] == "second"
    assert parley("sessions", "rename", "second", "").returncode == 0
    [record] = json.loads(parley("sessions", "list", "--json").stdout)
    assert record["name"] is None


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["list"], "cannot list its sessions"),
        (["delete", "s", "--yes"], "cannot delete sessions"),
        (["fork", "s"], "cannot fork sessions"),
        (["rename", "s", "t"], "cannot rename sessions"),
    ],
    ids=["list", "delete", "fork", "rename"],
)
def test_what_an_agent_does_not_offer_is_not_tried(
    words: list[str], problem: str, tmp_path: Path
) -> None:
    command = scripted(
        tmp_path,
        Expect({"method": "initialize"}),
        Respond({"protocolVersion": 1, "agentInfo": {"name": "plain", "version": "0"}}),
        Expect({"method": "never"}),
    )
    done = parley("sessions", *words, "--agent", command)
    assert (done.returncode, done.stdout) == (1, "")
    assert problem in done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["show", "x", "--agent", "a"], "unrecognized arguments: --agent a"),
        (["--agent", "a", "show", "x"], "does not take --agent; only list, delete, fork, rename"),
        (["delete", "--agent", "a"], "name the sessions to delete"),
        (["delete", "--agent", "a", "--all-of-project"], "--all-of-project is for the journal"),
    ],
    ids=["show", "before", "none", "project"],
)
def test_a_wrong_command_line_is_refused_before_the_agent_starts(
    words: list[str], problem: str
) -> None:
    done = parley("sessions", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr


def test_an_id_must_fit_one_session(agent: str) -> None:
    prompt(agent, "Rain")
    prompt(agent, "Sun")
    done = parley("sessions", "delete", "--agent", agent, "nothing-like-this", "--yes")
    assert done.returncode == 2
    assert "no session whose id is or begins with 'nothing-like-this'" in done.stderr
    both = parley("sessions", "delete", "--agent", agent, "", "--yes")
    assert both.returncode == 2
    assert "the id of a session must not be empty" in both.stderr
    assert len(listed(agent)) == 2


def test_an_empty_id_deletes_nothing_even_if_there_is_one_session(agent: str) -> None:
    prompt(agent, "Rain")
    done = parley("sessions", "delete", "--agent", agent, "", "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the id of a session must not be empty" in done.stderr
    assert len(listed(agent)) == 1


def test_a_limit_of_zero_lists_nothing(agent: str) -> None:
    prompt(agent, "Rain")
    done = parley("sessions", "list", "--agent", agent, "--limit", "0")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "parley: there are more; use --limit, for example --limit 20\n"


def test_a_long_id_does_not_widen_the_lines_of_other_sessions(tmp_path: Path) -> None:
    command = scripted(
        tmp_path,
        Expect({"method": "initialize"}),
        Respond(
            {
                "protocolVersion": 1,
                "agentInfo": {"name": "wide", "version": "0"},
                "agentCapabilities": {"sessionCapabilities": {"list": {}}},
            }
        ),
        Expect({"method": "session/list"}),
        Respond({"sessions": [{"sessionId": id, "cwd": "/"} for id in ("i" * 5000, "short")]}),
        Expect({"method": "never"}),
    )
    done = parley("sessions", "list", "--all", "--agent", command)
    assert done.returncode == 0, done.stderr
    [short] = [line for line in done.stdout.splitlines() if line.startswith("short")]
    assert len(short) < 200


def test_what_an_agent_calls_its_sessions_cannot_control_the_terminal(tmp_path: Path) -> None:
    session = {"sessionId": f"s{TRAP}", "cwd": f"/{TRAP}", "title": TRAP, "updatedAt": TRAP}
    command = scripted(
        tmp_path,
        Expect({"method": "initialize"}),
        Respond(
            {
                "protocolVersion": 1,
                "agentInfo": {"name": TRAP, "version": "0"},
                "agentCapabilities": {"sessionCapabilities": {"list": {}}},
            }
        ),
        Expect({"method": "session/list"}),
        Respond({"sessions": [session]}),
        Expect({"method": "never"}),
    )
    done = parley("sessions", "list", "--all", "--agent", command)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert not set("\x1b\x07\x9b\u202e") & set(done.stdout + done.stderr)
