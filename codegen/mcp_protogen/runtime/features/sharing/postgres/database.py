"""Opening, using and closing connections."""

import asyncio
from asyncio import get_running_loop
from collections.abc import Awaitable, Generator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from socket import MSG_PEEK, SHUT_RDWR, socket
from typing import Any, Final, TypeAlias, TypeVar

from ....storage.engine import EngineUnavailable
from .statements import BEGIN, LAYOUT, NO_SCHEMA, NO_TABLES, PREPARE, TABLES, Schema

Row: TypeAlias = tuple[Any, ...]

T = TypeVar("T")


class Database:
    def __init__(self, url: str, schema: Schema, timeout: float, psycopg: Any) -> None:
        self._url = url
        self._schema = schema
        self.timeout: Final = timeout
        self._connections = set[Any]()
        self.psycopg: Final = psycopg
        self.away: str | None = None
        """Why the database is unreachable, while that is known."""
        self.ended: Final = asyncio.Event()

    def channel(self, worker: str) -> str:
        """Return a worker's channel name; the empty name is the bus."""
        name = f"{self._schema.name}\0{worker}".encode()
        return f"mcp_{sha256(name).hexdigest()[:40]}"

    async def connect(self, earlier: Any = None) -> Any:
        """Return a new connection with the tables ready, in place of an earlier one."""
        await self.close(earlier)
        options = {"autocommit": True, "fallback_application_name": "mcp"}
        connecting = self.psycopg.AsyncConnection.connect(self._url, **options)
        connection = await self.in_time(connecting)
        self._connections.add(connection)
        try:
            await self._prepare(connection)
        except BaseException:
            await self.close(connection)
            raise
        return connection

    async def _prepare(self, connection: Any) -> None:
        schema, path = self._schema.name, self._schema.quoted_name
        values = {"path": path, "timeout": str(max(int(self.timeout * 1000), 1))}
        try:
            rows = await self.ask(connection, PREPARE, values)
            *_, layout = rows[0]
            if layout is None:
                await self._make_tables(connection)
        except self.psycopg.errors.InsufficientPrivilege:
            raise EngineUnavailable(
                f"this role may not use or create the tables in the schema {schema}: "
                "run PostgresEngine.schema_sql() as a role that may"
            ) from None
        if layout not in (LAYOUT, None):
            message = f"the tables in the schema {schema} are of another version"
            raise EngineUnavailable(message)

    async def _make_tables(self, connection: Any) -> None:
        path = {"path": self._schema.quoted_name}
        await self._execute(connection, BEGIN, None)
        # The role may create tables here, but perhaps no schemas.
        if await self.ask(connection, NO_SCHEMA, path):
            await self._execute(connection, self._schema.creation, None)
        # "create ... if not exists" would lock tables in use, and so end in deadlocks.
        if await self.ask(connection, NO_TABLES, path):
            await self._execute(connection, TABLES, None)
        await self._execute(connection, "commit", None)

    async def ask(self, connection: Any, statement: str, values: Mapping[str, object]) -> list[Row]:
        """Return the rows of a statement; cut the connection if it takes too long.

        Cancelling would wait for a server that may be silent.
        """
        cursor = await self._execute(connection, statement, values)
        return [] if cursor.description is None else await cursor.fetchall()

    async def _execute(
        self, connection: Any, statement: str, values: Mapping[str, object] | None
    ) -> Any:
        timer = get_running_loop().call_later(self.timeout, abort_connection, connection)
        try:
            return await connection.execute(statement, values, binary=values is not None)
        finally:
            timer.cancel()

    async def in_time(self, outcome: Awaitable[T]) -> T:
        try:
            async with asyncio.timeout(self.timeout):
                return await outcome
        except TimeoutError:
            message = f"PostgreSQL did not answer within {self.timeout:g} seconds"
            raise EngineUnavailable(message) from None

    async def close(self, connection: Any) -> None:
        if connection is not None:
            self._connections.discard(connection)
            await connection.close()

    async def close_all(self) -> None:
        for connection in [*self._connections]:
            await self.close(connection)

    def abort(self) -> None:
        for connection in self._connections:
            abort_connection(connection)

    def harmless(self, error: BaseException) -> str:
        """Return the text of an error, without passwords."""
        given = self.psycopg.conninfo.conninfo_to_dict(self._url)
        text = " ".join(str(error).split()) or type(error).__name__
        for secret in filter(None, (given.get("password"), given.get("sslpassword"))):
            text = text.replace(secret, "***")
        return text[:300]


@contextmanager
def _socket_of(connection: Any) -> Generator[socket, None, None]:
    borrowed = socket(fileno=connection.fileno())
    try:
        yield borrowed
    finally:
        borrowed.detach()


def is_open(connection: Any) -> bool:
    """Return whether an idle connection is silent: data would mean its end."""
    if connection.closed:
        return False
    try:
        with _socket_of(connection) as idle:
            idle.setblocking(False)
            idle.recv(1, MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def abort_connection(connection: Any) -> None:
    """End a connection so that its waiters notice at once."""
    if not connection.closed:
        # The other end may have closed it.
        with suppress(OSError), _socket_of(connection) as end:
            end.shutdown(SHUT_RDWR)


def is_text(name: str) -> bool:
    """Return whether a database can store a name, which a client may have made up."""
    try:
        return b"\0" not in name.encode()
    except UnicodeEncodeError:
        return False
