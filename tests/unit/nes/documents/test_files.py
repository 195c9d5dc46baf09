"""Files that are not open: which of them are read."""

from __future__ import annotations

from pathlib import Path

from parley.nes._documents.files import MAX_FILE_BYTES, Files


async def test_only_texts_within_the_folders_are_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "w", tmp_path / "secret"
    inside.mkdir()
    outside.write_text("x")
    (inside / "é.py").write_bytes("é\r\n".encode())
    (inside / "data").write_bytes(b"\xff")
    (inside / "link").symlink_to(outside)
    (inside / "long").write_bytes(b"a" * (MAX_FILE_BYTES + 1))
    files = Files([str(inside)])
    assert await files.read((inside / "é.py").as_uri()) == "é\r\n"
    for uri in (
        outside.as_uri(),
        (inside / "link").as_uri(),
        (inside / "data").as_uri(),
        (inside / "long").as_uri(),
        (inside / "missing").as_uri(),
        inside.as_uri(),
        f"{inside.as_uri()}/../secret",
        f"untitled:{inside}/é.py",
        f"file://elsewhere{inside}/%C3%A9.py",
        "file://[",
    ):
        assert await files.read(uri) is None


async def test_without_folders_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    assert await Files([]).read((tmp_path / "a").as_uri()) is None
    assert await Files([str(tmp_path / "missing")]).read((tmp_path / "a").as_uri()) is None
