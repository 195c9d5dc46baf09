"""What can come to mind: each generator proposes changes of one kind.

The order is that of preference when two of them have the same idea.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from parley.nes.embedded._context import Candidate, Situation

from .analogy import analogy
from .blocks import blocks
from .dangling_names import leftover
from .go_imports import go_imports
from .imports import imports
from .pairs import pairs
from .patterns import patterns
from .progression import progression
from .quickfixes import diagnostics
from .repeat import repeat
from .script_imports import script_imports
from .signature import signature
from .templates import templates

__all__ = ["GENERATORS", "Generator"]


Generator = Callable[[Situation], Iterator[Candidate]]
GENERATORS: tuple[Generator, ...] = (
    diagnostics,
    leftover,
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
