"""What a permission is about: the kind of the work, the tool, the commands, the paths."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

__all__ = ["KINDS", "Decision", "Subject", "Verdict"]

Decision: TypeAlias = Literal["allow", "ask", "deny"]
"""What becomes of it, from the mildest to the strictest."""

KINDS = (
    *("read", "edit", "delete", "move", "search", "execute", "think", "fetch"),
    *("switch_mode", "other"),
)
"""The kinds that the protocol knows; an agent may send others."""


class Subject(Struct, frozen=True, kw_only=True):
    """What is about to be done, where and by whom."""

    kind: str
    """What the tool call calls itself: `read`, `edit`, `execute`, …"""
    also: tuple[str, ...] = ()
    """What else it is by its input: `execute` with a command, `edit` with a diff."""
    tool: str = ""
    """The tool's own name, where the agent tells it."""
    commands: tuple[str, ...] = ()
    """The command lines that would run."""
    cwd: str = ""
    """Where they would run, where the agent tells it; absolute and without symlinks."""
    paths: tuple[str, ...] = ()
    """The files and directories that are named, absolute and without symlinks."""
    mentioned: tuple[str, ...] = ()
    """Other spellings of the paths, and what may be one; only what does not allow looks at it."""
    agent: str = ""
    """What the agent is called here."""
    session: str = ""
    """The id of the session."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """All that it is."""
        return (self.kind, *self.also)

    @property
    def runs(self) -> bool:
        """Whether a command would run."""
        return "execute" in self.kinds


class Verdict(Struct, frozen=True):
    """What was decided, and why."""

    decision: Decision
    reason: str
    """As in `policy.toml, rule 3: allow kind=read path=src/**`."""
