"""`parley run` beyond one prompt: sessions that go on, files sent along, bounds, the workspace."""

from __future__ import annotations

import base64
import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parley.testing.scripted import Expect, Respond, RespondWithError, Send, Step

from .command import PARLEY, chunk, opening, parley, scripted, update
from .terminal import run_in_terminal

END = Respond({"stopReason": "end_turn"})
PICTURE = b"\x89PNG\r\n\x1a\n"


def begin(**capabilities: Any) -> list[Step]:
    """Answer initialize in version 1, with these capabilities, and open a session."""
    return [
        Expect({"method": "initialize"}, skips=True),
        Respond({"protocolVersion": 1, "agentCapabilities": capabilities}),
        Expect({"method": "session/new"}),
        Respond({"sessionId": "s"}),
    ]


def events(stdout: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines()]


# The prompt


def test_without_a_prompt_stdin_is_read() -> None:
    assert parley("run", "-q", given="from a pipe").stdout == "echo: from a pipe\n"


def test_without_a_prompt_on_a_terminal_it_says_what_is_missing() -> None:
    with run_in_terminal(*PARLEY, "run") as shown:
        shown.until("there is no prompt; say what the agent should do")
        assert shown.exit_code() == 2


@pytest.mark.requirement("V1-CONTENT-13")
def test_files_are_sent_as_the_agent_takes_them(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print()\n")
    (tmp_path / "b.png").write_bytes(PICTURE)
    (tmp_path / "c.bin").write_bytes(b"\xff\x00")
    uris = {each.name: each.as_uri() for each in tmp_path.iterdir()}
    sent = [
        {"type": "text", "text": "Look"},
        {
            "type": "resource",
            "resource": {"uri": uris["a.py"], "text": "print()\n", "mimeType": "text/x-python"},
        },
        {
            "type": "image",
            "data": base64.b64encode(PICTURE).decode(),
            "mimeType": "image/png",
            "uri": uris["b.png"],
        },
        {
            "type": "resource",
            "resource": {
                "uri": uris["c.bin"],
                "blob": base64.b64encode(b"\xff\x00").decode(),
                "mimeType": "application/octet-stream",
            },
        },
    ]
    capabilities = {"promptCapabilities": {"image": True, "embeddedContext": True}}
    asked = {"method": "session/prompt", "params": {"sessionId": "s", "prompt": sent}}
    agent = scripted(tmp_path, *begin(**capabilities), Expect(asked), END)
    words = [word for name in sorted(uris) for word in ("--file", str(tmp_path / name))]
    done = parley("run", "Look", "-a", agent, *words)
    assert done.returncode == 0, done.stderr


def test_a_file_for_an_agent_that_takes_none_is_a_link(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("x")
    link = {"type": "resource_link", "name": "a.md", "uri": file.as_uri(), "size": 1}
    asked = {"method": "session/prompt", "params": {"prompt": [{"type": "text"}, link]}}
    agent = scripted(tmp_path, *begin(), Expect(asked), END)
    assert parley("run", "Look", "-a", agent, "-f", str(file)).returncode == 0


def test_a_picture_for_an_agent_that_takes_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(PICTURE)
    done = parley("run", "Look", "-a", scripted(tmp_path, *begin()), "-f", f"{tmp_path}/b.png")
    assert done.returncode == 1
    assert "this agent takes no pictures; leave it out" in done.stderr


def ask_editor(method: str, result: dict[str, Any], **params: Any) -> list[Step]:
    """The steps of an agent that asks for editor state and checks the response."""
    asked = {"method": f"workspace/{method}", "id": method, "params": {"sessionId": "s", **params}}
    return [Send(asked), Expect({"id": method, "result": result})]


@pytest.mark.parametrize("version", [1, 2])
def test_an_agent_asks_which_files_are_open(tmp_path: Path, version: int) -> None:
    names = {"a.py": "python", "b.md": "markdown", "c.rs": "rust"}
    for name in names:
        (tmp_path / name).write_text("x")
    first, second, attached = [
        {"uri": (tmp_path / name).as_uri(), "languageId": kind} for name, kind in names.items()
    ]
    offered: dict[str, Any] = {"openDocuments": {}, "recentDocuments": {}, "activeDocument": {}}
    key = "clientCapabilities" if version == 1 else "capabilities"
    asked = {"method": "initialize", "params": {key: {"workspace": offered}}}
    initialize, *rest = opening(version)[1:]
    end: list[Step] = [Respond({"stopReason": "end_turn"}, to="prompt")]
    if version == 2:
        idle = update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
        end = [Respond({"messageId": "m"}, to="prompt"), idle]
    agent = scripted(
        tmp_path,
        Expect(asked, skips=True),
        initialize,
        *rest,
        *ask_editor("open_documents", {"documents": [first, second]}),
        *ask_editor("recent_documents", {"documents": [attached, first]}, limit=2),
        *ask_editor("active_document", {"document": first}),
        *end,
    )
    files = [str(tmp_path / name) for name in names]
    words = ("--open", files[0], "--open", files[1], "-f", files[2], "--protocol", str(version))
    done = parley("run", "Look", "-a", agent, *words)
    assert done.returncode == 0, done.stderr


def test_without_open_files_the_agent_is_refused(tmp_path: Path) -> None:
    refused = {"id": "x", "error": {"code": -32601}}
    asked = {"method": "workspace/active_document", "id": "x", "params": {"sessionId": "s"}}
    end = Respond({"stopReason": "end_turn"}, to="prompt")
    agent = scripted(tmp_path, *opening(), Send(asked), Expect(refused), end)
    done = parley("run", "Look", "-a", agent)
    assert done.returncode == 0, done.stderr


# Sessions that go on


def load(session: str, *replayed: Step) -> list[Step]:
    return [
        Expect({"method": "initialize"}, skips=True),
        Respond({"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}),
        Expect({"method": "session/load", "params": {"sessionId": session}}),
        *replayed,
        Respond({}),
    ]


def prompt(text: str) -> Expect:
    params = {"sessionId": "s", "prompt": [{"type": "text", "text": text}]}
    return Expect({"method": "session/prompt", "params": params})


@pytest.mark.parametrize("words", [("--session", "fix"), ("--resume",)])
def test_a_session_is_gone_on_with(tmp_path: Path, words: tuple[str, ...]) -> None:
    agent = scripted(tmp_path, *begin(loadSession=True), prompt("One"), chunk("1"), END)
    first = parley("run", "One", "-a", agent, "--session", "fix", "--json")
    assert first.returncode == 0, first.stderr
    assert scripted(tmp_path, *load("s", chunk("1")), prompt("Two"), chunk("2"), END) == agent
    second = parley("run", "Two", *words, "--json")
    assert second.returncode == 0, second.stderr
    began, resumed = events(first.stdout)[0], events(second.stdout)[0]
    assert (began["isResumed"], resumed["isResumed"]) == (False, True)
    assert began["key"] == resumed["key"]
    assert events(second.stdout)[-1]["text"] == "2"


def test_a_session_is_found_by_its_key_from_elsewhere(tmp_path: Path) -> None:
    agent = scripted(tmp_path, *begin(loadSession=True), prompt("One"), END)
    first = parley("run", "One", "-a", agent, "--json", "--cwd", str(tmp_path))
    key = events(first.stdout)[0]["key"]
    scripted(tmp_path, *load("s"), prompt("Two"), END)
    second = parley("run", "Two", "--session", key[:8], "--json")
    assert events(second.stdout)[0]["cwd"] == str(tmp_path)


def test_an_agent_that_cannot_go_on_is_said_to_be_one(tmp_path: Path) -> None:
    agent = scripted(tmp_path, *begin(), prompt("One"), END)
    assert parley("run", "One", "-a", agent, "--session", "fix").returncode == 0
    scripted(tmp_path, *begin()[:2])
    done = parley("run", "Two", "--session", "fix", "--json")
    assert done.returncode == 1
    assert "cannot resume sessions; `parley sessions show fix` has what was said" in done.stderr
    (last,) = events(done.stdout)
    assert last["error"]["kind"] == "Failure"


def test_a_session_that_the_agent_has_forgotten_is_said_to_be_one(tmp_path: Path) -> None:
    agent = scripted(tmp_path, *begin(loadSession=True), prompt("One"), END)
    parley("run", "One", "-a", agent, "--session", "fix")
    scripted(tmp_path, *load("s")[:3], RespondWithError({"code": -32002, "message": "Gone"}))
    done = parley("run", "Two", "--session", "fix")
    assert done.returncode == 1
    assert "did not resume the session fix: session/load: Gone (-32002)" in done.stderr


def test_a_session_stays_with_its_agent(tmp_path: Path) -> None:
    agent = scripted(tmp_path, *begin(loadSession=True), prompt("One"), END)
    parley("run", "One", "-a", agent, "--session", "fix")
    done = parley("run", "Two", "-a", "another agent", "--session", "fix")
    assert done.returncode == 2
    assert "To resume it, do not name an agent" in done.stderr


def test_nothing_is_kept_where_nothing_is_to_be(tmp_path: Path, places: Path) -> None:
    agent = scripted(tmp_path, *begin(), prompt("Hi"), END)
    done = parley("run", "Hi", "-a", agent, "--no-journal", "--json")
    assert events(done.stdout)[0]["key"] is None
    assert not list(places.rglob("journal.db*"))


def test_a_journal_that_cannot_be_written_is_told_and_the_run_goes_on(places: Path) -> None:
    (places / "state").parent.mkdir(parents=True, exist_ok=True)
    (places / "state").write_text("no directory")
    done = parley("run", "Hi")
    assert (done.returncode, done.stdout) == (0, "echo: Hi\n")
    assert done.stderr.count("journal") >= 1
    assert "Traceback" not in done.stderr


# Bounds


def test_after_its_time_the_turn_is_cancelled() -> None:
    done = parley("run", "slow", "--timeout", "3")
    assert done.returncode == 124
    assert "stopped: the 3 s of --timeout are over; resume with `parley run" in done.stderr


def test_an_agent_that_does_not_start_in_time_is_left(tmp_path: Path) -> None:
    silent = scripted(tmp_path, Expect({"method": "never"}, skips=True))
    done = parley("run", "Hi", "-a", silent, "--timeout", "0.5", "--json")
    assert done.returncode == 124
    assert "the 0.5 s of --timeout are over" in done.stderr
    (last,) = events(done.stdout)
    assert last["event"] == "error"
    assert last["error"]["message"] == "the 0.5 s of --timeout are over"


def test_a_turn_that_costs_too_much_is_cancelled(tmp_path: Path) -> None:
    def cost(amount: float) -> Send:
        money = {"amount": amount, "currency": "USD"}
        return update(sessionUpdate="usage_update", used=1, size=2, cost=money)

    agent = scripted(
        tmp_path,
        *opening(),
        cost(0.2),
        chunk("so far"),
        cost(0.5),
        Expect({"method": "session/cancel"}),
        Respond({"stopReason": "cancelled"}, to="prompt"),
    )
    done = parley("run", "Go", "-a", agent, "--max-cost", "0.5", "--json")
    assert done.returncode == 4
    assert "the session has cost 0.5 USD, and --max-cost is 0.5" in done.stderr
    assert events(done.stdout)[-1]["cost"] == {"amount": 0.5, "currency": "USD"}


@pytest.mark.parametrize("keeps", [True, False], ids=["journal", "no-journal"])
def test_after_a_crash_only_a_saved_session_can_be_resumed(keeps: bool) -> None:
    options = () if keeps else ("--no-journal",)
    done = parley("run", "crash", "-a", shlex.join([*PARLEY, "demo"]), *options)
    assert done.returncode == 5
    assert ("the session is saved; resume with `parley run --session" in done.stderr) is keeps
    assert ("saved" in done.stderr) is keeps


# Options of the session, and what the agent may do


def test_an_option_is_set_before_the_prompt(tmp_path: Path) -> None:
    values = [{"value": each, "name": each} for each in ("ask", "plan")]
    mode = {"id": "mode", "name": "Mode", "type": "select", "options": values}
    asked = {"sessionId": "s", "configId": "mode", "value": "plan"}
    agent = scripted(
        tmp_path,
        *begin()[:3],
        Respond({"sessionId": "s", "configOptions": [{**mode, "currentValue": "ask"}]}),
        Expect({"method": "session/set_config_option", "params": asked}),
        Respond({"configOptions": [{**mode, "currentValue": "plan"}]}),
        prompt("Hi"),
        END,
    )
    assert parley("run", "Hi", "-a", agent, "--set", "mode=plan").returncode == 0


def test_an_option_that_there_is_not_is_named() -> None:
    done = parley("run", "Hi", "--set", "nonsense=1")
    assert (done.returncode, "nonsense" in done.stderr) == (1, True)


def fs(method: str, **params: Any) -> Send:
    return Send({"id": 1, "method": method, "params": {"sessionId": "s", **params}})


@pytest.mark.parametrize(
    ("words", "outcome"),
    [((), "error"), (("--allow", "edit:*.txt"), "result"), (("--yes",), "result")],
)
def test_a_file_is_written_as_the_rules_say(
    tmp_path: Path, words: tuple[str, ...], outcome: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    file = work / "a.txt"
    answer: dict[str, Any] = {"id": 1, outcome: {}}
    agent = scripted(
        tmp_path,
        *opening(),
        fs("fs/write_text_file", path=str(file), content="new"),
        Expect(answer),
        Respond({"stopReason": "end_turn"}, to="prompt"),
    )
    done = parley("run", "Go", "-a", agent, "--cwd", str(work), *words)
    assert done.returncode == 0, done.stderr
    assert file.exists() is (outcome == "result")


def test_a_file_in_the_directory_is_read_and_one_outside_is_not(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("inside")
    (tmp_path / "b.txt").write_text("outside")
    agent = scripted(
        tmp_path,
        *opening(),
        fs("fs/read_text_file", path=str(work / "a.txt")),
        Expect({"id": 1, "result": {"content": "inside"}}),
        fs("fs/read_text_file", path=str(tmp_path / "b.txt")),
        Expect({"id": 1, "error": {}}),
        Respond({"stopReason": "end_turn"}, to="prompt"),
    )
    assert parley("run", "Go", "-a", agent, "--cwd", str(work)).returncode == 0


@pytest.mark.parametrize("is_offered", [True, False])
def test_files_and_terminals_are_offered_unless_told_otherwise(
    tmp_path: Path, is_offered: bool
) -> None:
    rest = opening()[1:]
    asked = Expect({"method": "initialize", "params": {"protocolVersion": 1}}, name="first")
    seen = update(sessionUpdate="_seen", capabilities={"$from": "first.params.clientCapabilities"})
    agent = scripted(tmp_path, asked, *rest, seen, END)
    words = () if is_offered else ("--no-workspace",)
    done = parley("run", "Go", "-a", agent, "--protocol", "1", "--json", *words)
    found = next(
        each["update"]["capabilities"] for each in events(done.stdout) if "_seen" in str(each)
    )
    both = {"readTextFile": True, "writeTextFile": True}
    assert (found["fs"], found.get("terminal", False)) == (both if is_offered else {}, is_offered)


def test_an_answer_is_remembered_for_the_project(tmp_path: Path) -> None:
    call = {"toolCallId": "c", "kind": "execute", "rawInput": {"command": "make"}}
    options = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    params = {"sessionId": "s", "toolCall": call, "options": options}
    agent = scripted(
        tmp_path,
        *opening(),
        Send({"id": 1, "method": "session/request_permission", "params": params}),
        Expect({"id": 1, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}),
        Respond({"stopReason": "end_turn"}, to="prompt"),
    )
    with run_in_terminal(*PARLEY, "run", "Go", "-a", agent) as shown:
        shown.until("$ make")
        shown.until("(Enter: no answer): ")
        shown.press("yp\r")
        assert shown.exit_code() == 0
    done = parley("run", "Go", "-a", agent)
    assert done.returncode == 0, done.stderr
    assert "Yes (remembered for this project" in done.stderr
    elsewhere = parley("run", "Go", "-a", agent, "--cwd", str(tmp_path))
    assert "nobody can be asked here" in elsewhere.stderr


def test_what_cannot_be_told_from_other_calls_is_not_remembered() -> None:
    with run_in_terminal(*PARLEY, "run", "perm") as shown:
        shown.until("(Enter: no answer): ")
        shown.press("yp\r")
        shown.until("could not remember this answer: nothing distinguishes this call")
        assert shown.exit_code() == 0


def test_a_name_is_one_of_this_directory(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    first = parley("run", "One", "--session", "fix", "--json", "--cwd", str(elsewhere))
    second = parley("run", "Two", "--session", "fix", "--json", "--cwd", str(tmp_path))
    assert events(second.stdout)[0]["isResumed"] is False
    assert events(second.stdout)[0]["cwd"] == str(tmp_path)
    assert events(first.stdout)[0]["key"] != events(second.stdout)[0]["key"]


def test_a_session_that_is_at_work_is_left_alone() -> None:
    command = [*PARLEY, "run", "slow", "--session", "busy", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as first:
        assert first.stdout is not None
        while b"waiting" not in first.stdout.readline():
            pass
        second = parley("run", "Hi", "--session", "busy")
        first.send_signal(signal.SIGINT)
    assert second.returncode == 1
    assert "the session busy is in use by another process" in second.stderr
    assert parley("run", "Hi", "--session", "busy", "-q").stdout == "echo: Hi\n"


DEAF = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
    if message.get("method") in results:
        told = {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
        print(json.dumps(told), flush=True)
    elif message.get("method") == "session/prompt":
        content = {"type": "text", "text": "I hear nothing."}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        told = {"method": "session/update", "params": {"sessionId": "s", "update": update}}
        print(json.dumps({"jsonrpc": "2.0", **told}), flush=True)
open(sys.argv[1], "w").write("left in order")
"""


def deaf(tmp_path: Path) -> tuple[str, Path]:
    """Return an agent that ignores a cancel, and the file that it writes when it leaves."""
    program, left = tmp_path / "deaf.py", tmp_path / "left"
    program.write_text(DEAF)
    return shlex.join([sys.executable, str(program), str(left)]), left


def test_one_interrupt_ends_an_agent_that_ignores_the_cancel(tmp_path: Path) -> None:
    agent, left = deaf(tmp_path)
    with run_in_terminal(*PARLEY, "run", "Hello", "-a", agent) as shown:
        shown.until("I hear nothing.")
        shown.press("\x03")
        shown.until("cancelling; Ctrl-C again ends the agent")
        shown.until("the agent has not ended the turn in 5 s, so it is ended now")
        assert shown.exit_code() == 130
    assert left.read_text() == "left in order"


def test_a_terminal_that_is_closed_ends_the_run_in_order(tmp_path: Path) -> None:
    agent, left = deaf(tmp_path)
    with run_in_terminal(*PARLEY, "run", "Hello", "-a", agent, "--no-journal") as shown:
        shown.until("I hear nothing.")
        assert shown.hang_up() == 130
    assert left.read_text() == "left in order"
    with run_in_terminal(*PARLEY, "run", "slow", "--session", "kept") as shown:
        shown.until("waiting to be cancelled")
        assert shown.hang_up() == 130
    [session] = json.loads(parley("sessions", "list", "--json").stdout)
    assert (session["name"], session["state"]) == ("kept", "idle")


def test_stdin_can_go_with_a_prompt(tmp_path: Path) -> None:
    sent = [{"type": "text", "text": "Review"}, {"type": "text", "text": "+a line\n"}]
    asked = {"method": "session/prompt", "params": {"prompt": sent}}
    agent = scripted(tmp_path, *begin(), Expect(asked), END)
    assert parley("run", "Review", "-f", "-", "-a", agent, given="+a line\n").returncode == 0


def test_what_would_be_written_is_shown_before(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old\n")
    agent = scripted(
        tmp_path,
        *opening(),
        fs("fs/write_text_file", path=str(file), content="new\n"),
        Expect({"id": 1, "error": {}}),
        Respond({"stopReason": "end_turn"}, to="prompt"),
    )
    with run_in_terminal(*PARLEY, "run", "Go", "-a", agent, "--cwd", str(tmp_path)) as shown:
        shown.until("Write ")
        shown.until("-old")
        shown.until("+new")
        shown.until("(Enter: no answer): ")
        shown.press("n\r")
        assert shown.exit_code() == 0
    assert file.read_text() == "old\n"


def test_on_a_terminal_a_line_says_what_is_waited_for(tmp_path: Path) -> None:
    silent = scripted(tmp_path, Expect({"method": "never"}, skips=True))
    with run_in_terminal(*PARLEY, "run", "Hi", "-a", silent, "--timeout", "5") as shown:
        shown.until("… starting ")
        shown.until(" s)")
        shown.until("\r\x1b[K")
        assert shown.exit_code() == 124


def test_a_login_that_a_prompt_needs_is_carried_out_if_its_method_is_given(tmp_path: Path) -> None:
    method = {"id": "web", "name": "In the browser"}
    first: list[Step] = [
        Expect({"method": "initialize"}, skips=True),
        Respond({"protocolVersion": 1, "authMethods": [method]}),
    ]
    opened: list[Step] = [Expect({"method": "session/new"}), Respond({"sessionId": "s"})]
    refused = RespondWithError({"code": -32000, "message": "Authentication required"})
    steps: list[Step] = [*first, *opened, prompt("Hi"), refused]
    done = parley("run", "Hi", "-a", scripted(tmp_path, *steps))
    assert done.returncode == 6
    assert "offers these logins: 'web' (In the browser); choose one with --login" in done.stderr
    wrong = parley("run", "Hi", "-a", scripted(tmp_path, *steps), "--login", "nope")
    assert wrong.returncode == 6
    assert "there is no login method 'nope'" in wrong.stderr
    login: list[Step] = [
        Expect({"method": "authenticate", "params": {"methodId": "web"}}),
        Respond({}),
    ]
    agent = scripted(tmp_path, *steps, *login, prompt("Hi"), END)
    done = parley("run", "Hi", "-a", agent, "--login", "web")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_rule_denies_and_the_agent_did_unasked_is_reported(tmp_path: Path) -> None:
    call = update(
        sessionUpdate="tool_call",
        toolCallId="c",
        title="Clean up",
        kind="execute",
        status="completed",
        rawInput={"command": "rm -rf build"},
    )
    agent = scripted(tmp_path, *opening(), call, END)
    done = parley("run", "Go", "-a", agent, "--deny", "execute:rm *")
    assert done.returncode == 0
    assert "did this without asking, although a rule denies it: rm -rf build (" in done.stderr
    assert "Run an agent that does not ask in a sandbox." in done.stderr
