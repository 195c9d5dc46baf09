"""A dict that forgets the oldest."""

from __future__ import annotations

from parley._bounded_dict import BoundedDict


def test_one_too_many_and_the_oldest_is_forgotten() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    kept["a"] = 1
    kept.setdefault("b", 2)
    kept.update(c=3)
    assert dict(kept) == {"b": 2, "c": 3}


def test_what_is_set_again_is_the_newest() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    kept |= {"a": 1, "b": 2}
    kept["a"] = 3
    kept["c"] = 4
    assert dict(kept) == {"a": 3, "c": 4}


def test_what_was_only_looked_at_stays_as_old_as_it_is() -> None:
    kept: BoundedDict[str, int] = BoundedDict(2)
    kept |= {"a": 1, "b": 2}
    assert kept["a"] == kept.setdefault("a", 9) == 1
    kept["c"] = 3
    assert "a" not in kept
