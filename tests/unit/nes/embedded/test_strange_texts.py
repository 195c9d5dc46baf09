"""Texts that nobody writes: the engine may be silent, but it neither fails nor hangs."""

from __future__ import annotations

import pytest

from parley.nes._documents.document import Document
from parley.nes._syntax import growing, is_parsed, parse
from parley.nes.embedded import EmbeddedEngine
from parley.nes.embedded._names.table import names
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._tokens import alike, tokens, word_at
from parley.nes.engine import EditProposal, JumpProposal, Question, Span, Spot, Workspace

KINDS = frozenset({"edit", "jump", "rename", "searchAndReplace"})
TEXTS = {
    "one line of 10 MB": "x = '" + "ab c" * 2_500_000 + "'\ny = 1\n",
    "one word of 1 MB": "a" * 1_000_000,
    "a list of 1 MB in a line": "x = [" + "ab, c1, " * 120_000 + "]\ny = 1\n",
    "100,000 lines": "value = other(1)\n" * 100_000,
    "every character of a byte": "".join(chr(number % 256) for number in range(50_000)),
    "lone surrogates": "x = '\ud800'\ny\udfff = get(\ud83d)\n" * 100,
    "zeros": "\0" * 10_000,
    "all kinds of line ends": "a = 1\r\nb = 2\rc = 3\n\n\r\r\n" * 50,
    "brackets that are not closed": "x = ((((\n" * 200,
    "brackets that are very deep": "x = " + "(" * 3_000 + "1" + ")" * 3_000 + "\n",
    "nothing": "",
    "blanks": " \t\n" * 500,
}


@pytest.mark.parametrize("language", ["python", "javascript", "rust", "plaintext"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_any_text_can_be_edited(text: str, language: str) -> None:
    predictor = EmbeddedEngine().begin(Workspace())
    document = Document("file:///w/a", language, 1, text)
    predictor.opened(document)
    await predictor.settled()
    for number in range(4):
        spot = document.clamp(Spot(number, number))
        change = document.edit(Span(spot, spot), "ab\n"[number % 3])
        predictor.changed(document, [change])
        question = Question(document=document, spot=Spot(number, 10**9), kinds=KINDS)
        for proposal in await predictor.suggest(question):
            assert proposal.uri == document.uri
            if isinstance(proposal, EditProposal):
                spots = [spot for edit in proposal.edits for spot in edit.span]
            else:
                assert isinstance(proposal, JumpProposal)
                spots = [proposal.spot]
            assert all(document.clamp(spot) == spot for spot in spots)
    predictor.closed(document)
    predictor.close()


async def test_very_many_documents_can_be_open() -> None:
    predictor = EmbeddedEngine(clock=lambda: 0.0, cpu_clock=lambda: 0.0).begin(Workspace())
    text = "a = get(1)\nb = get(2)\nc = get(3)\n"
    documents = [Document(f"file:///w/{n}.py", "python", 1, text) for n in range(2_000)]
    for document in documents:
        predictor.opened(document)
    await predictor.settled()
    document = documents[1_000]
    for line in range(2):
        span = Span(Spot(line, 4), Spot(line, 7))
        predictor.changed(document, [document.edit(span, "fetch")])
    found = await predictor.suggest(Question(document=document, spot=Spot(1, 9), kinds=KINDS))
    assert found[0].uri == document.uri
    for each in documents:
        predictor.closed(each)


def test_very_long_texts_are_one_token() -> None:
    text = "a b " * 10_000
    assert tokens(text) == (text,)
    assert alike(text, text + "c") == 0.0
    assert word_at("a" * 1_000, 10**9) == (800, 1_000)


def test_what_a_machine_wrote_is_not_parsed() -> None:
    assert SourceFile("file:///a.py", ["x = 1", "y" * 6_000]).tree is None
    assert parse("file:///b.py", "python", "x = 1\n" * 100_000) is None
    many = SourceFile("file:///c.py", ["x = 1"] * 4_000)
    assert many.tree is not None
    assert names(many) is None


@pytest.mark.parametrize("language", ["python", "javascript"])
def test_a_tree_that_grew_is_the_same(language: str) -> None:
    line = {"python": "def f(a):\n    return [a,\n  1]\n", "javascript": "function f(a) {\n}\n"}
    text = line[language] * 3_000
    assert not is_parsed("grown", language)
    assert len(list(growing("grown", language, text))) > 2
    grown, whole = parse("grown", language, text), parse("whole", language, text)
    assert grown is not None
    assert whole is not None
    assert str(grown.root) == str(whole.root)
