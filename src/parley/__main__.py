"""The `parley` command, for `python -m parley`."""

from __future__ import annotations

import sys

from parley.cli import main

__all__: list[str] = []

if __name__ == "__main__":
    sys.exit(main())
