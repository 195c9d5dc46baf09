"""What a model says and nobody is shown, and when it is not asked at all."""

from __future__ import annotations

import pytest

from parley.nes._documents.document import Document
from parley.nes.embedded import EmbeddedEngine
from parley.nes.engine import (
    Diagnostic,
    EditProposal,
    HistoryEntry,
    Question,
    Span,
    Spot,
    TextEdit,
    UserAction,
    Workspace,
)
from parley.nes.model import CombinedEngine, ModelEngine
from parley.nes.model._context import is_private
from parley.nes.model._filters import breaks_syntax, leaks
from parley.nes.model._formats import FORMATS

from .model_server import URI, Editor, saying, scripted

NOTES = "file:///project/notes.txt"
TEXT = "import os\n\n\ndef total(items):\n    return su\n\n\nprint(total([]))\n"
DONE = TEXT.replace("return su", "return sum(items)")
HERE = Span(Spot(4, 11), Spot(4, 13))


def fenced(text: str) -> str:
    return f"```python\n{text}```"


def with_line(line: str) -> str:
    return fenced(DONE.replace("\n\n\nprint", f"\n{line}\n\nprint"))


@pytest.mark.parametrize(
    "line",
    [
        "# <|im_end|>",
        "# <|endoftext|>",
        "# <\uff5cend\u2581of\u2581sentence\uff5c>",
        "# <[fim-middle]>",
        "<<<<<<< HEAD",
        ">>>>>>> theirs",
        "||||||| base",
        "# \x1b]0;title\x07",
        "# \u202egnp.exe",
        "# \x00",
        "# \ufeff",
        "# a\u200bb",
        "# a\U000e0041b",
        "# a\u3164b",
    ],
)
async def test_marks_that_are_of_no_text_do_not_come_in(line: str) -> None:
    async with scripted(saying(with_line(line)), saying(with_line("# fine"))) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT, uri=NOTES, language="plaintext")
        assert await editor.ask(4, 13) == []
        assert len(await editor.ask(4, 13)) == 1
        editor.predictor.close()


_TEXTUAL = ("<filename>", "<|marker_")
"""What a format has in its prompts, but stands in texts as well, or is a part of a mark."""
_MARKS = sorted({mark.strip() for each in FORMATS.values() for mark in each.reserved})
_OTHERS = ("<think>", "</think>", "[/INST]", "<bos>", "<start_of_turn>", "<reponame>", "<|/a|>")


@pytest.mark.parametrize("tail", ["{}", "  # {} x", "\n{}"])
def test_marks_of_any_format_do_not_come_in_whichever_was_asked_for(tail: str) -> None:
    line = "    return sum(items)"
    for mark in {*_MARKS, *_OTHERS} - {*_TEXTUAL}:
        assert leaks(TEXT, TEXT.replace("    return su\n", f"{line}{tail.format(mark)}\n")), mark
        assert not leaks(TEXT + mark, DONE + mark + mark), mark


def test_what_is_struck_out_in_a_page_is_no_mark() -> None:
    assert not leaks("<p>old</p>", "<p><s>old</s> new</p>")
    assert not leaks("a", "a[PREFIX_1] <filename> <T> list[INSTANCE]")


async def test_a_text_about_marks_may_get_more_of_them() -> None:
    text = TEXT + '# "<|im_start|>"\n'
    answer = fenced(DONE + '# "<|im_start|>" and "<|im_end|>"\n')
    async with scripted(saying(answer)) as server:
        editor = Editor(ModelEngine(server.url, "m"), text)
        assert len(await editor.ask(4, 13)) == 1
        editor.predictor.close()


async def test_a_conflict_that_is_there_may_be_solved() -> None:
    text = "a = 1\n<<<<<<< HEAD\nb = 2\n=======\nb = 3\n>>>>>>> theirs\nc = 4\nd = 5\ne = 6\n"
    solved = "a = 1\nb = 3\nc = 4\nd = 5\ne = 6\n"
    async with scripted(saying(fenced(solved))) as server:
        editor = Editor(ModelEngine(server.url, "m"), text, uri=NOTES, language="plaintext")
        [proposal] = await editor.ask(4, 0)
        assert editor.after(proposal) == solved
        editor.predictor.close()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
async def test_lines_end_as_they_do_in_the_document_whatever_the_model_writes(end: str) -> None:
    answer = fenced(DONE).replace("\n", "\r\n")
    async with scripted(saying(answer)) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT.replace("\n", end))
        [proposal] = await editor.ask(4, 13)
        assert editor.after(proposal) == DONE.replace("\n", end)
        editor.predictor.close()


@pytest.mark.parametrize(
    "answer",
    ["I cannot help with that.", "Sure! Here is the edit you asked for.", "<think>Well, su"],
)
async def test_talk_does_not_replace_a_short_file(answer: str) -> None:
    async with scripted(saying(answer)) as server:
        editor = Editor(ModelEngine(server.url, "m"), "su\n", uri=NOTES, language="plaintext")
        assert await editor.ask(0, 2) == []
        editor.predictor.close()


async def test_fences_within_a_file_do_not_end_the_answer() -> None:
    text = "# Use\n\n```\npip install it\n```\n\n# Start\n\n```\nit st\n```\n\nDone.\n"
    done = text.replace("it st\n", "it start\n")
    async with scripted(saying(f"```markdown\n{done}```")) as server:
        editor = Editor(
            ModelEngine(server.url, "m"), text, uri="file:///project/README.md", language="markdown"
        )
        [proposal] = await editor.ask(9, 5)
        assert editor.after(proposal) == done
        editor.predictor.close()


async def test_a_text_that_was_there_before_is_not_proposed() -> None:
    long = TEXT + "".join(f"line_{number} = {'x' * 80}\n" for number in range(200))
    async with scripted(saying(fenced(long)), saying(fenced(DONE))) as server:
        editor = Editor(ModelEngine(server.url, "m"), long, uri=NOTES, language="plaintext")
        # What is taken away is too much to be told as history; it is known as a whole.
        change = editor.document.edit(Span(Spot(8, 0), Spot(208, 0)), "")
        editor.predictor.changed(editor.document, [change])
        assert await editor.ask(4, 13) == []
        assert len(await editor.ask(4, 13)) == 1
        editor.predictor.close()


async def test_the_model_is_not_asked_when_something_was_taken_back() -> None:
    async with scripted(saying(fenced(DONE))) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        editor.type(0, "os", "sys")
        editor.type(0, "sys", "os")
        assert await editor.ask(4, 13) == []
        assert server.requests == []
        assert len(await editor.ask(4, 13, trigger="manual")) == 1
        editor.type(0, "os", "re")
        assert len(await editor.ask(4, 13)) == 1
        assert len(server.requests) == 2
        editor.predictor.close()


async def test_the_model_is_not_asked_after_an_undo_that_the_client_tells() -> None:
    async with scripted(saying(fenced(DONE))) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        undo = UserAction("undo", URI, Spot(4, 13), 5)
        assert await editor.ask(4, 13, actions=(undo,)) == []
        assert server.requests == []
        editor.predictor.close()


async def test_both_engines_are_silent_when_something_was_taken_back() -> None:
    async with scripted(saying(fenced(DONE))) as server:
        engine = CombinedEngine(EmbeddedEngine(), ModelEngine(server.url, "m"))
        predictor = engine.begin(Workspace())
        document = Document(URI, "python", 1, TEXT)
        predictor.opened(document)
        for old, new in (("os", "sys"), ("sys", "os")):
            span = Span(Spot(0, 7), Spot(0, 7 + len(old)))
            predictor.changed(document, [document.edit(span, new)])
        question = Question(document=document.copy(), spot=Spot(4, 13))
        assert [*await predictor.suggest(question)] == []
        assert server.requests == []
        predictor.close()


@pytest.mark.parametrize(
    ("secret_uri", "also"),
    [
        ("file:///project/%2Eenv", "file:///project/%2eENV"),
        ("file:///home/me/.ssh/env", "file:///project/secrets/env"),
    ],
)
async def test_a_file_of_secrets_is_known_however_it_is_told(secret_uri: str, also: str) -> None:
    async with scripted(saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        secret = Document(secret_uri, "", 1, "PASSWORD=1\n")
        editor.predictor.opened(secret)
        editor.predictor.focused(secret, Spot(0, 0), Span(Spot(0, 0), Spot(0, 5)))
        edit = TextEdit(Span(Spot(0, 0), Spot(0, 8)), "TOKEN")
        other = EditProposal(uri=secret.uri, edits=(edit,), score=0.5, rule="repeat")
        question = Question(
            document=editor.document.copy(),
            spot=Spot(4, 13),
            recent=(Document(also, "", 1, "PASSWORD=1\n"),),
            history=(HistoryEntry(secret.uri, "-PASSWORD=1\n+PASSWORD=2\n"),),
            open_uris=(secret.uri,),
        )
        await editor.predictor.suggest(question, [other])
        said = server.requests[0].body.decode()
        assert "PASSWORD" not in said
        assert "env" not in said.lower()
        editor.predictor.close()


async def test_what_is_told_beside_the_window_has_its_bounds() -> None:
    async with scripted(saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        wide = Document("file:///project/wide.js", "", 1, "var a = 1;" * 100_000)
        editor.predictor.opened(wide)
        edit = TextEdit(Span(Spot(0, 0), Spot(0, 3)), "let")
        other = EditProposal(uri=wide.uri, edits=(edit,), score=0.5, rule="repeat")
        question = Question(
            document=editor.document.copy(),
            spot=Spot(4, 13),
            diagnostics=(Diagnostic(URI, HERE, "error", "no such name " * 10_000),),
            open_uris=tuple(f"file:///project/{'n' * 5000}{number}" for number in range(30)),
            history=(HistoryEntry(URI, "+" + "x" * 100_000),),
        )
        await editor.predictor.suggest(question, [other])
        assert len(server.requests[0].body) < 5000
        editor.predictor.close()


async def test_half_a_character_is_sent_nowhere() -> None:
    async with scripted(saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT + "# \ud800\n")
        assert await editor.ask(4, 13) == []
        assert server.requests == []
        editor.predictor.close()


async def test_heads_of_files_in_a_told_history_are_not_passed_on() -> None:
    diff = "diff --git a/x b/x\nsimilarity index 90%\n--- a/x\n+++ b/x\n@@ -3 +3 @@\n-a\x0cb\n+c\n"
    async with scripted(saying("NO_EDIT")) as server:
        editor = Editor(ModelEngine(server.url, "m"), TEXT)
        await editor.ask(4, 13, history=(HistoryEntry(URI, diff), HistoryEntry(URI, "nothing")))
        said = server.requests[0].json["messages"][1]["content"]
        assert "Edited shop.py:\n```diff\n@@ -3,1 +3,1 @@\n-a\x0cb\n+c\n```" in said
        assert said.count("Edited") == 1
        editor.predictor.close()


def test_syntax_is_looked_at_around_a_change_however_long_the_file_is() -> None:
    text = "class A:\n    y = 2\n\n" * 40_000 + "def (:\n"
    before = Document("file:///project/long.py", "python", 1, text)
    for new, is_broken in (("def (:\n", True), ("z = 3\n", False)):
        after = before.copy()
        after.edit(Span(Spot(300, 0), Spot(300, 0)), new)
        assert breaks_syntax(before, after) is is_broken


@pytest.mark.parametrize("line", [0, 3, 6000, 11999])
def test_what_is_left_out_above_and_below_breaks_nothing(line: int) -> None:
    text = "def f(x):\n    return [\n        x,\n    ]\n" * 3000
    before = Document("file:///project/%6Cong.py", "", 1, text)
    after = before.copy()
    after.edit(Span(Spot(line, 0), Spot(line, 0)), "    # a comment\n")
    assert not breaks_syntax(before, after)
    after.edit(Span(Spot(line, 0), Spot(line, 0)), ")\n")
    assert breaks_syntax(before, after)


def test_a_workspace_below_a_folder_of_that_name_is_no_secret() -> None:
    workspace = Workspace(folders=("/secrets/project",))
    assert not is_private("file:///secrets/project/a.py", workspace)
    assert is_private("file:///secrets/project/secrets/a", workspace)
    assert is_private("file:///secrets/other/a.py", workspace)
    assert is_private("file:///home/me/.ssh/config", Workspace(folders=("/home/me/.ssh",)))


@pytest.mark.parametrize(
    ("line", "new"),
    [(1, ""), (0, "x = 1\n")],
    ids=["the-body", "the-head"],
)
def test_a_python_block_without_its_body_or_its_head_is_broken(line: int, new: str) -> None:
    before = Document("file:///project/a.py", "python", 1, "if a:\n    b\nc\n")
    after = before.copy()
    after.edit(Span(Spot(line, 0), Spot(line + 1, 0)), new)
    assert breaks_syntax(before, after)
