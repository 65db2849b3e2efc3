"""The tasks that clients have at one server, and whose they are."""

from asyncio import TimerHandle, get_running_loop
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from mcp_protogen.runtime.core.json import JSONObject, without
from mcp_protogen.runtime.features.tasks.lifecycle import ENDS
from mcp_protogen.runtime.features.tasks.registry import TaskOptions, TooManyTasks
from mcp_protogen.runtime.features.tasks.task import LAPSED_FOR
from mcp_protogen.runtime.server.context import OpenConnection
from mcp_protogen.runtime.toolkit.remotes import Remote

_LIMITS = TaskOptions()


@dataclass(eq=False, slots=True)
class OwnedTask:
    """A task at a server, which one connection to the server knows."""

    id: str
    """The id for clients; `own` is that of the server."""
    own: str
    owner: str | None
    """The principal; if tokens are exchanged for its clients, one client of it."""
    tool: str
    """The name for clients."""
    remote: Remote
    user: OpenConnection
    """The connection of the client that began it."""
    state: JSONObject
    """The last known one, with the id for clients."""
    began: float = field(default_factory=lambda: get_running_loop().time())
    number: int = field(default_factory=count(1).__next__)
    """Its place in the order of all tasks."""
    timer: TimerHandle | None = None
    has_ended: bool = False

    def __post_init__(self) -> None:
        # A connection in use is not ended as the longest idle one.
        self.remote.users.append(self.user)
        self.note(self.state)

    def note(self, state: JSONObject) -> None:
        """Note what the server says about it."""
        self.state = without(state, "_meta")
        if state.get("status") in ENDS:
            self.note_end()

    def note_end(self) -> None:
        if not self.has_ended:
            self.has_ended = True
            self.remote.users.remove(self.user)

    def move(self, remote: Remote) -> None:
        """Note that another connection knows the task, too, which has replaced the first one."""
        if not self.has_ended:
            self.remote.users.remove(self.user)
            remote.users.append(self.user)
        self.remote = remote

    @property
    def due(self) -> float:
        """The time until which it is kept."""
        ttl, most = self.state.get("ttl", self.state.get("ttlMs")), _LIMITS.max_ttl
        # Clients see for a while that a task has expired.
        return self.began + (most if ttl is None else min(ttl / 1000, most)) + LAPSED_FOR


class OwnedTasks:
    """The tasks at a server, by owners, while the server keeps them."""

    def __init__(self, release: Callable[[Remote], None]) -> None:
        self._by_owner: dict[str | None, dict[str, OwnedTask]] = {}
        self._release = release
        """Called with the connection of a task that is no longer kept."""

    def __iter__(self) -> Iterator[OwnedTask]:
        for tasks in self._by_owner.values():
            yield from tasks.values()

    def of(self, owner: str | None) -> Iterable[OwnedTask]:
        return self._by_owner.get(owner, {}).values()

    def find(self, owner: str | None, id: Any) -> OwnedTask | None:
        return self._by_owner.get(owner, {}).get(id)

    def make_room(self, owner: str | None) -> None:
        """Forget the oldest ended task of an owner with many; else raise `TooManyTasks`."""
        tasks = self._by_owner.get(owner, {})
        if len(tasks) >= _LIMITS.max_tasks:
            oldest = next((task for task in tasks.values() if task.has_ended), None)
            if oldest is None:
                raise TooManyTasks(_LIMITS.max_tasks)
            self.forget(oldest)

    def add(self, task: OwnedTask) -> None:
        if (before := self.find(task.owner, task.id)) is not None:
            # A server may give an id twice.
            self.forget(before)
        self._by_owner.setdefault(task.owner, {})[task.id] = task
        self._wait(task)

    def _wait(self, task: OwnedTask) -> None:
        # Its ttl may have changed meanwhile.
        loop = get_running_loop()
        if loop.time() < task.due:
            task.timer = loop.call_at(task.due, self._wait, task)
        else:
            self.forget(task)

    def forget(self, task: OwnedTask) -> None:
        """Forget a task that its server no longer knows."""
        tasks = self._by_owner.get(task.owner, {})
        if tasks.pop(task.id, None) is None:
            return
        if not tasks:
            del self._by_owner[task.owner]
        if task.timer is not None:
            task.timer.cancel()
        task.note_end()
        self._release(task.remote)
