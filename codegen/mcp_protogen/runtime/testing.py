"""Servers and clients connected within one process, for tests and for embedded servers."""

import sys
from asyncio import create_task
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, TypeAlias, Unpack, overload

from .client.base import ClientBase
from .client.connect import C, Connecting, Connector, Newest, RevisionModule
from .core.options import USUAL
from .server.base import ServerBase
from .server.serve import ServeOptions, Server, serve
from .transports.base import Opener, Transport
from .transports.memory import Tap, memory_pair

SomeServers: TypeAlias = Server | Iterable[Server]


class InMemorySettings(ServeOptions, total=False):
    tap: Tap | None


def in_memory(
    servers: SomeServers, *, tap: Tap | None = None, **settings: Unpack[ServeOptions]
) -> Opener:
    """Return an opener of connections to servers in this process, for `connect`; see `serve`.

    Raise `TypeError` for an invalid server.
    """
    given: tuple[Any, ...] = tuple(servers) if isinstance(servers, Iterable) else (servers,)
    for server in given:
        if not issubclass(server if isinstance(server, type) else type(server), ServerBase):
            raise TypeError(f"{server!r:.80} is not a server; pass a server first, then a client")

    async def open() -> Transport:
        client_end, server_end = memory_pair(tap)
        serving = create_task(serve(given, server_end, **settings))
        client_end.serving = serving
        serving.add_done_callback(lambda _: client_end.feed_eof())
        return client_end

    return open


class ConnectInMemory(Connector[Newest]):
    """Connects to a server in this process; `client_of` and `connect_in_memory` of a package."""

    @overload
    def __call__(
        self, server: SomeServers, /, **settings: Unpack[InMemorySettings]
    ) -> Connecting[Newest]: ...
    @overload
    def __call__(
        self, server: SomeServers, client: C, /, **settings: Unpack[InMemorySettings]
    ) -> Connecting[C]: ...
    @overload
    def __call__(
        self, client: C, server: SomeServers, /, **settings: Unpack[InMemorySettings]
    ) -> Connecting[C]: ...
    @overload
    def __call__(
        self,
        server: SomeServers,
        /,
        *,
        as_: RevisionModule[C],
        **settings: Unpack[InMemorySettings],
    ) -> Connecting[C]: ...
    def __call__(
        self,
        server: Any,
        client: Any = None,
        /,
        *,
        as_: RevisionModule[ClientBase] | None = None,
        **settings: Unpack[InMemorySettings],
    ) -> Connecting[Any]:
        """Connect to a server, its class, or several: `async with client_of(app) as client`.

        The client and `as_` are those of `connect`, and the settings those of `serve`, so
        `revisions` are the server's. `tap` is called with each message. The client may also come
        first, as in earlier versions. Raises the errors of `connect`.
        """
        if isinstance(server, ClientBase):
            server, client = client, server
        if not isinstance(client, ClientBase | None):
            raise TypeError("pass a server first, then a client object")
        opener = in_memory(server, **settings)
        clients = () if client is None else (client,)
        return self.connection_through(opener, clients, as_, options=settings.get("options", USUAL))

    def fixture(
        self,
        server: SomeServers,
        client: Callable[[], ClientBase] | None = None,
        /,
        *,
        as_: RevisionModule[ClientBase] | None = None,
        decorator: Callable[[Any], Any] | None = None,
        **settings: Unpack[InMemorySettings],
    ) -> Any:
        """Return a pytest fixture that gives each test a new client.

        `client` makes it, such as a class. `decorator` makes a fixture of a function; the default
        is that of pytest-asyncio if installed, or that of pytest, for the plug-in of anyio.
        """
        plugin: Any = sys.modules.get("pytest_asyncio")
        connect: Any = self

        async def connect_client() -> AsyncGenerator[ClientBase, None]:
            made = None if client is None else client()
            async with connect(server, made, as_=as_, **settings) as one:
                yield one

        from .core.libraries import library

        return (decorator or (plugin or library("pytest", "fixture")).fixture)(connect_client)
