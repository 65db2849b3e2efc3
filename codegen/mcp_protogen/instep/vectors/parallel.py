"""Work in a second process."""

import gc
import os
import pickle
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from traceback import format_exc
from typing import IO, Any, NoReturn, TypeVar

T = TypeVar("T")

_PR_SET_PDEATHSIG = 1  # prctl(2)
_ROOM = 1 << 20
"""The wanted capacity of a pipe in bytes: the usual limit of a system."""


def processors() -> int:
    """Return the number of processes that can work at the same time; 1 if forking is unsafe.

    Forking is used on Linux, by a program with one thread: a lock of another thread would stay
    locked in the new process. Elsewhere a new process would import everything again and run the
    caller's main module.
    """
    if sys.platform != "linux":
        return 1
    try:
        # This also counts threads outside Python.
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        return 1
    return len(os.sched_getaffinity(0)) if threads == 1 else 1


@contextmanager
def prefetch(items: Iterator[T]) -> Generator[Iterator[T], None, None]:
    """Give the items of an iterator, which a forked process makes in advance.

    If forking is useless or unsafe, this process makes each item on demand.
    """
    if processors() < 2:
        yield items
        return
    reading, writing = os.pipe()
    widen(writing)
    process = os.fork()
    if not process:
        _send(items, writing)
    os.close(writing)
    try:
        with open(reading, "rb") as pipe:
            yield _receive(pipe)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def widen(pipe: int) -> None:
    """Raise the capacity of a pipe, if the system allows it, so that its writer need not wait."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _ROOM)


def _send(items: Iterator[Any], writing: int) -> NoReturn:
    """Write each item, and then the end or an error, in a process that ends with its parent."""
    import ctypes

    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        gc.disable()  # it lives for a second and keeps most of its objects
        with open(writing, "wb") as pipe:
            try:
                for item in items:
                    pickle.dump((True, item), pipe, pickle.HIGHEST_PROTOCOL)
                    pipe.flush()
                pickle.dump((False, None), pipe)
            except Exception as error:
                error.add_note(format_exc())
                pickle.dump((False, error), pipe)
    finally:
        os._exit(0)  # the parent cleans up


def _receive(pipe: IO[bytes]) -> Iterator[Any]:
    while True:
        try:
            more, item = pickle.load(pipe)
        except EOFError:
            raise ChildProcessError("a generating process was killed") from None
        if not more:
            break
        yield item
    if item is not None:
        raise item
