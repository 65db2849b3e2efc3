"""Checks whether a process still exists."""

import os
import select
from pathlib import Path


def is_running(pid: int) -> bool:
    """Return whether a process exists, except as a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def ends(pid: int) -> bool:
    """Return whether a process ends in time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 30.0)[0])
    finally:
        os.close(handle)
