"""The subject of a permission: the kind of work, the tool, the commands, the paths."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Decision: TypeAlias = Literal["allow", "ask", "deny"]
"""A decision, from the mildest to the strictest."""

KINDS = (
    *("read", "edit", "delete", "move", "search", "execute", "think", "fetch"),
    *("switch_mode", "other"),
)
"""The kinds that the protocol knows; an agent may send others."""


SMALL_VALUES = 32
"""The maximum number of strings of a subject that is decided on the event loop."""
SMALL_CHARS = 2048
"""The maximum total length of these strings."""


class Subject(Struct, frozen=True, kw_only=True):
    """An action that is about to be done, with its place and its agent."""

    kind: str
    """The kind that the tool call names: `read`, `edit`, `execute`, …"""
    also: tuple[str, ...] = ()
    """Further kinds that follow from its input: `execute` from a command, `edit` from a diff."""
    tool: str = ""
    """The tool's own name, if the agent sends it."""
    commands: tuple[str, ...] = ()
    """The command lines that would run."""
    cwd: str = ""
    """The directory in which they would run, if the agent names it; absolute, without symlinks."""
    paths: tuple[str, ...] = ()
    """The files and directories that are named, absolute and without symlinks."""
    possible: tuple[str, ...] = ()
    """Possible paths by their form or key, resolved; an `allow` for paths must cover them."""
    mentioned: tuple[str, ...] = ()
    """Other spellings of the paths, and what may be one; only what does not allow looks at it."""
    texts: tuple[str, ...] = ()
    """All other strings of the input except contents of files; only `ask` and `deny` look at it."""
    unknown: tuple[str, ...] = ()
    """Keys of the input whose meaning is not known; an `allow` for commands does not fit then."""
    unclear: str = ""
    """Why the input is not understood, for people; nothing is allowed by itself then."""
    agent: str = ""
    """The name of the agent in this program."""
    session: str = ""
    """The id of the session."""
    agent_id: str = ""
    """Identifies the agent by how it is started or reached, see `target_identity`; an agent has no
    influence on it, as it may have on its name and on the ids of its sessions."""
    opening: str = ""
    """Identifies one opening of the session; chosen at random by us whenever one is opened."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """All that it is."""
        return (self.kind, *self.also)

    @property
    def is_small(self) -> bool:
        """Return whether deciding about it takes no time that an event loop would notice."""
        texts = (*self.commands, *self.texts, *self.paths, *self.possible, *self.mentioned)
        return len(texts) <= SMALL_VALUES and sum(map(len, texts)) <= SMALL_CHARS

    @property
    def runs(self) -> bool:
        """Return whether a command would run."""
        return "execute" in self.kinds


class Verdict(Struct, frozen=True):
    """A decision, and its reason."""

    decision: Decision
    reason: str
    """As in `policy.toml, rule 3: allow kind=read path=src/**`."""
    needs_user: bool = False
    """Whether only the user can decide, now: a rule may deny this, but that cannot be told for
    sure. Neither a remembered answer nor `--yes` counts then."""
