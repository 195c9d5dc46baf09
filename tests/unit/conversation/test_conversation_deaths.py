"""Agents that die, as processes do it: at each step, and what is left of the conversation then."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from parley.conversation.conversation import Conversation
from parley.conversation.setup import ConversationOptions, ConversationSetup
from parley.errors import ConnectFailed, ProcessExited, RequestError
from parley.journal import MemoryJournal
from parley.policy import parse_flags
from parley.schema import v2
from parley.session._transcript_entries import TerminalEntry
from parley.testing.scripted import (
    Die,
    Exit,
    Expect,
    HangUp,
    Respond,
    RespondWithError,
    ScriptedPeer,
    Send,
    Stderr,
    Step,
)

from .recording_view import (
    DEMO,
    END,
    PROMPT,
    RecordingView,
    begun,
    chunk,
    conversing,
    initialized,
    is_alive,
    opening,
    scripted,
)

ENDS: dict[str, tuple[Step, int]] = {
    "with 0": (Exit(0), 0),
    "with 1": (Exit(1), 1),
    "by a signal": (Die(9), -9),
}
ANNOUNCED = Send(
    {
        "method": "session/update",
        "params": {
            "sessionId": "s",
            "update": {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Work"},
        },
    }
)
QUESTION = Send(
    {
        "id": 9,
        "method": "session/request_permission",
        "params": {
            "sessionId": "s",
            "toolCall": {"toolCallId": "t", "title": "Work", "status": "in_progress"},
            "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
        },
    }
)
MOMENTS: dict[str, list[Step]] = {
    "at once": [],
    "in initialize": [Expect({"method": "initialize"}, skips=True)],
    "in session/new": [*initialized(), Expect({"method": "session/new"})],
    "when idle": [*opening(), Expect({"method": "_never"}, skips=True)],
    "in a turn": [*opening(), PROMPT, chunk("half a sen")],
    "in a question": [*opening(), PROMPT, ANNOUNCED, QUESTION],
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("moment", [each for each in MOMENTS if each != "when idle"])
async def test_a_death_is_told_with_its_last_words(moment: str, how: str, tmp_path: Path) -> None:
    step, code = ENDS[how]
    steps = [*MOMENTS[moment], Stderr("\x1b[31m\x1b[2Jout of luck"), step]
    async with conversing(scripted(tmp_path, *steps)) as (conversation, view):
        view.is_silent = True
        conversation.send("go")
        conversation.send("and on")
        await view.until_state("dead")
        [death] = view.deaths
        assert isinstance(death, ProcessExited)
        assert death.code == code
        assert conversation.stderr_tail == "␛[2Jout of luck"
        assert conversation.error is death
        is_sent = moment in ("in a turn", "in a question")
        waiting = [each.text for each in conversation.queue]
        assert waiting == (["and on"] if is_sent else ["go", "and on"])
        assert not view.failures
        assert view.withdrawn == (moment == "in a question")


async def test_of_what_an_agent_logged_its_errors_are_shown(tmp_path: Path) -> None:
    log = "".join(f"INFO step {number}\nthinking\n" for number in range(30))
    steps = [*opening(), PROMPT, Stderr(f"{log}FATAL: out of memory\n{log}"), Die(9)]
    async with conversing(scripted(tmp_path, *steps)) as (conversation, view):
        conversation.send("go")
        await view.until_state("dead")
        assert conversation.stderr_tail == "FATAL: out of memory"
        assert str(view.deaths[0]).endswith("was killed by signal 9; stderr:\nFATAL: out of memory")


async def test_a_death_between_turns_is_noticed(tmp_path: Path) -> None:
    steps = [*opening(), PROMPT, END, Stderr("bye"), Exit(4)]
    async with conversing(scripted(tmp_path, *steps)) as (conversation, view):
        conversation.send("go")
        await view.until_state("dead")
        assert len(view.results) == 1
        assert conversation.stderr_tail == "bye"
        conversation.send("kept")
        assert [each.text for each in conversation.queue] == ["kept"]
        await conversation.cancel()
        await conversation.set_config_option("mode", "x")
        assert len(view.failures) == 1
        assert conversation.state == "dead"


async def test_what_was_under_way_is_shown_as_cancelled(tmp_path: Path) -> None:
    agent = scripted(tmp_path, *MOMENTS["in a question"], Exit(1))
    async with conversing(agent) as (conversation, view):
        view.is_silent = True
        conversation.send("go")
        await view.until_state("dead")
        last = [each for each in view.updates if isinstance(each, v2.ToolCallUpdated)][-1]
        assert (last.tool_call_id, last.status) == ("t", "cancelled")
        assert conversation.transcript.tool_calls["t"].status == "cancelled"


async def test_a_program_that_is_not_there_is_a_death_too() -> None:
    async with conversing("/no/such/agent --acp") as (conversation, view):
        await view.until_state("dead")
        assert isinstance(view.deaths[0], ConnectFailed)
        assert conversation.stderr_tail == ""


async def test_an_agent_that_refuses_the_session_is_ended(tmp_path: Path) -> None:
    steps = [*initialized(), begun()[0], RespondWithError({"code": -32603, "message": "No disk"})]
    async with conversing(scripted(tmp_path, *steps)) as (conversation, view):
        await view.until_state("dead")
        assert isinstance(view.deaths[0], RequestError)
        assert conversation.connection is not None
        assert not is_alive(conversation.connection.pid)


async def test_an_agent_that_hangs_up_and_lives_is_ended(tmp_path: Path) -> None:
    steps = [*opening(), PROMPT, HangUp(), Expect({"method": "_never"}, skips=True)]
    async with conversing(scripted(tmp_path, *steps), grace_after=0.2) as (conversation, view):
        conversation.send("go")
        await view.until_state("dead")
        assert isinstance(view.deaths[0], ProcessExited)


async def test_an_agent_that_hangs_at_its_start_can_be_given_up(tmp_path: Path) -> None:
    agent = scripted(tmp_path, Stderr("thinking"), Expect({"method": "_never"}, skips=True))
    async with conversing(agent) as (conversation, view):
        conversation.send("later")
        await view.until(lambda: conversation.state == "starting")
        await view.until(lambda: "thinking" in conversation.stderr_tail)
        await conversation.cancel()
        await view.until_state("dead")
        assert "was cancelled" in str(view.deaths[0])
        assert [each.text for each in conversation.queue] == ["later"]


async def test_an_agent_that_never_answers_is_given_up_by_itself(tmp_path: Path) -> None:
    agent = scripted(tmp_path, Expect({"method": "_never"}, skips=True))
    async with conversing(agent, give_up_after=0.05) as (_, view):
        await view.until_state("dead")
        assert "did not respond to initialize" in str(view.deaths[0])


async def test_a_restart_goes_on_with_the_session_and_the_queue() -> None:
    journal = MemoryJournal()
    async with conversing(DEMO, journal=journal) as (conversation, view):
        conversation.send("hello")
        await view.until(lambda: view.results)
        before = conversation.session
        said = [each.text for each in conversation.transcript.messages]
        shown = len(view.updates)
        conversation.send("crash")
        conversation.send("after")
        await view.until_state("dead")
        [death] = view.deaths
        assert isinstance(death, ProcessExited)
        assert death.code == 3
        await conversation.restart()
        await view.until(lambda: len(view.results) == 2)
        assert view.opened_as == [False, True]
        assert before is not None
        assert conversation.session is not before
        assert conversation.session is not None
        assert conversation.session.id == before.id
        now = [each.text for each in conversation.transcript.messages]
        assert now[: len(said)] == said
        assert now[-2:] == ["after", "echo: after"]
        again = [each for each in view.updates[shown:] if isinstance(each, v2.UserMessage)]
        texts = [getattr(block, "text", "") for each in again for block in each.content or ()]
        assert texts == ["crash", "after"]
        assert len(journal.list()) == 1
        assert not view.notes


async def test_a_restart_without_resuming_begins_a_session_and_says_so(tmp_path: Path) -> None:
    agent = scripted(tmp_path, *opening(), PROMPT, chunk("hi"), END, Exit(1))
    async with conversing(agent) as (conversation, view):
        conversation.send("go")
        await view.until_state("dead")
        await conversation.restart()
        await view.until(lambda: len(view.opened_as) == 2)
        assert view.opened_as == [False, True]
        assert "cannot resume sessions; a new session has begun" in view.notes[0]


async def test_a_restart_that_is_refused_the_session_begins_another(tmp_path: Path) -> None:
    steps = [*initialized(load=True), *begun(), PROMPT, END, Exit(1)]
    path = tmp_path / "script.json"
    async with conversing(scripted(tmp_path, *steps)) as (conversation, view):
        conversation.send("go")
        await view.until_state("dead")
        refused = RespondWithError({"code": -32002, "message": "Unknown session"})
        again = [*initialized(load=True), Expect({"method": "session/load"}), refused]
        assert scripted(tmp_path, *again, *begun("other"))[-1] == str(path)
        await conversation.restart()
        await view.until_state("idle")
        assert conversation.session is not None
        assert conversation.session.id == "other"
        assert "did not resume the session: session/load: Unknown session" in view.notes[0]


async def test_what_is_replayed_after_a_restart_is_not_shown_twice(tmp_path: Path) -> None:
    steps = [*opening(load=True), PROMPT, chunk("hi"), END, Exit(1)]
    async with conversing(scripted(tmp_path, *steps)) as (conversation, view):
        conversation.send("go")
        await view.until_state("dead")
        load = Expect({"method": "session/load"}, name="load")
        loaded = Send({"id": {"$from": "load.id"}, "result": {}})
        answer: list[Step] = [loaded, PROMPT, chunk("there"), END]
        scripted(tmp_path, *initialized(load=True), load, chunk("hi"), *answer)
        await conversation.restart()
        conversation.send("go on")
        await view.until(lambda: len(view.results) == 2)
        assert view.said == "hithere"
        assert [each.text for each in conversation.transcript.messages][-3:] == [
            "hi",
            "go on",
            "there",
        ]


async def test_an_agent_that_does_not_stop_can_be_restarted(tmp_path: Path) -> None:
    deaf = [*opening(), PROMPT, chunk("busy"), Expect({"method": "_never"}, skips=True)]
    async with conversing(scripted(tmp_path, *deaf), grace_after=0.1) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.said)
        await conversation.cancel()
        assert conversation.state == "running"
        await conversation.restart()
        await view.until_state("idle")
        assert not view.deaths
        assert not conversation.is_cancelling


async def test_a_prompt_that_was_never_taken_is_sent_after_the_restart(tmp_path: Path) -> None:
    async with conversing(scripted(tmp_path, *opening(2), PROMPT, Exit(1))) as (talk, view):
        talk.send("go")
        await view.until_state("dead")
        assert [each.text for each in talk.queue] == ["go"]


async def test_closing_leaves_no_process_whatever_goes_on(tmp_path: Path) -> None:
    before = children()
    for moment in ("in initialize", "in session/new", "in a turn", "in a question"):
        steps = [*MOMENTS[moment], Stderr("here"), Expect({"method": "_never"}, skips=True)]
        agent = scripted(tmp_path, *steps)
        await close_when_here(agent)
        assert not children() - before


async def close_when_here(agent: list[str]) -> None:
    async with conversing(agent, grace_after=0.1) as (conversation, view):
        view.is_silent = True
        conversation.send("go")
        await view.until(lambda: "here" in conversation.stderr_tail)
    assert not view.deaths


async def test_killing_ends_an_agent_at_once(tmp_path: Path) -> None:
    async with conversing(scripted(tmp_path, *MOMENTS["in a turn"])) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: view.said)
        conversation.kill()
        await view.until_state("dead")
        death: Any = view.deaths[0]
        assert death.code == -9


async def test_an_agent_that_hangs_at_its_start_can_be_killed(tmp_path: Path) -> None:
    agent = scripted(tmp_path, Stderr("thinking"), Expect({"method": "_never"}, skips=True))
    async with conversing(agent) as (conversation, view):
        await view.until(lambda: "thinking" in conversation.stderr_tail)
        conversation.kill()
        await view.until_state("dead")
        death: Any = view.deaths[0]
        assert death.code == -9


async def test_a_cancelled_run_leaves_no_process(tmp_path: Path) -> None:
    view = RecordingView()
    setup = ConversationSetup(
        ConversationOptions(target=scripted(tmp_path, *MOMENTS["in a turn"]), grace_after=0.1)
    )
    conversation = view.conversation = Conversation(setup, view)
    before = children()
    running = asyncio.create_task(conversation.run())
    conversation.send("go")
    await view.until(lambda: view.said)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert conversation.state == "closed"
    assert not children() - before


async def test_a_conversation_that_never_ran_can_be_closed() -> None:
    conversation = Conversation(ConversationSetup(ConversationOptions()), RecordingView())
    await conversation.close()
    assert conversation.state == "closed"


def children() -> set[tuple[str, bytes]]:
    """Return the processes that this one has started, with their commands, except the watchdog."""
    tasks = Path("/proc/self/task").glob("*/children")
    pids = [pid for each in tasks for pid in each.read_text().split()]
    commands = {(pid, Path(f"/proc/{pid}/cmdline").read_bytes()) for pid in pids}
    return {each for each in commands if b"parley-watchdog" not in each[1]}


async def test_a_command_of_a_cancelled_turn_ends_though_the_agent_forgets_it(
    tmp_path: Path,
) -> None:
    params = {"sessionId": "s", "command": "sh", "args": ["-c", "echo $$; exec sleep 600"]}
    agent = ScriptedPeer(
        *opening(),
        PROMPT,
        Send({"id": 7, "method": "terminal/create", "params": params}),
        Expect({"method": "session/cancel"}, skips=True),
        Respond({"stopReason": "cancelled"}, to="prompt"),
    )
    allow = parse_flags(["execute"], "allow")
    async with conversing(agent, cwd=tmp_path, allow=allow) as (conversation, view):
        conversation.send("go")
        await view.until(lambda: any(each.text for each in _terminals(conversation)))
        [terminal] = _terminals(conversation)
        assert is_alive(int(terminal.text))
        await conversation.cancel()
        await view.until(lambda: view.results)
        assert terminal.exit_status is not None
        assert not is_alive(int(terminal.text))


def _terminals(conversation: Conversation) -> list[TerminalEntry]:
    return list(conversation.transcript.terminals.values())
