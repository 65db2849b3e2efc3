"""An engine in a PostgreSQL database, of version 12 or later, reached with psycopg.

Each call is one statement, and so one transaction and one packet: a worker that is stopped at any
point holds no lock. Sessions, streams and events are ordinary tables. Leases, letters and changes
are unlogged ones: writing them costs no flush, and a database that has crashed, or is a copy of the
one before, has lost them. Then the lease of each worker is gone, too, and it gets a `GAP`.
"""

import asyncio
from asyncio import Future, get_running_loop
from collections import deque
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from logging import getLogger
from random import uniform
from socket import MSG_PEEK, SHUT_RDWR, socket
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import urlsplit

from .engine import (
    GAP,
    Appended,
    Change,
    EngineUnavailable,
    Event,
    Events,
    Letter,
    Receive,
    Saved,
    StoredSession,
)
from .lease import Lease, now

_log: Final = getLogger(__name__)

Row: TypeAlias = tuple[Any, ...]

LAYOUT: Final = "mcp tables, layout 1"
"""The comment on the first of these tables, which changes with them."""

_TABLES: Final = """\
create table if not exists {schema}.sessions (
    key text primary key,
    record bytea not null,
    version bigint not null,        -- 0: only has streams
    owner text,
    epoch bigint not null,
    delivered bigint not null,
    copies text[] not null,
    ended boolean not null,
    lapses_at timestamptz not null
);
create index if not exists sessions_lapses_at on {schema}.sessions (lapses_at);
create table if not exists {schema}.streams (
    session text not null references {schema}.sessions on delete cascade,
    name text not null,
    last bigint not null,           -- -1: no events yet
    ended boolean not null,
    followers text[] not null,
    lapses_at timestamptz,          -- of one that has ended
    primary key (session, name)
);
create index if not exists streams_lapses_at on {schema}.streams (lapses_at)
    where lapses_at is not null;
create table if not exists {schema}.events (
    session text not null,
    stream text not null,
    number bigint not null,
    message bytea not null,
    primary key (session, stream, number),
    foreign key (session, stream) references {schema}.streams on delete cascade
);
create unlogged table if not exists {schema}.workers (
    name text primary key,
    lapses_at timestamptz not null
);
create unlogged table if not exists {schema}.letters (
    id bigint generated always as identity primary key,
    worker text not null references {schema}.workers on delete cascade,
    content bytea not null
);
create index if not exists letters_worker on {schema}.letters (worker, id);
create unlogged table if not exists {schema}.bus (
    one boolean primary key check (one),
    last bigint not null
);
create unlogged table if not exists {schema}.changes (
    id bigint primary key,
    content bytea not null,
    published_at timestamptz not null
);
comment on table {schema}.sessions is '{layout}';
"""
# Of several that begin at once, the others wait here, and then find it all made.
_ONE_AT_A_TIME: Final = "select pg_advisory_xact_lock(7168880);\n"

_PREPARE: Final = """
select set_config('search_path', %(path)s, false),
    set_config('statement_timeout', %(timeout)s, false),
    set_config('default_transaction_isolation', 'read committed', false),
    obj_description(to_regclass(%(table)s), 'pg_class')"""

# Sessions. One that has lapsed is as good as gone, whether or not it was deleted already.

_LIVE: Final = "key = %(key)s and sessions.lapses_at > clock_timestamp()"
_GOOD: Final = f"{_LIVE} and version > 0 and not ended"
_LATER: Final = "clock_timestamp() + %(lifetime)s::float8 * interval '1 second'"
# When there are many, those are left out that are gone: who has come back opens it again.
_COPIES: Final = """array_append(array_remove(
    case when cardinality(copies) < 8 then copies
    else array(select name from workers where name = any(copies)) end,
    %(worker)s::text), %(worker)s::text)"""
_STORED: Final = "record, version, owner, epoch, delivered"

_OPEN: Final = f"update sessions set copies = {_COPIES} where {_GOOD} returning {_STORED}"
_CREATE: Final = f"""
with lapsed as (
    delete from streams where session = %(key)s
    and exists (select from sessions where key = %(key)s and lapses_at <= clock_timestamp())
)
insert into sessions as s ({_STORED}, key, copies, ended, lapses_at)
values (%(record)s::bytea, %(version)s::bigint, %(worker)s::text, %(version)s::bigint, 0,
    %(key)s, array_remove(array[%(worker)s::text], null), false, {_LATER})
on conflict (key) do update set record = excluded.record, version = excluded.version,
    owner = excluded.owner, epoch = excluded.epoch, delivered = 0, copies = excluded.copies,
    ended = false, lapses_at = excluded.lapses_at
where s.lapses_at <= clock_timestamp() or (s.version = 0 and not s.ended)
returning version, copies"""
_SAVE: Final = f"""
update sessions set record = %(record)s::bytea, version = version + 1, copies = {_COPIES},
    lapses_at = {_LATER}
where {_GOOD} and version = %(version)s::bigint returning version, copies"""
# Locked in one order, so that no two workers wait for each other.
_REFRESH: Final = f"""
update sessions set lapses_at = {_LATER} where key in (
    select key from sessions where key = any(%(keys)s::text[]) and lapses_at > clock_timestamp()
    and not ended order by key for no key update
)"""
_LEAVE: Final = """
update sessions set copies = array_remove(copies, %(worker)s::text),
    owner = nullif(owner, %(worker)s::text)
where key = %(key)s"""
_END: Final = f"""
with ended as (
    update sessions set ended = true, record = '', lapses_at = {_LATER}
    where {_LIVE} and version > 0 and (not ended or %(again)s) returning key, copies
), emptied as (delete from streams where session in (select key from ended))
select copies from ended"""
_CLAIM: Final = f"""
with before as (select key, {_STORED} from sessions where {_GOOD} for no key update)
update sessions as s set owner = %(worker)s::text, epoch = s.epoch + 1, copies = {_COPIES}
from before where s.key = before.key
returning before.record, before.version, before.owner, before.epoch, before.delivered"""
_DELIVER: Final = f"""
update sessions set delivered = greatest(delivered, %(delivered)s::bigint)
where {_GOOD} and owner = %(worker)s and epoch = %(epoch)s::bigint returning true"""

# Events. The row of a stream is what its writers wait for.

_APPEND: Final = f"""
with written as (
    insert into streams as s (session, name, last, ended, followers, lapses_at)
    select %(key)s, %(stream)s, %(last)s::bigint, %(end)s, '{{}}',
        case when %(end)s then {_LATER} end
    where exists (select from sessions where {_LIVE} and not ended)
    and (%(number)s::bigint in (0, 1)
        or exists (select from streams where session = %(key)s and name = %(stream)s))
    on conflict (session, name) do update
        set last = greatest(s.last, excluded.last), ended = excluded.ended,
            lapses_at = excluded.lapses_at
        where not s.ended
        and (s.last + 1 = %(number)s::bigint or (s.last < 0 and %(number)s::bigint = 1))
    returning followers
), added as (
    insert into events (session, stream, number, message)
    select %(key)s, %(stream)s, %(number)s::bigint + place - 1, message
    from written, unnest(%(messages)b::bytea[]) with ordinality as given (message, place)
), trimmed as (
    delete from events where session = %(key)s and stream = %(stream)s
    and number <= %(last)s::bigint - %(max_events)s::bigint and exists (select from written)
)
select followers from written"""
_STREAM: Final = f"""
select sessions.ended, coalesce(last, -1), coalesce(streams.ended, false), followers
from sessions left join streams on session = key and name = %(stream)s where {_LIVE}"""
_READ: Final = f"""
select sessions.ended, coalesce(last, -1), coalesce(streams.ended, false), number, message
from sessions left join streams on streams.session = key and name = %(stream)s
left join events on events.session = key and stream = name and number > %(after)s::bigint
where {_LIVE} order by number"""
_FOLLOW: Final = f"""
insert into streams as s (session, name, last, ended, followers)
select %(key)s, %(stream)s, -1, false, array[%(worker)s::text]
where exists (select from sessions where {_LIVE})
on conflict (session, name) do update
    set followers = array_append(array_remove(s.followers, %(worker)s::text), %(worker)s::text)
returning true"""
_UNFOLLOW: Final = """
with unused as (
    delete from streams where session = %(key)s and name = %(stream)s
    and last < 0 and not ended and followers <@ array[%(worker)s::text] returning true
)
update streams set followers = array_remove(followers, %(worker)s::text)
where session = %(key)s and name = %(stream)s and not exists (select from unused)"""

# Letters and changes. Notifications only wake: nothing is lost with one.

_SEND: Final = """
with boxes as materialized (
    select name, channel
    from unnest(%(names)s::text[], %(channels)s::text[]) as given (name, channel)
    join workers using (name) where lapses_at > clock_timestamp() for key share of workers
), sent as (
    insert into letters (worker, content) select name, content
    from unnest(%(to)s::text[], %(contents)b::bytea[])
        with ordinality as given (name, content, place)
    join boxes using (name) order by place
)
select name from boxes, pg_notify(channel, '')"""
_ALIVE: Final = """
select name from workers where name = any(%(names)s::text[]) and lapses_at > clock_timestamp()"""
# Who publishes holds the row of the bus until it has committed, so numbers are visible in their
# order, and none is left out: a reader that has seen one has seen all before it.
_PUBLISH: Final = """
with tail as (
    insert into bus as b values (true, %(number)s::bigint)
    on conflict (one) do update set last = b.last + excluded.last returning last
), published as (
    insert into changes (id, content, published_at)
    select last - %(number)s::bigint + place, content, clock_timestamp()
    from tail, unnest(%(contents)b::bytea[]) with ordinality as given (content, place)
)
select from tail, pg_notify(%(channel)s, '')"""

_LEASED: Final = "clock_timestamp() + %(lease)s::float8 * interval '1 second'"
_JOIN: Final = f"""
insert into workers values (%(worker)s, {_LEASED})
on conflict (name) do update set lapses_at = excluded.lapses_at"""
_PART: Final = "delete from workers where name = %(worker)s"
# Renews the lease, deletes the letters that were read the last time, and reads what came since.
_ROUND: Final = f"""
with renewed as (
    update workers set lapses_at = {_LEASED}
    where name = %(worker)s and lapses_at > clock_timestamp() returning name
), forgotten as (
    delete from letters where worker = %(worker)s and id = any(%(read)s::bigint[])
)
select 0 as kind, 0 as id, null::bytea from renewed
union all select 1, last, null from bus
union all (select 2, id, content from letters
    where worker = %(worker)s and id <> all(%(read)s::bigint[]) order by id limit %(limit)s)
union all (select 3, id, content from changes
    where id > %(seen)s::bigint order by id limit %(limit)s)
order by kind, id"""
_CLEAN: Final = """
with lapsed as (
    select key from sessions where lapses_at <= clock_timestamp()
    order by lapses_at limit %(limit)s for update skip locked
), ended as (
    delete from sessions using lapsed where sessions.key = lapsed.key returning true
), over as (
    delete from streams where (session, name) in (
        select session, name from streams where lapses_at <= clock_timestamp()
        order by lapses_at limit %(limit)s for update skip locked
    ) returning true
), gone as (
    delete from workers where lapses_at < clock_timestamp() - interval '1 minute'
), old as (
    delete from changes where id in (select id from changes order by id limit %(limit)s)
    and (id <= (select last from bus) - %(max_changes)s::bigint
        or published_at < clock_timestamp() - interval '5 minutes')
    returning true
)
select greatest((select count(*) from ended), (select count(*) from over),
    (select count(*) from old))"""

_CHUNK: Final = 1000
"""The number of letters, and of changes, that are read at once."""
_CLEANED_AT_ONCE: Final = 100
"""The number of sessions, of streams, and of changes that are deleted at once."""
_MAX_CHANGES: Final = 10_000
_CLEAN_EVERY: Final = 60.0
_LONGEST: Final = 1e9
_FAR: Final = 1 << 62
# Streams may be written and followed before their session is known.
_STUB_LIFETIME: Final = 3600.0
_ATTEMPTS: Final = 10
# What of a URL is no secret.
_PLACE: Final = "host", "port", "dbname"
_LATE: Final = "PostgreSQL did not answer within {:g} seconds"
_CHANGING: Final = "others change the same stream all the time, or its lifetime is too short"
# Seconds in which calls do not try again to connect.
_REFUSED: Final = 0.2
_FIRST_DELAY, _LAST_DELAY = 0.05, 1.0


@dataclass(frozen=True, repr=False)
class PostgresEngine:
    """An engine in the tables of one `schema`, which are made when they are not there.

    `url` is what libpq takes, with `sslmode` and all else. A call that takes longer than `timeout`
    seconds has failed. Each worker has one connection on which it listens, and up to `connections`
    for calls. Of each stream the last `max_events` are kept.
    """

    url: str
    schema: str = field(default="mcp", kw_only=True)
    timeout: float = field(default=2.0, kw_only=True)
    connections: int = field(default=4, kw_only=True)
    max_events: int = field(default=1000, kw_only=True)

    def __post_init__(self) -> None:
        psycopg = _psycopg()
        try:
            given = psycopg.conninfo.conninfo_to_dict(self.url)
            # Else a part of a password has become that of a place.
            if "://" in self.url and "@" in urlsplit(self.url).path:
                raise ValueError
            if not set(str(given.get("port", ""))) <= {*"0123456789,"}:
                raise ValueError
        except (ValueError, psycopg.ProgrammingError):
            # What was wrong may be a part of the password.
            message = "url is no postgresql:// that libpq can read"
            raise ValueError(message) from None
        if not self.schema or "\0" in self.schema:
            raise ValueError("schema has to be the name of one")
        if self.timeout <= 0 or self.connections < 1 or self.max_events < 1:
            raise ValueError("timeout, connections and max_events have to be more than 0")

    def __repr__(self) -> str:
        given = _psycopg().conninfo.conninfo_to_dict(self.url)
        place = " ".join(f"{name}={given[name]}" for name in _PLACE if name in given)
        return f"PostgresEngine({place!r}, schema={self.schema!r})"

    def schema_sql(self) -> str:
        """Return what makes the tables, for workers whose role may not do so.

        Such a role needs USAGE of the schema, and SELECT, INSERT, UPDATE and DELETE of its tables.
        """
        schema = f"create schema if not exists {self.quoted};\n"
        return f"begin;\n{_ONE_AT_A_TIME}{schema}{self.tables}commit;\n"

    @property
    def quoted(self) -> str:
        return '"' + self.schema.replace('"', '""') + '"'

    @property
    def tables(self) -> str:
        return _TABLES.format(schema=self.quoted, layout=LAYOUT)

    def connect(
        self, worker: str, lease: float, receive: Receive
    ) -> "AbstractAsyncContextManager[PostgresConnection]":
        return PostgresConnection(self, _psycopg(), worker, lease, receive).running()


def _psycopg() -> Any:
    try:
        return import_module("psycopg")
    except ImportError as error:
        cure = "install it, with: pip install 'psycopg[binary]>=3.2.4'"
        raise ImportError(f"PostgresEngine needs psycopg 3; {cure}") from error


class _Call(NamedTuple):
    """A statement that waits for a connection, and where its rows go."""

    statement: str
    values: Mapping[str, object]
    rows: "Future[list[Row]]"


class PostgresConnection:
    """The connections of a worker, which call, listen and clean in tasks of their own.

    So a call that is cancelled disturbs none of them.
    """

    def __init__(
        self, engine: PostgresEngine, psycopg: Any, worker: str, lease: float, receive: Receive
    ) -> None:
        self._database: Final = _Database(engine, psycopg)
        self._timeout: Final = engine.timeout
        self._most = engine.connections
        self._lanes: Final = list[asyncio.Task[None]]()
        # Those that wait for the next call, and calls that wait for one of them.
        self._idle: Final = list[Future[_Call | None]]()
        self._calls: Final = deque[_Call]()
        self._refused_until = 0.0
        self._worker: Final = worker
        self._lease: Final = Lease(lease)
        self._listener: Final = _Listener(self._database, worker, self._lease, receive)
        self._letters: Final = _Joined(self._send, engine.timeout)
        self._changes: Final = _Joined(self._publish, engine.timeout)
        self._channel: Final = self._database.channel
        self.sessions: Final = PostgresSessions(self)
        self.events: Final = PostgresEvents(self, engine.max_events)
        self.mail: Final = self
        self.bus: Final = self

    @property
    def current(self) -> bool:
        return self._lease.current and not self._database.ended.is_set()

    @asynccontextmanager
    async def running(self) -> "AsyncGenerator[PostgresConnection, None]":
        """Return when it is connected, or the engine has turned out to be away."""
        listening = asyncio.create_task(self._listener.run())
        cleaning = asyncio.create_task(self._clean())
        try:
            await self._listener.tried.wait()
            yield self
        finally:
            self._database.ended.set()
            cleaning.cancel()
            try:
                # Nobody may renew the lease that is given back here.
                self._database.abort()
                sending = (self._letters.sending, self._changes.sending)
                await _finish([listening, cleaning, *filter(None, sending)])
                with suppress(EngineUnavailable):
                    await self.call(_PART, worker=self._worker)
            finally:
                self._most = 0
                while self._idle:
                    self._idle.pop().set_result(None)
                await _finish(self._lanes)
                await self._database.close_all()

    async def call(self, statement: str, **values: object) -> list[Row]:
        """Return the rows of a statement.

        Raise `EngineUnavailable`, or `ValueError` for values that no database can have.
        """
        if self._database.away is not None or not self._most:
            raise EngineUnavailable(self._database.away or "this connection is closed")
        rows: Future[list[Row]] = get_running_loop().create_future()
        self._start(_Call(statement, values, rows))
        try:
            async with asyncio.timeout(self._timeout):
                return await rows
        except TimeoutError:
            raise EngineUnavailable(_LATE.format(self._timeout)) from None

    def _start(self, call: _Call) -> None:
        if self._idle:
            # The one that was used last has a connection that is good, and its plans.
            self._idle.pop().set_result(call)
        elif len(self._lanes) < self._most:
            self._lanes.append(asyncio.create_task(self._serve(call)))
        else:
            self._calls.append(call)

    async def _serve(self, call: _Call | None) -> None:
        """Make calls, one after the other, on a connection of its own."""
        connection: Any = None
        while call is not None:
            # Nobody waits for those any more that were cancelled, or have waited for too long.
            if not call.rows.done():
                connection = await self._make(call, connection)
            call = self._calls.popleft() if self._calls else await self._next()

    async def _next(self) -> _Call | None:
        if not self._most:
            return None
        turn: Future[_Call | None] = get_running_loop().create_future()
        self._idle.append(turn)
        return await turn

    async def _make(self, call: _Call, connection: Any) -> Any:
        """Make a call on a connection, or on a new one; return it if it is good."""
        try:
            if connection is None or not _is_open(connection):
                connection = await self._connected(connection)
            rows = await self._database.ask(connection, call.statement, call.values)
        except (ValueError, self._database.errors.DataError) as error:
            _set_error(call.rows, ValueError(self._database.harmless(error)))
        except Exception as error:
            _set_error(call.rows, EngineUnavailable(self._database.harmless(error)))
            await self._database.close(connection)
            return None
        else:
            if not call.rows.done():
                call.rows.set_result(rows)
        return connection

    async def _connected(self, earlier: Any) -> Any:
        if now() < self._refused_until:
            raise EngineUnavailable("it has just refused a connection")
        try:
            return await self._database.connected(earlier)
        except Exception:
            self._refused_until = now() + _REFUSED
            raise

    async def _clean(self) -> None:
        """Delete what has lapsed, now and then, and little at a time."""
        limit = _CLEANED_AT_ONCE
        while True:
            await asyncio.sleep(_CLEAN_EVERY * uniform(0.5, 1.5))
            try:
                while await self.clean(limit):
                    await asyncio.sleep(0.1)
                limit = min(2 * limit, _CLEANED_AT_ONCE)
            except EngineUnavailable:
                # It may have been too much.
                limit = max(limit // 2, 1)

    async def clean(self, limit: int = _CLEANED_AT_ONCE) -> bool:
        """Delete some of what has lapsed; return whether there may be more."""
        rows = await self.call(_CLEAN, limit=limit, max_changes=_MAX_CHANGES)
        return bool(rows[0][0] == limit)

    async def send(self, letters: Sequence[tuple[str, bytes]]) -> frozenset[str]:
        good = [letter for letter in letters if _is_text(letter[0])]
        there = await self._letters.add(good) if good else frozenset[str]()
        return frozenset(name for name, _ in letters) - there

    async def _send(self, letters: Sequence[tuple[str, bytes]]) -> frozenset[str]:
        """Return those that have got letters."""
        names = list(dict.fromkeys(name for name, _ in letters))
        rows = await self.call(
            _SEND,
            names=names,
            channels=[self._channel(name) for name in names],
            to=[name for name, _ in letters],
            contents=[content for _, content in letters],
        )
        return frozenset(row[0] for row in rows)

    async def alive(self, workers: Collection[str]) -> frozenset[str]:
        names = [name for name in workers if _is_text(name)]
        return frozenset(row[0] for row in await self.call(_ALIVE, names=names))

    async def publish(self, changes: Sequence[bytes]) -> None:
        if changes:
            await self._changes.add(changes)

    async def _publish(self, changes: Sequence[bytes]) -> None:
        values = {"contents": list(changes), "channel": self._channel("")}
        await self.call(_PUBLISH, number=len(changes), **values)


_Item = TypeVar("_Item")
_Outcome = TypeVar("_Outcome")


class _Joined(Generic[_Item, _Outcome]):
    """Sends what is added in its order, though calls have several connections.

    What is added while something is on its way goes out next, in one call.
    """

    def __init__(
        self, send: Callable[[Sequence[_Item]], Awaitable[_Outcome]], timeout: float
    ) -> None:
        self._send = send
        self._timeout = timeout
        self._added: list[tuple[Sequence[_Item], Future[_Outcome]]] = []
        self.sending: asyncio.Task[None] | None = None

    async def add(self, items: Sequence[_Item]) -> _Outcome:
        """Return the outcome of the call that has sent them."""
        outcome: Future[_Outcome] = get_running_loop().create_future()
        self._added.append((items, outcome))
        if self.sending is None:
            self.sending = asyncio.create_task(self._send_all())
        try:
            async with asyncio.timeout(self._timeout):
                return await outcome
        except TimeoutError:
            raise EngineUnavailable(_LATE.format(self._timeout)) from None

    async def _send_all(self) -> None:
        while added := [(items, outcome) for items, outcome in self._added if not outcome.done()]:
            self._added = []
            try:
                sent = await self._send([item for items, _ in added for item in items])
            except (EngineUnavailable, ValueError) as error:
                for _, outcome in added:
                    _set_error(outcome, type(error)(*error.args))
            else:
                for _, outcome in added:
                    if not outcome.done():
                        outcome.set_result(sent)
        self._added, self.sending = [], None


class PostgresSessions:
    """The table of sessions."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._call = connection.call

    async def open(self, key: str, worker: str) -> StoredSession | None:
        rows = await self._call(_OPEN, key=key, worker=worker)
        return StoredSession(*rows[0]) if rows else None

    async def save(
        self, key: str, worker: str, record: bytes, *, version: int, lifetime: float
    ) -> Saved | None:
        values = {"record": record, "lifetime": min(lifetime, _LONGEST)}
        statement, before = (_SAVE, version) if version else (_CREATE, 1)
        rows = await self._call(statement, key=key, worker=worker, version=before, **values)
        return Saved(rows[0][0], frozenset(rows[0][1]) - {worker}) if rows else None

    async def refresh(self, keys: Collection[str], lifetime: float) -> None:
        if keys:
            await self._call(_REFRESH, keys=list(keys), lifetime=min(lifetime, _LONGEST))

    async def leave(self, key: str, worker: str) -> None:
        await self._call(_LEAVE, key=key, worker=worker)

    async def end(self, key: str, lifetime: float, *, again: bool = False) -> frozenset[str] | None:
        rows = await self._call(_END, key=key, lifetime=min(lifetime, _LONGEST), again=again)
        return frozenset(rows[0][0]) if rows else None

    async def claim(self, key: str, worker: str) -> StoredSession | None:
        rows = await self._call(_CLAIM, key=key, worker=worker)
        return StoredSession(*rows[0]) if rows else None

    async def deliver(self, key: str, worker: str, epoch: int, delivered: int) -> bool:
        values = {"epoch": epoch, "delivered": delivered}
        return bool(await self._call(_DELIVER, key=key, worker=worker, **values))


class PostgresEvents:
    """The tables of streams and of their events."""

    def __init__(self, connection: PostgresConnection, max_events: int) -> None:
        self._call = connection.call
        self._max_events = max_events

    async def append(
        self,
        key: str,
        stream: str,
        number: int,
        messages: Sequence[bytes],
        *,
        lifetime: float,
        end: bool = False,
    ) -> Appended:
        last = number + len(messages) - 1
        values = {
            "number": number,
            "last": last if messages else -1,
            "end": end,
            "lifetime": min(lifetime, _LONGEST),
            "messages": list(messages),
            "max_events": self._max_events,
        }
        for _ in range(_ATTEMPTS):
            rows = await self._call(_APPEND, key=key, stream=stream, **values)
            if rows:
                return Appended(True, max(last, 0), end, frozenset(rows[0][0]))
            found = await self._call(_STREAM, key=key, stream=stream)
            if not found:
                await self._prepare(key, lifetime)
                continue
            session_ended, last_stored, stream_ended, followers = found[0]
            ended = session_ended or stream_ended
            # What another one did in between may have made it right.
            if ended or not (last_stored + 1 == number or (last_stored < 0 and number == 1)):
                last_stored = 0 if session_ended else max(last_stored, 0)
                return Appended(False, last_stored, ended, frozenset(followers or ()))
        raise EngineUnavailable(_CHANGING)

    async def read(self, key: str, stream: str, after: int) -> Events | None:
        if not _is_text(stream):
            return None
        rows = await self._call(_READ, key=key, stream=stream, after=max(min(after, _FAR), -1))
        session_ended, last, ended = rows[0][:3] if rows else (False, -1, False)
        if session_ended or last < 0 or after >= last:
            last = 0 if session_ended else max(last, 0)
            return Events((), session_ended or ended) if after <= last else None
        events = [Event(*row[3:]) for row in rows if row[3] is not None]
        known = events and events[0].number <= max(after + 1, 1)
        return Events(events, ended) if known else None

    async def follow(self, key: str, stream: str, worker: str) -> None:
        for _ in range(_ATTEMPTS):
            if await self._call(_FOLLOW, key=key, stream=stream, worker=worker):
                return
            await self._prepare(key, _STUB_LIFETIME)
        raise EngineUnavailable(_CHANGING)

    async def unfollow(self, key: str, stream: str, worker: str) -> None:
        await self._call(_UNFOLLOW, key=key, stream=stream, worker=worker)

    async def _prepare(self, key: str, lifetime: float) -> None:
        """Make the row that streams of an unknown session need."""
        values = {"record": b"", "worker": None, "version": 0}
        await self._call(_CREATE, key=key, lifetime=min(lifetime, _LONGEST), **values)


class _Database:
    """How connections are made, used and closed."""

    def __init__(self, engine: PostgresEngine, psycopg: Any) -> None:
        self._engine = engine
        self._connections = set[Any]()
        self._psycopg = psycopg
        self.errors: Final = psycopg
        self.away: str | None = None
        """Why it cannot be reached, while that is known."""
        self.ended: Final = asyncio.Event()

    def channel(self, worker: str) -> str:
        """Return the name of the channel of a worker, or that of the bus for the empty name."""
        name = f"{self._engine.schema}\0{worker}".encode()
        return f"mcp_{sha256(name).hexdigest()[:40]}"

    async def connected(self, earlier: Any = None) -> Any:
        """Return a new connection to a database that has the tables, in place of one before."""
        await self.close(earlier)
        timeout = self._engine.timeout
        options = {"autocommit": True, "fallback_application_name": "mcp"}
        try:
            async with asyncio.timeout(timeout):
                connect = self._psycopg.AsyncConnection.connect
                connection = await connect(self._engine.url, **options)
        except TimeoutError:
            raise EngineUnavailable(f"no connection within {timeout:g} seconds") from None
        self._connections.add(connection)
        try:
            await self._prepare(connection)
        except BaseException:
            await self.close(connection)
            raise
        return connection

    async def _prepare(self, connection: Any) -> None:
        engine = self._engine
        values = {"path": engine.quoted, "timeout": str(max(int(engine.timeout * 1000), 1))}
        try:
            rows = await self.ask(
                connection, _PREPARE, {**values, "table": f"{engine.quoted}.sessions"}
            )
            if rows[0][-1] is None:
                await self._make_tables(connection)
        except self._psycopg.errors.InsufficientPrivilege:
            raise EngineUnavailable(
                f"this role may not use, or not make, the tables in the schema {engine.schema}: "
                "run what PostgresEngine.schema_sql() returns as one that may"
            ) from None
        if rows[0][-1] not in (LAYOUT, None):
            message = f"the tables in the schema {engine.schema} are of another version"
            raise EngineUnavailable(message)

    async def _make_tables(self, connection: Any) -> None:
        engine = self._engine
        values = {"schema": engine.quoted}
        there = await self.ask(connection, "select to_regnamespace(%(schema)s) is not null", values)
        script = engine.schema_sql()
        if there[0][0]:
            # A role that may make tables in a schema need not be one that may make schemas.
            script = f"begin;\n{_ONE_AT_A_TIME}{engine.tables}commit;\n"
        await self._bounded(connection, script, None)

    async def ask(self, connection: Any, statement: str, values: Mapping[str, object]) -> list[Row]:
        """Return the rows of a statement, which has an end: the connection is cut if it takes long.

        To cancel it would wait for the answer of a server that may be silent.
        """
        cursor = await self._bounded(connection, statement, values)
        return [] if cursor.description is None else await cursor.fetchall()

    async def _bounded(
        self, connection: Any, statement: str, values: Mapping[str, object] | None
    ) -> Any:
        timer = get_running_loop().call_later(self._engine.timeout, _abort, connection)
        try:
            return await connection.execute(statement, values, binary=values is not None)
        finally:
            timer.cancel()

    async def close(self, connection: Any) -> None:
        if connection is not None:
            self._connections.discard(connection)
            await connection.close()

    async def close_all(self) -> None:
        for connection in [*self._connections]:
            await self.close(connection)

    def abort(self) -> None:
        for connection in self._connections:
            _abort(connection)

    def harmless(self, error: BaseException) -> str:
        """Return what an error says, without the password."""
        given = self._psycopg.conninfo.conninfo_to_dict(self._engine.url)
        text = " ".join(str(error).split()) or type(error).__name__
        for secret in filter(None, (given.get("password"), given.get("sslpassword"))):
            text = text.replace(secret, "***")
        return text[:300]


class _Listener:
    """Holds the lease of a worker and takes in what comes for it, on a connection of its own."""

    def __init__(self, database: _Database, worker: str, lease: Lease, receive: Receive) -> None:
        self.tried: Final = asyncio.Event()
        self._database = database
        self._worker = worker
        self._lease = lease
        self._receive = receive
        # Letters that were received but not deleted yet, and the last change that was received.
        self._read: list[int] = []
        self._seen: int | None = None

    async def run(self) -> None:
        delay = _FIRST_DELAY
        while not self._database.ended.is_set():
            connection: Any = None
            try:
                connection = await self._connected()
                delay = _FIRST_DELAY
                while True:
                    if not await self._round(connection):
                        await self._wait(connection)
            except Exception as error:
                if self._database.ended.is_set():
                    return
                self._lost(error, connected=connection is not None)
            finally:
                await self._database.close(connection)
                self.tried.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(delay * uniform(0.5, 1)):
                    await self._database.ended.wait()
            delay = min(2 * delay, _LAST_DELAY)

    async def _connected(self) -> Any:
        connection = await self._database.connected()
        for name in (self._worker, ""):
            # The names of channels are made of hexadecimal digits.
            await self._database.ask(connection, f"listen {self._database.channel(name)}", {})
        if self._database.away is not None:
            _log.info("PostgreSQL is back")
        self._database.away = None
        return connection

    def _lost(self, error: Exception, *, connected: bool) -> None:
        reason = self._database.harmless(error)
        if not connected:
            if self._database.away is None:
                _log.warning("PostgreSQL is away: %s", reason)
            self._database.away = reason
        else:
            _log.info("lost the connection that listens: %s", reason)

    async def _wait(self, connection: Any) -> None:
        async for _ in connection.notifies(timeout=self._lease.seconds / 3, stop_after=1):
            pass

    async def _round(self, connection: Any) -> bool:
        """Renew the lease and take in what has come; return whether there is more."""
        began = now()
        rows = await self._asked(connection)
        if not rows or rows[0][0] != 0:
            # It has lapsed, or the row is gone, and with it what there was to read.
            values = {"worker": self._worker, "lease": self._lease.seconds}
            await self._database.ask(connection, _JOIN, values)
            self._seen = None
            began = now()
            rows = await self._asked(connection)
        letters = [row for row in rows if row[0] == 2]
        changes = [row for row in rows if row[0] == 3]
        last = next((row[1] for row in rows if row[0] == 1), 0)
        if self._has_gap(last, changes):
            # Entered for the first time, it has missed nothing.
            if self.tried.is_set():
                self._receive(GAP)
            self._seen = last
            changes = []
        self._read = [number for _, number, _ in letters]
        # A letter may end what was to take in a change that was published before it.
        for _, number, content in changes:
            self._seen = number
            self._receive(Change(content))
        for _, _, content in letters:
            self._receive(Letter(content))
        self._lease.renew(began)
        self.tried.set()
        return max(len(letters), len(changes)) == _CHUNK

    def _has_gap(self, last: int, changes: Sequence[Row]) -> bool:
        """Return whether the changes are not those that follow what was seen."""
        if self._seen is None or last < self._seen:
            return True
        return last > self._seen and (not changes or changes[0][1] != self._seen + 1)

    async def _asked(self, connection: Any) -> list[Row]:
        seen = _FAR if self._seen is None else self._seen
        values = {
            "worker": self._worker,
            "lease": self._lease.seconds,
            "read": self._read,
            "seen": seen,
        }
        rows = await self._database.ask(connection, _ROUND, {**values, "limit": _CHUNK})
        self._read = []
        return rows


@contextmanager
def _socket_of(connection: Any) -> Generator[socket, None, None]:
    borrowed = socket(fileno=connection.fileno())
    try:
        yield borrowed
    finally:
        borrowed.detach()


def _is_open(connection: Any) -> bool:
    """Return whether nothing came on an idle connection: that would be its end."""
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


def _abort(connection: Any) -> None:
    """End a connection so that whoever waits for it learns it at once."""
    if not connection.closed:
        # The other end may have done so already.
        with suppress(OSError), _socket_of(connection) as end:
            end.shutdown(SHUT_RDWR)


def _is_text(name: str) -> bool:
    """Return whether a database can have a name, which may be what somebody made up."""
    try:
        return b"\0" not in name.encode()
    except UnicodeEncodeError:
        return False


def _set_error(outcome: "Future[Any]", error: Exception) -> None:
    if not outcome.done():
        outcome.set_exception(error)


async def _finish(tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Wait for tasks, most of which end by themselves; cancel those that try to connect."""
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=0.2)
    finally:
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
