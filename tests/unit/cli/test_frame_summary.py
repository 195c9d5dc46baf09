"""Recorded lines as one line of text each."""

from __future__ import annotations

import pytest

from parley.cli.frame_summary import RecordingView
from parley.recording import RecordedLine


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('{"id":1,"method":"x","params":{"a":1}}', '#1 x  {"a":1}'),
        ('{"id":"a","result":null}', "#a responded"),
        (
            '{"id":null,"error":{"code":-32700,"message":"Parse error"}}',
            "#null failed: -32700 Parse",
        ),
        ('{"id":1,"error":[1]}', "#1 failed: [1]"),
        ('{"id":[1],"method":"x"}', "#[1] x"),
        ("{}", "not a message: {}"),
        ('{"id":1}', 'not a message: {"id":1}'),
        ("hello", "not a message: hello"),
    ],
    ids=["request", "response", "null", "list", "id", "empty", "neither", "text"],
)
def test_a_line_is_described_as_what_it_is(line: str, shown: str) -> None:
    [found] = RecordingView().lines(RecordedLine(0.0, "agent", line.encode()))
    text = found.partition("agent")[2].strip()
    assert " ".join(text.split()).startswith(" ".join(shown.split()))


def test_a_response_is_shown_with_the_method_of_its_request() -> None:
    view = RecordingView()
    list(view.lines(RecordedLine(1.0, "client", b'{"id":1,"method":"session/new"}')))
    [found] = view.lines(RecordedLine(1.5, "agent", b'{"id":1,"result":{}}'))
    assert found.split() == [
        "1.500",
        "agent",
        "#1",
        "session/new",
        "responded",
        "(500",
        "ms)",
        "{}",
    ]


def test_control_characters_of_a_line_are_made_visible() -> None:
    [found] = RecordingView().lines(RecordedLine(0.0, "stderr", b"\x1b[2J\x07\xc2\x9b"))
    assert "\x1b" not in found
    assert found.isprintable()
