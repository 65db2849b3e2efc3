"""The bases of the typed clients that `mcp-gen client` generates."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from copy import copy
from threading import Thread
from typing import Any, ClassVar, Final, Literal, Self, TypeAlias, TypeVar, Unpack, cast

from ..core.context_task import ContextTask
from ..core.errors import LocalError
from ..core.options import USUAL, CallOptions, Options
from ..core.sendable import as_python
from ..core.spec import CALL_TOOL
from ..core.tasks import is_running
from ..core.uri_expansion import expanded_uri
from ..rpc.peer import OMITTED as OMITTED
from ..rpc.peer import Omitted as Omitted
from ..rpc.peer import present
from ..transports.base import ServerLike
from .base import ClientBase, ReadAs
from .servers import Connect
from .tool_results import request_data

T = TypeVar("T")
Other = TypeVar("Other", bound="_Calls")
How: TypeAlias = Literal["call_tool", "get_prompt", "read_resource"]
Arguments: TypeAlias = Mapping[str, Any]
Work: TypeAlias = Callable[[], Coroutine[Any, Any, T]]

ServerOrConnection: TypeAlias = ServerLike | AbstractAsyncContextManager[ClientBase]
"""A server for `connect`, or a connection opened by another function."""


class _Calls:
    CONNECT: ClassVar[Connect[Any]]
    """The `connect` of the package that the generated module imports."""
    CLIENT: ClassVar[type[ClientBase] | None] = None
    """The class of the client; the default is the plain client of the package."""

    def __init__(self, client: ClientBase) -> None:
        self.client: Final = client
        """The client of the connection, for all other features of the server."""
        self._options: CallOptions = {}

    def with_options(self, **options: Unpack[CallOptions]) -> Self:
        """Return a client of the same connection whose calls have these options."""
        other = copy(self)
        other._options = {**self._options, **options}
        return other

    def _beside(self, other: type[Other]) -> Other:
        beside = other(self.client)
        vars(beside).update(vars(self))
        return beside

    async def _send_request(
        self, how: How, name: str, returns: ReadAs[T] | None, given: Arguments, optional: Arguments
    ) -> T:
        arguments = present(**given)
        arguments |= {key: value for key, value in optional.items() if value is not None}
        wire: dict[str, Any] = as_python(arguments, by_alias=True, exclude_unset=True)
        params = (expanded_uri(name, wire),) if how == "read_resource" else (name, wire)
        extra: dict[str, Any] = {}
        if how == "call_tool" and returns is None:
            extra = {"check": True}
        elif how == "call_tool":
            table = self.client.TABLE
            spec = table.spec_of(CALL_TOOL)
            asked = request_data(spec, spec.params(name=name), table.rules.requested_outputs)
            more = asked.model_fields_set - {"name", "meta"}
            extra = {"as_": returns, **{member: getattr(asked, member) for member in more}}
        request: Any = getattr(self.client, how)
        return cast(T, await request(*params, **extra, **self._options))

    @classmethod
    def _connection(
        cls, server: ServerOrConnection, options: Options
    ) -> AbstractAsyncContextManager[ClientBase]:
        value: Any = server
        if isinstance(value, AbstractAsyncContextManager):
            return cast(AbstractAsyncContextManager[ClientBase], value)
        if cls.CLIENT is None:
            return cls.CONNECT(value, options=options)
        every = cls.CONNECT.package.REVISIONS
        return cls.CONNECT(value, cls.CLIENT(), revisions=every, options=options)


class ToolClient(_Calls):
    """The base of generated clients whose methods are coroutines."""

    @classmethod
    @asynccontextmanager
    async def connect(
        cls, server: ServerOrConnection, /, *, options: Options = USUAL
    ) -> AsyncGenerator[Self, None]:
        """Connect to the server: `async with WeatherClient.connect(server) as weather`.

        The server is one for `connect` of the package, or a connection opened by another function,
        such as `connect_http(url, auth=OAuth())`, with its own options. Errors are those of
        `connect`.
        """
        async with cls._connection(server, options) as client:
            yield cls(client)

    async def _call(
        self, tool: str, returns: ReadAs[T], arguments: Arguments, optional: Arguments
    ) -> T:
        return await self._send_request("call_tool", tool, returns, arguments, optional)

    async def _result(
        self, how: How, name: str, returns: type[T], arguments: Arguments, optional: Arguments
    ) -> T:
        del returns
        return await self._send_request(how, name, None, arguments, optional)


class SyncToolClient(_Calls):
    """The base of generated clients whose methods block until the server answers.

    The connection has an event loop in a thread. Threads that run an event loop cannot call.
    """

    _background: "_Background"

    @classmethod
    @contextmanager
    def connect(
        cls, server: ServerOrConnection, /, *, options: Options = USUAL
    ) -> Generator[Self, None, None]:
        """Connect to the server: `with SyncWeatherClient.connect(server) as weather`.

        Servers and errors are those of the class with coroutines. Raise `LocalError` in a thread
        that runs an event loop.
        """
        with _background() as background:
            enter = background.connection.enter
            client = background.run(lambda: enter(cls._connection(server, options)))
            connected = cls(client)
            connected._background = background
            yield connected

    def _call(self, tool: str, returns: ReadAs[T], arguments: Arguments, optional: Arguments) -> T:
        return self._background.run(
            lambda: self._send_request("call_tool", tool, returns, arguments, optional)
        )

    def _result(
        self, how: How, name: str, returns: type[T], arguments: Arguments, optional: Arguments
    ) -> T:
        del returns
        return self._background.run(
            lambda: self._send_request(how, name, None, arguments, optional)
        )


class _Background:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.connection: Final = ContextTask()

    def run(self, work: Work[T]) -> T:
        """Run `work` on the loop and return its result; cancel it if the wait is interrupted."""
        _refuse_in_loop()
        future = asyncio.run_coroutine_threadsafe(work(), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


@contextmanager
def _background() -> Generator[_Background, None, None]:
    _refuse_in_loop()
    loop = asyncio.new_event_loop()
    # A non-daemon thread would keep an interrupted program from ending.
    thread = Thread(target=loop.run_forever, name="mcp-client", daemon=True)
    thread.start()
    background = _Background(loop)
    try:
        try:
            yield background
        finally:
            background.run(background.connection.leave)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _refuse_in_loop() -> None:
    if is_running():
        raise LocalError("this thread runs an event loop: use the class with coroutine methods")
