"""Imports in files that are valid and strange: nothing is broken, lost or read where none is."""

from __future__ import annotations

import ast

import pytest
from tests.work_counting import bounded_computing

from parley.nes.embedded._context import Candidate
from parley.nes.embedded._edits import hints_of
from parley.nes.embedded._filters import breaks
from parley.nes.embedded._names.table import names
from parley.nes.embedded._python.imports import additions, remove, statements
from parley.nes.embedded._rules.imports import imports
from parley.nes.embedded._source import SourceFile
from parley.nes.engine import EditProposal, Question, Snippet

from .editing_session import EditingSession, Session, applied


def ways(text: str, module: str | None, name: str, *, is_typing: bool = False) -> list[str]:
    found = additions(text.split("\n"), module, (name, name), is_typing=is_typing)
    return ["\n".join(x.lines) for x in found]


def without(text: str, name: str) -> str:
    old = next(x for x in statements(text) if any(here == name for _, here in x.names))
    return "\n".join(remove(text.split("\n"), old, name))


@pytest.mark.parametrize(
    "text",
    [
        "from " + "." * 1_000_000,
        "from" + " " * 1_000_000,
        "import a" + " " * 1_000_000 + ";",
        "from x import (\n" * 300_000,
        "if TYPE_CHECKING:\n    import (\n" * 300_000,
        "import a\n" + "'" * 1_000_000,
        'import a\n"""' + '\\"' * 1_000_000,
    ],
)
def test_no_text_is_read_for_long(text: str) -> None:
    with bounded_computing():
        statements(text)


@pytest.mark.parametrize(
    "text",
    [
        '"""How to use it:\n\nimport os\nfrom a import b\n"""\n',
        "x = '''\nif TYPE_CHECKING:\n    from a import b\n'''\n",
        "x = 'a\\\nimport b'\n",
        "if x: \\\nimport b\n",
    ],
)
def test_what_stands_in_a_text_or_goes_on_is_no_import(text: str) -> None:
    assert statements(text) == []


def test_below_a_condition_only_what_is_always_there_counts() -> None:
    text = "if TYPE_CHECKING:\n    import a\n    if c:\n        import b\n"
    assert [x.names for x in statements(text)] == [[("a", "a")]]


def test_nothing_goes_before_a_future_import() -> None:
    for text in ways("from __future__ import annotations\nfrom os import x\n", None, "attr"):
        ast.parse(text)
        assert text.startswith("from __future__")


@pytest.mark.parametrize(
    "head", ["", "# -*- coding: utf-8 -*-\n", "import os\n", "from a import b\n"]
)
def test_the_mark_of_a_file_stays_at_its_beginning(head: str) -> None:
    text = f"\ufeff{head}x = 1\n"
    for found in [*ways(text, None, "abc"), *ways(text, "a", "a")]:
        ast.parse(found.encode())
        assert found.startswith("\ufeff")
        assert found.count("\ufeff") == 1
    assert without("\ufefffrom a import b, c\n", "b") == "\ufefffrom a import c\n"


def test_no_name_goes_beside_a_star() -> None:
    assert ways("from a import *\n", "a", "b") == ["from a import *\nfrom a import b\n"]


def test_every_way_is_below_the_docstring() -> None:
    for text in ways("#!/bin/python\n'''What\nit does.'''\nx = 1\n", None, "os"):
        assert ast.get_docstring(ast.parse(text)) == "What\nit does."


def test_a_comment_that_names_something_is_no_list() -> None:
    text = "from a import (  # b first\n    b, c  # c last\n)\n"
    first = ways(text, "a", "d")[0]
    assert first == "from a import (  # b first\n    b, c, d  # c last\n)\n"
    (statement,) = statements("from a import (  # (b) first\n    b, c  # :)\n)\n")
    assert statement.names == [("b", "b"), ("c", "c")]
    assert without("from a import (\n    # b is good\n    b,\n    c,\n)\n", "b") == (
        "from a import (\n    # b is good\n    c,\n)\n"
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("from b import (\n    b,\n    c,\n)\n", "from b import (\n    c,\n)\n"),
        ("from a import c, \\\n    d, b\n", "from a import c, \\\n    d\n"),
        ("from a import c,\\\n    b\n", "from a import c\n"),
        ("if t.TYPE_CHECKING:\n\n    import b\nx = 1\n", "x = 1\n"),
    ],
)
def test_a_name_is_taken_out_of_any_statement(text: str, left: str) -> None:
    assert without(text, "b") == left


@pytest.mark.parametrize(
    "text",
    [
        "if TYPE_CHECKING:\n    # why\n    import b\n",
        "if TYPE_CHECKING:\n    import b\n    # why\n\nx = 1\n",
        "if TYPE_CHECKING:\n    import b\nelse:\n    b = None\n",
    ],
)
def test_what_would_leave_an_empty_condition_or_lose_a_comment_stays(text: str) -> None:
    assert without(text, "b") == text


def test_a_condition_with_more_behind_a_comment_at_the_margin_stays() -> None:
    text = "if TYPE_CHECKING:\n    import b\n# more\n    import c\n"
    assert without(text, "b") == "if TYPE_CHECKING:\n# more\n    import c\n"


def candidate(start: int, end: int, *lines: str) -> Candidate:
    return Candidate(
        uri="file:///w/a.py",
        start=start,
        end=end,
        lines=[*lines],
        rule="",
        cause="",
        features={},
    )


@pytest.mark.parametrize(
    ("text", "change", "is_broken"),
    [
        ("if x:\n    y()\nz = 1", candidate(1, 2), True),
        ("if x:\n    y()\nz = 1", candidate(1, 2, "    # y()"), True),
        ("if x:\n    y()\n    z()\n", candidate(1, 2), False),
        ("for x in y:\n    z()\nz = 1", candidate(0, 1), True),
        ("for x in y:\n    z()\nz = 1", candidate(0, 1, "while x:  # or so"), False),
        ("for x in y:\n    z()\nz = 1", candidate(0, 2), False),
        ("try:\n    y()\nexcept E:\n    z()\n", candidate(1, 2), True),
        ("def f(\n    a,\n):\n    return a\nz = 1", candidate(3, 4), True),
    ],
)
def test_no_block_of_python_is_left_empty_or_without_its_head(
    text: str, change: Candidate, *, is_broken: bool
) -> None:
    assert breaks(change, SourceFile(change.uri, text.split("\n"), "python")) is is_broken


def test_an_annotation_in_words_names_nothing() -> None:
    file = SourceFile("file:///w/a.py", ["def f(x: 'the first part'):", "    return 1"], "python")
    found = names(file)
    assert found is not None
    assert not set(found.used)


async def test_what_a_late_diagnostic_misses_is_not_imported_again() -> None:
    session = Session(
        name="late",
        text="import os\nfrom pathlib import Path\n\nx = Path(os.sep)\ny = 1\n",
        typed=(("y = 1", "y = 2"),),
        problems=(("Path(os", "undefined name 'Path'"),),
        trigger="manual",
    )
    editing = EditingSession(session)
    editing.play()
    assert await editing.ask() == []


async def test_a_condition_goes_with_an_import_that_a_diagnostic_names() -> None:
    session = Session(
        name="condition",
        text="import typing as t\n\nif t.TYPE_CHECKING:\n    from a import b\n\nx = t.Any\n",
        problems=(("b\n", "'a.b' imported but unused"),),
        trigger="manual",
    )
    editing = EditingSession(session)
    (found, *_) = await editing.ask()
    assert isinstance(found, EditProposal)
    assert applied(editing.document, found) == ["import typing as t", "", "x = t.Any", ""]


def test_an_import_of_the_program_does_not_take_a_place_below_a_condition() -> None:
    session = Session(
        name="swap",
        text=(
            "import typing as t\n\nif t.TYPE_CHECKING:\n    from a import b\n\n\n"
            "def f(x: b) -> t.Any:\n    return 1\n"
        ),
        typed=(("x: b", "x"), ("return 1", "return json.dumps(x)")),
    )
    editing = EditingSession(session)
    editing.play()
    question = Question(document=editing.document, spot=editing.spot)
    found = [*imports(editing.predictor.edit_context(question))]
    assert {x.rule for x in found} == {"missing import", "unused import"}


def test_long_snippets_are_passed_over() -> None:
    snippets = [Snippet("file:///w/a.py", 0, text) for text in ("x = 1\n", "y\n" * 1_000_000)]
    assert [x.lines for x in hints_of(snippets)] == [["x = 1"]]
