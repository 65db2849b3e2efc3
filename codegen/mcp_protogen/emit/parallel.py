"""Independent pieces of work on all processors."""

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_PR_SET_PDEATHSIG = 1  # prctl(2)


class Inline(Executor):
    """An executor that does the work at once, in this process."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Return a future that is already done."""
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def executor(jobs: int) -> Executor:
    """Return an executor of forked processes if that is safe and fast, else an inline one.

    Forking is used on Linux, for several large jobs on several processors. Elsewhere a new process
    would have to import everything again and would run the caller's main module.
    """
    processors = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
    if min(processors, jobs) < 2:
        return Inline()
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    context = get_context("fork")
    return ProcessPoolExecutor(processors, mp_context=context, initializer=_prepare)


def _prepare() -> None:
    """Make a worker end with its parent, even a killed one, and turn off garbage collection."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    gc.disable()  # a worker lives for a second and keeps most of its objects
