"""Updates for the renderer: one of each kind, and hostile ones."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._diffs import make_diff

OLD = "import os\n\n\ndef greet(name):\n    print('hello ' + name)\n\n\ngreet('you')\n"
NEW = (
    "import sys\n\n\ndef greet(name: str) -> None:\n    print(f'hello {name}')\n"
    "\n\ngreet(sys.argv[1])\n"
)
ANSWER = """## What I did

The function `greet` has **types** now, see [the guide](https://docs.example.org/typing).

```python
def greet(name: str) -> None:
    print(f"hello {name}")  # to the terminal
```

1. one thing
2. another one that is rather long, so that it has to be broken at the end of the line
   - nested
3. last

> A quotation.

| file | lines | what |
|---|---:|---|
| greet.py | 3 | types and an argument |
"""


def text(words: str) -> v2.TextContent:
    return v2.TextContent(text=words)


def output(words: str) -> str:
    return base64.b64encode(words.encode()).decode()


def every_update(
    say: str = "", *, words: str = ANSWER, old: str = OLD, new: str = NEW
) -> Iterator[v2.SessionUpdate]:
    """Yield one update of each kind; `say` is put into every text of each."""
    plan = [
        v2.PlanEntry(content=f"Read the file{say}", priority="low", status="completed"),
        v2.PlanEntry(content="Change the greeting", priority="high", status="in_progress"),
        v2.PlanEntry(content="Run the tests", priority="low", status=f"pending{say}"),
    ]
    yield v2.UserMessage(message_id="u", content=[text(f"Make the greeting typed.{say}")])
    yield v2.AgentThoughtChunk(message_id="t", content=text(f"I read the file first.{say}"))
    yield v2.PlanUpdate(plan=v2.PlanItems(plan_id="p", entries=plan))
    yield v2.PlanUpdate(plan=v2.PlanMarkdown(plan_id="q", content=f"**plan**{say}"))
    yield v2.PlanUpdate(plan=v2.PlanFile(plan_id="r", uri=f"file:///plan{say}"))
    yield from _tools(say, old, new)
    yield v2.AgentMessageChunk(message_id="m", content=text(words + say))
    image = v2.ImageContent(data="AAAA", mime_type=f"image/png{say}", uri=f"file:///x{say}")
    yield v2.AgentMessageChunk(message_id="m", content=image)
    link = v2.ResourceLink(name=f"notes{say}", uri=f"file:///notes{say}", description=f"my{say}")
    yield v2.AgentMessageChunk(message_id="m", content=link)
    resource = v2.TextResourceContents(text=f"inside{say}", uri=f"file:///res{say}")
    yield v2.AgentMessageChunk(message_id="m", content=v2.EmbeddedResource(resource=resource))
    yield v2.AgentMessageChunk(message_id="m", content=_unknown("scent", say))
    yield v2.Notice(severity=f"warning{say}", title=f"Rate limit{say}", description=f"80 %{say}")
    yield v2.CompactionUpdate(
        compaction_id="c", status="failed", summary=[text(f"So far.{say}")], error=f"no{say}"
    )
    yield v2.SubagentUpdate(session_id="s", title=f"reviewer{say}", description=f"looks{say}")
    yield v2.SessionMessage(
        message_id="x", sender_session_id=f"s{say}", content=[text(f"hello{say}")]
    )
    yield _unknown(f"hologram{say}", say)
    yield v2.StateUpdated(
        state="idle", stop_reason="error", error=v2.Error(code=-1, message=f"broken{say}")
    )


def _unknown(tag: str, say: str) -> Unknown:
    escaped = "".join(f"\\u{ord(each):04x}" for each in say)
    return Unknown(tag, f'{{"type":"x","depth":3,"words":"{escaped}"}}'.encode())


def _tools(say: str, old: str, new: str) -> Iterator[v2.SessionUpdate]:
    place = v2.ToolCallLocation(path=f"/src/greet.py{say}", line=4)
    yield v2.ToolCallUpdated(
        tool_call_id="1",
        title=f"Read greet.py{say}",
        kind="read",
        status="completed",
        locations=[place],
        content=[v2.Content(content=text(f"{old}{say}"))],
    )
    yield v2.ToolCallUpdated(
        tool_call_id="2",
        title="Change greet",
        kind="edit",
        status="completed",
        content=[make_diff(f"/src/greet.py{say}", old, new + say)],
    )
    yield v2.TerminalUpdate(terminal_id="x", command=f"pytest -q{say}")
    yield v2.ToolCallUpdated(
        tool_call_id="3",
        title="pytest -q",
        kind="execute",
        status="failed",
        content=[v2.Terminal(terminal_id="x")],
    )
    lines = "".join(f"line {n}\n" for n in range(30))
    failed = f"\x1b[32m....\x1b[31mF\x1b[0m{say}\n{lines}\x1b[31;1m1 failed\x1b[0m, 4 passed"
    yield v2.TerminalOutputChunk(terminal_id="x", data=output(failed))
    yield v2.TerminalUpdate(
        terminal_id="x", exit_status=v2.TerminalExitStatus(exit_code=1, signal=f"SIGHUP{say}")
    )
    yield v2.ToolCallUpdated(
        tool_call_id="4",
        name="search_issues",
        kind=f"other{say}",
        status=f"thinking{say}",
        raw_input={"query": f"greeting{say}", "limit": 10, f"labels{say}": ["bug", "ui"]},
    )
    yield v2.ToolCallUpdated(tool_call_id="5", title="Guess", raw_output={"answer": f"42{say}"})
    yield v2.ToolCallUpdated(
        tool_call_id="6", title="Smell", content=[_unknown(f"odour{say}", say)]
    )
