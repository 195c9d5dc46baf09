"""`parley login`: in the ways that an agent offers, with a terminal and without."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from parley.config import config_path
from parley.testing.scripted import Expect, Respond, RespondWithError, Stderr, Step

from .command import PARLEY, TRAP, parley, scripted
from .shell import EXAMPLES
from .terminal import run_in_terminal

INFO = {"name": "scripted", "version": "0"}
KEY = {"id": "key", "name": "With a key"}
PAGE = {"id": "page", "name": "On a page"}


def members_only(token: Path) -> str:
    """Give the agent that wants a login a name, and return it."""
    command = json.dumps([sys.executable, str(EXAMPLES / "login_agent.py"), str(token)])
    config_path().parent.mkdir(parents=True)
    config_path().write_text(f"[agents.members]\ncommand = {command}\n")
    return "members"


def offering(tmp_path: Path, methods: list[Any], *steps: Step, **answer: Any) -> str:
    told = {"protocolVersion": 1, "agentInfo": INFO, "authMethods": methods, **answer}
    return scripted(tmp_path, Expect({"method": "initialize"}), Respond(told), *steps)


def logging_in(method: str) -> list[Step]:
    return [Expect({"method": "authenticate", "params": {"methodId": method}}), Respond({})]


# Without a terminal


def test_the_only_way_is_taken(tmp_path: Path) -> None:
    done = parley("login", offering(tmp_path, [KEY], *logging_in("key")))
    assert (done.returncode, done.stdout) == (0, "✓ logged in to scripted: key\n")


def test_of_several_ways_one_is_named(tmp_path: Path) -> None:
    agent = offering(tmp_path, [KEY, PAGE], *logging_in("page"))
    done = parley("login", agent)
    assert done.returncode == 2
    assert done.stderr.splitlines()[:2] == ["  key: With a key", "  page: On a page"]
    assert "METHOD" in done.stderr
    assert parley("login", agent, "page").stdout == "✓ logged in to scripted: page\n"
    done = parley("login", agent, "nope")
    assert done.returncode == 6
    assert "there is no login method 'nope'" in done.stderr


def test_the_ways_are_listed(tmp_path: Path) -> None:
    done = parley("login", members_only(tmp_path / "token"), "--list")
    assert done.stdout.splitlines() == [
        "browser: Log in with the browser",
        "terminal: Log in on the terminal (in a terminal)",
    ]


def test_a_way_that_needs_a_terminal_says_so_where_there_is_none(tmp_path: Path) -> None:
    done = parley("login", members_only(tmp_path / "token"), "terminal")
    assert done.returncode == 6
    told = "'terminal' is a login in a terminal, and there is none here; run `parley login members"
    assert told in done.stderr


def test_an_agent_that_refuses_or_offers_nothing_is_told(tmp_path: Path) -> None:
    refusing = RespondWithError({"code": -32000, "message": "The key is wrong"})
    agent = offering(tmp_path, [KEY], Expect({"method": "authenticate"}), refusing)
    done = parley("login", agent)
    assert done.returncode == 6
    assert "The key is wrong" in done.stderr
    done = parley("login", offering(tmp_path, [], Expect({"method": "never"})))
    assert done.returncode == 6
    assert "scripted offers no login" in done.stderr


def test_what_an_agent_says_while_it_logs_in_is_shown_and_inert(tmp_path: Path) -> None:
    expect, answer = logging_in("key")
    steps = [expect, Stderr(f"open https://x.example{TRAP}\n"), answer]
    done = parley("login", offering(tmp_path, [KEY], *steps))
    assert done.returncode == 0
    assert "open https://x.example" in done.stderr
    assert "\x1b" not in done.stderr


# Status and logout


@pytest.mark.parametrize(
    ("state", "told", "code"),
    [
        ("authenticated", "scripted is logged in", 0),
        ("unauthenticated", "scripted is not logged in", 6),
        ("not_required", "scripted needs no login", 0),
        ("half_way", "scripted says: half_way", 0),
    ],
)
def test_the_status_is_shown(tmp_path: Path, state: str, told: str, code: int) -> None:
    account = {"label": f"somebody{TRAP}", "email": "s@x.example"}
    answer = {"state": state, "accounts": [account] if state == "authenticated" else []}
    agent = offering(
        tmp_path,
        [KEY],
        Expect({"method": "auth/status"}),
        Respond(answer),
        agentCapabilities={"auth": {"status": {}}},
    )
    done = parley("login", agent, "--status")
    assert done.returncode == code, done.stderr
    first, *accounts = done.stdout.splitlines()
    assert first == told
    assert [("somebody" in each, "(s@x.example)" in each) for each in accounts] == (
        [(True, True)] if state == "authenticated" else []
    )
    assert "\x1b" not in done.stdout
    as_json = parley("login", agent, "--status", "--json")
    assert json.loads(as_json.stdout)["state"] == state


def test_an_agent_that_tells_no_status_is_told(tmp_path: Path) -> None:
    done = parley("login", offering(tmp_path, [KEY], Expect({"method": "never"})), "--status")
    assert done.returncode == 1
    assert "does not report whether it is logged in" in done.stderr


def test_a_logout_is_done(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("here")
    done = parley("login", members_only(token), "--logout")
    assert (done.returncode, done.stdout) == (0, "✓ logged out of members\n")
    assert not token.exists()


# In a terminal


def test_in_a_terminal_one_is_asked_and_the_agents_own_login_runs_there(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with run_in_terminal(*PARLEY, "login", members_only(token)) as shown:
        shown.until("How do you want to log in to members?")
        shown.until("1) browser: Log in with the browser")
        shown.until("choose 1-2 (nothing: none): ")
        shown.press("2\r")
        shown.until("parley: running ")
        shown.until("Token: ")
        shown.press("from the keyboard\r")
        shown.until("✓ logged in to members: terminal")
        assert shown.exit_code() == 0
    assert token.read_text() == "from the keyboard"


def test_a_page_is_shown_and_asked_for(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with run_in_terminal(*PARLEY, "login", members_only(token), "browser") as shown:
        shown.until("https://example.com/login?code=1234")
        shown.until("n to decline: ")
        shown.press("y\r")
        shown.until("✓ logged in to members: browser")
        assert shown.exit_code() == 0
    assert token.exists()


def test_no_answer_changes_nothing(tmp_path: Path) -> None:
    token = tmp_path / "token"
    with run_in_terminal(*PARLEY, "login", members_only(token)) as shown:
        shown.until("(nothing: none): ")
        shown.press("\r")
        shown.until("no method was chosen; nothing has changed")
        assert shown.exit_code() == 130
    assert not token.exists()


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    agent = offering(tmp_path, [KEY], logging_in("key")[0], Stderr("waiting\n"), Expect({}))
    with run_in_terminal(*PARLEY, "login", shlex.join(shlex.split(agent))) as shown:
        shown.until("waiting")
        shown.press("\x03")
        assert shown.exit_code() == 130


def in_terminal(tmp_path: Path, **env: str) -> str:
    """Return an agent that wants variables to be set for its login in a terminal."""
    way = {"id": "tty", "name": "Here", "type": "terminal", "args": ["login"], "env": env}
    answer = {"protocolVersion": 1, "agentInfo": INFO, "authMethods": [way]}
    path = tmp_path / "agent.py"
    path.write_text(
        "import json, os, sys\n"
        "if sys.argv[1:] == ['login']:\n"
        "    sys.exit(print('mode:', os.environ.get('LOGIN_MODE')))\n"
        "for line in sys.stdin:\n"
        "    id = json.loads(line)['id']\n"
        f"    answer = {{'jsonrpc': '2.0', 'id': id, 'result': {answer!r}}}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    return shlex.join([sys.executable, str(path)])


@pytest.mark.requirement("SAFE-USER-03")
def test_the_variables_that_an_agent_asks_for_are_shown(tmp_path: Path) -> None:
    agent = in_terminal(tmp_path, LOGIN_MODE="device\x1b\ncode")
    with run_in_terminal(*PARLEY, "login", agent, "tty") as shown:
        shown.until("parley: running 'LOGIN_MODE=device␛ code' ")
        shown.until("mode: device")
        assert shown.exit_code() == 0


@pytest.mark.requirement("SAFE-USER-03")
def test_a_login_with_dangerous_variables_is_refused(tmp_path: Path) -> None:
    agent = in_terminal(tmp_path, LD_PRELOAD="/tmp/evil.so", LOGIN_MODE="1", PATH="/tmp")
    with run_in_terminal(*PARLEY, "login", agent, "tty", columns=400) as shown:
        shown.until("parley: The login 'tty' is refused: the agent wants to set LD_PRELOAD, PATH")
        assert shown.exit_code() == 6
    assert b"mode:" not in shown.painted
