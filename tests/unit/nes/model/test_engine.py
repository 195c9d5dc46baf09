"""A session with a model: what is sent, what is proposed, what is kept back."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from parley.errors import ConfigError
from parley.nes._documents.document import Document
from parley.nes.engine import (
    Diagnostic,
    EditProposal,
    HistoryEntry,
    Snippet,
    Span,
    Spot,
    TextEdit,
    Workspace,
)
from parley.nes.model import ModelEngine, read_api_key
from parley.nes.model._formats.fim import FILL_IN_FORMATS

from .model_server import Clock, Editor, saying, scripted

TEXT = "import os\n\n\ndef total(items):\n    return su\n\n\nprint(total([]))\n"
DONE = TEXT.replace("return su", "return sum(items)")


def fenced(text: str) -> str:
    return f"```python\n{text}```"


async def test_a_chat_is_posted_as_one_and_answered_with_the_smallest_edit() -> None:
    async with scripted(saying(fenced(DONE))) as server:
        editor = Editor(ModelEngine(server.url, "some-model", api_key="s3cret-key"), TEXT)
        [proposal] = await editor.ask(4, 13)
        assert proposal == EditProposal(
            uri=editor.document.uri,
            edits=(TextEdit(Span(Spot(4, 13), Spot(4, 13)), "m(items)"),),
            score=0.5,
            rule="model",
            meta={"format": "chat"},
        )
        asked = server.requests[0]
        assert asked.path == "/v1/chat/completions"
        assert asked.headers["authorization"] == "Bearer s3cret-key"
        assert asked.headers["content-type"] == "application/json"
        assert asked.json["model"] == "some-model"
        assert asked.json["stream"] is False
        assert [each["role"] for each in asked.json["messages"]] == ["system", "user"]
        editor.predictor.close()


@pytest.mark.parametrize(
    ("format", "answer"),
    [
        ("zeta", f"<|editable_region_start|>\n{DONE}<|editable_region_end|>"),
        ("zeta2", f"{DONE}>>>>>>> UPDATED\n"),
        ("zeta2_1", f"<|marker_1|>{DONE}<|marker_2|>"),
        ("sweep", f"{DONE}<|file_sep|>"),
        *((name, "m(items)") for name in FILL_IN_FORMATS),
    ],
)
async def test_every_completion_format_goes_over_the_wire_and_back(
    format: str, answer: str
) -> None:
    async with scripted(saying(answer)) as server:
        editor = Editor(ModelEngine(f"{server.url}/v1", "m", format=format), TEXT)
        [proposal] = await editor.ask(4, 13)
        assert editor.after(proposal) == DONE
        asked = server.requests[0]
        assert asked.path == "/v1/completions"
        assert "authorization" not in asked.headers
        assert asked.json["prompt"]
        assert len(asked.json["stop"]) <= 4
        assert asked.json["max_tokens"] > 50
        editor.predictor.close()


async def test_ollama_is_asked_its_own_way_if_the_address_says_so() -> None:
    async with scripted(saying("m(items)")) as server:
        editor = Editor(ModelEngine(f"{server.url}/api/generate", "qwen2.5-coder:7b"), TEXT)
        [proposal] = await editor.ask(4, 13)
        assert editor.after(proposal) == DONE
        body = server.requests[0].json
        assert server.requests[0].path == "/api/generate"
        assert body["raw"] is True
        assert body["options"]["num_predict"] > 50
        assert "<|endoftext|>" in body["options"]["stop"]
        editor.predictor.close()


async def test_a_body_may_have_more_in_it_and_less() -> None:
    extra = {"max_tokens": None, "max_completion_tokens": 300}
    async with scripted(saying("NO_EDIT")) as server:
        engine = ModelEngine(f"{server.url}/v1/chat/completions?api-version=1", "m", extra=extra)
        editor = Editor(engine, TEXT)
        assert await editor.ask(4, 13) == []
        assert server.requests[0].path == "/v1/chat/completions?api-version=1"
        assert server.requests[0].json["max_completion_tokens"] == 300
        assert "max_tokens" not in server.requests[0].json
        editor.predictor.close()


async def test_several_places_are_several_edits_and_lines_end_as_they_did() -> None:
    text = "a = 1\r\nb = 2\r\nc = 3\r\nd = 4\r\n"
    answer = "a = 10\nb = 2\nnew\nc = 3\n"
    async with scripted(saying(fenced(answer))) as server:
        editor = Editor(ModelEngine(server.url, "m"), text, uri="file:///project/notes.txt")
        [proposal] = await editor.ask(0, 5)
        assert isinstance(proposal, EditProposal)
        assert len(proposal.edits) == 3
        assert editor.after(proposal) == "a = 10\r\nb = 2\r\nnew\r\nc = 3\r\n"
        editor.predictor.close()


async def test_a_connection_is_used_again_and_let_go_with_the_last_session() -> None:
    async with scripted(saying("NO_EDIT")) as server:
        engine = ModelEngine(server.url, "m")
        first, second = Editor(engine, TEXT), Editor(engine, TEXT)
        await first.ask(4, 13)
        await second.ask(4, 13)
        assert server.requests[0].writer is server.requests[1].writer
        first.predictor.close()
        await second.ask(4, 13)
        assert server.requests[2].writer is server.requests[0].writer
        second.predictor.close()
        await server.requests[2].gone.wait()


async def test_the_model_is_told_of_edits_files_and_diagnostics_within_bounds() -> None:
    async with scripted(saying("NO_EDIT")) as server:
        clock = Clock()
        editor = Editor(ModelEngine(server.url, "m", clock=clock), TEXT)
        other = Document("file:///project/cart.py", "python", 1, "one = 1\ntwo = 2\n")
        editor.predictor.opened(other)
        editor.predictor.focused(other, Spot(0, 0), Span(Spot(0, 0), Spot(0, 7)))
        for count in range(9):
            clock.now += 5
            editor.type(4, "return", f"return {count} or" if not count else "return")
            editor.type(0, "os" if not count else f"os{count - 1}", f"os{count}")
        here = Span(Spot(4, 11), Spot(4, 13))
        await editor.ask(
            4,
            13,
            diagnostics=(Diagnostic(editor.document.uri, here, "error", "no\nsuch name"),),
            snippets=(Snippet("file:///elsewhere/lib.py", 3, "def lib(): ...\n"),),
            recent=(Document("file:///project/.env", "", 1, "PASSWORD=1\n"),),
        )
        said = server.requests[0].json["messages"][1]["content"]
        assert "Part of lib.py:\n```\ndef lib(): ...\n```" in said
        assert "Part of cart.py:\n```\none = 1\n```" in said
        assert "- line 5, error: no such name" in said
        assert "PASSWORD" not in said
        assert said.count("Edited shop.py") == 6
        assert "-import os7\n+import os8\n" in said
        assert "-import os\n" not in said
        editor.predictor.close()


async def test_a_long_history_is_cut_to_six_kilobytes() -> None:
    history = [
        HistoryEntry("file:///project/a.py", f"@@ -1 +1 @@\n+{n}{'x' * 2500}\n") for n in "abc"
    ]
    async with scripted(saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        await editor.ask(4, 13, history=tuple(history))
        said = server.requests[0].json["messages"][1]["content"]
        assert "+bxx" in said
        assert "+cxx" in said
        assert "+axx" not in said
        editor.predictor.close()


async def test_what_was_accepted_is_told_as_such() -> None:
    async with scripted(saying(fenced(DONE)), saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        [proposal] = await editor.ask(4, 13)
        editor.predictor.on_outcome(proposal, "accepted")
        editor.type(4, "return su", "return sum(items)")
        await editor.ask(4, 20)
        said = server.requests[1].json["messages"][1]["content"]
        assert "The programmer took a prediction in shop.py:\n```diff\n" in said
        editor.predictor.close()


@pytest.mark.parametrize(
    "uri",
    [
        "file:///project/.env",
        "file:///p/server.key",
        "file:///p/id_rsa",
        "file:///project/.ssh/config",
        "file:///home/me/%2ESSH/config",
        "file:///project/deploy/secrets/db/password",
        "file:///run/secrets/password",
        "vscode-remote://host/home/me/.aws/config",
    ],
)
async def test_a_file_of_secrets_is_shown_to_no_model(uri: str) -> None:
    async with scripted(saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT, uri=uri)
        assert await editor.ask(4, 13) == []
        assert server.requests == []
        editor.predictor.close()


async def test_a_text_with_the_formats_own_tokens_is_not_sent() -> None:
    async with scripted(saying("m(items)")) as server:
        editor = Editor(ModelEngine(server.url, "m", format="qwen"), TEXT + "# <|fim_middle|>\n")
        assert await editor.ask(4, 13) == []
        assert server.requests == []
        editor.predictor.close()


async def test_nothing_is_asked_about_a_line_of_enormous_length_or_for_other_kinds() -> None:
    async with scripted(saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), "x" * 5000)
        assert await editor.ask(0, 3) == []
        assert await editor.ask(0, 3, kinds=frozenset({"jump"})) == []
        assert server.requests == []
        editor.predictor.close()


@pytest.mark.parametrize(
    "answer",
    [
        fenced(TEXT),
        fenced(TEXT.replace("return su", "return   su")),
        fenced(TEXT.replace("\n\n\n", "\n\n")),
        fenced(TEXT.replace("return su", "return sum(")),
        "I am sorry, but I cannot help with that.\nThere is nothing to do.\nAsk me again.\nBye.",
        fenced(""),
    ],
    ids=["same", "space", "blank lines", "broken", "prose", "empty"],
)
async def test_what_nobody_wants_is_not_proposed(answer: str) -> None:
    async with scripted(saying(answer)) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        assert await editor.ask(4, 13) == []
        editor.predictor.close()


async def test_what_the_user_has_just_done_is_not_undone() -> None:
    changed = TEXT.replace("total", "amount")
    mixed = changed.replace("def amount", "def total").replace("print(amount", "show(amount")
    async with scripted(saying(fenced(TEXT)), saying(fenced(mixed))) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        editor.type(3, "total", "amount")
        editor.type(7, "total", "amount")
        assert await editor.ask(7, 12) == []
        [proposal] = await editor.ask(7, 12)
        assert editor.after(proposal) == changed.replace("print", "show")
        editor.predictor.close()


async def test_what_was_rejected_is_not_proposed_again_wherever_it_moves() -> None:
    async with scripted(saying(fenced(DONE)), saying(fenced("\n" + DONE))) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        [proposal] = await editor.ask(4, 13)
        editor.predictor.on_outcome(proposal, "ignored")
        assert len(await editor.ask(4, 13)) == 1
        editor.predictor.on_outcome(proposal, "rejected")
        editor.type(0, "import", "\nimport")
        assert await editor.ask(5, 13) == []
        editor.predictor.close()


async def test_what_is_typed_while_the_model_answers_does_not_change_the_answer() -> None:
    async with scripted(saying(fenced(DONE))) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)

        async def typing(exchange: object) -> None:
            editor.type(0, "import os", "import os\nimport sys")
            await saying(fenced(DONE))(server.requests[0])

        server.responses = [typing]
        [proposal] = await editor.ask(4, 13)
        assert isinstance(proposal, EditProposal)
        assert proposal.edits == (TextEdit(Span(Spot(4, 13), Spot(4, 13)), "m(items)"),)
        editor.predictor.on_outcome(proposal, "rejected")
        server.responses = [saying(fenced(DONE.replace("os", "os\nimport sys")))]
        assert await editor.ask(5, 13) == []  # it is known again where it is now
        editor.predictor.close()


async def test_the_cursor_goes_where_the_model_wants_it() -> None:
    answer = DONE.replace("sum(items)", "sum(items)\n    # <|cursor|>")
    async with scripted(saying(fenced(answer))) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        [proposal] = await editor.ask(4, 13)
        assert isinstance(proposal, EditProposal)
        assert proposal.cursor == Spot(5, 6)
        editor.predictor.close()


async def test_only_the_window_is_shown_as_to_be_changed() -> None:
    text = "".join(f"line_{number} = {number}\n" for number in range(100))
    async with scripted(saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), text)
        await editor.ask(50, 0)
        said = server.requests[0].json["messages"][1]["content"]
        region = said.partition("<|region|>\n")[2].partition("<|end_region|>")[0]
        assert region.startswith("line_40 = 40\n")
        assert region.endswith("line_60 = 60\n")
        assert region.count("\n") == 21
        editor.predictor.close()


def test_a_key_is_read_from_a_file_or_from_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from-file\n")
    assert read_api_key(file, {"PARLEY_NES_API_KEY": "from-variable"}) == "from-file"
    assert read_api_key(None, {"PARLEY_NES_API_KEY": "from-variable"}) == "from-variable"
    assert read_api_key(None, {"OPENAI_API_KEY": "of-somebody-else"}) is None
    file.write_text("\n")
    with pytest.raises(ConfigError, match="there is no key"):
        read_api_key(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_api_key(tmp_path / "missing")


async def test_neither_the_key_nor_the_code_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with scripted(saying(fenced(DONE))) as server:
        engine = ModelEngine(server.url, "m", api_key="s3cret-key")
        editor = Editor(engine, TEXT)
        await editor.ask(4, 13)
        editor.predictor.close()
    assert "s3cret-key" not in caplog.text + repr(vars(engine))
    assert "total" not in caplog.text


def test_a_session_needs_no_events() -> None:
    engine = ModelEngine("http://localhost/v1", "m")
    predictor = engine.begin(Workspace())
    predictor.set_option("nes_aggressiveness", "quiet")
    predictor.saved(Document("file:///a", "", 1, ""))
    predictor.close()
    predictor.close()
    assert engine.options() == ()
    assert "editHistory" in engine.context
