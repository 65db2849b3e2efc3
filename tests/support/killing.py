"""Killing a process at a step of its work, to see the remains."""

import os
import signal
import sys
from collections.abc import Callable, Iterator


def kills(begin: Callable[[], object], work: Callable[[], object]) -> Iterator[int]:
    """Yield the number of each step of `work` after which it was killed, and 0 at the end.

    `begin` prepares the state each time.
    """
    step, killed = 0, True
    while killed:
        step += 1
        begin()
        killed = run_until_killed(work, step)
        yield step if killed else 0


def run_until_killed(work: Callable[[], object], step: int) -> bool:
    """Do `work` in a child that kills itself at a step; False if it got through."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    try:
        _kill_at(step)
        work()
    finally:
        os._exit(0)


_WATCHED = ("open", "os.", "shutil.", "ctypes.")


def _kill_at(step: int) -> None:
    """Die at any audited operation, half-way through a write, or at a sync."""
    left = step

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    write, sync = os.write, os.fsync

    def half_write(handle: int, data: bytes) -> int:
        written = write(handle, data[: len(data) // 2 or 1])
        count()
        return written

    def counted_sync(handle: int) -> None:
        count()
        sync(handle)

    setattr(os, "write", half_write)  # noqa: B010 - narrower than the original on purpose
    setattr(os, "fsync", counted_sync)  # noqa: B010
    sys.addaudithook(lambda event, _: count() if event.startswith(_WATCHED) else None)
