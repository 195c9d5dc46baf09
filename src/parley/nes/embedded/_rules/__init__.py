"""The rules: each proposes changes of one kind.

They are in order of preference, for when two of them propose the same change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from parley.nes.embedded._context import Candidate, EditContext

from .analogy import analogy
from .blocks import blocks
from .dangling_names import dangling_names
from .go_imports import go_imports
from .imports import imports
from .pairs import pairs
from .patterns import patterns
from .progression import progression
from .quickfixes import quickfixes
from .repeat import repeat
from .script_imports import script_imports
from .signature import signature
from .templates import templates

__all__ = ["RULES", "Rule"]

Rule = Callable[[EditContext], Iterator[Candidate]]
RULES: tuple[Rule, ...] = (
    quickfixes,
    dangling_names,
    imports,
    script_imports,
    go_imports,
    signature,
    templates,
    patterns,
    repeat,
    analogy,
    blocks,
    progression,
    pairs,
)
