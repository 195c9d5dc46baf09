"""Imports of Python files: those that only type checkers see, groups, and style of a project."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from parley.nes._documents.document import Document
from parley.nes.embedded import EmbeddedEngine
from parley.nes.embedded import _scoring as score
from parley.nes.embedded._names.table import names
from parley.nes.embedded._project import Project
from parley.nes.embedded._python.imports import additions, remove, statements
from parley.nes.embedded._python.style import project_style
from parley.nes.embedded._source import SourceFile
from parley.nes.engine import JumpProposal, Proposal, Question, Span, Spot, Workspace

from .editing_session import EditingSession, Session
from .test_generating import thought_of

_GUARDED = """from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from .app import App
    from .views import View


def run(app: App, view: View) -> None:
    import json
"""


def file(path: str, text: str) -> SourceFile:
    return SourceFile(f"file:///w/{path}", [*text.split("\n")], "python")


async def asked(session: Session) -> list[Proposal]:
    editing = EditingSession(session)
    editing.play()
    return await editing.ask()


def added(text: str, module: str | None, name: str, **options: bool) -> str:
    lines = [*text.split("\n")]
    found = additions(lines, module, (name, name), is_typing=options.get("is_typing", False))
    return "\n".join(found[0].lines)


def test_what_only_type_checkers_see_is_read_and_what_is_in_functions_is_not() -> None:
    found = [(x.module, x.indent) for x in statements(_GUARDED)]
    assert found == [("__future__", ""), (None, ""), (".app", "    "), (".views", "    ")]


@pytest.mark.parametrize("head", ["if TYPE_CHECKING:", "if typing.TYPE_CHECKING:  # pragma: no"])
def test_the_condition_is_known_in_all_its_forms(head: str) -> None:
    assert len(statements(f"{head}\n    from a import b\n\n    import c")) == 2
    assert not statements("if sys.version_info > (3,):\n    from a import b\n")


def test_what_annotations_need_goes_below_the_condition_in_order() -> None:
    text = added(_GUARDED, ".ctx", "Context", is_typing=True)
    assert "    from .app import App\n    from .ctx import Context\n    from .views" in text


def test_a_standard_module_goes_to_the_others_of_its_kind() -> None:
    text = added(_GUARDED, None, "datetime", is_typing=True)
    assert "\nimport datetime\nimport typing as t\n" in text


def test_what_the_program_needs_does_not_go_below_the_condition() -> None:
    text = added(_GUARDED, ".ctx", "Context")
    assert "\n    from .ctx" not in text
    assert "\nfrom .ctx import Context\n" in text


def test_a_condition_goes_with_its_last_import() -> None:
    text = "import typing as t\n\nif t.TYPE_CHECKING:\n    from .app import App\n\nx = 1"
    lines = [*text.split("\n")]
    (old,) = [x for x in statements(text) if x.indent]
    assert remove(lines, old, "App") == ["import typing as t", "", "x = 1"]


def test_a_condition_stays_with_what_else_is_below_it() -> None:
    lines = [*_GUARDED.split("\n")]
    (old, _) = [x for x in statements(_GUARDED) if x.indent]
    assert remove(lines, old, "App") == [x for x in lines if "import App" not in x]


def test_packages_of_the_project_are_a_group_of_their_own() -> None:
    text = "import os\n\nimport pytest\n\nimport shop\n"
    (first, *_) = additions(
        [*text.split("\n")], None, ("requests", "requests"), is_own=lambda name: name == "shop"
    )
    assert "import pytest\nimport requests\n\nimport shop" in "\n".join(first.lines)


def test_the_first_of_a_group_is_parted_from_the_only_other_one() -> None:
    assert added("import pytest\n\nx = 1", None, "os").startswith("import os\n\nimport pytest\n")


@pytest.mark.parametrize(
    ("annotation", "used"),
    [
        ('"App"', {"App"}),
        ('t.Optional["App"]', {"t", "App"}),
        ('"list[app.App] | None"', {"list", "app"}),
        ('t.Literal["App"]', {"t"}),
        ('"not a type!"', set[str]()),
    ],
)
def test_names_of_annotations_in_quotes_are_used(annotation: str, used: set[str]) -> None:
    found = names(file("a.py", f"def f(x: {annotation}):\n    return 1\n"))
    assert found is not None
    assert {x for x in found.used if x not in ("None",)} == used


def test_an_import_that_a_quoted_annotation_needs_stays() -> None:
    session = Session(
        name="quoted",
        text='from a import App\n\n\ndef f(x: "App"):\n    return App()\n',
        typed=(("return App()", "return 1"),),
    )
    assert thought_of(session, "unused import") == []


def test_a_module_is_imported_by_a_short_name_if_its_members_are_used() -> None:
    session = Session(
        name="members",
        text="import os\n\n\nprint(os)\nx = 1\n",
        typed=(("x = 1", "x: t.Optional[t.Any] = 1"),),
    )
    assert thought_of(session, "missing import")[0].lines == ["import typing as t"]


def test_a_module_in_a_package_is_imported_by_its_whole_name() -> None:
    session = Session(
        name="inside",
        text="import os\n\n\nprint(os)\nx = 1\n",
        typed=(("x = 1", "x = importlib.metadata.version('a')"),),
    )
    assert thought_of(session, "missing import")[0].lines == ["import importlib.metadata"]


_KEPT = "import a\nimport b\nimport c\n\n\ndef f() -> int:\n    return a + b + c\n"
_LOOSE = "import c\nimport a\nimport b\n\n\ndef f():\n    return a + b\n"


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([_KEPT, _KEPT], (1.0, 1.0, 1.0)),
        ([_KEPT, _LOOSE], (0.5, 0.5, 0.5)),
        ([_LOOSE], (0.0, 0.0, 0.0)),
        ([], (1.0, 1.0, 1.0)),
    ],
)
def test_habits_are_shares_of_the_files_near_by(
    texts: list[str], expected: tuple[float, float, float]
) -> None:
    own = file("own.py", _LOOSE)
    files = {x.uri: x for x in (own, *(file(f"{i}.py", text) for i, text in enumerate(texts)))}
    found = project_style(own, files, Project())
    assert (found["typed"], found["sorted"], found["neat"]) == expected


def test_a_member_that_other_classes_have_too_is_renamed_only_on_itself() -> None:
    text = (
        "class Job:\n    def name(self):\n        return 1\n\n"
        "    def show(self, other):\n        print(self.name())\n\n        print(other.name())\n"
    )
    alone = Session(name="alone", text=text, typed=(("def name(self)", "def title(self)"),))
    both = Session(
        name="both",
        text=text,
        typed=(("def name(self)", "def title(self)"),),
        others={"lib.py": "class User:\n    def name(self):\n        return 2\n"},
    )
    assert {tuple(x.lines) for x in thought_of(alone, "rename")} == {
        ("        print(self.title())",),
        ("        print(other.title())",),
    }
    assert [x.lines for x in thought_of(both, "rename")] == [["        print(self.title())"]]


def test_a_name_whose_line_became_another_one_is_not_renamed() -> None:
    session = Session(
        name="another",
        text="def f(width):\n    return width * 2\n",
        typed=(("def f(width):", "def f(size, *, factor=2):"),),
    )
    assert thought_of(session, "rename") == []
    assert thought_of(session, "leftover")


async def test_a_jump_leads_to_what_the_code_means_and_not_to_what_looks_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(score.THRESHOLDS, "default", 2.0)
    monkeypatch.setitem(score.PLACE_THRESHOLDS, "default", 0.5)
    broken = Session(
        name="broken",
        text="def f(width):\n    print(1)\n    return width * 2\n",
        typed=(("def f(width):", "def f(size, *, factor=2):"),),
    )
    (found,) = await asked(broken)
    assert isinstance(found, JumpProposal)
    assert found.spot.line == 2
    alike = Session(
        name="alike",
        text="a = get(one)\nprint(a)\nb = take(two, one)\n",
        typed=(("get(one)", "get(three)"),),
    )
    assert [x for x in thought_of(alike, "repeat") if score.at_place(x) > 0.5]
    assert await asked(alike) == []


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("import os, os.path\nX = 1\n", "import os"),
        ("from a import x, x\nX = 1\n", "from a import x"),
        ("import xml.dom, xml.sax\nX = 1\n", "import xml.etree"),
    ],
)
def test_what_is_imported_twice_in_one_statement_is_no_trouble(text: str, more: str) -> None:
    session = Session(name="twice", text=text, typed=(("X = 1", f"X = 1\n{more}"),))
    assert thought_of(session, "double import")


def test_a_name_goes_into_the_list_and_not_into_the_module() -> None:
    text = "from datetime import (datetime,\n    timedelta)\n"
    assert added(text, "datetime", "date").startswith("from datetime import (date, datetime,")


def test_a_comma_goes_before_a_comment() -> None:
    text = "from a import (\n    b  # why\n)\n"
    assert added(text, "a", "c") == "from a import (\n    b,  # why\n    c\n)\n"


@pytest.mark.parametrize("mark", ["'", '"', '"""', "r'''"])
def test_the_first_import_goes_below_the_docstring(mark: str) -> None:
    text = f"{mark}What it does.{mark.lstrip('r')}\n\nx = 1\n"
    assert added(text, None, "os").split("\n")[2] == "import os"


def test_a_near_module_of_another_folder_is_not_spelt_as_it_is_there(tmp_path: Path) -> None:
    for path in ("pkg/__init__.py", "pkg/a/__init__.py", "pkg/a/util.py", "pkg/b/__init__.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("helper = 1\n" if path.endswith("util.py") else "")
    predictor = EmbeddedEngine().begin(Workspace(folders=(str(tmp_path),)))
    one = Document((tmp_path / "pkg/a/one.py").as_uri(), "python", 1, "from .util import helper\n")
    two = Document(
        (tmp_path / "pkg/b/two.py").as_uri(), "python", 1, "from . import x\n\n\ny = x\n"
    )
    for document, span, text in (
        (one, Span(Spot(0, 0), Spot(1, 0)), ""),
        (two, Span(Spot(3, 4), Spot(3, 5)), "helper"),
    ):
        predictor.opened(document)
        predictor.changed(document, [document.edit(span, text)])
    asyncio.run(predictor.settled())
    question = Question(document=two, spot=Spot(3, 9))
    found = predictor.candidates(predictor.edit_context(question))
    written = [x.lines for x in found if x.rule == "missing import"]
    assert ["from ..a.util import helper"] in written
    assert ["from .util import helper"] not in written
