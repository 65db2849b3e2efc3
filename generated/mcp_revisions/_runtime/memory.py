"""A client and a server in one process, with real messages between them.

What one side sends arrives at the other as the bytes it would put on any wire, so tests and
embedded servers see exactly what a remote peer would see.
"""

from asyncio import Queue, Task, create_task, gather
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

from .peer import ClientBase, Link, Peer, ServerBase, SessionBase
from .spec import Role

SessionT = TypeVar("SessionT", bound=SessionBase)

Tap: TypeAlias = Callable[[Role, bytes], object]
"""Is shown every message before it is delivered: who sent it, and its bytes."""


@asynccontextmanager
async def connect_in_memory(
    client: ClientBase, server: ServerBase[SessionT], *, tap: Tap | None = None
) -> AsyncGenerator[SessionT, None]:
    """Connect `client` to `server`; gives the server's side of the connection.

    Each side has declared what its `declaration()` says. On leaving, handlers still at work are
    cancelled and unanswered requests raise `Disconnected`.
    """
    declared: dict[Role, Any] = {
        "client": client.declaration(),
        "server": server.declaration(),
    }
    tasks = _Tasks()
    to_server, to_client = _Pipe("client", tap), _Pipe("server", tap)
    client.connect(Link(to_server.send, tasks.spawn, declared))
    session = server.accept(Link(to_client.send, tasks.spawn, declared))
    tasks.spawn(to_server.deliver(session))
    tasks.spawn(to_client.deliver(client))
    try:
        yield session
    finally:
        client.close()
        session.close()
        await tasks.cancel()


class _Pipe:
    """One direction: messages arrive one by one, in the order in which they were sent."""

    def __init__(self, sender: Role, tap: Tap | None) -> None:
        self._sender: Role = sender
        self._tap = tap
        self._queue: Queue[bytes] = Queue()

    async def send(self, data: bytes) -> None:
        if self._tap is not None:
            self._tap(self._sender, data)
        await self._queue.put(data)

    async def deliver(self, receiver: Peer) -> None:
        while True:
            receiver.receive(await self._queue.get())


class _Tasks:
    """The tasks of one connection; they end with it."""

    def __init__(self) -> None:
        self._running: set[Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def cancel(self) -> None:
        running = list(self._running)
        for task in running:
            task.cancel()
        await gather(*running, return_exceptions=True)
