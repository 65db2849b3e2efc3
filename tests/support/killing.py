"""Ends of a run at each step of its work, to see the remains: kills, and what leaves the same."""

import os
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

_REAL: Final = 20
"""Each step with a multiple of this number is a kill of a process."""


class Killed(BaseException):
    """Takes the place of a kill: from now on, nothing that the run does changes a file."""


def kills(begin: Callable[[], object], work: Callable[[], object]) -> Iterator[int]:
    """Yield the number of each step of `work` at which it ended, and 0 at the end.

    `begin` prepares the state each time.
    """
    for step in count(1):
        begin()
        if not (_stop(work, step) if step % _REAL else run_until_killed(work, step)):
            break
        yield step
    yield 0


def run_until_killed(work: Callable[[], object], step: int) -> bool:
    """Do `work` in a child that kills itself at a step; False if it got through."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    try:
        with _ending(step, lambda: os.kill(os.getpid(), signal.SIGKILL)):
            work()
    finally:
        os._exit(0)


def _stop(work: Callable[[], object], step: int) -> bool:
    """Do `work` up to a step, without a kill; False if it got through."""

    def stop() -> None:
        raise Killed

    try:
        with _ending(step, stop):
            work()
    except Killed:
        return True
    return False


@contextmanager
def _ending(step: int, end: Callable[[], object]) -> Generator[None, None, None]:
    """Call `end` in place of an operation that changes files, and of all after it.

    A write is two operations: one byte is missing between them.
    """
    write, steps = os.write, count(1)

    def take_step() -> None:
        if next(steps) >= step:
            end()

    def write_in_two(handle: int, data: bytes) -> int:
        take_step()
        return write(handle, data[:-1] or data)

    _watch_changes()
    _steps.append(take_step)
    setattr(os, "write", write_in_two)  # noqa: B010 - narrower than the original on purpose
    try:
        yield
    finally:
        setattr(os, "write", write)  # noqa: B010
        _steps.pop()


_steps: list[Callable[[], None]] = []


@cache
def _watch_changes() -> None:
    """Take a step at each audited operation that may change files; a hook stays for ever."""

    def watch(event: str, details: tuple[Any, ...]) -> None:
        if not _steps or event in _OTHERS or not event.startswith(("open", "os.", "ctypes.dlsym")):
            return
        if event != "open" or details[2] & _WRITES:
            _steps[-1]()

    sys.addaudithook(watch)


_OTHERS: Final = ("os.kill", "os.listdir", "os.scandir")
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def record_syncs(folder: Path, patch: pytest.MonkeyPatch) -> list[set[str]]:
    """Return the paths that reach the disk before each rename, and after the last one."""
    synced = [set[str]()]
    names: dict[int, str] = {}
    usual = os.open

    def open_named(path: Any, *given: Any, **more: Any) -> int:
        handle = usual(path, *given, **more)
        names[handle] = os.path.relpath(path, folder)
        return handle

    def moving(move: Callable[..., None]) -> Callable[..., None]:
        def move_then(*given: Any) -> None:
            move(*given)
            synced.append(set())

        return move_then

    patch.setattr(os, "open", open_named)

    def sync(handle: int) -> None:
        synced[-1].add(names[handle])

    patch.setattr(os, "fsync", sync)
    for name in ("rename", "replace"):
        patch.setattr(os, name, moving(getattr(os, name)))
    return synced
