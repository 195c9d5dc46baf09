"""What is offered at the cursor."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as some

from parley.conversation.completion import Completion, Index, completion_at, in_commands
from parley.schema import v2
from parley.schema.base import Unknown

COMMANDS: list[v2.AvailableCommand] = [
    v2.Command(name="review", description="Look at it"),
    v2.Command(
        name="plan", description="Think first", input=v2.TextCommandInput(hint="what about")
    ),
    v2.Command(name="preview", description="Show it"),
    Unknown("card", b'{"type":"card"}'),
]
FILES = Index(["src/app.py", "src/tui/app.py", "README.md", "my notes.md", "src/parley/apple.txt"])


def texts(completion: Completion | None) -> list[str]:
    return [] if completion is None else [each.text for each in completion.items]


def at_end(text: str) -> Completion | None:
    return completion_at(text, len(text), COMMANDS, FILES.find)


def test_commands_are_found_by_beginning_by_part_and_by_letters() -> None:
    assert [each.text for each in in_commands(COMMANDS, "")] == ["/review ", "/plan ", "/preview "]
    assert [each.text for each in in_commands(COMMANDS, "REV")] == ["/review ", "/preview "]
    assert [each.text for each in in_commands(COMMANDS, "vw")] == ["/review ", "/preview "]
    assert in_commands(COMMANDS, "x") == []
    [plan] = in_commands(COMMANDS, "plan")
    assert (plan.label, plan.detail) == ("/plan <what about>", "Think first")


def test_a_slash_alone_offers_all_commands_in_their_order_and_the_first_of_a_name() -> None:
    names = [f"command-{number}" for number in range(60, 10, -1)]
    theirs = [v2.Command(name=each, description="theirs") for each in names]
    ours = v2.Command(name=names[7], description="ours")
    items = in_commands([*theirs, ours, v2.Command(name="a\nb", description="")], "")
    assert [(each.text, each.detail) for each in items] == [
        (f"/{each} ", "theirs") for each in names
    ]


def test_a_slash_counts_at_the_beginning_alone() -> None:
    assert texts(at_end("/pl")) == ["/plan "]
    assert texts(at_end("  /pl")) == ["/plan "]
    assert at_end("look at /pl") is None
    assert at_end("/plan the") is None
    assert at_end("hello") is None


def test_what_is_chosen_replaces_the_whole_word() -> None:
    found = completion_at("see @srcap and go", 9, COMMANDS, FILES.find)
    assert found is not None
    assert ("see @srcap and go"[found.start : found.end], texts(found)[0]) == (
        "@srcap",
        "@src/app.py ",
    )
    found = completion_at('see @"my no', 11, COMMANDS, FILES.find)
    assert found is not None
    assert (found.start, found.end, texts(found)) == (4, 11, ['@"my notes.md" '])
    found = completion_at('see @"my notes" now', 8, COMMANDS, FILES.find)
    assert found is not None
    assert (found.start, found.end) == (4, 15)


def test_an_at_completes_files_but_not_addresses() -> None:
    assert texts(at_end("@read")) == ["@README.md "]
    assert texts(at_end("(@read")) == ["@README.md "]
    assert at_end("me@read") is None
    assert at_end("@no such") is None
    assert texts(at_end("@app")) == ["@src/app.py ", "@src/tui/app.py ", "@src/parley/apple.txt "]
    assert texts(at_end("@tui/app")) == ["@src/tui/app.py "]


def test_letters_in_order_count_where_nothing_else_fits() -> None:
    assert FILES.find("stap") == ["src/tui/app.py"]
    assert FILES.find("rdme") == ["README.md"]
    assert FILES.find("zz") == []
    assert FILES.find("zzz") == []
    assert FILES.find("z") == []
    assert FILES.find("a\nb") == []


def test_names_that_do_not_stand_on_a_line_are_left_out() -> None:
    assert Index(["a\nb", "c\x1b[2J", "d\udc80", "e", ""]).names == ["e"]


WORDS = some.text(some.sampled_from("ab/.İ[^-]\\"), max_size=6)


@given(names=some.lists(WORDS, max_size=8), word=WORDS)
def test_what_is_found_has_the_letters_and_what_has_a_part_is_found(
    names: list[str], word: str
) -> None:
    index = Index(names)
    found = index.find(word, len(names))
    assert len(found) == len(set(found))
    folded = word.casefold()
    pattern = re.compile(".*".join(map(re.escape, folded)))
    parts = [each for each in index.names if folded in each.casefold()]
    spelled = [each for each in index.names if pattern.search(each.casefold())]
    assert set(found) == set(parts or spelled)
