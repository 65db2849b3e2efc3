"""Requests that wait for their answer, and for how long."""

from typing import Any, NamedTuple

from ..core.errors import RequestId
from ..core.options import CallOptions, Patience
from ..core.spec import RequestSpec


class Overdue(NamedTuple):
    """A request whose answer did not come in time, and how many seconds it was waited for."""

    id: RequestId
    spec: RequestSpec[Any, Any]
    seconds: float


class Pending:
    """A request that waits; `progress` says whether the peer was asked to report it."""

    __slots__ = ("_limit", "_patience", "due", "progress", "spec")

    def __init__(
        self, spec: RequestSpec[Any, Any], patience: Patience, progress: bool, now: float
    ) -> None:
        self.spec = spec
        self.progress = progress
        self._patience = patience
        self._limit = now + patience.max_timeout
        self.due = min(now + patience.timeout, self._limit)
        """The time at which the answer is overdue."""

    def renew(self, now: float) -> None:
        """Wait on after a report of progress, if that is wanted, but not beyond the limit."""
        if self._patience.renewed_by_progress:
            self.due = min(now + self._patience.timeout, self._limit)

    def left(self, now: float) -> CallOptions:
        """Return the time that is left, as options of a call that takes the place of this one."""
        due = self._patience.timeout if self._patience.renewed_by_progress else self.due - now
        return {"timeout": due, "max_timeout": self._limit - now}

    @property
    def seconds(self) -> float:
        """The seconds for which an answer is waited for, as it stands."""
        patience = self._patience
        return patience.max_timeout if self.due == self._limit else patience.timeout
