"""What nobody has named is shown in the chat for what it is, and kept in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.command import PARLEY, TRAP, opening, parley, scripted, update
from tests.e2e.terminal import run_in_terminal

from parley.testing.scripted import Expect, Respond, Send, Step

UNKNOWN: list[Step] = [
    update(sessionUpdate="x_weather", sky=f"blue{TRAP}"),
    update(
        sessionUpdate="agent_message_chunk",
        messageId="m",
        content={"type": "x_hologram", "depth": 3},
    ),
    update(
        sessionUpdate="tool_call_update",
        toolCallId="t",
        title="Melt",
        content=[{"type": "x_lava", "degrees": 900}],
    ),
    Send({"method": "_x.ai/mood", "params": {"sessionId": "s", "mood": "sunny"}}),
    Send({"method": "_x.ai/tide", "params": {"level": "high"}}),
    update(
        sessionUpdate="agent_message_chunk",
        messageId="m",
        content={"type": "text", "text": "that was all"},
    ),
]
ENDS = {1: {"stopReason": "end_turn"}, 2: {"messageId": "p"}}
WORDS: tuple[str, ...] = (
    "x_weather",
    "blue",
    "x_hologram",
    "x_lava",
    "900",
    "_x.ai/mood",
    "sunny",
    "_x.ai/tide",
)


@pytest.mark.parametrize("version", [1, 2])
def test_what_is_unknown_is_shown_and_kept(tmp_path: Path, version: int) -> None:
    ending: list[Step] = [Respond(ENDS[version], to="prompt")]
    if version == 2:
        ending.append(update(sessionUpdate="state_update", state="idle", stopReason="end_turn"))
    last = Expect({"method": "never"}, skips=True)
    agent = scripted(tmp_path, *opening(version), *UNKNOWN, *ending, last)
    words = ("chat", agent, "--protocol", str(version), "--session", "odd")
    with run_in_terminal(*PARLEY, *words, env={"TERM": "xterm-256color"}, lines=60) as terminal:
        terminal.shows("ready")
        terminal.press("go\r")
        terminal.shows("that was all", *(word for word in WORDS if word != "sunny"))
        terminal.shows("2 extension notifications (_x.ai/mood, _x.ai/tide)", "ready")
        terminal.press("\x0f")  # whole cards
        terminal.shows("sunny", "level")
        assert b"\x1b]52" not in terminal.painted
        terminal.press("\x04")
        assert terminal.exit_code() == 0
    kept = parley("sessions", "export", "odd", "--format", "jsonl").stdout
    for word in WORDS:
        assert word in kept
    page = parley("sessions", "export", "odd", "--format", "md").stdout
    exported = WORDS if version == 2 else ("x_weather",)  # what version 1 can put into words
    for word in [word for word in exported if word.startswith("x_")]:
        assert word in page
