"""Whether a process is still there."""

import os
import select
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether there is such a process, other than one that has ended and was not waited for."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ends(pid: int, seconds: float = 30.0) -> bool:
    """Whether a process, perhaps just killed, is gone or goes in that time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)
