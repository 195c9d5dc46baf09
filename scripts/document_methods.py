"""Write docs/reference/methods.md from the method tables of both versions.

Run it with `make docs`; with --check it only says whether the page is up to date.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from parley.schema.base import Method
from parley.schema.v1 import methods as v1_methods
from parley.schema.v2 import methods as v2_methods

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "methods.md"
HEAD = """# Methods

Every method that Parley knows, in both versions of the protocol. Written by `make docs` from
`parley.schema.v1.methods` and `parley.schema.v2.methods`; do not edit.

*Stability*: `stable` is in the published schema, `unstable` in its draft; `former` has left the
schema and is still served; `proposal` never was in it. *Capability* is where the receiver offers
the method, below the capabilities of its initialize message.
"""
COLUMNS = "| method | handled by | kind | Python | params | result | stability | capability |"


def page() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for number, module in ((1, v1_methods), (2, v2_methods)):
        rows = sorted(
            _constants(module).items(), key=lambda item: (item[1].to, item[1].name, item[1].kind)
        )
        parts.append(f"\n## Version {number}\n\n{COLUMNS}\n|{'---|' * 8}\n")
        parts += [_row(name, method) for name, method in rows]
    return "".join(parts)


def _constants(module: ModuleType) -> dict[str, Method[Any, Any]]:
    members = vars(module).items()
    return {
        name: value
        for name, value in members
        if isinstance(value, Method) and not name.startswith("_")
    }


def _row(name: str, method: Method[Any, Any]) -> str:
    params, result = _type(method.params), "" if method.result is None else _type(method.result)
    capability = f"`{method.capability}`" if method.capability else ""
    cells = (f"`{method.name}`", method.to, method.kind, f"`{name}`", params, result)
    return f"| {' | '.join(cells)} | {method.stability} | {capability} |\n"


def _type(tp: Any) -> str:
    """Return the name of a type; a union has none of its own."""
    return f"`{tp.__name__}`" if isinstance(tp, type) else "one of several"


def main() -> int:
    """Write the page, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare and write nothing")
    if parser.parse_args().check:
        is_current = PAGE.exists() and PAGE.read_text() == page()
        print(f"{PAGE.name} is {'up to date' if is_current else 'old; run make docs'}")
        return 0 if is_current else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
