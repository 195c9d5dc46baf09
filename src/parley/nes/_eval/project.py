"""The project as it was before a commit, in a temporary folder: files of the language, bounded."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from .corpus import MAX_FILE_BYTES, Commit
from .history import Blob, History
from .languages import LANGUAGES

MAX_FILES = 3000
MAX_BYTES = 64 << 20


@contextmanager
def laid_out(commit: Commit, history: History | None, languages: Sequence[str]) -> Generator[Path]:
    """Write the files that were there before a commit, and remove them in the end.

    Args:
        commit: The commit to replay.
        history: Where its files are; None to write none.
        languages: Whose files are written.
    """
    with TemporaryDirectory(prefix="nes-eval-") as name:
        root = Path(name).resolve()
        if history is not None:
            _write(root, commit.parent, history, languages)
        yield root


def _write(root: Path, commit: str, history: History, languages: Sequence[str]) -> None:
    endings = [ending for each in languages for ending in LANGUAGES[each]]
    blobs = [each for each in history.files(commit, endings) if each.bytes <= MAX_FILE_BYTES]
    blobs.sort(key=lambda each: (each.path.count("/"), each.path))
    room, taken = MAX_BYTES, list[Blob]()
    for each in blobs[:MAX_FILES]:
        room -= each.bytes
        if room < 0:
            break
        if ".." not in PurePosixPath(each.path).parts:
            taken.append(each)
    texts = history.texts([each.id for each in taken]) if taken else {}
    for each in taken:
        path = root / each.path
        if each.id in texts and path.resolve().is_relative_to(root):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(texts[each.id])
