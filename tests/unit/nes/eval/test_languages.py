from __future__ import annotations

import pytest

from parley._languages import language_id_of
from parley.nes._eval.languages import LANGUAGES, import_lines, language_of, patterns
from parley.nes._syntax import language_of as grammar_of


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "python",
            "import a\nfrom b import (\n    c,\n)\nimportant = 1\nfrom d import \\\n  e\nx",
            "0123 56",
        ),
        (
            "typescript",
            "import { a,\n  b } from 'c';\nimport('d')\nconst e = require('f')\nlet g = 1",
            "01 3",
        ),
        ("go", 'package a\nimport (\n\t"b"\n)\nfunc c() {}', "123"),
        ("rust", "use a::{\n  b,\n};\npub use c;\nfn user() {}", "0123"),
        ("java", "package a;\nimport b.C;\nimportant();", "1"),
        ("c", '#include <a>\n  # include "b"\nint c;', "01"),
    ],
)
def test_lines_that_import_are_known_in_each_language(
    language: str, text: str, expected: str
) -> None:
    found = import_lines(text.split("\n"), language)
    assert found == {int(each) for each in expected if each != " "}


@pytest.mark.parametrize(
    ("path", "language", "type", "grammar"),
    [
        ("src/a.py", "python", "python", "python"),
        ("a.tsx", "typescript", "typescriptreact", "tsx"),
        ("a.mjs", "typescript", "javascript", "javascript"),
        ("a.hpp", "c", "cpp", "cpp"),
        ("a.hxx", "c", "cpp", "cpp"),
        ("README.md", None, "markdown", ""),
        ("Makefile", None, "plaintext", ""),
    ],
)
def test_a_file_is_known_by_its_ending_to_everybody(
    path: str, language: str | None, type: str, grammar: str
) -> None:
    assert (language_of(path), language_id_of(path)) == (language, type)
    assert grammar_of("", f".{path.rpartition('.')[2]}") == grammar
    assert grammar_of(type, "") == grammar


def test_git_is_told_all_endings_of_a_language() -> None:
    assert patterns(["python", "go"]) == [":(glob)**/*.py", ":(glob)**/*.pyi", ":(glob)**/*.go"]
    assert all(LANGUAGES.values())
