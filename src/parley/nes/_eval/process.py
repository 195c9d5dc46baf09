"""The memory of a measured process and its descendants."""

from __future__ import annotations

import re
from pathlib import Path

_PEAK = re.compile(r"^VmHWM:\s*(\d+) kB$", re.MULTILINE)


def peak_bytes(pid: int) -> int:
    """Return the peak memory of a process and its children; 0 if it is not known."""
    folder = Path("/proc") / str(pid)
    try:
        found = _PEAK.search((folder / "status").read_text())
        tasks = [(each / "children").read_text() for each in (folder / "task").iterdir()]
    except OSError:
        return 0
    children = [int(each) for text in tasks for each in text.split()]
    own = int(found[1]) * 1024 if found else 0
    return own + sum(map(peak_bytes, children))
