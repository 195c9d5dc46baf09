"""Commands that a user can call by name.

https://agentclientprotocol.com/protocol/v1/slash-commands
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v2
from parley.schema.base import Unknown

from .transcripts import TranscriptReader, transcript_after
from .wire_values import update, write

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", [1, 2])


def command(version: int, name: str, **more: Any) -> dict[str, Any]:
    kind = {} if version == 1 else {"type": "command"}
    return {**kind, "name": name, "description": "d", **more}


def commands(*available: Any) -> Any:
    return update("available_commands_update", availableCommands=list(available))


def names(known: list[v2.AvailableCommand]) -> list[str]:
    return [each.name for each in known if isinstance(each, v2.Command)]


@requirement("V1-CMD-03", "V1-CMD-04", "V2-CMD-01")
@in_both_versions
def test_each_list_of_commands_replaces_the_one_before(version: int) -> None:
    client = TranscriptReader(version)
    for wanted in (["a", "b", "c"], [], ["b"]):
        known = client.receive(commands(*(command(version, name) for name in wanted))).commands
        assert names(known) == wanted


@requirement("V1-CMD-03", "V1-CMD-08")
@in_both_versions
def test_a_broken_command_is_left_out_and_a_broken_input_is_none(version: int) -> None:
    kind = {} if version == 1 else {"type": "command"}
    text = {} if version == 1 else {"type": "text"}
    known = transcript_after(
        version,
        commands(
            {**kind, "name": "no-description"},
            {**kind, "description": "no name"},
            5,
            command(version, "plain"),
            command(version, "broken", input={**text, "hint": 5}),
            command(version, "good", input={**text, "hint": "what"}),
        ),
    ).commands
    assert names(known) == ["plain", "broken", "good"]
    inputs = [each.input for each in known if isinstance(each, v2.Command)]
    assert inputs == [None, None, v2.TextCommandInput(hint="what")]


@requirement("V2-CMD-01")
@pytest.mark.parametrize("word", ["_form", "form"])
def test_a_command_with_an_unknown_input_is_usable_and_keeps_it(word: str) -> None:
    form = {"type": word, "fields": [1]}
    (known,) = transcript_after(2, commands(command(2, "x", input=form))).commands
    assert isinstance(known, v2.Command)
    assert isinstance(known.input, Unknown)
    assert (known.name, write(known.input)) == ("x", form)
