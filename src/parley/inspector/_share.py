"""A recording as a file to share: JSON lines, or a page that opens from disk.

The page has no scripts and loads nothing; its content security policy allows its style by hash and
forbids everything else. All text is escaped, and control characters are made visible. Frames are in
elements that open with a click. The secrets that the recording has masked stay masked; review what
you publish all the same.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from html import escape

import msgspec

from parley._display_text import sanitize_text
from parley.errors import RecordingError
from parley.recording import RecordingReader
from parley.recording._jsonl import write_jsonl

from ._filter import Filter
from ._row import Flag, Row
from ._sources import InspectedRecording

MAX_FRAME_CHARS = 64 * 1024
"""The length to which a frame is cut on the page."""
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_MARKS = {"client": "→", "agent": "←", "stderr": "!", "event": "·"}
_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --soft: #f4f5f7; --line: #d8dce1;
  --faint: #59636e; --red: #b3261e; --yellow: #7a5900; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6ea; --paper: #14161a; --soft: #1f2228;
  --line: #363b43; --faint: #9aa4af; --red: #f2958d; --yellow: #e3c46c; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 14px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; }
h1 { font: 600 1.25rem/1.25 system-ui, sans-serif; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; color: var(--faint); }
dd { margin: 0; }
details { border-top: 1px solid var(--line); }
summary { display: grid; grid-template-columns: 4rem 5.5rem 1.5rem 15rem 1fr; gap: .5rem;
  cursor: pointer; padding: .1rem .25rem; }
summary:hover { background: var(--soft); }
summary span:nth-child(-n+2) { color: var(--faint); text-align: right; }
.bad { color: var(--red); }
.note { color: var(--yellow); }
.dim { color: var(--faint); }
pre { margin: 0; padding: .75rem; background: var(--soft); white-space: pre-wrap; }
p { margin: .5rem .75rem; color: var(--faint); }
@media (max-width: 48rem) { summary { grid-template-columns: 3rem 4.5rem 1.5rem 1fr; }
  summary span:nth-child(5) { grid-column: 1 / -1; } }
"""
_POLICY = "; ".join(
    [
        "default-src 'none'",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)


def jsonl_of(recording: InspectedRecording) -> Iterator[bytes]:
    """Yield the lines of the recording as JSON lines, as `parley tap export` writes them.

    A damaged recording ends where the damage begins.

    Raises:
        RecordingError: The file cannot be read.
    """
    with RecordingReader(recording.path) as reader, suppress(RecordingError):
        yield from write_jsonl(reader.header, reader)


def page_of(recording: InspectedRecording, filter: Filter | None = None) -> Iterator[bytes]:
    """Yield a page with all rows and frames, or with those that a filter selects.

    Raises:
        RecordingError: The file cannot be read.
    """
    rows = recording.table.rows
    numbers = (filter or Filter("")).numbers(rows, recording.data)
    yield _head(recording, len(numbers)).encode()
    for number in numbers:
        yield _row(rows[number - 1], recording).encode()
    yield b"</body>\n</html>\n"


def _head(recording: InspectedRecording, count: int) -> str:
    header, total = recording.header, len(recording.table.rows)
    began = datetime.fromtimestamp(header.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    facts = {
        "Recording": header.key,
        "Command": " ".join(header.command),
        "Directory": header.cwd,
        "Hop": header.hop,
        "Begun": began,
        "Rows": f"{count:,}" if count == total else f"{count:,} of {total:,}",
        "Parley": header.parley,
    }
    listed = "".join(
        f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in facts.items() if value
    )
    title = _text(f"Recording of {header.name}")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<dl>{listed}</dl>
"""


def _row(row: Row, recording: InspectedRecording) -> str:
    name = f"{f'#{row.id} ' if row.id else ''}{row.update or row.method or row.kind}"
    flags = [flag.name.lower() for flag in Flag if row.flags & flag and flag.name]
    latency = "" if row.latency is None else f"{row.latency * 1000:,.0f} ms"
    summary = "  ".join(each for each in (latency, *flags, row.summary) if each)
    cells = (str(row.number), f"{row.at:.3f}", _MARKS[row.source], name, summary)
    spans = "".join(f"<span>{_text(cell, is_line=True)}</span>" for cell in cells)
    inside = f"<pre>{_frame(row, recording)}</pre>" if row.size else ""
    if row.match:
        inside = f"<p>{'response' if row.kind == 'request' else 'request'}: {row.match}</p>{inside}"
    return f'<details class="{_class(row)}"><summary>{spans}</summary>{inside}</details>\n'


def _frame(row: Row, recording: InspectedRecording) -> str:
    data = recording.data(row.number, 0, MAX_FRAME_CHARS)
    if len(data) == row.size:
        with suppress(*_NOT_JSON):
            data = msgspec.json.format(data, indent=2)
    rest = row.size - MAX_FRAME_CHARS
    note = f"\n… {rest:,} more bytes" if rest > 0 else ""
    return _text(data.decode(errors="replace")) + note


def _class(row: Row) -> str:
    if row.flags & (Flag.ERROR | Flag.INVALID):
        return "bad"
    if row.flags or row.source == "stderr":
        return "note"
    return "dim" if row.source == "event" else ""


def _text(text: str, *, is_line: bool = False) -> str:
    return escape(sanitize_text(text, is_line=is_line))
