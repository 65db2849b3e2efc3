"""Several processes at the same work: begun together, replaced when they die, ended together.

uvicorn has this too, but its interface changes between versions, and its workers may outlive it.
"""

from collections.abc import Callable
from logging import getLogger
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from signal import SIGINT, SIGTERM, raise_signal, signal
from socket import socketpair
from time import monotonic
from typing import Final

_log: Final = getLogger(__name__)


class Workers:
    """Processes that run `work`, each with a pipe to this one.

    A worker sends something once it has begun, and ends when the pipe does: so none outlives this
    process, whatever becomes of that.
    """

    def __init__(self, work: Callable[[Connection], None]) -> None:
        self._work = work
        # New interpreters, which share no open file, lock or random number with this one.
        self._spawn = get_context("spawn")
        self._pipes: dict[SpawnProcess, Connection] = {}

    def run(self, number: int, patience: float) -> None:
        """Keep so many at work until SIGINT or SIGTERM; then they have `patience` seconds to end.

        Raise `RuntimeError` if one ends before it has begun.
        """
        signals: list[int] = []
        woken, wake = socketpair()

        def stop(number: int, _frame: object) -> None:
            signals.append(number)
            wake.send(b"!")

        before = {one: signal(one, stop) for one in (SIGINT, SIGTERM)}
        try:
            for _ in range(number):
                self._start()
            while not signals:
                wait([woken, *(worker.sentinel for worker in self._pipes)])
                for dead in [one for one in self._pipes if not (signals or one.is_alive())]:
                    self._replace(dead)
        finally:
            self._end(monotonic() + patience)
            for one, handler in before.items():
                signal(one, handler)
        raise_signal(signals[0])

    def _start(self) -> None:
        pipe, of_worker = self._spawn.Pipe()
        worker = self._spawn.Process(target=self._work, args=(of_worker,))
        worker.start()
        self._pipes[worker] = pipe
        of_worker.close()

    def _replace(self, dead: SpawnProcess) -> None:
        ended = f"worker {dead.pid} ended with {dead.exitcode}"
        try:
            self._pipes.pop(dead).recv()
        except EOFError:
            raise RuntimeError(f"{ended} before it could begin") from None
        _log.warning("%s; another takes its place", ended)
        self._start()

    def _end(self, latest: float) -> None:
        for pipe in self._pipes.values():
            pipe.close()
        for worker in self._pipes:
            worker.join(max(0, latest - monotonic()))
            if worker.is_alive():
                _log.warning("worker %s does not end, and is killed", worker.pid)
                worker.kill()
