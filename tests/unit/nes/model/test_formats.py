"""What each prompt format says to its model, and what it reads in the answer."""

from __future__ import annotations

import pytest

from parley.errors import ConfigError
from parley.nes._documents.document import Document
from parley.nes.engine import Spot
from parley.nes.model import FORMATS
from parley.nes.model._api import Completion
from parley.nes.model._formats import Rewrite, format_named
from parley.nes.model._formats.fim import FILL_IN_FORMATS
from parley.nes.model._situation import Event, Excerpt, Place, Remark, Situation
from parley.nes.model._window import window_around

TEXT = "import os\n\n\ndef total(items):\n    return su\n\n\nprint(total([]))\n"
EVENT = Event(
    path="cart.py",
    uri="file:///project/cart.py",
    before=("x = 1",),
    after=("x = 2",),
    line=3,
    diff="@@ -4 +4 @@\n-x = 1\n+x = 2\n",
)


def situation(*, lines: int = 3, **more: object) -> Situation:
    window = window_around(Document("file:///a.py", "python", 1, TEXT), Spot(4, 13), lines=lines)
    assert window is not None
    known: dict[str, object] = {"events": (EVENT,), "related": (Excerpt("b.py", "y = 3\n"),)}
    return Situation(path="shop.py", language="python", window=window, **(known | more))  # type: ignore[arg-type]


def read(name: str, answer: str, *, is_cut: bool = False, lines: int = 3) -> Rewrite | None:
    return FORMATS[name].rewrite(Completion(answer, is_cut), situation(lines=lines))


PREFIX = "import os\n\n\ndef total(items):\n    return su"
SUFFIX = "\n\n\nprint(total([]))\n"


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("qwen", f"<|fim_prefix|>{PREFIX}<|fim_suffix|>{SUFFIX}<|fim_middle|>"),
        ("code_gemma", f"<|fim_prefix|>{PREFIX}<|fim_suffix|>{SUFFIX}<|fim_middle|>"),
        ("star_coder", f"<fim_prefix>{PREFIX}<fim_suffix>{SUFFIX}<fim_middle>"),
        (
            "deepseek_coder",
            f"<\uff5cfim\u2581begin\uff5c>{PREFIX}<\uff5cfim\u2581hole\uff5c>{SUFFIX}"
            "<\uff5cfim\u2581end\uff5c>",
        ),
        ("code_llama", f"<PRE> {PREFIX} <SUF>{SUFFIX} <MID>"),
        ("codestral", f"[SUFFIX]{SUFFIX}[PREFIX]{PREFIX}"),
        ("glm", f"<|code_prefix|>{PREFIX}<|code_suffix|>{SUFFIX}<|code_middle|>"),
    ],
)
def test_a_family_that_fills_in_is_asked_with_its_own_tokens(name: str, prompt: str) -> None:
    asked = FORMATS[name].prompt(situation())
    assert asked.text == prompt
    assert 1 <= len(asked.stop) <= 4
    assert not FORMATS[name].is_chat


@pytest.mark.parametrize("name", FILL_IN_FORMATS)
def test_what_is_filled_in_stands_at_the_cursor(name: str) -> None:
    found = read(name, f"m(items){FORMATS[name].prompt(situation()).stop[0]} and more")
    assert found == Rewrite("def total(items):\n    return sum(items)\n", 39)


def test_what_stands_behind_the_cursor_already_is_not_filled_in_twice() -> None:
    assert read("qwen", "m(items)\n\n\nprint(total([]))\n") == read("qwen", "m(items)")


def test_a_bracket_that_closes_what_was_opened_is_no_echo() -> None:
    window = window_around(Document("file:///a.py", "python", 1, "f(a, )\n"), Spot(0, 5))
    assert window is not None
    there = Situation(path="a.py", language="python", window=window)
    filled = FORMATS["qwen"].rewrite(Completion("g(b)", False), there)
    assert filled == Rewrite("f(a, g(b))\n", 9)
    closed = FORMATS["qwen"].rewrite(Completion("b)", False), there)
    assert closed == Rewrite("f(a, b)\n", 6)


def test_a_line_that_was_cut_off_is_not_filled_in() -> None:
    assert read("qwen", "m(items)", is_cut=True) is None
    assert read("qwen", "m(items)\n    # and", is_cut=True) == read("qwen", "m(items)")


def test_zeta_is_asked_with_edits_and_the_region_in_marks() -> None:
    asked = FORMATS["zeta"].prompt(situation())
    assert asked.text.startswith("### Instruction:\n")
    assert (
        "### User Edits:\n\nUser edited cart.py:\n```diff\n@@ -4 +4 @@\n-x = 1\n+x = 2\n```"
        in asked.text
    )
    assert asked.text.endswith(
        "### User Excerpt:\n\n```shop.py\n<|start_of_file|>\nimport os\n\n\n"
        "<|editable_region_start|>\ndef total(items):\n    return su<|user_cursor_is_here|>\n\n"
        "<|editable_region_end|>\n\nprint(total([]))\n\n```\n\n### Response:\n"
    )
    assert asked.stop == ("<|editable_region_end|>",)


def test_zeta_answers_with_the_region() -> None:
    region = "def total(items):\n    return sum(items)<|user_cursor_is_here|>\n\n"
    answer = f"<|editable_region_start|>\n{region}"
    whole = Rewrite("def total(items):\n    return sum(items)\n", 39)
    assert read("zeta", answer) == whole
    assert read("zeta", f"{answer}<|editable_region_end|>```") == whole
    assert read("zeta", answer, is_cut=True) is None
    assert read("zeta", "") is None


def test_zeta2_is_asked_with_the_suffix_first() -> None:
    asked = FORMATS["zeta2"].prompt(situation())
    assert asked.text == (
        "<[fim-suffix]>\nprint(total([]))\n\n<[fim-prefix]><filename>b.py\ny = 3\n\n"
        "<filename>edit_history\n--- a/cart.py\n+++ b/cart.py\n@@ -4 +4 @@\n-x = 1\n+x = 2\n\n"
        "<filename>shop.py\nimport os\n\n\n<<<<<<< CURRENT\ndef total(items):\n"
        "    return su<|user_cursor|>\n\n=======\n<[fim-middle]>"
    )


def test_zeta2_answers_with_the_other_side() -> None:
    answer = "def total(items):\n    return sum(items)<|user_cursor|>\n\n>>>>>>> UPDATED\n"
    assert read("zeta2", answer) == Rewrite("def total(items):\n    return sum(items)\n", 39)
    both = f"<<<<<<< CURRENT\ndef total(items):\n    return su\n\n=======\n{answer}"
    assert read("zeta2", both) == read("zeta2", answer)
    assert read("zeta2", "NO_EDITS\n>>>>>>> UPDATED\n") is None
    assert read("zeta2", answer, is_cut=True) is None


def test_zeta2_is_told_of_diagnostics_and_of_accepted_predictions() -> None:
    event = Event(path="a.py", uri="", before=(), after=(), diff="+x\n", was_proposed=True)
    remark = Remark(4, "error", "su is not defined")
    text = FORMATS["zeta2"].prompt(situation(events=(event,), remarks=(remark,))).text
    assert "<filename>diagnostics\n5: su is not defined\n\n<filename>b.py" in text
    assert "edit_history\n// User accepted prediction:\n--- a/a.py\n+++ b/a.py\n+x\n" in text


def test_zeta2_1_is_asked_with_numbered_blocks() -> None:
    asked = FORMATS["zeta2_1"].prompt(situation())
    assert asked.text.endswith(
        "<filename>shop.py\nimport os\n\n\n<|marker_1|>def total(items):\n"
        "    return su<|user_cursor|>\n\n<|marker_2|>\n<[fim-middle]>"
    )
    assert asked.stop == ("<[end\u2581of\u2581sentence]>",)


def test_zeta2_1_answers_with_some_blocks() -> None:
    answer = "<|marker_1|>def total(items):\n    return sum(items)<|user_cursor|>\n\n<|marker_2|>"
    whole = Rewrite("def total(items):\n    return sum(items)\n", 39)
    assert read("zeta2_1", answer) == whole
    assert read("zeta2_1", f"{answer}<[end\u2581of\u2581sentence]>") == whole
    assert read("zeta2_1", "<|marker_1|><|marker_1|>") is None
    assert read("zeta2_1", "<|marker_1|>x") is None
    assert read("zeta2_1", "<|marker_1|>x<|marker_7|>") is None
    assert read("zeta2_1", "<|marker_2|>x<|marker_1|>") is None
    assert read("zeta2_1", "<|marker_1|>x<|marker_?|>y<|marker_2|>") is None


def test_blocks_divide_where_a_line_is_empty_and_one_is_rewritten_alone() -> None:
    text = (
        "".join(f"a{line}\n" for line in range(7))
        + "\n"
        + "".join(f"b{line}\n" for line in range(8))
    )
    window = window_around(Document("file:///a.py", "python", 1, text), Spot(8, 2), lines=40)
    assert window is not None
    there = Situation(path="a.py", language="python", window=window)
    asked = FORMATS["zeta2_1"].prompt(there)
    assert "<|marker_1|>a0\n" in asked.text
    assert "a6\n\n<|marker_2|>b0<|user_cursor|>\n" in asked.text
    assert "b7\n<|marker_3|>" in asked.text
    answer = "<|marker_2|>" + "".join(f"c{line}\n" for line in range(8)) + "<|marker_3|>"
    found = FORMATS["zeta2_1"].rewrite(Completion(answer, False), there)
    assert found == Rewrite(text.replace("b", "c"))


def test_sweep_is_asked_with_three_states() -> None:
    mine = Event(
        path="shop.py",
        uri="file:///a.py",
        before=("    return s",),
        after=("    return su",),
        line=4,
        diff="",
    )
    asked = FORMATS["sweep"].prompt(situation(events=(EVENT, mine)))
    assert asked.text == (
        "<|file_sep|>b.py\ny = 3\n"
        "<|file_sep|>cart.py.diff\noriginal:\nx = 1\nupdated:\nx = 2\n"
        "<|file_sep|>shop.py.diff\noriginal:\n    return s\nupdated:\n    return su\n"
        "<|file_sep|>original/shop.py\ndef total(items):\n    return s\n"
        "<|file_sep|>current/shop.py\ndef total(items):\n    return su\n"
        "<|file_sep|>updated/shop.py\n"
    )
    assert asked.stop == ("<|file_sep|>", "</s>")


def test_sweep_answers_with_the_window() -> None:
    answer = "def total(items):\n    return sum(items)\n<|file_sep|>other.py\n"
    assert read("sweep", answer) == Rewrite("def total(items):\n    return sum(items)\n")
    assert read("sweep", answer, is_cut=True) is None


def test_sweep_is_told_of_diagnostics_as_of_a_file() -> None:
    text = FORMATS["sweep"].prompt(situation(remarks=(Remark(4, "error", "no su"),))).text
    assert (
        "y = 3\n<|file_sep|>Diagnostics for shop.py\nerror at line 5: no su\n<|file_sep|>" in text
    )


def test_mercury_is_asked_with_the_region_in_the_file_and_the_newest_last() -> None:
    related = (Excerpt("b.py", "y = 3\n"), Excerpt("c.py", "z = 4\n"))
    asked = FORMATS["mercury"].prompt(
        situation(related=related, remarks=(Remark(4, "error", "su is not defined"),))
    )
    assert FORMATS["mercury"].is_chat
    assert asked.system == ""
    assert asked.text == (
        "<|recently_viewed_code_snippets|>\n"
        "<|recently_viewed_code_snippet|>\ncode_snippet_file_path: c.py\nz = 4\n"
        "<|/recently_viewed_code_snippet|>\n\n"
        "<|recently_viewed_code_snippet|>\ncode_snippet_file_path: b.py\ny = 3\n"
        "<|/recently_viewed_code_snippet|>\n"
        "<|/recently_viewed_code_snippets|>\n\n"
        "<|current_file_content|>\ncurrent_file_path: shop.py\nimport os\n\n\n"
        "<|code_to_edit|>\ndef total(items):\n    return su<|cursor|>\n\n<|/code_to_edit|>\n"
        "\nprint(total([]))\n\n<|/current_file_content|>\n\n"
        "<|edit_diff_history|>\n--- cart.py\n+++ cart.py\n@@ -4 +4 @@\n-x = 1\n+x = 2\n\n"
        "<|/edit_diff_history|>\n\n"
        "<|diagnostics|>\n5 - error: su is not defined\n<|/diagnostics|>"
    )


def test_mercury_has_its_parts_also_when_nothing_is_known() -> None:
    text = FORMATS["mercury"].prompt(situation(related=(), events=())).text
    assert text.startswith(
        "<|recently_viewed_code_snippets|>\n\n<|/recently_viewed_code_snippets|>\n\n"
    )
    assert text.endswith("<|edit_diff_history|>\n\n<|/edit_diff_history|>")


@pytest.mark.parametrize(
    "answer",
    [
        "```\ndef total(items):\n    return sum(items)\n\n```",
        "```python\ndef total(items):\n    return sum(items)\n```",
        "def total(items):\n    return sum(items)\n",
        "<|code_to_edit|>\ndef total(items):\n    return sum(items)\n\n<|/code_to_edit|>",
    ],
)
def test_mercury_answers_with_the_region(answer: str) -> None:
    assert read("mercury", answer) == Rewrite("def total(items):\n    return sum(items)\n")
    assert read("mercury", answer, is_cut=True) is None


@pytest.mark.parametrize("answer", ["None", "```\nNone\n```", "", "x<|/edit_diff_history|>"])
def test_mercury_may_have_nothing_to_say_or_nothing_that_makes_sense(answer: str) -> None:
    assert read("mercury", answer) is None


def test_a_chat_is_told_everything_and_the_excerpt_last() -> None:
    format = FORMATS["chat"]
    asked = format.prompt(
        situation(
            remarks=(Remark(4, "error", "su is not defined"),),
            places=(Place("cart.py", 9, "total([1])"),),
            open_paths=("cart.py", "b.py"),
        )
    )
    assert format.is_chat
    assert "NO_EDIT" in asked.system
    assert asked.text == (
        "Part of b.py:\n```\ny = 3\n```\n\n"
        "Open files: cart.py, b.py\n\n"
        "Edited cart.py:\n```diff\n@@ -4 +4 @@\n-x = 1\n+x = 2\n```\n\n"
        "Problems reported in the open file:\n- line 5, error: su is not defined\n\n"
        "Perhaps to be changed next:\n- cart.py:10: total([1])\n\n"
        "shop.py, from line 1:\n```python\nimport os\n\n\n<|region|>\ndef total(items):\n"
        "    return su<|cursor|>\n\n<|end_region|>\n\nprint(total([]))\n```"
    )


@pytest.mark.parametrize(
    "answer",
    [
        "```python\ndef total(items):\n    return sum(items)\n```",
        "Here it is:\n```\ndef total(items):\n    return sum(items)\n\n```\nDone.",
        "<think>\nWhat ```now```?\n</think>\n```py\ndef total(items):\n    return sum(items)\n```",
        "def total(items):\n    return sum(items)",
        "<|region|>\ndef total(items):\n    return sum(items)\n<|end_region|>",
        "Between <|region|> and <|end_region|>:\n```\n<|region|>\ndef total(items):\n"
        "    return sum(items)\n<|end_region|>\n```",
        "```python\ndef total(items):\n    return sum(items)",
        "````py\ndef total(items):\n    return sum(items)\n````\n```\nprint()\n```",
    ],
)
def test_a_chat_answers_with_a_block_or_plainly(answer: str) -> None:
    assert read("chat", answer) == Rewrite("def total(items):\n    return sum(items)\n")


@pytest.mark.parametrize("answer", ["NO_EDIT", "`NO_EDIT`", "```\nNO_EDIT\n```", "", "```\n\n```"])
def test_a_chat_may_have_nothing_to_say(answer: str) -> None:
    assert read("chat", answer) is None


def test_a_chat_says_where_the_cursor_goes() -> None:
    assert read("chat", "```\ndef total(items):\n    return sum(<|cursor|>)\n```") == Rewrite(
        "def total(items):\n    return sum()\n", 33
    )


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("zeta2.1", "zeta2_1"),
        ("zeta2_1", "zeta2_1"),
        ("zed-industries/zeta-2.1-GGUF", "zeta2_1"),
        ("hf.co/zed-industries/zeta-2", "zeta2"),
        ("zeta", "zeta"),
        ("sweep-next-edit-1.5b", "sweep"),
        ("qwen2.5-coder:7b", "qwen"),
        ("Qwen/Qwen3-Coder-30B", "qwen"),
        ("codestral:22b", "codestral"),
        ("starcoder2:3b", "star_coder"),
        ("deepseek-coder-v2:16b", "deepseek_coder"),
        ("codellama:7b-code", "code_llama"),
        ("codegemma:2b", "code_gemma"),
        ("codegeex4", "glm"),
        ("mercury-edit-2", "mercury"),
        ("mercury-coder-next-edit", "mercury"),
        ("mercury-2", "chat"),
        ("Qwen/Qwen2.5-Coder-7B-Instruct", "chat"),
        ("qwen2.5-coder:7b-instruct-q4_K_M", "chat"),
        ("deepseek-coder-6.7b-instruct", "chat"),
        ("codellama-7b-chat", "chat"),
        ("codegemma:7b-it", "chat"),
        ("codegemma-7b-it-GGUF", "chat"),
        ("codegemma-7b-italian", "code_gemma"),
        ("zeta-2-instruct", "zeta2"),
        ("a-model-that-nobody-knows", "chat"),
    ],
)
def test_a_format_is_inferred_from_the_name_of_the_model(model: str, name: str) -> None:
    assert format_named("infer", model).name == name


def test_there_are_the_names_of_the_ecosystem_and_no_others() -> None:
    names = "zeta zeta2 zeta2_1 sweep qwen codestral star_coder deepseek_coder code_llama"
    assert sorted(FORMATS) == sorted([*names.split(), "code_gemma", "glm", "mercury", "chat"])
    with pytest.raises(ConfigError, match="there is no prompt format 'zeta9'"):
        format_named("zeta9")
