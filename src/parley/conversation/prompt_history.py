"""The prompts of the user, in this run and in earlier sessions of the project.

Prompts come newest first and once each. How much of the journal is read is bounded, by the number
of prompts and by the bytes of the sessions.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from parley.errors import JournalError
from parley.journal import Journal, Record
from parley.policy._policy import project_root

__all__ = ["MAX_PROMPTS", "PromptHistory"]

MAX_PROMPTS = 1000
"""How many prompts are remembered."""
MAX_CHARACTERS = 20_000
"""Of a longer prompt nothing is remembered: it was pasted, or made by a program."""
_MAX_BYTES = 64 * 1024 * 1024
"""How long the sessions may be together that are read."""
_METHOD = b'"session/prompt"'


class _Block(Struct, frozen=True):
    type: str = ""
    text: str = ""


class _Params(Struct, frozen=True):
    prompt: list[_Block] = []


class _Frame(Struct, frozen=True):
    method: str = ""
    params: _Params = _Params()


class PromptHistory:
    """Earlier prompts, the newest first."""

    def __init__(self, journal: Journal | None, cwd: str | Path) -> None:
        """Prepare it; it is empty until `load`.

        Args:
            journal: Where earlier sessions are; None: there are none.
            cwd: A directory of the project.
        """
        self.prompts: list[str] = []
        """The prompts, the newest first."""
        self._journal = journal
        self._root = project_root(os.path.realpath(cwd))
        self._roots: dict[str, str] = {}
        """The project of each directory."""

    async def load(self) -> None:
        """Read the earlier sessions; prompts sent meanwhile stay first."""
        found = await asyncio.to_thread(lambda: list(self._earlier()))
        self.prompts = list(dict.fromkeys([*self.prompts, *found]))[:MAX_PROMPTS]

    def add(self, prompt: str) -> None:
        """Add a prompt."""
        prompt = prompt.strip()
        if prompt and len(prompt) <= MAX_CHARACTERS:
            kept = (each for each in self.prompts if each != prompt)
            self.prompts = [prompt, *kept][:MAX_PROMPTS]

    def search(self, words: str) -> list[str]:
        """Return the prompts with all of these words, or parts of words, the newest first."""
        parts = words.casefold().split()
        return [each for each in self.prompts if _has(each.casefold(), parts)]

    def _earlier(self) -> Iterator[str]:
        """Go through the prompts of earlier sessions, the newest first."""
        if self._journal is None:
            return
        count, size = 0, 0
        try:
            for record in filter(self._is_ours, self._journal.list(role="client")):
                size += record.size_bytes
                if count >= MAX_PROMPTS or size > _MAX_BYTES:
                    return
                prompts = list(_prompts(self._journal, record))
                count += len(prompts)
                yield from reversed(prompts)
        except JournalError:  # the journal has reported it
            return

    def _is_ours(self, record: Record) -> bool:
        if record.cwd not in self._roots:
            real = os.path.realpath(record.cwd)
            self._roots[record.cwd] = project_root(real) if record.cwd else ""
        return self._roots[record.cwd] == self._root


def _has(text: str, parts: list[str]) -> bool:
    return all(part in text for part in parts)


def _prompts(journal: Journal, record: Record) -> Iterator[str]:
    """Go through the prompts of a session in order."""
    for entry in journal.entries(record.key):
        if entry.kind != "to_agent" or _METHOD not in entry.data[:200]:
            continue
        try:
            frame = msgspec.json.decode(entry.data, type=_Frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        written = (each.text for each in frame.params.prompt if each.type == "text")
        text = "\n".join(written).strip()
        if frame.method == "session/prompt" and 0 < len(text) <= MAX_CHARACTERS:
            yield text
