"""Keys that come up at times of their own, and are dealt with together where they can be."""

from asyncio import CancelledError, Task, TimerHandle, create_task, get_running_loop
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from logging import getLogger
from typing import Final

_log: Final = getLogger(__name__)

_TOGETHER: Final = 500
"""The most keys that are dealt with at once."""
_AFTER_FAILURE: Final = 1.0


class Timers:
    """Calls `work` with the keys whose time has come; others wait for the next call."""

    def __init__(self, work: Callable[[Sequence[str]], Awaitable[None]]) -> None:
        self._work = work
        # None for those that have come up.
        self._keys: dict[str, TimerHandle | None] = {}
        self._ready: dict[str, None] = {}
        self._running: Task[None] | None = None

    def __len__(self) -> int:
        return len(self._keys)

    def later(self, key: str, seconds: float) -> None:
        self._stop(key)
        self._keys[key] = get_running_loop().call_later(seconds, self._come, key)

    def forget(self, key: str) -> None:
        self._stop(key)
        self._keys.pop(key, None)
        if not self._keys and self._running is not None:
            # Nobody waits for what its call finds.
            running, self._running = self._running, None
            running.cancel()

    def _stop(self, key: str) -> None:
        self._ready.pop(key, None)
        if (timer := self._keys.get(key)) is not None:
            timer.cancel()

    def _come(self, key: str) -> None:
        self._keys[key] = None
        self._ready[key] = None
        if self._running is None:
            self._begin()

    def _begin(self) -> None:
        running = self._running = create_task(self._run())
        running.add_done_callback(self._ran)

    async def _run(self) -> None:
        while keys := list(islice(self._ready, _TOGETHER)):
            for key in keys:
                del self._ready[key]
            try:
                await self._work(keys)
            except CancelledError:
                raise
            except Exception:
                _log.exception("looking after tasks failed")
                for key in keys:
                    if key in self._keys:
                        self.later(key, _AFTER_FAILURE)

    def _ran(self, running: Task[None]) -> None:
        if self._running is running:
            self._running = None
            if self._ready:
                # It has come up between the end of the call and this.
                self._begin()
