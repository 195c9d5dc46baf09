"""The application of the inspector: the files of the page, and a JSON API for the page.

Access: the URL is `http://127.0.0.1:PORT/#TOKEN`. The page sends the token once with `POST
/api/login`, removes it from the address (`history.replaceState`), and gets a cookie that scripts
cannot read. Programs may send `Authorization: Bearer TOKEN` instead. Host and Origin are always
checked. The page's own files are at `/NAME`, those of the gateway's page at `/shared/NAME`; they
are public and contain no secrets.

Errors have a status of 400 or more and the body `{"error": {"code": …, "message": …}}`.

| request | response |
|---|---|
| `POST /api/login` `{"token": …}` | 204 and the cookie; 401 `unauthorized` |
| `GET /api/recordings` | a list of recordings, newest first |
| `GET /api/events` | events: `recordings` with this list, at once and after each change |
| `GET /api/recordings/KEY/rows?after=N&limit=5000` | `{"rows", "total", "changes", "is_live"}` |
| `GET /api/recordings/KEY/stream?after=N&changes=M` | events, see below |
| `GET /api/recordings/KEY/rows/N?offset=0` | a frame in detail, see below |
| `GET /api/recordings/KEY/find?q=FILTER` | `{"ranges": [[first, last], …], "count", "total"}` |
| `GET /api/recordings/KEY/conversation?session=ID` | the conversation of a session |
| `GET /api/recordings/KEY/capabilities` | what both sides offered, and what was used |
| `GET /api/recordings/KEY/process` | the process of the agent: its command, stderr, exit |
| `GET /api/recordings/KEY/export.jsonl` | the recording as JSON lines, to download |
| `GET /api/recordings/KEY/share.html` | one page that opens from disk, to download |

A **recording** is `{"key", "name", "command": [word, …], "cwd", "started_at", "ended_at", "exit",
"frames", "bytes", "is_live", "hop", "chain"}`. Times are Unix times in seconds. `ended_at` is null
while it is live. `exit` is null, or a text such as `exit code 1` or `SIGKILL`. `frames` is null as
long as nobody has opened the recording.

A **row** is an array, so that many are small:

| index | |
|---|---|
| 0 `number` | the number of the row, from 1 |
| 1 `at` | seconds since the recording began |
| 2 `source` | `client`, `agent`, `stderr` or `event` |
| 3 `kind` | `request`, `response`, `error` (an error response), `notification`, `batch`, \
`invalid` (not a message), `text` (a line of stderr) or `event` |
| 4 `method` | the method; of a response, that of its request; of an event, its name; or `""` |
| 5 `id` | the id of the message as JSON text, such as `1` or `"a"`; `""` without one |
| 6 `session` | the session; `""` without one |
| 7 `update` | the kind of a session update, such as `tool_call`; else `""` |
| 8 `size` | the size of the frame in bytes |
| 9 `latency` | of a request and its response, the seconds between them; else null |
| 10 `summary` | the essence on one line, at most 200 characters; untrusted text |
| 11 `flags` | a sum: 1 error, 2 slow, 4 cancelled, 8 unanswered (so far), 16 invalid (it violates \
the schema or is not a message) |
| 12 `match` | the number of the response of a request, or of the request of a response; else 0 |
| 13 `message` | of a chunk, the number of the first chunk of its message; else 0 |
| 14 `chunks` | of the first chunk of a message, the number of its chunks so far; else 0 |
| 15 `batch` | of a message in a batch, the number of the row of the batch; else 0 |

Rows change after they were sent: a request gets its response (latency, flags, match), the first
chunk of a message more chunks (`summary`, `chunks`).

The **stream** has these events; each `id:` is `N-M`, the last row and the number of changes so far.
`EventSource` sends it in `Last-Event-ID` when it reconnects; otherwise pass `after=N&changes=M`.

- `rows`: `{"rows": [row, …], "total", "changes", "is_live"}`; at most 5,000 new rows, at most every
  50 ms.
- `changed`: `{"rows": [row, …]}`; the present state of rows that were sent before and have changed.
- `end`: `{"problem": null}`; the recording has ended, or cannot be read further for that reason.
  Close the stream then; `EventSource` would open it again.

A **frame in detail** is `{"row", "text", "offset", "next_offset", "size", "is_utf8", "type",
"violations", "match", "meta", "trace"}`. `text` is at most 256 KiB of the exact text from byte
`offset` on; `next_offset` is null at the end. `type` is null or `{"name", "version", "doc"}`, the
type of the params, of the result or of the error in the negotiated version, with its documentation.
A violation is `{"path", "expected", "received", "doc"}`. `match` is the row of the response of a
request or the reverse, or null. `meta` is the `_meta` of the params or result, or null. `trace` has
those of `traceparent`, `tracestate` and `baggage` that `_meta` has, or is null.

The **filter** language is that of `_filter.py`: words, `"a phrase"`, `method:`, `session:`,
`from:`, `kind:`, `id:`, `is:error` and so on, each also with `-` in front. A filter with a mistake
gets 400 `bad_filter`, with a message for people. With `after=N`, only later rows are searched.

A **conversation** is `{"sessions": [{"id", "title"}, …], "session": ID, "state", "entries": [entry,
…]}`; without `session`, of the first session. An entry is `{"kind", "title", "status", "text",
"rows"}`: `kind` is `user`, `agent`, `thought`, `tool`, `plan`, `error` or `other`; `text` is
Markdown for messages and plain text otherwise, at most 64 KiB; `rows` are the numbers of its
frames, at most 1,000 of them.

**Capabilities** are `{"version", "requested_version", "client", "agent", "rows": [number, …],
"capabilities": [capability, …]}`. `client` and `agent` are null or `{"name", "title", "version",
"capabilities"}`, with the capabilities as they were sent. A capability is `{"side", "path",
"is_offered", "used": [number, …], "uses", "methods": [method, …]}`: `side` offers it; `used` are at
most 100 rows that need it, `uses` the number of all. If it is used without being offered, that is a
mistake of the other side.

A **process** is `{"command", "cwd", "pid", "agent_pid", "started_at", "duration", "exit",
"is_live", "stderr", "stderr_bytes", "events": [row, …], "masked": [{"what", "source", "times"}, …],
"lost_bytes", "frames", "bytes": {"client", "agent", "stderr"}}`. `stderr` is at most the last
64 KiB.
"""
