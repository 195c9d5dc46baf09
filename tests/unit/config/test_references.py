"""Values by reference: what they stand for."""

from __future__ import annotations

import pytest

from parley.config import AgentEntry
from parley.config._references import referred, resolve
from parley.errors import ConfigError


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("$A", "one"),
        ("${A}", "one"),
        ("Bearer $A", "Bearer one"),
        ("${A}${B}", "onetwo"),
        ("$A_B", "three"),
        ("${A}_B", "one_B"),
        ("$$A", "$A"),
        ("5 $ a day, $5, ${}", "5 $ a day, $5, ${}"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_a_reference_stands_for_a_variable(value: str, resolved: str) -> None:
    environ = {"A": "one", "B": "two", "A_B": "three"}
    assert resolve({"X": value}, environ, "t") == {"X": resolved}


def test_what_a_variable_holds_is_not_looked_into() -> None:
    assert resolve({"X": "$A"}, {"A": "$B", "B": "no"}, "t") == {"X": "$B"}


def test_a_variable_that_is_not_set_is_named() -> None:
    entry = AgentEntry(name="x", command=["x"], env={"KEY": "a $NOT_THERE"})
    with pytest.raises(ConfigError, match=r"agents\.x\.env\.KEY refers to \$NOT_THERE, which is"):
        entry.resolve_env({"OTHER": "1"})
    assert entry.resolve_env({"NOT_THERE": "b"}) == {"KEY": "a b"}


def test_our_own_environment_is_used_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", "a-value-of-ours")
    entry = AgentEntry(name="x", command=["x"], env={"KEY": "$PLANTED"})
    assert entry.resolve_env() == {"KEY": "a-value-of-ours"}


def test_names_of_variables_are_found() -> None:
    assert referred("$A ${B} $$C $") == ["A", "B"]
