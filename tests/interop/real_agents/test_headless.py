"""`parley run` against agents that others wrote: turns with tools, and what is kept of them.

The agents use what they are lent as they like. fast-agent reads, writes and runs through us,
opencode only writes, codex does everything itself. fast-agent asks before each of them, opencode
before it writes or runs, codex before anything leaves its sandbox.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .headless import Desk, every_agent
from .launch import KINDS
from .model import ANSWER, TEXT, conversation, tools_of

RULES = ["read", "execute:cat *", "edit:out.txt", "execute:echo hi > ran.txt"]
LENT = {
    "fast-agent": ["fs/read_text_file", "fs/write_text_file", "terminal/create"],
    "opencode": ["fs/write_text_file"],
}
"""The requests by which an agent uses the workspace."""
PLANTED = "planted-5d81f0c2"
PASSED = "passed-c2e0aa71"
PARROT = Path(__file__).with_name("mcp_server.py")


@every_agent
def test_a_turn_reads_writes_and_runs_something(desk: Desk) -> None:
    (desk.work / "in.txt").write_text("a parrot\n")
    wishes = f"READ {desk.work}/in.txt WRITE {desk.work}/out.txt RUN {RULES[-1][8:]};"
    run = desk.run(f"Please {wishes}", *(word for rule in RULES for word in ("--allow", rule)))
    assert run.code == 0, run.err
    assert run.out.strip() == ANSWER
    assert f"(--allow {RULES[2]})" in run.err
    assert "✓ edit: " in run.err
    assert (desk.work / "out.txt").read_text() == TEXT
    assert (desk.work / "ran.txt").read_text() == "hi\n"
    results = [text for role, text in conversation(desk.model.asked[-1]) if role == "tool"]
    assert "a parrot" in results[0]

    record = desk.record
    assert (record.state, record.agent, record.cwd) == ("idle", "peer", str(desk.work))
    assert record.protocol == desk.kind.protocol
    transcript = desk.transcript
    calls = [(each.kind, each.status) for each in transcript.tool_calls.values()]
    assert calls[1:] == [("edit", "completed"), ("execute", "completed")]
    assert calls[0] in [("read", "completed"), ("execute", "completed")]
    assert [each.text.strip() for each in transcript.messages if each.text.strip()] == [
        f"Please {wishes}",
        ANSWER,
    ]
    assert desk.asked_for("fs/", "terminal/create") == LENT.get(desk.kind.name, [])
    reasons = {each["reason"] for each in desk.decisions}
    assert {f"--allow {rule}" for rule in RULES[2:]} <= reasons
    assert {each["decision"] for each in desk.decisions} == {"allow"}

    shown = desk.parley("sessions", "show", record.key)
    assert shown.code == 0, shown.err
    assert f"> Please {wishes}" in shown.out
    assert f"/out.txt: allow (--allow {RULES[2]})" in shown.out
    assert shown.out.rstrip().endswith(ANSWER)
    found = desk.parley("sessions", "search", "done", "--json")
    assert record.key in found.out


@every_agent
def test_what_is_denied_does_not_happen_and_the_journal_says_why(desk: Desk) -> None:
    run = desk.run("Please RUN touch no.txt;", "--deny", "execute:touch *", "--yes", "--json")
    # Codex takes a refusal as the end of the turn, which it then calls cancelled.
    assert run.code == (130 if desk.kind.name.startswith("codex") else 0), run.err
    assert not (desk.work / "no.txt").exists()
    (decision,) = [each for each in run.events if each["event"] == "permission"]
    told = {"isAllowed": False, "by": "policy", "reason": "--deny execute:touch *"}
    assert told.items() <= decision.items()
    updates = [each["update"] for each in run.events if each["event"] == "update"]
    calls = [each for each in updates if each["sessionUpdate"] == "tool_call_update"]
    assert (calls[-1]["status"], run.events[-1]["event"]) == ("failed", "end")
    (note,) = desk.decisions
    assert (note["decision"], note["by"], note["reason"]) == ("deny", "policy", told["reason"])
    assert (note["kind"], note["commands"]) == ("execute", ["touch no.txt"])
    assert note["option"] == decision["optionId"]
    assert [each.status for each in desk.transcript.tool_calls.values()] == ["failed"]


@pytest.mark.parametrize("kind", KINDS[1:2], ids=["opencode"])
def test_what_nobody_allows_does_not_happen(desk: Desk) -> None:
    run = desk.run(f"Please WRITE {desk.work}/no.txt")
    assert "Reject (no rule allows it and nobody can be asked here; see --allow edit)" in run.err
    assert not (desk.work / "no.txt").exists()
    (note,) = desk.decisions
    assert (note["decision"], note["by"]) == ("deny", "nobody")
    assert note["paths"] == [f"{desk.work}/no.txt"]


@every_agent
def test_secrets_go_where_they_are_passed_and_nowhere_else(desk: Desk) -> None:
    desk.env |= {"PLANTED_TOKEN": PLANTED, "PASSED_TOKEN": PASSED}
    run = desk.run("Please RUN env;", "--env", "PASSED_TOKEN", "--allow", "execute:env")
    assert run.code == 0, run.err
    # The last request may be about something else, such as a title.
    asked = [each for request in desk.model.asked for each in conversation(request)]
    results = [text for role, text in asked if role == "tool"]
    assert "HOME=" in results[0]
    assert PLANTED not in json.dumps(desk.model.asked)
    # fast-agent runs the command through us, and what it has been given is not for commands.
    assert (PASSED in results[0]) is (desk.kind.name != "fast-agent")

    del desk.env["PASSED_TOKEN"]  # so that nothing tells an export what to look for
    kept = b"".join(each.read_bytes() for each in desk.state.rglob("*") if each.is_file())
    told = "".join(each.text for each in desk.transcript.terminals.values())
    exports = [
        desk.parley("sessions", "export", desk.record.key, "--format", form, "--no-redact").out
        for form in ("jsonl", "html")
    ]
    assert all("Please RUN env;" in each for each in exports)
    for secret in (PLANTED, PASSED):
        assert secret.encode() not in kept
        assert secret not in told
        assert not [each for each in exports if secret in each]


@every_agent
def test_configured_mcp_servers_reach_the_agent_as_declared(desk: Desk) -> None:
    listed = desk.work / "listed"
    (desk.work / "wait.sh").write_text(
        f"for _ in $(seq 600); do [ -e {listed} ] || sleep 0.1; done"
    )
    desk.env["PARROT_TOKEN"] = PASSED
    desk.configure(
        f"""
[mcp_servers.parrot]
command = {json.dumps([sys.executable, str(PARROT), "as told", str(listed)])}
env = {{ PARROT_TOKEN = "$PARROT_TOKEN" }}
"""
    )
    # Codex does not wait for a server before it asks its model: later it has the tools.
    run = desk.run("Please RUN sh wait.sh; RUN true;", "--yes")
    assert run.code == 0, run.err
    assert [each for each in tools_of(desk.model.asked[-1]) if each.endswith("speak")]
    assert f"as told, {len(PASSED)} letters" in json.dumps(desk.model.asked[-1]["tools"])
    assert not [each for each in desk.frames if PASSED.encode() in each]
    (setup,) = [each for each in desk.frames if b'"session/new"' in each]
    assert json.loads(setup)["params"]["mcpServers"][0]["env"] == [
        {"name": "PARROT_TOKEN", "value": "[redacted]"}
    ]
