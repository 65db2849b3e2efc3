"""The limits of the tasks of a server or client, and what keeps them."""

from dataclasses import dataclass
from math import inf

from ...storage.engine import TaskStore


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """What keeps the tasks of a server or client, and their limits. Times are in seconds.

    Raise `ValueError` for a limit that lets nothing through, or has no end.
    """

    store: TaskStore | None = None
    """What keeps them; without one, what workers share, or else the memory of the process."""
    ttl: float = 3600.0
    """For how long a task is kept after its creation, if nobody asks for something else."""
    max_ttl: float = 86400.0
    """The longest time that somebody can ask for."""
    poll_interval: float = 1.0
    """How long clients are told to wait before they ask again."""
    max_tasks: int = 1000
    """Tasks of one principal, or of all who are not known, that are kept at the same time."""
    lease: float = 10.0
    """After this time, a worker that is not heard of counts as gone."""

    def __post_init__(self) -> None:
        for name in ("ttl", "max_ttl", "poll_interval", "max_tasks", "lease"):
            if not 0 < getattr(self, name) < inf:
                raise ValueError(f"{name} has to be more than 0, and finite")
        if self.ttl > self.max_ttl:
            raise ValueError("ttl cannot be more than max_ttl")
