"""Documents as an editor tells about them: texts, versions, positions in any encoding."""

from __future__ import annotations
