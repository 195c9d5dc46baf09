"""Small git repositories, and commits without one, for tests of the evaluation."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from parley.nes._eval.corpus import Commit, Hunk
from parley.nes._eval.scoring import changed_lines


class Repository:
    """A git repository in a folder of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self._count = 0

    def git(self, *words: str, author: str = "Ada", date: str = "2025-01-01T12:00:00Z") -> str:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_NAME": author for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ada@example.com" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_DATE": date for who in ("AUTHOR", "COMMITTER")},
        }
        done = subprocess.run(
            ["git", *words],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        return done.stdout.strip()

    def commit(
        self,
        files: dict[str, str | bytes],
        message: str = "Work",
        author: str = "Ada",
        date: str = "2025-01-01T12:00:00Z",
    ) -> str:
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message, author=author, date=date)
        return self.git("rev-parse", "HEAD")


def numbered(count: int, **changed: str) -> str:
    """Return lines `a = 0`, `a = 1`, …; some of them changed, as `_3="b = 3"`."""
    lines = [f"a = {at}" for at in range(count)]
    for name, line in changed.items():
        lines[int(name.removeprefix("_"))] = line
    return "".join(f"{line}\n" for line in lines)


def commit_of(id: str = "c", **files: tuple[str, str]) -> Commit:
    """Return a commit that changes files, named without ending, from one text to another."""
    before: dict[str, tuple[str, ...]] = {}
    hunks: list[Hunk] = []
    for name, (old, new) in sorted(files.items()):
        path = f"{name}.py"
        old_lines = tuple(old.splitlines(keepends=True))
        before[path] = old_lines
        for start, end, lines in changed_lines(old_lines, new.splitlines(keepends=True)):
            is_import = all("import" in line for line in (*old_lines[start:end], *lines))
            hunks.append(Hunk(path, start, old_lines[start:end], lines, is_import))
    return Commit("made", id, "parent", before, tuple(hunks))
