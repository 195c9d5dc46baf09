"""The actions of `parley tap`, and command lines that are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parley.recording import RecordingLimits, RecordingStore, RecordingWriter
from parley.recording._format import RecordedEvent, encode_event

from .command_line import TRAP, CommandLine

CLIENT = b"""\
{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"hi"}]}}
[{"jsonrpc":"2.0","id":"a","method":"first"},{"jsonrpc":"2.0","method":"second","params":{"x":1}}]
"""
AGENT = b"""\
loading \xff
{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}
{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"too bad"}}
"""


def record(agent: bytes = AGENT, name: str = "demo") -> str:
    with RecordingWriter(limits=RecordingLimits(), environ={}) as writer:
        recording = writer.start(name, [name, "acp"], cwd="/work")
        recording.write("client", CLIENT)
        recording.write("agent", agent)
        recording.write("stderr", b"a warning\n")
        recording.write_event("exited", code=0)
    return recording.key


def test_each_message_is_a_line_with_what_matters(parley: CommandLine) -> None:
    record()
    lines = parley("tap", "show", "demo").stdout.splitlines()
    shown = [line[11:] for line in lines[1:]]
    assert shown[:4] == [
        "client  #1 session/prompt hi",
        "client  a batch of 2",
        "client  #a first",
        'client  second {"x":1}',
    ]
    assert shown[4:6] == [
        "agent   not a message: loading \ufffd",
        "agent   session/update agent_message_chunk hello",
    ]
    assert shown[6].startswith("agent   #1 session/prompt failed (")
    assert shown[6].endswith("): -32603 too bad")
    assert shown[7:] == ["stderr  a warning", "        the agent exited with code 0"]


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (RecordedEvent(at=0, event="started", pid=7), "started as process 7"),
        (RecordedEvent(at=0, event="closed", source="agent"), "closed"),
        (RecordedEvent(at=0, event="signal", signal="SIGTERM"), "SIGTERM was received"),
        (RecordedEvent(at=0, event="exited", signal="SIGKILL"), "the agent was ended by SIGKILL"),
        (
            RecordedEvent(at=0, event="failed", reason="no"),
            "the agent could not be started: no",
        ),
        (
            RecordedEvent(at=0, event="masked", source="client", what="the header X", times=2),
            "masked 2 times: the header X",
        ),
        (
            RecordedEvent(at=0, event="lost", source="agent", size=12345, reason="full"),
            "12,345 bytes are not in the recording: full",
        ),
    ],
    ids=lambda each: each.event if isinstance(each, RecordedEvent) else "",
)
def test_each_event_is_a_sentence(parley: CommandLine, event: RecordedEvent, text: str) -> None:
    key = record()
    with RecordingStore().path(key).open("ab") as file:
        file.write(encode_event(event))
    last = parley("tap", "show", key).stdout.splitlines()[-1]
    assert last.removeprefix(f"    0.000  {event.source or '':<6}  ") == text


def test_what_an_agent_writes_cannot_control_the_terminal(parley: CommandLine) -> None:
    trap = json.dumps({"method": "x", "params": {"update": {"text": TRAP}}}, ensure_ascii=False)
    record(f"{TRAP}\n{trap}\n".encode(), name=f"n{TRAP}")
    for words in (("list",), ("show", RecordingStore().recordings()[0].key), ("list", "--json")):
        done = parley("tap", *words)
        assert done.returncode == 0
        assert not set("\x1b\x07\x9b\u202e") & set(done.stdout), words


def test_a_program_can_read_the_list(parley: CommandLine) -> None:
    keys = {record(name="one"), record(name="two")}
    listed = json.loads(parley("tap", "list", "--json").stdout)
    assert {each["key"] for each in listed} == keys
    assert listed[0]["command"][1:] == ["acp"]
    assert listed[0]["isActive"] is False
    assert len(parley("tap", "list", "--limit", "1").stdout.splitlines()) == 1


def test_an_export_is_private_and_can_be_imported(parley: CommandLine, tmp_path: Path) -> None:
    key = record()
    output = tmp_path / "out.jsonl"
    assert parley("tap", "export", key, "-o", str(output)).returncode == 0
    assert output.stat().st_mode & 0o777 == 0o600
    copies = (
        parley("tap", "import", str(output)),
        parley("tap", "import", "-", given=output.read_text()),
        parley("tap", "import", str(RecordingStore().path(key))),
    )
    for copy in copies:
        assert copy.returncode == 0
        shown = parley("tap", "show", copy.stdout.strip()).stdout
        assert shown.splitlines()[1:] == parley("tap", "show", key).stdout.splitlines()[1:]


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("opencode", "acp"), 2, "put -- before the command of an agent"),
        (("--name", "x"), 2, "the COMMAND of the agent is missing"),
        (("list", "--", "agent"), 2, "`parley tap list` takes no COMMAND"),
        (("show", "none"), 1, "there is no recording 'none'"),
        (("delete", "demo"), 1, "'demo' is not a KEY"),
        (("import", "/none"), 1, "/none cannot be read"),
        (("import", __file__), 1, "line 1 is not from a recording"),
        (("export", "demo", "-o", "/none/x"), 1, "/none/x cannot be written"),
    ],
    ids=["dashes", "command", "both", "key", "name", "missing", "other", "output"],
)
def test_a_command_line_that_cannot_work_says_why(
    parley: CommandLine, words: tuple[str, ...], code: int, text: str
) -> None:
    record()
    done = parley("tap", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert text in done.stderr
