"""Warnings on stderr: the first few of a kind are written, the others counted."""

from __future__ import annotations

import logging
from collections.abc import Generator

import pytest

from parley.cli.stderr_log_handler import StderrLogHandler

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def logger() -> Generator[logging.Logger]:
    made, handler = logging.getLogger("parley.test"), StderrLogHandler()
    made.addHandler(handler)
    yield made
    made.removeHandler(handler)


def test_a_complaint_that_comes_again_is_counted(logger: logging.Logger, capsys: Captured) -> None:
    for number in range(1_234):
        logger.warning("%s: rejected a message: %s", "agent\x1b", number)
    written = capsys.readouterr().err.splitlines()
    assert written[:5] == [f"parley: agent␛: rejected a message: {each}" for each in range(5)]
    assert written[5:] == [
        f"parley: {count} times by now, such as: agent␛: rejected a message: 4"
        for count in ("10", "100", "1,000")
    ]
    handler = logger.handlers[0]
    assert isinstance(handler, StderrLogHandler)
    handler.report()
    handler.report()
    example = "agent␛: rejected a message: 4"
    assert capsys.readouterr().err == f"parley: 1,234 times by now, such as: {example}\n"


def test_complaints_of_different_kinds_are_all_written(
    logger: logging.Logger, capsys: Captured
) -> None:
    for number in range(5):
        logger.warning("one %s", number)
        logger.warning("another %s", number)
    assert len(capsys.readouterr().err.splitlines()) == 10


def test_a_long_complaint_is_cut_and_less_than_a_warning_is_not_written(
    logger: logging.Logger, capsys: Captured
) -> None:
    logger.info("quiet")
    logger.warning("%s", "x" * 10_000)
    text = capsys.readouterr().err
    assert text.endswith("x … 8,008 more characters\n")
    assert len(text) < 2_100
