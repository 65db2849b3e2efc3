"""PostgreSQL engines: tables, transactions, and lost connections."""

import asyncio
import logging
import pickle
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from typing import Any
from unittest.mock import AsyncMock

import psycopg
import pytest
from mcp_protogen.runtime.features.sharing.postgres import statements
from mcp_protogen.runtime.features.sharing.postgres.postgres_engine import (
    PostgresConnection,
    PostgresEngine,
)
from mcp_protogen.runtime.features.sharing.postgres.postgres_stores import PostgresEvents
from mcp_protogen.runtime.features.sharing.postgres.statements import Schema
from mcp_protogen.runtime.storage.engine import (
    Change,
    DirectMessage,
    EngineUnavailable,
    Event,
    Events,
)
from support import tables
from support.engines import PostgresServer
from support.sharing.workers import PATIENCE, Worker, until, wait_for_engine, working
from support.slow_proxy import SlowProxy

LIFETIME = 60.0

_numbers = count()

Make = Callable[..., PostgresEngine]


@pytest.fixture
def schema() -> str:
    """Return a schema for one test, whose name needs quotes."""
    return f'a "b" %s {{c}} {next(_numbers)}'


def quote_schema(engine: PostgresEngine) -> str:
    return Schema(engine.schema).quoted_name


@pytest.fixture
def make(postgres_server: PostgresServer, schema: str) -> Make:
    def engine(**options: Any) -> PostgresEngine:
        # Longer than a busy machine takes.
        options.setdefault("timeout", PATIENCE)
        return PostgresEngine(postgres_server.url, schema=schema, **options)

    return engine


@pytest.fixture
def sql(postgres_server: PostgresServer, make: Make) -> Callable[[str], list[Any]]:
    """Return a function that runs a statement in the schema over another connection."""
    return lambda text: postgres_server.run(f"set search_path to {quote_schema(make())}; {text}")


@asynccontextmanager
async def transaction(
    server: PostgresServer, engine: PostgresEngine
) -> AsyncGenerator[psycopg.AsyncConnection[Any], None]:
    """A slow foreign transaction; it is committed at the end."""
    async with await psycopg.AsyncConnection[Any].connect(server.url) as connection:
        await connection.execute(f"set local search_path to {quote_schema(engine)}".encode())
        yield connection


async def begin_session(worker: Worker, key: str = "key", lifetime: float = LIFETIME) -> None:
    sessions = worker.connection.sessions
    assert await sessions.save(key, worker.name, b"new", version=0, lifetime=lifetime)


# The tables.


async def test_workers_that_begin_at_once_make_the_tables_once(make: Make) -> None:
    async def work(name: str) -> None:
        async with working(make(connections=1), name) as worker:
            assert worker.connection.current and worker.heard == []
            await begin_session(worker, name)

    await asyncio.gather(*(work(f"w{i}") for i in range(10)))


async def test_worker_that_waited_for_the_tables_takes_no_lock_on_them(
    postgres_server: PostgresServer, make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with AsyncExitStack() as stack:
        async with transaction(postgres_server, make()) as first:
            await first.execute(statements.BEGIN.removeprefix("begin;").encode())
            starting = asyncio.create_task(stack.enter_async_context(working(make(), "late")))
            waiting = "select from pg_locks where locktype = 'advisory' and not granted"
            await until(lambda: bool(postgres_server.run(waiting)))
            script = Schema(make().schema).script
            sql(script.replace(statements.BEGIN, "begin;"))
            used = await stack.enter_async_context(transaction(postgres_server, make()))
            await used.execute("lock table messages in row exclusive mode")
        assert (await starting).connection.current


async def test_calls_close_after_their_idle_task_was_cancelled(make: Make) -> None:
    async with working(make(connections=1), "a") as a:
        assert isinstance(a.connection, PostgresConnection)
        before = asyncio.all_tasks()
        await begin_session(a)
        for task in asyncio.all_tasks() - before:
            task.cancel()


async def test_a_role_that_may_not_make_tables_needs_them_made(
    postgres_server: PostgresServer,
    make: Make,
    sql: Callable[[str], list[Any]],
    schema: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    role = f"little{next(_numbers)}"
    postgres_server.run(f"create role {role} login")
    url = postgres_server.url.replace("postgres:secret", role)
    async with working(PostgresEngine(url, schema=schema), "a") as a:
        assert not a.connection.current
        with pytest.raises(EngineUnavailable, match="schema_sql"):
            await a.connection.mail.alive(["a"])
        assert "schema_sql" in caplog.text
        for _ in range(2):
            postgres_server.run(make().schema_sql())
        schema = quote_schema(make())
        sql(f"grant usage on schema {schema} to {role}")
        sql(f"grant select, insert, update, delete on all tables in schema {schema} to {role}")
        await until(lambda: a.connection.current)
        await begin_session(a)
        await a.connection.events.append("key", "~", 1, [b"x"], lifetime=LIFETIME)
        await a.connection.mail.send([("a", b"1")])
        await a.connection.mail.publish([b"2"])
        await until(lambda: a.messages and a.changes)
        assert await a.connection.sessions.end("key", LIFETIME) == {"a"}
        assert isinstance(a.connection, PostgresConnection)
        assert not await a.connection.clean()


async def test_tables_of_another_version_are_left_alone(
    make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with working(make(), "a"):
        pass
    sql("comment on table sessions is 'mcp tables, layout 0'")
    async with working(make(), "a") as a:
        with pytest.raises(EngineUnavailable, match="another version"):
            await a.connection.mail.alive(["a"])


async def test_tables_that_were_dropped_are_made_again_which_is_a_gap(
    make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with working(make(), "a", lease=3.0) as a:
        await begin_session(a)
        sql(f"drop schema {quote_schema(make())} cascade")
        await until(lambda: a.gaps and a.connection.current)
        assert await a.connection.sessions.open("key", "a") is None
        await begin_session(a)


# Messages and changes, when transactions take long.


async def test_a_message_that_is_committed_after_a_later_one_is_not_left_out(
    postgres_server: PostgresServer, make: Make
) -> None:
    async with working(make(), "a", "b", lease=3.0) as (a, b):
        async with transaction(postgres_server, make()) as slow:
            put = "insert into messages (worker, content) values ('b', %b)"
            await slow.execute(put, [b"slow"])
            await a.connection.mail.send([("b", b"quick")])
            await until(lambda: b.messages)
            assert b.messages == [b"quick"]
        # Nobody was told.
        await until(lambda: len(b.messages) == 2)
        assert b.heard == [DirectMessage(b"quick"), DirectMessage(b"slow")]


async def test_changes_come_in_the_order_of_their_commits_and_none_is_left_out(
    postgres_server: PostgresServer, make: Make
) -> None:
    async with working(make(), "a", "b", lease=3.0) as (a, b):
        await a.connection.mail.publish([b"0"])
        await until(lambda: b.changes)
        async with transaction(postgres_server, make()) as slow:
            # The row of the bus is what publishers wait for.
            await slow.execute("update bus set last = last + 2")
            publishing = asyncio.create_task(a.connection.mail.publish([b"3"]))
            for number in (1, 2):
                change = (number + 1, str(number).encode())
                await slow.execute("insert into changes values (%s, %b, now())", change)
            await asyncio.sleep(0.1)
            assert not publishing.done() and len(b.changes) == 1
        await publishing
        await until(lambda: len(b.changes) == 4 and len(a.changes) == 4)
        assert a.heard == b.heard == [Change(str(i).encode()) for i in range(4)]


async def test_a_transaction_that_takes_too_long_fails_those_that_wait_for_it(
    postgres_server: PostgresServer, make: Make
) -> None:
    async with working(make(), "before") as before:
        await before.connection.mail.publish([b"1"])
    async with working(make(timeout=0.3), "a") as a:
        async with transaction(postgres_server, make()) as slow:
            await slow.execute("select from bus for update")
            outcomes = await asyncio.gather(
                *(a.connection.mail.publish([b"lost"]) for _ in range(9)), return_exceptions=True
            )
            assert {type(outcome) for outcome in outcomes} == {EngineUnavailable}
            # Others do not wait.
            await wait_for_engine(a.connection)
        while True:
            with suppress(EngineUnavailable):
                await a.connection.mail.publish([b"2"])
                break
        await until(lambda: b"2" in a.changes)


async def test_unsent_messages_fail_when_worker_ends(
    postgres_server: PostgresServer, make: Make
) -> None:
    async with (
        working(make(timeout=3600.0), "a") as a,
        transaction(postgres_server, make()) as slow,
    ):
        await a.connection.mail.publish([b"0"])
        await slow.execute("select from bus for update")
        # The second one goes out when the connection of the first one is cut.
        async with working(make(timeout=3600.0), "b") as b:
            publish = b.connection.mail.publish
            publishing = [asyncio.create_task(publish([b"%d" % number])) for number in (1, 2)]
            await asyncio.sleep(0)
            publishing.append(asyncio.create_task(publish([b"3"])))
            await asyncio.sleep(0)
        for publication in publishing:
            with pytest.raises(EngineUnavailable):
                await publication
        assert await a.connection.mail.alive(["a", "b"]) == {"a"}


async def test_an_event_is_refused_that_another_transaction_has_written_first(
    postgres_server: PostgresServer, make: Make
) -> None:
    async with working(make(), "a") as a:
        await begin_session(a)
        events = a.connection.events
        await events.append("key", "~", 1, [b"1"], lifetime=LIFETIME)
        async with transaction(postgres_server, make()) as slow:
            await slow.execute("update streams set last = 2 where session = 'key'")
            await slow.execute("insert into events values ('key', '~', 2, 'slow')")
            appending = asyncio.create_task(
                events.append("key", "~", 2, [b"quick"], lifetime=LIFETIME)
            )
            await asyncio.sleep(0.1)
            assert not appending.done()
        appended = await appending
        assert (appended.accepted, appended.last) == (False, 2)
        assert await events.read("key", "~", 1) == Events([Event(2, b"slow")], False)


async def test_no_event_survives_the_end_of_its_session(
    postgres_server: PostgresServer, make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with working(make(), "a") as a:
        await begin_session(a)
        sessions, events = a.connection.sessions, a.connection.events
        async with transaction(postgres_server, make()) as slow:
            await slow.execute("insert into streams values ('key', '~', 1, false, '{}')")
            await slow.execute("insert into events values ('key', '~', 1, 'x')")
            assert await sessions.end("key", LIFETIME) == {"a"}
        assert await events.read("key", "~", 0) == Events((), True)
        assert not (await events.append("key", "~", 2, [b"y"], lifetime=LIFETIME)).accepted
        sql("update sessions set lapses_at = clock_timestamp()")
        assert isinstance(a.connection, PostgresConnection)
        await a.connection.clean()
        assert sql("select from sessions") == sql("select from streams") == []
        assert sql("select from events") == []


# What is lost, and who learns of it.


async def test_a_crash_loses_messages_which_is_a_gap_but_no_session(
    postgres_server: PostgresServer, make: Make
) -> None:
    async with working(make(), "a", "b", lease=60.0) as (a, b):
        await begin_session(a)
        await a.connection.events.append("key", "~", 1, [b"x"], lifetime=LIFETIME)
        await a.connection.mail.publish([b"1", b"2"])
        await until(lambda: len(a.changes) == len(b.changes) == 2)
        postgres_server.crash()
        postgres_server.start()
        await until(lambda: a.gaps and b.gaps and a.connection.current and b.connection.current)
        assert await a.connection.sessions.open("key", "b")
        assert await a.connection.events.read("key", "~", 0) == Events([Event(1, b"x")], False)
        await a.connection.mail.publish([b"3"])
        await a.connection.mail.send([("b", b"4")])
        await until(lambda: len(a.changes) == len(b.changes) == 3 and b.messages)
        assert (a.gaps, b.gaps) == (1, 1)


async def test_an_orderly_restart_loses_nothing(
    postgres_server: PostgresServer, make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with working(make(), "a", "b", lease=60.0) as (a, b):
        await a.connection.mail.publish([b"1"])
        await until(lambda: b.changes)
        postgres_server.stop()
        postgres_server.start()
        sql(
            "insert into messages (worker, content) values ('b', 'x');"
            " update bus set last = 2; insert into changes values (2, '2', now())"
        )
        await until(lambda: b.messages and len(b.changes) == 2)
        assert b.heard == [Change(b"1"), Change(b"2"), DirectMessage(b"x")]
        assert a.connection.current and b.connection.current and not a.gaps


async def test_missing_changes_are_gap(make: Make, sql: Callable[[str], list[Any]]) -> None:
    losses = {
        "the lease has lapsed": "update workers set lapses_at = now()",
        "the lease is gone": "delete from workers",
        "changes were cleaned": "update bus set last = last + 5",
        "of some changes the first was cleaned": "with tail as (update bus set last = last + 2"
        " returning last) insert into changes select last, 'x', now() from tail",
        "an older state was restored": "update bus set last = last - 1; delete from changes",
        "the bus is gone": "delete from bus; delete from changes",
    }
    async with working(make(), "a", lease=3.0) as a:
        for number, (name, loss) in enumerate(losses.items(), 1):
            with tables.case(name):
                await a.connection.mail.publish([b"1", b"2", b"3"])
                await until(lambda: len(a.changes) == 3 * number)  # noqa: B023
                sql(loss)
                # It looks at once, if another transaction may write.
                await a.connection.mail.send([("a", b"x")])
                await until(lambda: a.gaps == number)  # noqa: B023
                await until(lambda: a.connection.current)
        await asyncio.sleep(0.3)
        assert a.gaps == len(losses)


async def test_messages_of_a_lapsed_lease_are_not_lost(
    make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with working(make(), "a", lease=3.0) as a:
        sql(
            "insert into messages (worker, content) values ('a', 'x');"
            " update workers set lapses_at = now()"
        )
        await until(lambda: a.messages)
        assert a.gaps == 1


async def test_many_messages_and_changes_come_in_their_order(
    make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with working(make(), "a", "b") as (a, b):
        sent = [str(i).encode() for i in range(3500)]
        await a.connection.mail.send([("b", content) for content in sent])
        await a.connection.mail.publish(sent)
        await until(lambda: len(b.messages) == len(b.changes) == len(sent))
        assert b.messages == b.changes == sent and not b.gaps
        # Rows that were read go with the next reading.
        await a.connection.mail.send([("b", b"last")])
        await until(lambda: len(sql("select from messages where worker = 'b'")) <= 1)


# Cleaning.


async def test_expired_rows_are_deleted_in_small_steps(
    make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with working(make(), "a") as a:
        connection = a.connection
        assert isinstance(connection, PostgresConnection)
        await begin_session(a)
        events = connection.events
        await events.append("key", "over", 0, [b"x", b"y"], lifetime=0.01, end=True)
        await events.append("key", "~", 1, [b"x"], lifetime=0.01)
        for session in ("key", "unknown"):
            await events.follow(session, "left", "a")
        sql(
            "insert into sessions select 'k' || n, '', 1, null, 1, 0, '{}', false, now()"
            " from generate_series(1, 120) as n;"
            " insert into streams values ('k1', 's', 1, false, '{}');"
            " insert into events values ('k1', 's', 1, 'x');"
            " insert into workers values ('old', now() - interval '1 hour'), ('new', now());"
            " insert into messages (worker, content) values ('old', 'x'), ('new', 'y');"
            " insert into bus values (true, 20003);"
            " insert into changes select n, 'x', now() from generate_series(1, 250) as n;"
            " insert into changes values (10003, 'old', now() - interval '1 day'),"
            " (20003, 'y', now()); select pg_sleep(0.02)"
        )
        assert [await connection.clean() for _ in range(4)] == [True, True, False, False]
        # The other one is only followed.
        assert sql("select key from sessions order by key") == [("key",), ("unknown",)]
        assert sql("select session, name from streams order by name desc") == [
            ("key", "~"),
            ("key", "left"),
            ("unknown", "left"),
        ]
        assert len(sql("select from events")) == 1
        assert sql("select name from workers order by name") == [("a",), ("new",)]
        assert sql("select content from messages") == [(b"y",)]
        assert sql("select id from changes") == [(20003,)]


async def test_workers_that_are_gone_are_left_out_of_many_copies(make: Make) -> None:
    async with working(make(), "a", "b") as (a, b):
        await begin_session(a)
        sessions = b.connection.sessions
        for number in range(20):
            await sessions.open("key", f"gone{number}")
        await sessions.open("key", "b")
        saved = await sessions.save("key", "a", b"x", version=1, lifetime=LIFETIME)
        assert saved is not None and "b" in saved.others and len(saved.others) < 10


async def test_a_worker_that_ends_leaves_nothing(
    postgres_server: PostgresServer, make: Make, sql: Callable[[str], list[Any]]
) -> None:
    async with working(make(), "a") as a:
        await begin_session(a)
        await a.connection.mail.send([("a", b"x")])
    assert not a.connection.current
    assert sql("select from workers") == sql("select from messages") == []
    left = "select from pg_stat_activity where application_name = 'mcp'"
    for _ in range(200):
        if not postgres_server.run(left):
            break
        await asyncio.sleep(0.01)
    assert postgres_server.run(left) == []
    with pytest.raises(EngineUnavailable):
        await a.connection.mail.alive(["a"])


# Calls.


async def test_a_server_that_takes_no_more_connections_is_not_asked_for_one_by_each_call(
    postgres_server: PostgresServer, make: Make
) -> None:
    proxy = SlowProxy(postgres_server.url)
    async with proxy.running(), working(make(), "first"):
        schema = quote_schema(make())
        postgres_server.run(
            "create role few login connection limit 1;"
            f" grant usage on schema {schema} to few;"
            f" grant all on all tables in schema {schema} to few"
        )
        url = proxy.url.replace("postgres:secret", "few")
        async with working(PostgresEngine(url, schema=make().schema), "a") as a:
            assert a.connection.current
            for _ in range(100):
                with pytest.raises(EngineUnavailable):
                    await a.connection.mail.alive(["a"])
            assert proxy.connections < 50
            postgres_server.run("alter role few connection limit 9")
            await wait_for_engine(a.connection)


async def test_numbers_and_names_that_no_database_can_have_are_refused(make: Make) -> None:
    async with working(make(connections=1), "a") as a:
        events = a.connection.events
        assert await events.read("key", "~", -(10**30)) == Events((), False)
        assert await events.read("key", "~", 10**30) is None
        with pytest.raises(ValueError, match="NUL"):
            await events.append("key", "\0", 1, [b"x"], lifetime=LIFETIME)


# Options, and secrets.


async def test_events_are_known_only_without_a_gap_after_those_that_were_read() -> None:
    # Whether the session has ended, the last event of the stream, whether the stream has ended.
    open_, over = (False, 3, False), (False, 3, True)
    second, third = (2, b"b"), (3, b"c")
    rows: tuple[tuple[int, list[tuple[Any, ...]], Events | None], ...] = (
        (0, [], Events((), False)),
        (1, [], None),
        (0, [(False, -1, False, None, None)], Events((), False)),
        (0, [(True, 3, False, None, None)], Events((), True)),
        (1, [(True, 3, False, None, None)], None),
        (3, [(*open_, None, None)], Events((), False)),
        (3, [(*over, None, None)], Events((), True)),
        (4, [(*open_, None, None)], None),
        (1, [(*open_, None, None)], None),
        (1, [(*open_, *second), (*open_, *third)], Events([Event(*second), Event(*third)], False)),
        (2, [(*over, *third)], Events([Event(*third)], True)),
        (1, [(*open_, *third)], None),
        (0, [(*open_, *second), (*open_, *third)], None),
        (-1, [(False, 1, False, 1, b"a")], Events([Event(1, b"a")], False)),
    )
    for after, found, expected in rows:
        with tables.case(f"{after} {found}"):
            calls = AsyncMock(run=AsyncMock(return_value=found))
            assert await PostgresEvents(calls, 10).read("key", "s", after) == expected


def test_options_that_cannot_be_meant_are_refused(make: Make) -> None:
    for options in ({"timeout": 0.0}, {"connections": 0}, {"max_events": 0}):
        with tables.case(str(options)), pytest.raises(ValueError, match="more than 0"):
            make(**options)
    for schema in ("", "a\0b"):
        with tables.case(schema), pytest.raises(ValueError, match="schema"):
            PostgresEngine("postgresql://", schema=schema)
    wrong = (
        *("redis://x:s3cret@h", "s3cret", "postgresql://u:s3cret@h:p/x?s3cret"),
        *("postgresql://u:12/s3cret@h/x", "postgresql://u:s3cret/1@h/x", "host=h port=s3cret"),
    )
    for url in wrong:
        with tables.case(url), pytest.raises(ValueError, match="url") as raised:
            PostgresEngine(url)
        assert "s3cret" not in repr(raised.value) and raised.value.__cause__ is None


async def test_no_password_is_shown(
    postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    port = postgres_server.port
    urls = (
        f"postgresql://s3cret:s3cret@127.0.0.1:{port}/s3cret",
        f"postgresql://u@127.0.0.1:{port}/x?password=s3cret&sslmode=require",
        f"host=127.0.0.1 port={port} user=u password=s3cret",
        f"postgresql://u:s3cret#s3cret@127.0.0.1:{port}/x",
        f"postgresql://u:s3cret?s3cret@127.0.0.1:{port}/x",
        "postgresql://u:s3cret@127.0.0.1:1/x",
    )
    for url in urls:
        engine = PostgresEngine(url, timeout=0.5)
        assert "s3cret" not in repr(engine).replace("dbname=s3cret", "")
        assert pickle.loads(pickle.dumps(engine)) == engine
        async with working(engine, "a") as a:
            with tables.case(url), pytest.raises(EngineUnavailable) as raised:
                await a.connection.mail.alive(["a"])
            assert "s3cret" not in str(raised.value)
    assert "PostgreSQL is unavailable" in caplog.text
    ours = [record for record in caplog.records if record.name.startswith("mcp_protogen")]
    assert "s3cret" not in "".join(record.getMessage() for record in ours)


def test_without_psycopg_an_engine_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ImportError, match=r"pip install 'psycopg\[binary\]"):
        PostgresEngine("postgresql://127.0.0.1/x")
