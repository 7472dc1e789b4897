"""What the system says about memory when a process was killed without a word: how much its children
had used, and whether one was killed for lack of it.
"""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path

_MOUNT = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def peak_of_children() -> int:
    """The most memory that one of the children that have ended ever had, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def kills() -> int:
    """How many processes of this control group the system has killed for lack of memory so far. 0
    where it can't be known: only a rise says something.
    """
    try:
        lines = _MEMBERSHIP.read_text().splitlines()
    except OSError:
        return 0
    found = 0
    for line in lines:  # number:controllers:path
        _, controllers, group = line.split(":", 2)
        if not controllers:
            counters = _MOUNT / group[1:] / "memory.events", _MOUNT / "memory.events"
        elif "memory" in controllers.split(","):
            mount = _MOUNT / "memory"
            counters = mount / group[1:] / "memory.oom_control", mount / "memory.oom_control"
        else:
            continue
        # In a container the group's own folder may be mounted as the root.
        found += next((_kills_in(path) for path in counters if path.exists()), 0)
    return found


def _kills_in(path: Path) -> int:
    try:
        count = re.search(r"^oom_kill (\d+)$", path.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(count[1]) if count else 0


def size(count: int) -> str:
    """A number of bytes, for people: `23.1 GB`."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
