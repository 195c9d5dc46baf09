"""The hint at a key that the user has set and the agent does not get."""

from __future__ import annotations

from parley.conversation.login_hint import env_hint, missing_keys

ENVIRON = {"OPENAI_API_KEY": "x", "GEMINI_API_KEY": "x", "SOME_TOKEN": "x", "EMPTY_API_KEY": ""}


def test_a_key_that_the_error_names_is_found() -> None:
    texts = ["Set SOME_TOKEN or OTHER_API_KEY first", "login"]
    assert missing_keys(texts, ["unknown"], ENVIRON, ()) == ["SOME_TOKEN"]


def test_the_keys_of_known_agents_are_found_by_name_and_by_command() -> None:
    assert missing_keys([], ["work", "npx @zed-industries/codex-acp"], ENVIRON, ()) == [
        "OPENAI_API_KEY"
    ]
    assert missing_keys([], ["gemini", "/opt/agent"], ENVIRON, ()) == ["GEMINI_API_KEY"]


def test_a_key_is_not_named_if_it_is_passed_on_or_empty_or_part_of_a_word() -> None:
    assert missing_keys(["SOME_TOKEN"], [], ENVIRON, ["SOME_TOKEN"]) == []
    assert missing_keys(["EMPTY_API_KEY", "AWESOME_TOKENS"], [], ENVIRON, ()) == []
    assert missing_keys([], ["geminis"], ENVIRON, ()) == []


def test_each_key_is_named_once() -> None:
    found = missing_keys(["OPENAI_API_KEY, OPENAI_API_KEY"], ["codex"], ENVIRON, ())
    assert found == ["OPENAI_API_KEY"]


def test_the_hint_names_the_flag() -> None:
    assert env_hint([]) == ""
    assert env_hint(["A_KEY"]) == (
        "A_KEY is set here but not passed to the agent; pass it on with --env A_KEY"
    )
    assert env_hint(["A_KEY", "B_KEY"]) == (
        "A_KEY, B_KEY are set here but not passed to the agent; "
        "pass them on with --env A_KEY --env B_KEY"
    )
