"""What the engine is made of: templates, imports, names, the index, memory."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from parley.nes._syntax import parse
from parley.nes.embedded import EmbeddedEngine
from parley.nes.embedded._context import Candidate
from parley.nes.embedded._feedback import OutcomeMemory
from parley.nes.embedded._names.python import BUILTINS
from parley.nes.embedded._names.scopes import Place
from parley.nes.embedded._names.table import names
from parley.nes.embedded._project import Project
from parley.nes.embedded._python.imports import add, remove, statements
from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._substitutions import generalize, transfer
from parley.nes.embedded._tokens import alike, common, tokens


def file(text: str, name: str = "a.py") -> SourceFile:
    return SourceFile(f"file:///{name}", text.split("\n"))


def test_tokens_lose_nothing() -> None:
    text = "def f(a,\tb):  # \U0001f600 é\n    return 'x'"
    assert "".join(tokens(text)) == text


def test_common_counts_what_two_lists_share_in_order() -> None:
    assert common("abcde", "xbyd") == 2
    assert common("", "a") == 0
    assert alike("a = 1", "a  =  1") == 1.0


def test_a_change_is_carried_over_with_the_words_that_differ() -> None:
    assert transfer("x = get(a)", "x = get(a, a.id)", "x = get(b)") == "x = get(b, b.id)"
    assert transfer("x = get(a)", "x = put(a)", "x = set(a)") is None


def test_two_examples_make_a_template() -> None:
    template = generalize(
        ("assertEqual(a, 1)", "assert a == 1"), ("assertEqual(b, 2)", "assert b == 2")
    )
    assert template is not None
    assert template.apply("assertEqual(f(x, y), [3])") == "assert f(x, y) == [3]"
    assert template.apply("assertTrue(a, 1)") is None


def test_what_differs_in_the_new_lines_alone_is_no_template() -> None:
    assert generalize(("f(a)", "g(a, 1)"), ("f(b)", "g(b, 2)")) is None


@pytest.mark.parametrize(
    ("text", "module", "name", "wanted"),
    [
        ("import os\nimport sys\n", None, "re", "import os\nimport re\nimport sys\n"),
        ("from a import b, d\n", "a", "c", "from a import b, c, d\n"),
        ("from a import d, b\n", "a", "c", "from a import d, b, c\n"),
        (
            "from a import (\n    b,\n    d,\n)\n", "a", "c",
            "from a import (\n    b,\n    c,\n    d,\n)\n",
        ),
        ("import os\n\nimport lib\n", None, "re", "import os\nimport re\n\nimport lib\n"),
        ('"""Doc."""\n\nx = 1\n', None, "re", '"""Doc."""\n\nimport re\n\nx = 1\n'),
        ("import os\nfrom a import b\n", "c", "d", "import os\nfrom a import b\nfrom c import d\n"),
    ],
)  # fmt: skip
def test_an_import_goes_where_the_file_has_such(
    text: str, module: str | None, name: str, wanted: str
) -> None:
    assert add(text.split("\n"), module, (name, name)) == wanted.split("\n")


@pytest.mark.parametrize(
    ("text", "name", "wanted"),
    [
        ("import os\nimport sys\n", "os", "import sys\n"),
        ("from a import b, c\n", "b", "from a import c\n"),
        ("from a import (\n    b,\n    c,\n)\n", "b", "from a import (\n    c,\n)\n"),
        ("import os\n\nimport sys\n\nx = 1\n", "sys", "import os\n\nx = 1\n"),
    ],
)
def test_an_import_is_taken_away(text: str, name: str, wanted: str) -> None:
    statement = next(x for x in statements(text) if name in [here for _, here in x.names])
    assert remove(text.split("\n"), statement, name) == wanted.split("\n")


def test_names_know_their_scopes() -> None:
    found = names(file("def f(a):\n    b = a\n    return b + c\n\n\nc = 1\n"))
    assert found is not None
    assert set(found.bound) == {"f", "c"}
    assert "a" not in found.used
    assert found.used["c"] == [Place(2, 15)]
    assert found.local == {"a", "b"}


def test_a_class_does_not_lend_its_names_to_its_methods() -> None:
    found = names(file("class A:\n    x = 1\n\n    def f(self):\n        return x\n"))
    assert found is not None
    assert "x" in found.used
    assert "x" not in found.bound


def test_javascript_has_blocks() -> None:
    found = names(file("function f(a) {\n  { let b = a; }\n  return b;\n}\n", "a.js"))
    assert found is not None
    assert "b" in found.used
    assert "a" not in found.used


def test_a_tree_is_made_from_the_last_one() -> None:
    first = parse("x", "python", "def f():\n    return 1\n")
    again = parse("x", "python", "def f(:\n    return 1\n")
    assert first is not None
    assert again is not None
    assert first.errors() == 0
    assert again.errors() > 0
    assert parse("x", "nothing", "text") is None


def test_the_project_is_read_and_read_again(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("alpha = 1\n")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "b.js").write_text("alpha = 1\n")
    project = Project((str(tmp_path),))
    deque(project.reading(), 0)
    assert project.count("alpha") == 1
    (tmp_path / "a.py").write_text("the_beta = 22\n")
    deque(project.reading(), 0)
    assert (project.count("alpha"), project.count("the_beta")) == (0, 1)


def candidate(cause: str, line: str = "x") -> Candidate:
    return Candidate(uri="file:///a", start=0, end=1, lines=[line], rule="repeat", cause=cause)


def test_what_was_rejected_is_barred_and_its_cause_after_two() -> None:
    memory = OutcomeMemory()
    memory.learn(candidate("c", "x"), "old", "rejected")
    assert memory.is_barred(candidate("c", "x"), "old")
    assert not memory.is_barred(candidate("c", "y"), "other")
    memory.learn(candidate("c", "y"), "other", "rejected")
    assert memory.is_barred(candidate("c", "z"), "third")


def test_what_is_ignored_counts_half_after_three_times() -> None:
    memory = OutcomeMemory()
    for _ in range(11):
        memory.learn(candidate("c"), "old", "ignored")
    assert not memory.is_barred(candidate("c"), "old")
    memory.learn(candidate("c"), "old", "ignored")
    assert memory.is_barred(candidate("c"), "old")


def test_what_is_accepted_makes_its_cause_likelier() -> None:
    memory = OutcomeMemory()
    assert memory.shift(candidate("c")) == 0
    memory.learn(candidate("c"), "old", "accepted")
    assert memory.shift(candidate("c")) > memory.shift(candidate("d")) > 0
    memory.learn(candidate("c"), "old", "cancelled")
    memory.learn(candidate("c"), "old", "replaced")
    assert memory.shift(candidate("c")) > 1


def test_the_engine_offers_how_bold_it_is() -> None:
    (option,) = EmbeddedEngine().options()
    assert option.config_id == "nes_aggressiveness"
    assert option.current_value == "default"


@pytest.mark.parametrize(
    ("name", "text", "free"),
    [
        ("a.js", "for (const x of xs) { f(x); }", {"f", "xs"}),
        ("a.js", "for (const {x, y: [z]} of xs) { f(x, z); }", {"f", "xs"}),
        ("a.js", "for (x in xs) { f(x); }", {"f", "x", "xs"}),
        ("a.js", "function g() { for (var x of []) {} return x; }", set[str]()),
        ("a.js", "function g() { for (let x of []) {} return x; }", {"x"}),
        ("a.js", "try { f(); } catch (e) { g(e); }", {"f", "g"}),
        ("a.ts", "try { f(); } catch (e: unknown) { g(e); }\nh(e);", {"f", "g", "h", "e"}),
        ("a.js", "try { f(); } catch ({message}) { g(message); } finally { h(); }", {*"fgh"}),
        ("a.py", "class A[T](B[T]):\n    x: T\n    def f(self, y: T) -> T: ...\n", {"B"}),
        ("a.py", "def f[K: Base, *V](a: K, b=K) -> K:\n    return a, V\n", {"Base"}),
        ("a.py", "def f[T](a: T): ...\n\nx: T\n", {"T"}),
        ("a.py", "type L[T: int] = dict[T, M]\nx: L\n", {"M"}),
        ("a.py", "type L = M\nx: L\n", {"M"}),
    ],
)
def test_what_binds_a_name_is_known(name: str, text: str, free: set[str]) -> None:
    found = names(file(text, name))
    assert found is not None
    assert {x for x in found.used if x not in found.bound} - BUILTINS == free


def test_very_deep_code_has_no_names() -> None:
    assert names(file("x = " + "(" * 3_000 + "1" + ")" * 3_000)) is None
