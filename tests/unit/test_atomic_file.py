"""Files that are replaced in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley._atomic_file import write_temporary


def test_a_file_has_the_old_content_until_it_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with write_temporary(path, b"new", 0o640) as file:
        assert (path.read_bytes(), file.read_bytes()) == (b"old", b"new")
        file.replace(path)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_if_the_replacement_does_not_happen(tmp_path: Path) -> None:
    def fail(file: Path) -> None:
        assert file.stat().st_mode & 0o777 == 0o600
        raise ValueError("no")

    with write_temporary(tmp_path / "file", b"new"):
        pass
    with pytest.raises(ValueError, match="no"), write_temporary(tmp_path / "file", b"new") as file:
        fail(file)
    assert list(tmp_path.iterdir()) == []
