"""What of a session can be searched, in both versions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from parley.journal import Entry, Kind
from parley.journal._texts import LIMIT, documents

from .frames import call, chunk, frame, prompt, update


def found(*frames: bytes, kind: Kind = "to_client") -> list[tuple[int, str]]:
    entries = [Entry(number, 0.0, kind, data) for number, data in enumerate(frames, 1)]
    return [(each.number, each.text) for each in documents(entries)]


def blocks(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in texts]


def test_a_prompt_is_its_words_and_the_names_of_what_is_attached() -> None:
    attached = {"type": "resource_link", "name": "notes.txt", "uri": "file:///notes.txt"}
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    sent = call(1, "session/prompt", sessionId="s", prompt=[*blocks("Look at"), attached, image])
    assert found(sent, kind="to_agent") == [(1, "Look at\nnotes.txt")]


def test_pieces_are_joined_until_something_else_comes() -> None:
    assert found(
        chunk("s", "one "),
        chunk("s", "message"),
        update("s", "tool_call", toolCallId="t", title="Reading"),
        chunk("s", "another"),
        chunk("s", "the user's", "user_message_chunk"),
        prompt(2, "s", "next"),
        chunk("s", "an"),
        chunk("s", "swer"),
    ) == [
        (1, "one message"),
        (3, "Reading"),
        (4, "another"),
        (5, "the user's"),
        (6, "next"),
        (7, "answer"),
    ]


def test_pieces_with_an_id_are_joined_wherever_they_come() -> None:
    assert found(
        chunk("s", "wal", messageId="a"),
        chunk("s", "haz", messageId="b"),
        update("s", "tool_call_update", toolCallId="t", title="Cracking"),
        chunk("s", "nut", messageId="a"),
        chunk("s", "el", messageId="b"),
    ) == [(1, "walnut"), (2, "hazel"), (3, "Cracking")]


def test_a_whole_message_takes_the_place_of_its_pieces() -> None:
    assert found(
        chunk("s", "a draft", messageId="a"),
        update("s", "agent_message", messageId="a", content=blocks("the", "end")),
        chunk("s", ", really", messageId="a"),
        update("s", "user_message", messageId="u", content=blocks("hello")),
        update("s", "agent_message", messageId="c", content=None),
    ) == [(1, "the\nend, really"), (4, "hello")]


def test_a_prompt_that_the_agent_repeats_is_found_once() -> None:
    repeated = update("s", "user_message", messageId="u", content=blocks("hello"))
    assert found(prompt(1, "s", "hello"), repeated) == [(1, "hello")]


def test_a_tool_call_is_its_last_title_and_its_command() -> None:
    assert found(
        update("s", "tool_call", toolCallId="t", title="Run", rawInput={"command": "make test"}),
        update("s", "tool_call_update", toolCallId="t", title="Run the tests"),
        update("s", "tool_call_update", toolCallId="t", status="completed", rawOutput="noise"),
        update("s", "tool_call", toolCallId="u", rawInput={"command": ["git", "log"]}),
        update("s", "tool_call", toolCallId="v", title="Odd", rawInput=["command"]),
        call(3, "terminal/create", sessionId="s", command="ls", args=["-l", "docs"]),
        update("s", "terminal_update", terminalId="x", command="make"),
    ) == [
        (1, "Run the tests\nmake test"),
        (4, "git log"),
        (5, "Odd"),
        (6, "ls -l docs"),
        (7, "make"),
    ]


def plan(*steps: str) -> bytes:
    return update("s", "plan", entries=[{"content": each} for each in steps])


def newer_plan(*steps: str) -> bytes:
    entries = [{"content": each} for each in steps]
    return update("s", "plan_update", plan={"type": "items", "planId": "p", "entries": entries})


@pytest.mark.parametrize("make", [plan, newer_plan])
def test_a_step_of_a_plan_is_found_once_though_it_comes_often(make: Callable[..., bytes]) -> None:
    assert found(make("read", "write"), make("read", "write", "rest")) == [
        (1, "read"),
        (1, "write"),
        (2, "rest"),
    ]


def test_titles_and_plans_of_prose_are_found() -> None:
    prose = {"type": "markdown", "planId": "p", "content": "# The plan"}
    assert found(
        update("s", "session_info_update", title="A title"),
        update("s", "plan_update", plan=prose),
    ) == [(1, "A title"), (2, "# The plan")]


def test_thoughts_outputs_and_the_rest_are_left_out() -> None:
    assert (
        found(
            chunk("s", "hmm", "agent_thought_chunk"),
            update("s", "agent_thought", messageId="t", content=blocks("hmm")),
            update("s", "terminal_output_chunk", terminalId="t", data="aGVsbG8="),
            update("s", "usage_update", used=1),
            update("s", "brand_new", title="x"),
            frame(id=1, result={"content": "file"}),
        )
        == []
    )
    assert found(b'{"note":"permission"}', kind="note") == []


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"noise",
        b"[]",
        update("s", "agent_message_chunk", content=7),
        update("s", "agent_message_chunk", content=[]),
        update("s", "plan", entries=7),
        update("s", "tool_call", toolCallId=7),
        call(1, "session/prompt", sessionId="s", prompt="text"),
        call(1, "terminal/create", sessionId="s", command="x", args=7),
    ],
)
def test_what_cannot_be_read_is_skipped(odd: bytes) -> None:
    assert found(odd, prompt(2, "s", "fine"))[-1] == (2, "fine")


def test_a_text_is_not_without_end_and_has_no_marks_of_ours() -> None:
    ((_, text),) = found(*[chunk("s", "x" * 1000) for _ in range(LIMIT // 1000 + 10)])
    assert len(text) == LIMIT
    assert found(chunk("s", "a\2b\3c\0d")) == [(1, "a b c d")]
