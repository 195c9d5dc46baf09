"""What leaves the machine: no secrets, and nothing that a page or a terminal would obey."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.work_counting import bounded_computing

from parley.export import (
    from_jsonl,
    to_html,
    to_jsonl,
    to_markdown,
)
from parley.journal import Entry, Record
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript import Transcript

MARKER = "planted-marker-4711-xyz"
TOKEN = "ghp_" + 9 * "a1B2"
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + 20 * b"x").decode()
TRAP = "\x1b]52;c;QQ==\x07\x1b[2J\x9b6n\u202e"


def record(**fields: Any) -> Record:
    known: dict[str, Any] = {"key": "k", "agent": "demo", "session_id": "s", "cwd": "/w"}
    known |= {"created_at": 1.0, **fields}
    return Record(**known)


def text(words: str) -> v2.TextContent:
    return v2.TextContent(text=words)


def full(words: str) -> Transcript:
    """Everything that a transcript can hold, each with these words in it."""
    said = Transcript()
    link = v2.ResourceLink(name=words, uri=f"javascript:{words}")
    inside = v2.TextResourceContents(text=words, uri=f"file:///{words}")
    blob = v2.BlobResourceContents(blob="AAAA", uri=f"file:///{words}")
    raw = json.dumps({"type": "_odd", "words": words}).encode()
    call = v2.ToolCallUpdated(
        tool_call_id="c",
        title=words,
        kind="edit",
        status="completed",
        raw_input={"command": words, "nested": [{words: words}]},
        locations=[v2.ToolCallLocation(path=f"/{words}", line=3), v2.ToolCallLocation(path="/b")],
        content=[
            v2.Content(content=text(words)),
            v2.Content(content=link),
            v2.Diff(
                changes=[v2.DiffModify(path=f"/{words}"), Unknown("_x", b'{"operation":"_x"}')],
                patch=v2.DiffPatch(format="git_patch", text=f"@@\n-old\n+{words}\n"),
            ),
            v2.Diff(changes=[v2.DiffDelete(path="/gone")]),
            v2.Terminal(terminal_id="t"),
            v2.Terminal(terminal_id="elsewhere"),
            Unknown("_odd", raw),
        ],
    )
    output = base64.b64encode(f"\x1b[31m{words}\x1b[0m".encode()).decode()
    updates: list[Any] = [
        v2.UserMessage(message_id="u", content=[text(words), link, text("and more")]),
        v2.AgentThoughtChunk(message_id="h", content=text(words)),
        v2.AgentMessage(
            message_id="a",
            content=[
                text(f"Look:\n```python\n{words}\n```\n"),
                v2.ImageContent(data=PNG, mime_type="image/png"),
                v2.ImageContent(data=PNG, mime_type="image/svg+xml"),
                v2.ImageContent(data=words, mime_type="image/png"),
                v2.AudioContent(data="AAAA", mime_type=words),
                v2.EmbeddedResource(resource=inside),
                v2.EmbeddedResource(resource=blob),
                Unknown("_odd", raw),
            ],
        ),
        v2.TerminalUpdate(terminal_id="t", command=words, output=v2.TerminalOutput(data=output)),
        call,
        v2.ToolCallUpdated(tool_call_id="d", status=words, raw_output={"answer": words}),
        v2.CompactionUpdate(compaction_id="k", status="completed", summary=[text(words)]),
        v2.SessionMessage(message_id="m", content=[text(words)]),
        Unknown(f"_x {words}", json.dumps({"sessionUpdate": f"_x {words}", "x": words}).encode()),
        v2.PlanUpdate(
            plan=v2.PlanItems(
                plan_id="p",
                entries=[
                    v2.PlanEntry(content=words, priority="high", status="completed"),
                    v2.PlanEntry(content="then", priority="low", status="pending"),
                ],
            )
        ),
        v2.PlanUpdate(plan=Unknown("_p", json.dumps({"planId": "q", "x": words}).encode())),
        v2.PlanUpdate(plan=v2.PlanMarkdown(plan_id="r", content=words)),
        v2.SessionInfoUpdate(title=words),
        v2.UsageUpdate(used=1, size=2, cost=v2.Cost(amount=0.5, currency="EUR")),
        v2.StateUpdated(
            state="idle", stop_reason="error", error=v2.Error(code=-32050, message=words)
        ),
    ]
    for update in updates:
        said.fold(update)
    return said


Write = Callable[[Transcript, Record], str]
WRITERS = pytest.mark.parametrize("write", [to_markdown, to_html])


@WRITERS
def test_everything_of_a_transcript_is_in_a_document(write: Write) -> None:
    document = write(full("plainwords"), record(name="mine", state="running"))
    wanted = {"demo", "/w", "mine", "1970-01-01 00:00 UTC", "0.5 EUR", "interrupted", "-32050"}
    wanted |= {"and more", "/plainwords:3", "/b", "+plainwords", "/gone", "then", "answer", "sound"}
    assert {each for each in wanted if each not in document} == set()
    assert document.count("plainwords") >= 25


@WRITERS
def test_an_interrupted_turn_is_marked_where_it_was(write: Write) -> None:
    said = Transcript()
    said.fold(v2.UserMessage(message_id="1", content=[text("first")]))
    said.fold(v2.StateUpdated(state="running"))
    said.fold(v2.StateUpdated(state="idle", stop_reason="interrupted"))
    said.fold(v2.UserMessage(message_id="2", content=[text("second")]))
    document = write(said, record(state="idle"))
    places = [document.index(each) for each in ("first", "the turn has no end", "second")]
    assert places == sorted(places)
    assert document.count("the turn has no end") == 1
    said.fold(v2.StateUpdated(state="running"))
    document = write(said, record(state="running"))
    assert document.count("the turn has no end") == 2
    assert document.rindex("the turn has no end") > document.index("second")


@WRITERS
@pytest.mark.parametrize("secret", [MARKER, TOKEN])
@pytest.mark.requirement("SAFE-REACH-05")
def test_secrets_are_in_no_document(
    write: Write, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", MARKER)
    known = record(title=secret, name=secret, cwd=f"/{secret}", agent=secret)
    said = full(secret)
    assert secret not in write(said, known)
    halves = [secret[:7], secret[7:]]
    for half in halves:
        said.fold(v2.AgentMessageChunk(message_id="split", content=text(half)))
    assert secret not in write(said, known)
    whole = to_html(said, known, redact=False) + to_markdown(said, known, redact=False)
    assert whole.count(secret) > 20


class Parser(HTMLParser):
    """Collects what a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=http://evil.example/x onerror=alert(1)>',
    "<a href='javascript:alert(1)'>x</a>",
    "![x](http://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "</pre></details></section></body></html><iframe src=//evil.example>",
    "&lt;script&gt;",
    "<!-- <style>*{display:none}</style>",
    "```\n</pre><script>alert(1)</script>",
    TRAP,
]
KNOWN_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd", "section"),
    *("details", "summary", "p", "pre", "span", "ins", "del", "ul", "li", "img"),
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.requirement("SAFE-REACH-08")
def test_a_page_shows_text_and_does_nothing_else(attack: str) -> None:
    page = to_html(full(attack), record(title=attack, name=attack, agent=attack, cwd=attack))
    parser = Parser(page)
    assert parser.open == []
    assert {tag for tag, _ in parser.tags} <= KNOWN_TAGS
    for tag, attributes in parser.tags:
        allowed = {"meta": {"charset", "http-equiv", "content", "name"}, "img": {"alt", "src"}}
        assert set(attributes) <= {"class", "dir", "lang", *allowed.get(tag, set())}
    pictures = [attributes["src"] for tag, attributes in parser.tags if tag == "img"]
    assert pictures == [f"data:image/png;base64,{PNG}"]
    shown = "".join(parser.texts)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    if attack.isprintable():
        assert shown.count(attack) >= 15


def test_the_policy_of_a_page_forbids_everything_else() -> None:
    page = to_html(full("x"), record())
    [policy] = [
        attributes["content"]
        for _, attributes in Parser(page).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    rules = dict(each.split(" ", 1) for each in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["img-src"] == "data:"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["style-src"])
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert "url(" not in page
    assert "@import" not in page


def prose(document: str) -> str:
    """Return what was said, out of a document."""
    lines = document.splitlines()
    return "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines if line[:1] == ">")


def said(words: str) -> str:
    transcript = Transcript()
    transcript.fold(v2.AgentMessageChunk(message_id="a", content=text(words)))
    return prose(to_markdown(transcript, record()))


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("# A heading\n\nand *more*", "# A heading\n\nand *more*"),
        ("<script>x</script>", r"\<script>x\</script>"),
        (r"\<b>", r"\<b>"),
        (r"\\<b>", r"\\\<b>"),
        ("![x](http://e.example/x.png)", r"\![x](http://e.example/x.png)"),
        ("[x](https://e.example/?a=1&b=2)", "[x](https://e.example/?a=1&b=2)"),
        ("[x](docs/a.md)", "[x](docs/a.md)"),
        ("[x](javascript:alert(1))", r"[x]\(javascript:alert(1))"),
        ("[x]( java&#115;cript:y)", r"[x]\( java&#115;cript:y)"),
        ("[x](<data:text/html,y>)", r"[x]\(\<data:text/html,y>)"),
        ("[x]: javascript:y", r"[x]\: javascript:y"),
        ("[1]: see below", "[1]: see below"),
        ("use `<b>` and ``<`i>``", "use `<b>` and ``<`i>``"),
        (r"\`<b>`", r"\`\<b>`"),
        (r"\``<b>`", r"\``<b>`"),
        ("open ` tick\n<b> ` `<i>`\n\n`<u>`", "open ` tick\n\\<b> ` `\\<i>`\n\n`<u>`"),
        ("```html\n<b>\n```\n<b>", "```html\n<b>\n```\n\\<b>"),
        ("````\n```\n<b>\n````\n<b>", "````\n```\n<b>\n````\n\\<b>"),
        ("~~~\n<b>\n``` \n~~~\n<b>", "~~~\n<b>\n```\n~~~\n\\<b>"),
        ("    ```\n<b>", "    ```\n\\<b>"),
        ("```a`b\n<b>", "```a`b\n\\<b>"),
        ("```\n<b>", "```\n<b>"),
        ("[x](\njavascript:y)", "[x]\\(\njavascript:y)"),
        ("[x]:\njavascript:y", "[x]\\:\njavascript:y"),
        ("[x]()", "[x]()"),
        ("- a\n\n  ```\n  <b>\n  ```\n<b>", "- a\n\n  ```\n  <b>\n  ```\n\\<b>"),
        ("- a\n\n  ```\n<b>\n```\n<b>", "- a\n\n  ```\n\\<b>\n```\n\\<b>"),
        ("|a|b|\n|-|-|\n|`x|<b> `|", "|a|b|\n|-|-|\n|`x|\\<b> `|"),
    ],
)
@pytest.mark.requirement("SAFE-REACH-08")
def test_markdown_stays_markdown_and_acts_on_nothing(words: str, written: str) -> None:
    assert said(words) == written


@pytest.mark.parametrize("words", ["<", "![", "](", "`a` ", "\\<", "\\`"])
def test_a_long_line_takes_no_long_time(words: str) -> None:
    line = words * (600_000 // len(words))
    with bounded_computing():
        assert len(said(line)) >= len(line) - 1


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.requirement("SAFE-REACH-08")
def test_what_was_said_cannot_leave_its_quotation(attack: str) -> None:
    document = to_markdown(full(attack), record(title=attack, name=attack, cwd=attack))
    headings = [line for line in document.splitlines() if line.startswith("#")]
    assert len([line for line in headings if line.startswith("# ")]) == 1
    assert len(headings) == 1 + 12
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", document)
    outside = re.sub(r"^(`{3,})[^`\n]*\n.*?^\1$", "", document, flags=re.S | re.M)
    outside = "\n".join(line for line in outside.splitlines() if line[:1] != ">")
    assert "\n<" not in re.sub(r"`[^`]*`", "", outside).replace(r"\<", "")


@pytest.mark.parametrize(
    "line",
    ["", "5", "{}", '{"at":1}', '{"at":1,"kind":"to_agent"}', '{"at":1,"message":{}}', "x"],
)
def test_what_is_no_export_is_refused(line: str) -> None:
    good = b'{"at":1,"kind":"note","message":{}}\n'
    if not line:
        assert len(from_jsonl(good + b"\n")) == 1
        return
    with pytest.raises(ValueError, match="line 2"):
        from_jsonl(good + line.encode())


def test_any_bytes_survive_as_lines() -> None:
    odd = [b"\xff\xfe", b"", b"{", b'{"a":\n1}', b"[1]"]
    kept = [Entry(number, 1.5, "to_client", data) for number, data in enumerate(odd, 1)]
    assert from_jsonl(to_jsonl(kept, redact=False)) == kept
