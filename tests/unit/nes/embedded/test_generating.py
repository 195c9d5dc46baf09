"""What comes to mind, whatever it is worth: candidates of single generators."""

from __future__ import annotations

import re

import pytest

from parley.nes.embedded._context import Candidate, count_rivals
from parley.nes.embedded._edits import Hunk
from parley.nes.embedded._python.imports import additions, remove, statements
from parley.nes.embedded._rules.quickfixes import QUICK_FIXES
from parley.nes.embedded._source import SourceFile, cleared, statement_at
from parley.nes.embedded._substitutions import LineEdit, substitutions
from parley.nes.engine import Diagnostic, Question, Spot

from .editing_session import EditingSession, Session


def file(text: str) -> SourceFile:
    return SourceFile("file:///a.py", text.split("\n"))


def thought_of(session: Session, rule: str) -> list[Candidate]:
    editing = EditingSession(session)
    editing.play()
    question = Question(document=editing.document, spot=editing.document.clamp(editing.spot))
    found = editing.predictor.candidates(editing.predictor.edit_context(question))
    return [candidate for candidate in found if candidate.rule == rule]


def edit(old: str, new: str) -> LineEdit:
    return LineEdit(old, new, Hunk("file:///a.py", [old], [new], 0, 1), 0)


def test_substitutions_that_are_close_together_are_also_one() -> None:
    found = {
        (each.old, each.new): each for each in substitutions([edit("since 1.0", "since 0.11")])
    }
    assert ("1.0", "0.11") in found
    assert found["1.0", "0.11"].uses[0].rest == 0
    assert found["1", "0"].uses[0].rest == 1


def test_what_stands_in_both_texts_is_a_hole() -> None:
    (found,) = thought_of(
        Session(
            name="holes",
            text="def f(a: Optional[str]):\n    b: List[Optional[Dict[str, int]]] = []\n",
            typed=(("a: Optional[str]", "a: str | None"),),
        ),
        "pattern",
    )
    assert found.lines == ["    b: List[Dict[str, int] | None] = []"]


def test_a_statement_that_uses_what_is_gone_may_go_with_it() -> None:
    (found,) = thought_of(
        Session(
            name="gone",
            text="def setup():\n    pass\n\n\ndef main():\n    setup()\n    print(1)\n",
            typed=(("def setup():\n    pass\n\n\n", ""),),
        ),
        "leftover deletion",
    )
    assert (found.lines, found.end - found.start) == ([], 1)


def test_what_is_imported_once_more_goes_from_its_old_place() -> None:
    (found,) = thought_of(
        Session(
            name="twice",
            text="import os\nfrom .compat import OrderedDict, quote\n\nOrderedDict(quote(os))\n",
            typed=(("import os\n", "from collections import OrderedDict\nimport os\n"),),
        ),
        "double import",
    )
    assert found.lines == ["from .compat import quote"]


def test_an_import_takes_the_place_of_one_that_goes() -> None:
    found = thought_of(
        Session(
            name="swap",
            text="import zlib\nimport time\nimport abc\n\nx = abc.ABC, time.time(), zlib\n",
            typed=(("time.time()", "datetime.datetime.now()"),),
        ),
        "import swap",
    )
    assert any((x.start, x.end, x.lines) == (1, 2, ["import datetime"]) for x in found)


def test_one_name_for_each_statement_stays_so() -> None:
    text = "from a import b\nfrom a import d\nfrom c import e\n\nx = 1\n"
    ways = additions([*text.split("\n")], "a", ("c", "c"))
    assert ways[0].lines[:3] == ["from a import b", "from a import c", "from a import d"]


def test_a_name_goes_in_order_or_behind_the_others() -> None:
    ways = [way.lines[0] for way in additions(["from a import b, d", ""], "a", ("c", "c"))]
    assert ways[:2] == ["from a import b, c, d", "from a import b, d, c"]


def test_a_name_goes_from_the_last_line_of_an_import() -> None:
    text = "from a import (b, c,\n    d)\n"
    (statement,) = statements(text)
    assert remove([*text.split("\n")], statement, "d") == ["from a import (b, c)", ""]


def test_a_statement_has_all_its_lines() -> None:
    found = statement_at(file("def f():\n    a(\n        b)\n    c()\n"), 2, 8)
    assert found is not None
    assert (found.start, found.end, found.is_simple, found.is_lonely) == (1, 3, True, False)


def test_blank_lines_go_with_what_they_are_around() -> None:
    assert cleared(file("a\n\n\nb\n\n\nc"), 3, 4) == (3, 6)
    assert cleared(file("a\nb\n\nc"), 1, 2) == (1, 2)


def test_candidates_know_how_many_say_otherwise() -> None:
    def one(line: str) -> Candidate:
        return Candidate(uri="u", start=0, end=1, lines=[line], rule="repeat", cause=line)

    alone, first, second = one("a"), one("b"), one("c")
    alone.start, alone.end = 5, 6
    count_rivals([alone, first, second])
    assert first.features["rivals"] == second.features["rivals"] > alone.features["rivals"] == 0


GO = 'package a\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc f() {\n\tfmt.Println(os.Args)\n}\n'


def test_a_go_package_goes_with_its_last_use() -> None:
    session = Session(
        name="go", text=GO, path="a.go", language="go", typed=(("Println(os.Args)", "Println(1)"),)
    )
    (found,) = thought_of(session, "unused import")
    assert (found.start, found.end, found.lines) == (4, 5, [])


def test_a_go_package_comes_with_its_first_use() -> None:
    session = Session(
        name="go",
        text=GO,
        path="a.go",
        language="go",
        typed=(("(os.Args)", "(strings.Join(os.Args, errors.New))"),),
        others={"b.go": 'package b\n\nimport "github.com/pkg/errors"\n\nvar x = errors.New\n'},
    )
    found = {x.cause: (x.start, x.lines) for x in thought_of(session, "missing import")}
    assert found["strings"] == (5, ['\t"strings"'])
    assert "errors" in found


TS = 'import { one, type Two } from "./lib/a";\n\nexport const x: Two = one;\n'


def test_a_name_goes_from_a_script_import_with_its_last_use() -> None:
    session = Session(
        name="ts",
        text=TS,
        path="src/m.ts",
        language="typescript",
        typed=((": Two = one", " = one"),),
    )
    (found,) = thought_of(session, "unused import")
    assert found.lines == ['import { one } from "./lib/a";']


def test_a_name_comes_into_a_script_import_with_its_first_use() -> None:
    session = Session(
        name="ts",
        text=TS,
        path="src/m.ts",
        language="typescript",
        typed=(("= one;", "= one + three + four;"),),
        others={
            "src/lib/a.ts": "export const three = 3;\n",
            "src/lib/b.ts": 'import { four } from "../other/c";\nfour;\n',
        },
    )
    found = {x.cause: x.lines for x in thought_of(session, "missing import")}
    assert found["three"] == ['import { one, type Two, three } from "./lib/a";']
    assert found["four"] == ['import { four } from "./other/c";']


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("name 'itmes' is not defined. Did you mean: 'items'?", "itmes"),
        ('"itmes" is not known; maybe "items"?', "itmes"),
        ("Did you mean 'items'?", None),
    ],
)
def test_a_message_says_which_name_is_wrong_and_which_was_meant(
    message: str, name: str | None
) -> None:
    found = re.search(QUICK_FIXES[0][0], message, re.IGNORECASE | re.DOTALL)
    assert found is not None
    assert (found["name"], found["meant"]) == (name, "items")


@pytest.mark.parametrize(
    ("line", "pointed", "message", "mended"),
    [
        (
            "n = box.lenght",
            "box.lenght",
            '"Box" has no attribute "lenght"; maybe "length"?',
            "n = box.length",
        ),
        (
            "n = box.lenght",
            "box.lenght",
            "Property 'lenght' does not exist on type 'box'. Did you mean 'length'?",
            "n = box.length",
        ),
        (
            "import os; os.getcdw()",
            "os.getcdw",
            "Module 'os' has no attribute 'getcdw'. Did you mean: 'getcwd'?",
            "import os; os.getcwd()",
        ),
        (
            "n = lenght(box.lenght)",
            "box.lenght)",
            "'lenght' is not in 'Box'; did you mean 'length'?",
            "n = lenght(box.length)",
        ),
        ("n = box.lenght", "box.lenght", "'width' is not in 'Box'; did you mean 'wide'?", None),
    ],
)
def test_of_several_names_in_a_message_the_misspelt_one_is_replaced(
    line: str, pointed: str, message: str, mended: str | None
) -> None:
    editing = EditingSession(Session(name="", text=f"{line}\n", problems=((pointed, message),)))
    problems = [
        Diagnostic(editing.document.uri, x, "error", text) for x, text in editing.problems()
    ]
    question = Question(document=editing.document, spot=Spot(0, 0), diagnostics=tuple(problems))
    candidates = editing.predictor.candidates(editing.predictor.edit_context(question))
    found = [x.lines for x in candidates if x.rule == "diagnostic"]
    assert found == ([] if mended is None else [[mended]])
