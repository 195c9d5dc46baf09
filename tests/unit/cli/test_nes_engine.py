"""Which engine the flags of `parley nes serve` name, and what is said about it."""

from __future__ import annotations

import argparse

import pytest

from parley.cli.nes_engine import add_engine_arguments, engine_of
from parley.cli.reporting import Exit, Failure
from parley.nes import CombinedEngine, EmbeddedEngine, Engine

URL = "http://localhost:8080"


def engine(*words: str) -> Engine:
    parser = argparse.ArgumentParser()
    add_engine_arguments(parser)
    return engine_of(parser.parse_args(words))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("sweep-next-edit-1.5b", "sweep-next-edit-1.5b is asked in the prompt format sweep;"),
        ("Qwen2.5-Coder-7B-Instruct", "is asked in the prompt format chat;"),
        (
            "qwen2.5-coder",
            "qwen2.5-coder is asked in the prompt format qwen, which only writes at the cursor;",
        ),
    ],
)
def test_a_format_that_nobody_has_named_is_told_in_one_line(
    model: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert isinstance(engine("--model-url", URL, "--model", model), CombinedEngine)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("parley: ")
    assert line.endswith("; --prompt-format names another")
    assert told in line


def test_nothing_is_told_of_a_format_that_was_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(engine("--model-url", URL, "--prompt-format", "chat"), CombinedEngine)
    assert isinstance(engine(), EmbeddedEngine)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "words",
    [
        ("--model", "m"),
        ("--predictor", "model"),
        ("--prompt-format", "chat"),
        ("--api-key-file", "key"),
        ("--ca-file", "ca.pem"),
        ("--plain-token",),
    ],
)
def test_what_is_about_a_model_needs_to_know_where_it_is(words: tuple[str, ...]) -> None:
    with pytest.raises(Failure, match="a model needs an address: add --model-url URL") as caught:
        engine(*words)
    assert caught.value.code == Exit.USAGE


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model-url", URL), "the model is not named: add --model NAME"),
        (("--model-url", "localhost:8080", "--model", "m"), "begins with http:// or https://, as"),
        (("--model-url", "ws://localhost", "--model", "m"), "begins with http:// or https://, as"),
        (("--model-url", URL, "--model", "m", "--ca-file", "/no/ca.pem"), "no file /no/ca.pem"),
        (("--model-url", URL, "--model", "m", "--prompt-format", "x"), "no prompt format 'x'"),
    ],
)
def test_what_is_wrong_about_a_model_is_said_before_anything_is_asked(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Failure, match=told) as caught:
        engine(*words)
    assert caught.value.code == Exit.USAGE
    assert capsys.readouterr().err == ""
