"""Several processes with the same work: started, replaced and ended together.

uvicorn has this too, but its interface changes between versions, and its workers may outlive it.
"""

from collections.abc import Callable, MutableSequence
from logging import getLogger
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from signal import SIGINT, SIGTERM, raise_signal, signal
from time import monotonic
from typing import Final, NamedTuple

_log: Final = getLogger(__name__)

# Seconds between looks at the workers: their forks may keep the sentinel open.
_LOOK: Final = 0.5
# Seconds after which a death is not blamed on the work.
_STEADY: Final = 10.0
# The longest pause before such a worker is replaced, in seconds.
_LONGEST_PAUSE: Final = 30.0
# A worker's message after its start.
BEGUN: Final = b"begun"
# The connections of a worker that has not begun, so that others do not wait for it.
_NOT_BEGUN: Final = 2**31 - 1


class _Worker(NamedTuple):
    pipe: Connection
    place: int
    started: float


class Workers:
    """Processes that run `work`, each with a pipe, and its place in shared memory.

    A worker sends `BEGUN` at its start, and ends when the pipe does, so none outlives this process.
    """

    def __init__(
        self, work: Callable[[Connection, MutableSequence[int], int], None], number: int
    ) -> None:
        self._work = work
        # New interpreters, sharing no file, lock or random state.
        self._spawn = get_context("spawn")
        self._counts: MutableSequence[int] = self._spawn.RawArray("i", [_NOT_BEGUN] * number)
        self._workers: dict[SpawnProcess, _Worker] = {}
        # By place: consecutive early deaths, and when the next one is due.
        self._soon_dead: dict[int, int] = {}
        self._due: dict[int, float] = {}

    def run(self, patience: float) -> None:
        """Run until SIGINT or SIGTERM; then workers have `patience` seconds to end.

        Raise `RuntimeError` if one of the first ends before it has begun. Others are replaced at
        once, or after a pause if they die repeatedly.
        """
        signals, wake = self._spawn.Pipe(duplex=False)
        handlers = {
            number: signal(number, lambda number, _: wake.send(number))
            for number in (SIGINT, SIGTERM)
        }
        try:
            for place in range(len(self._counts)):
                self._start(place)
            while not signals.poll():
                wait([signals, *(worker.sentinel for worker in self._workers)], _LOOK)
                for dead in [
                    worker for worker in self._workers if not (signals.poll() or worker.is_alive())
                ]:
                    self._replace(dead)
                for place in [place for place, due in self._due.items() if due <= monotonic()]:
                    del self._due[place]
                    self._start(place)
        finally:
            self._end(monotonic() + patience)
            for signum, handler in handlers.items():
                signal(signum, handler)
        raise_signal(signals.recv())

    def _start(self, place: int) -> None:
        pipe, of_worker = self._spawn.Pipe()
        worker = self._spawn.Process(target=self._work, args=(of_worker, self._counts, place))
        worker.start()
        self._workers[worker] = _Worker(pipe, place, monotonic())
        of_worker.close()

    def _replace(self, dead: SpawnProcess) -> None:
        text = f"worker {dead.pid} ended with {dead.exitcode}"
        pipe, place, started = self._workers.pop(dead)
        self._counts[place] = _NOT_BEGUN
        try:
            begun = pipe.poll() and pipe.recv_bytes() == BEGUN
        except EOFError:
            begun = False
        if not (begun or place in self._soon_dead):
            raise RuntimeError(f"{text} before it could begin")
        steady = begun and monotonic() - started >= _STEADY
        times = self._soon_dead[place] = 0 if steady else self._soon_dead.get(place, 0) + 1
        pause = 0.0 if times < 2 else min(2 ** (times - 2), _LONGEST_PAUSE)
        self._due[place] = monotonic() + pause
        delay = f"in {pause:.0f} seconds" if pause else "now"
        _log.warning("%s; another takes its place %s", text, delay)

    def _end(self, latest: float) -> None:
        for pipe, _, _ in self._workers.values():
            pipe.close()
        while (
            alive := [worker for worker in self._workers if worker.is_alive()]
        ) and monotonic() < latest:
            wait([worker.sentinel for worker in alive], _LOOK)
        for worker in alive:
            _log.warning("killing worker %s, which does not end", worker.pid)
            worker.kill()
