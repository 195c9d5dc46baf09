"""What is printed where: the answer on stdout, the rest on stderr; all of it inert."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from msgspec import structs

from parley.cli.display import Display, JsonLines, Quiet, Readable
from parley.client import PermissionDecision, TurnResult
from parley.errors import ConnectionClosed, RequestError
from parley.policy import Subject, Verdict
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript import Transcript

Captured = pytest.CaptureFixture[str]


def show(display: Display, *updates: v2.SessionUpdate) -> Transcript:
    transcript = Transcript()
    for update in updates:
        transcript.fold(update)
        display.update(update, transcript)
    return transcript


def said(text: str, id: str = "m") -> v2.AgentMessageChunk:
    return v2.AgentMessageChunk(message_id=id, content=v2.TextContent(text=text))


def thought(text: str) -> v2.AgentThoughtChunk:
    return v2.AgentThoughtChunk(message_id="t", content=v2.TextContent(text=text))


def result(transcript: Transcript, stop_reason: str = "end_turn") -> TurnResult:
    entries = list(transcript.entries)
    return TurnResult(stop_reason=stop_reason, message_id="u", entries=entries)


def test_the_answer_streams_to_stdout_and_messages_are_parted(capsys: Captured) -> None:
    display = Readable()
    show(display, said("Hel"), said("lo\x1b[2J"))
    assert capsys.readouterr() == ("Hello␛[2J", "")
    transcript = show(display, said("again", "n"))
    display.end(result(transcript), transcript)
    assert capsys.readouterr() == ("\n\nagain\n", "")


def test_everything_else_goes_to_stderr_on_lines_of_its_own(capsys: Captured) -> None:
    tool = v2.ToolCallUpdated(tool_call_id="c", title="Look", status="in_progress")
    done = v2.ToolCallUpdated(tool_call_id="c", status="completed")
    show(
        Readable(),
        said("Let me look."),
        tool,
        done,
        done,
        thought("hm"),
        v2.Notice(severity="warning", title="Low", description="disk\x07"),
        v2.CompactionUpdate(compaction_id="k", status="completed"),
        Unknown("_gauge", b'{"sessionUpdate":"_gauge"}'),
        v2.StateUpdated(state="running"),
    )
    out, err = capsys.readouterr()
    assert out == "Let me look.\n"
    assert err.splitlines() == [
        "▸ Look",
        "✓ Look",
        "hm",
        "warning: Low: disk␇",
        "context compaction: completed",
        "(an update that is not known here: _gauge)",
    ]


def test_a_call_that_waits_for_permission_is_not_shown_again(capsys: Captured) -> None:
    for statuses, marks in (
        (["in_progress", "pending", "in_progress", "completed"], "▸✓"),
        (["pending", "in_progress", "failed"], "○▸✗"),
    ):
        show(Readable(), *(v2.ToolCallUpdated(tool_call_id="c", status=each) for each in statuses))
        assert capsys.readouterr().err.splitlines() == [f"{mark} c" for mark in marks]


def test_equal_lines_of_a_result_are_all_shown(capsys: Captured) -> None:
    text = v2.Content(content=v2.TextContent(text="}\n}\n"))
    show(Readable(), v2.ToolCallUpdated(tool_call_id="c", status="completed", content=[text]))
    assert capsys.readouterr().err.splitlines() == ["✓ c", "    }", "    }"]


def test_a_message_that_comes_whole_is_shown_as_far_as_it_is_new(capsys: Captured) -> None:
    def whole(text: str) -> v2.AgentMessage:
        return v2.AgentMessage(message_id="m", content=[v2.TextContent(text=text)])

    display = Readable()
    show(
        display, said("one"), whole("one, two"), whole("one, two"), v2.AgentMessage(message_id="m")
    )
    assert capsys.readouterr() == ("one, two", "")
    show(display, whole("three"))
    assert capsys.readouterr() == ("\nthree", "(what was said before is replaced by:)\n")


def test_what_is_no_text_is_named(capsys: Captured) -> None:
    link = v2.ResourceLink(name="n", uri="file:///n\x1b")
    picture = v2.ImageContent(data="", mime_type="image/png")
    show(
        Readable(),
        v2.AgentMessageChunk(message_id="m", content=link),
        v2.AgentMessageChunk(message_id="m", content=picture),
        v2.AgentMessageChunk(message_id="m", content=Unknown("_hologram", b"{}")),
    )
    assert capsys.readouterr().out == "[link: file:///n␛][ImageContent][_hologram]"


def test_an_unusual_end_is_told(capsys: Captured) -> None:
    Readable().end(result(Transcript(), "refusal"), Transcript())
    assert capsys.readouterr() == (
        "",
        "stopped: refusal; the agent will not remember this prompt or its response\n",
    )


def test_quiet_prints_only_the_text(capsys: Captured) -> None:
    display = Quiet()
    transcript = show(display, thought("hm"), said("a\x1b"), said("b", "n"))
    display.pause()
    display.fail(ConnectionClosed("x"))
    display.decision(decided("policy", is_chosen=True))
    assert capsys.readouterr() == ("", "")
    display.end(result(transcript), transcript)
    assert capsys.readouterr() == ("a␛\n\nb\n", "")


YES = v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once")


def decided(
    by: Literal["policy", "user", "nobody"], *, is_chosen: bool = False
) -> PermissionDecision:
    return PermissionDecision(
        request=v2.RequestPermissionRequest(session_id="s", title="May I?", options=[YES]),
        subject=Subject(kind="other"),
        option=YES if is_chosen else None,
        by=by,
        verdict=Verdict("allow" if is_chosen else "deny", "rule 3"),
    )


def test_a_question_that_is_only_a_path_or_a_command_shows_its_kind(capsys: Captured) -> None:
    question = decided("policy", is_chosen=True)
    request = structs.replace(question.request, title="ls -la")
    subject = Subject(kind="execute", commands=("ls -la",))
    Readable().decision(structs.replace(question, request=request, subject=subject))
    assert capsys.readouterr().err.rstrip() == "? execute: ls -la: Yes (rule 3)"


def test_json_has_one_event_a_line_and_no_control_characters(capsys: Captured) -> None:
    display = JsonLines()
    transcript = show(display, said("a\x1b\x9b\n\u2028\u202e\u2066"))
    display.decision(decided("nobody"))
    display.pause()
    display.end(result(transcript), transcript)
    display.fail(RequestError("No", {"detail": 1}, code=-32050))
    display.fail(ConnectionClosed("gone"))
    out, err = capsys.readouterr()
    assert not {"\x1b", "\x9b", "\u2028", "\u202e", "\u2066"} & set(out)
    events = [json.loads(line) for line in out.splitlines()]
    assert [each["event"] for each in events] == ["update", "permission", "end", "error", "error"]
    assert events[0]["update"]["content"]["text"] == "a\x1b\x9b\n\u2028\u202e\u2066"
    assert {name: events[1][name] for name in ("optionId", "isAllowed", "by", "reason")} == {
        "optionId": None,
        "isAllowed": False,
        "by": "nobody",
        "reason": "rule 3",
    }
    assert events[2]["stopReason"] == "end_turn"
    assert events[3]["error"] == {
        "kind": "RequestError",
        "message": "No",
        "code": -32050,
        "data": {"detail": 1},
    }
    assert events[4]["error"] == {"kind": "ConnectionClosed", "message": "gone"}
    assert err == ""


@pytest.mark.parametrize(
    ("is_chosen", "by", "told"),
    [
        (True, "policy", "? May I? Yes (rule 3)"),
        (False, "policy", "? May I? no answer (rule 3)"),
        (
            False,
            "nobody",
            "? May I? no answer "
            "(no rule allows it and nobody can be asked here; see --allow other)",
        ),
        (True, "user", ""),
        (False, "user", ""),
    ],
)
def test_a_decision_is_told_unless_the_user_has_typed_it(
    is_chosen: bool, by: Literal["policy", "user", "nobody"], told: str, capsys: Captured
) -> None:
    Readable().decision(decided(by, is_chosen=is_chosen))
    assert capsys.readouterr().err.rstrip() == told


def test_a_title_that_is_not_a_question_is_separated_from_the_decision(capsys: Captured) -> None:
    decision = decided("policy", is_chosen=True)
    request = structs.replace(decision.request, title="Edit")
    Readable().decision(structs.replace(decision, request=request))
    assert capsys.readouterr().err == "? Edit: Yes (rule 3)\n"


def test_json_tells_what_the_turn_took(capsys: Captured) -> None:
    transcript = Transcript()
    cost = v2.Cost(amount=0.5, currency="USD")
    transcript.fold(v2.UsageUpdate(used=1, size=2, cost=cost))
    tokens = v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)
    ended = TurnResult(stop_reason="end_turn", message_id="u", entries=[], tokens=tokens)
    JsonLines().end(ended, transcript)
    event = json.loads(capsys.readouterr().out)
    assert event["cost"] == {"amount": 0.5, "currency": "USD"}
    assert event["tokens"]["totalTokens"] == 3
