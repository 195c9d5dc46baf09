"""The types and methods of ACP, one package per protocol version: `schema.v1` and `schema.v2`.

Importing this package imports neither; write `from parley.schema import v2`. Drafts that are the
same in both versions are in `drafts`, and both versions export them. The building blocks of the
types are in `base.py`, decoding and encoding in `_codec.py`.
"""

from __future__ import annotations

from .base import Unknown

__all__ = ["Unknown"]
