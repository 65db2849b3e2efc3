"""Cleanup before a signal ends the process.

Ctrl-C raises an exception, so that `finally` blocks run. SIGTERM, with which supervisors and CI end
a process, and SIGHUP, that of a closed terminal, do not: processes in their own session would stay.
"""

import asyncio
import signal
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_Value = TypeVar("_Value")


def run(main: Coroutine[Any, Any, _Value]) -> _Value:
    """Run `main` as `asyncio.run` does; on these signals, cancel it and then end the process."""
    received: list[signal.Signals] = []
    try:
        return asyncio.run(_cancelled_by(received, main))
    finally:
        if received:  # the loop is closed: the signal does now what it does by default
            signal.raise_signal(received[0])


async def _cancelled_by(
    received: list[signal.Signals], main: Coroutine[Any, Any, _Value]
) -> _Value:
    task = asyncio.current_task()
    assert task is not None

    def end(number: signal.Signals) -> None:
        received.append(number)
        task.cancel()

    # Handlers live in the main thread, and Windows has none of these signals.
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            # A program that ignores or handles a signal, such as nohup, has a reason.
            if signal.getsignal(number) is signal.SIG_DFL:
                asyncio.get_running_loop().add_signal_handler(number, end, number)
    return await main
