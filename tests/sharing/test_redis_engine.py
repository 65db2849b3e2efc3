"""Redis engines: keys, round trips, and server trouble."""

import asyncio
import logging
import re
import subprocess
import sys
from collections.abc import Collection, Generator
from functools import partial
from itertools import count
from typing import Any

import pytest
from mcp_protogen.runtime.features.sharing import lease
from mcp_protogen.runtime.features.sharing.redis import redis_listener, redis_stores
from mcp_protogen.runtime.features.sharing.redis.connection import CommandConnection
from mcp_protogen.runtime.features.sharing.redis.redis_engine import RedisEngine
from mcp_protogen.runtime.features.sharing.redis.redis_listener import RedisListener
from mcp_protogen.runtime.storage.engine import (
    Appended,
    EngineUnavailable,
    Event,
    Events,
    StoredSession,
)
from redis import exceptions
from support import tables
from support.engines import RedisServer, program, redis_running
from support.ports import free_port
from support.sharing.workers import PATIENCE, Worker, until, wait_for_engine, working
from support.slow_proxy import SlowProxy

LIFETIME = 60.0

_numbers = count()


@pytest.fixture
def place() -> str:
    """A namespace for one test."""
    return f"redis{next(_numbers)}"


@pytest.fixture
def engine(redis_server: RedisServer, place: str) -> RedisEngine:
    # Longer than a busy machine takes.
    return RedisEngine(redis_server.url, namespace=place, timeout=PATIENCE)


async def begin_session(worker: Worker, key: str = "key") -> None:
    sessions = worker.connection.sessions
    assert await sessions.save(key, worker.name, b"new", version=0, lifetime=LIFETIME)


async def use_everything(*workers: Worker) -> None:
    """Use every part of an engine."""
    for worker in workers:
        key = f"key-of-{worker.name}"
        await begin_session(worker, key)
        events = worker.connection.events
        await events.append(key, "~", 1, [b"x"], lifetime=LIFETIME)
        await events.append(key, "s1", 0, [b"x"], lifetime=LIFETIME, end=True)
        await events.follow(key, "s2", worker.name)
        await begin_session(worker, f"ended-by-{worker.name}")
        await worker.connection.sessions.end(f"ended-by-{worker.name}", LIFETIME)
        await worker.connection.mail.send([(working.name, b"message") for working in workers])
        await worker.connection.mail.publish([b"change"])
    await until(lambda: all(len(worker.messages) == len(workers) for worker in workers))


def keys_in(server: RedisServer, place: str) -> list[str]:
    return [key.decode() for key in server.command("KEYS", f"{place}:*")]


async def test_every_key_lapses_and_has_one_of_two_hash_tags(
    engine: RedisEngine, redis_server: RedisServer, place: str
) -> None:
    async with working(engine, "a", "b") as workers:
        await use_everything(*workers)
        keys = keys_in(redis_server, place)
        tags = {key: re.findall(r"\{(.+?)\}", key) for key in keys}
        assert {len(found) for found in tags.values()} == {1}
        sessions = {f"{of}-{name}" for of in ("key-of", "ended-by") for name in "ab"}
        assert {tag for found in tags.values() for tag in found} == {"workers", *sessions}
        for key in keys:
            with tables.case(key):
                assert 0 < redis_server.command("PTTL", key) <= 3_600_000
        for name in "ab":
            names = [key for key in keys if f"ended-by-{name}" in key]
            assert names == [f"{place}:{{ended-by-{name}}}"]
    # Data of workers goes with them; the others only know the bus.
    left = {key for key in keys_in(redis_server, place) if "{workers}" in key}
    assert left == {f"{place}:{{workers}}:bus"}


async def test_calls_of_one_turn_go_out_together(
    engine: RedisEngine, redis_server: RedisServer
) -> None:
    def numbers() -> tuple[int, int]:
        calls = redis_server.command("INFO", "commandstats")["cmdstat_evalsha"]["calls"]
        return redis_server.command("INFO", "stats")["total_reads_processed"], calls

    async with working(engine, "a", "b") as (a, b):
        mail, sessions = a.connection.mail, a.connection.sessions
        # From now on the server knows the scripts.
        await mail.send([("b", b"first")])
        await sessions.refresh(["key"], LIFETIME)
        reads, calls = numbers()
        await asyncio.gather(*(mail.send([("b", str(i).encode())]) for i in range(300)))
        await sessions.refresh([f"key{i}" for i in range(1200)], LIFETIME)
        reads_now, calls_now = numbers()
        assert calls_now - calls >= 1500
        # The server reads 16 KiB at once; requests of this test count, too.
        assert reads_now - reads < 60
        await until(lambda: len(b.messages) == 301)


async def test_large_events_are_read_one_by_one(
    engine: RedisEngine, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the calls of others do not have to wait for all of them.
    monkeypatch.setattr(redis_stores, "_MOST_BYTES", 100)
    async with working(engine, "a") as a:
        await begin_session(a)
        events, messages = a.connection.events, [b"x" * size for size in (60, 300, 30, 30, 30, 30)]
        await events.append("key", "~", 1, messages, lifetime=LIFETIME)
        redis_server.command("CONFIG", "RESETSTAT")
        found = await events.read("key", "~", 0)
        assert found is not None and [event.message for event in found.events] == messages
        assert redis_server.command("INFO", "commandstats")["cmdstat_lrange"]["calls"] == 4


async def test_a_worker_has_two_connections(engine: RedisEngine, redis_server: RedisServer) -> None:
    def connections() -> int:
        return int(redis_server.command("CLIENT", "LIST").count(b" addr="))

    before = connections()
    async with working(engine, "a", "b") as workers:
        await use_everything(*workers)
        await asyncio.gather(*(begin_session(workers[0], f"k{number}") for number in range(300)))
        assert connections() - before == 4


async def test_scripts_that_the_server_forgot_are_sent_again(
    engine: RedisEngine, redis_server: RedisServer
) -> None:
    async with working(engine, "a", "b") as (a, b):
        await begin_session(a)
        for number in range(3):
            redis_server.command("SCRIPT", "FLUSH")
            mail = a.connection.mail
            sent = [str(100 * number + i).encode() for i in range(20)]
            await asyncio.gather(*(mail.send([("b", content)]) for content in sent))
            await until(lambda: len(b.messages) == 20 * (number + 1))  # noqa: B023
            assert b.messages[-20:] == sent
        assert b.gaps == 0


async def test_a_new_connection_makes_the_scripts_known(
    engine: RedisEngine, redis_server: RedisServer
) -> None:
    # Repeated messages may come after later ones.
    def unknown() -> int:
        return int(
            redis_server.command("INFO", "errorstats").get("errorstat_NOSCRIPT", {}).get("count", 0)
        )

    redis_server.command("SCRIPT", "FLUSH")
    before = unknown()
    async with working(engine, "a", "b") as workers:
        await use_everything(*workers)
    assert unknown() == before


async def test_a_worker_that_has_come_back_is_not_forgotten(
    engine: RedisEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(engine, "a", "b") as (a, b):
        await begin_session(a)
        sessions, alive = a.connection.sessions, a.connection.mail.alive

        async def alive_a_moment_ago(names: Collection[str]) -> frozenset[str]:
            found = await alive(names)
            await b.connection.sessions.open("key", "b")
            return frozenset(found - {"b"})

        await b.connection.sessions.open("key", "b")
        monkeypatch.setattr(a.connection.mail, "alive", alive_a_moment_ago)
        for number in range(6):
            await sessions.open("key", f"gone{number}")
        saved = await sessions.save("key", "a", b"x", version=1, lifetime=LIFETIME)
        assert saved is not None and "b" in saved.others


GONE = [None, None, None, False, None, None, None, None]
REFUSED = Appended(False, 0, False, None)
AGAIN = [REFUSED, Appended(True, 1, False, None)]


async def test_records_that_cannot_be_read_are_as_good_as_gone(
    engine: RedisEngine, redis_server: RedisServer, place: str
) -> None:
    def pack_script(value: str) -> str:
        return f"redis.call('SET', KEYS[1], cmsgpack.pack({value}))"

    wrong = (
        "redis.call('RPUSH', KEYS[1], 'x')",
        "redis.call('SADD', KEYS[1], 'x')",
        "redis.call('SET', KEYS[1], 'x')",
        "redis.call('SET', KEYS[1], '-x')",
        "redis.call('SET', KEYS[1], '')",
        "redis.call('SET', KEYS[1], string.sub(cmsgpack.pack({record = 'r', copies = {}}), 1, -4))",
        pack_script("{}"),
        pack_script("'x'"),
        pack_script("{1, 2, 3}"),
        pack_script(
            "{record = {}, version = {}, owner = 1, epoch = 'x', delivered = 0, copies = 1}"
        ),
        pack_script(
            "{record = 1, version = 9, owner = 1, epoch = 1, delivered = 0, opened = 1,"
            " copies = {1, {}, 'b'}}"
        ),
    )
    async with working(engine, "a") as a:
        await begin_session(a)
        reads = redis_server.command("INFO", "stats")["total_connections_received"]
        for number, value in enumerate(wrong):
            for at in (f"k{number}", "key:e:~"):
                key = f"{place}:{{{at}}}" if at != "key:e:~" else f"{place}:{{key}}:e:~"
                redis_server.command("DEL", key)
                redis_server.command("EVAL", value, 1, key)
            sessions, events, key = a.connection.sessions, a.connection.events, f"k{number}"
            outcomes = [
                await sessions.open("key", "a"),
                await sessions.open(key, "a"),
                await sessions.save(key, "a", b"x", version=9, lifetime=LIFETIME),
                await sessions.claim(key, "a"),
                await sessions.deliver(key, "a", 1, 1),
                await sessions.refresh([key], LIFETIME),
                await sessions.leave(key, "a"),
                await sessions.end(key, LIFETIME),
                await sessions.end(key, LIFETIME, again=True),
                await events.read("key", "~", 5),
                await events.append("key", "~", 6, [b"x"], lifetime=LIFETIME),
                await events.append("key", "~", 1, [b"x"], lifetime=LIFETIME),
                await events.follow("key", "~", "a"),
                await events.read("key", "~", 0),
            ]
            with tables.case((value, outcomes)):
                assert outcomes[:9] == [StoredSession(b"new", 1, "a", 1, 0), *GONE]
                assert outcomes[9:] == [None, *AGAIN, None, Events([Event(1, b"x")], False)]
        # None of this causes a new connection; each command here has its own.
        now = redis_server.command("INFO", "stats")["total_connections_received"]
        assert now - reads == 4 * len(wrong) + 1


@pytest.mark.parametrize("kind", ["RPUSH", "SET", "HSET"])
async def test_keys_of_another_type_are_made_anew(
    engine: RedisEngine, redis_server: RedisServer, place: str, kind: str
) -> None:
    values = ["r", "x"] if kind == "HSET" else ["x"]

    def spoil(key: str) -> None:
        redis_server.command("DEL", key)
        redis_server.command(kind, key, *values)

    async with working(engine, "a") as a:
        await begin_session(a)
        sessions, events, tasks = a.connection.sessions, a.connection.events, a.connection.tasks
        spoil(f"{place}:{{key}}:s")
        assert (await events.append("key", "~", 1, [b"x"], lifetime=LIFETIME)).accepted
        spoil(f"{place}:{{key}}:s")
        assert await sessions.save("key", "a", b"x", version=1, lifetime=LIFETIME)
        spoil(f"{place}:{{key}}:s")
        assert await sessions.end("key", LIFETIME) == {"a"}
        new: Any = {"owner": "o", "ends_at": None, "lease": 60.0, "most": 10}
        assert await tasks.create("t", b"record", **new)
        spoil(f"{place}:{{tasks}}:t")
        assert await tasks.get("t") is None
        assert await tasks.page("o", "", 10) == []
        assert not await tasks.replace("t", b"x", version=1, ends_at=None, lease=None)
        assert await tasks.create("u", b"record", **new)
        spoil(f"{place}:{{tasks}}:of:o")
        spoil(f"{place}:{{tasks}}")
        assert await tasks.take_overdue(1.0, 10) == []
        assert await tasks.create("v", b"record", **new)
        assert [task.key for task in await tasks.page("o", "", 10)] == ["v"]
        await tasks.delete("t")


async def test_tasks_whose_versions_cannot_be_read_are_unknown_alone(
    engine: RedisEngine, redis_server: RedisServer, place: str
) -> None:
    async with working(engine, "a") as a:
        tasks = a.connection.tasks
        for key in "tuv":
            assert await tasks.create(key, b"record", owner="o", ends_at=None, lease=-1.0, most=10)
        redis_server.command("HSET", f"{place}:{{tasks}}:t", "v", "x")
        redis_server.command("HSET", f"{place}:{{tasks}}:u", "v", "0x1")
        assert await tasks.versions(["t", "u", "v"]) == {"v": 1}
        assert [await tasks.get(key) for key in "tu"] == [None, None]
        assert [task.key for task in await tasks.page("o", "", 10)] == ["v"]
        assert [task.key for task in await tasks.take_overdue(1.0, 10)] == ["v"]


async def test_entries_that_somebody_else_has_put_there_are_taken_in_once(
    engine: RedisEngine, redis_server: RedisServer, place: str
) -> None:
    async with working(engine, "a") as a:
        await a.connection.mail.publish([b"1"])
        await until(lambda: a.changes)
        # It gets the number of the last one.
        redis_server.command("XADD", f"{place}:{{workers}}:bus", "*", "c", "other")
        await asyncio.sleep(0.1)
        await a.connection.mail.publish([b"2"])
        await until(lambda: a.changes[-1:] == [b"2"])
        assert len(a.heard) < 5


async def test_a_server_without_memory_is_away_for_what_needs_some(
    redis_server: RedisServer, engine: RedisEngine
) -> None:
    async with working(engine, "a") as a:
        await begin_session(a)
        await begin_session(a, "ended")
        redis_server.command("CONFIG", "SET", "maxmemory", 1)
        try:
            connections = redis_server.command("INFO", "stats")["total_connections_received"]
            for _ in range(20):
                # Up to 6.2 it says of a script only that it has failed.
                with pytest.raises(EngineUnavailable, match=r"OutOfMemory|ResponseError"):
                    await begin_session(a, "other")
                assert await a.connection.mail.alive(["a"]) == {"a"}
            now = redis_server.command("INFO", "stats")["total_connections_received"]
            assert now - connections == 1
        finally:
            redis_server.command("CONFIG", "SET", "maxmemory", 0)
        assert await a.connection.sessions.open("other", "a") is None
        await begin_session(a, "other")


async def test_a_server_that_pauses_its_clients_is_away_for_so_long(
    redis_server: RedisServer, engine: RedisEngine, place: str
) -> None:
    hasty = RedisEngine(redis_server.url, namespace=place, timeout=0.2)
    async with working(hasty, "a") as a, working(engine, "b") as b:
        await begin_session(b)
        with pytest.raises(EngineUnavailable):
            while True:
                # It may be over before it is asked.
                redis_server.command("CLIENT", "PAUSE", 400, "ALL")
                await a.connection.sessions.open("key", "a")
        await wait_for_engine(a.connection)
        assert await b.connection.sessions.open("key", "a") is not None
        await b.connection.mail.send([("a", b"x")])
        await until(lambda: a.messages)


async def test_a_loop_that_ends_in_the_middle_of_a_call_ends(
    redis_server: RedisServer, place: str
) -> None:
    proxy = SlowProxy(redis_server.url)
    async with proxy.running():
        engine = RedisEngine(proxy.url, namespace=place)
        entered = asyncio.Event()

        async def work() -> None:
            async with working(engine, "a") as a:
                proxy.delay = 0.1
                entered.set()
                await a.connection.sessions.open("key", "a")

        before = asyncio.all_tasks()
        at_work = asyncio.create_task(work())
        await entered.wait()
        await asyncio.sleep(0.02)
        # As asyncio.run does at its end.
        ours = asyncio.all_tasks() - before
        for task in ours:
            task.cancel()
        _, pending = await asyncio.wait([at_work], timeout=30)
        assert not pending


async def test_entries_that_are_gone_are_a_gap(
    redis_server: RedisServer, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (redis_listener, redis_stores):
        monkeypatch.setattr(module, "MOST_MESSAGES", 10)
    proxy = SlowProxy(redis_server.url)
    async with (
        proxy.running(),
        working(RedisEngine(redis_server.url, namespace=place), "near") as near,
        working(RedisEngine(proxy.url, namespace=place), "far") as far,
    ):
        for kind in ("messages", "changes"):
            proxy.delay = 0.2
            sent = [f"{kind} {i}".encode() for i in range(500)]
            if kind == "messages":
                await near.connection.mail.send([("far", content) for content in sent])
            else:
                await near.connection.mail.publish(sent)
            proxy.delay = 0.0
            gaps = far.gaps
            await until(lambda: sent[-1] in far.messages + far.changes)  # noqa: B023
            heard = getattr(far, kind)
            if len(heard) < 500:
                assert far.gaps > 0
                assert heard == sent[-len(heard) :]
            else:
                assert far.gaps == gaps


async def test_keys_that_somebody_deletes_are_a_gap(redis_server: RedisServer, place: str) -> None:
    async with working(RedisEngine(redis_server.url, namespace=place), "a", "b", lease=0.5) as (
        a,
        b,
    ):
        for what in ("bus", "box:b", "lease:b"):
            await a.connection.mail.publish([b"before"])
            await a.connection.mail.send([("b", b"before")])
            gaps = b.gaps
            redis_server.command("DEL", f"{place}:{{workers}}:{what}")
            await until(lambda: b.gaps > gaps)  # noqa: B023
            b.heard.clear()
            await a.connection.mail.publish([b"after"])
            await until(lambda: b.changes[-1:] == [b"after"])
            while await a.connection.mail.send([("b", b"after")]):
                await asyncio.sleep(0.05)
            await until(lambda: b.messages[-1:] == [b"after"])


async def test_a_server_that_has_lost_its_last_minutes_is_a_gap(place: str) -> None:
    with redis_running() as server:
        async with working(RedisEngine(server.url, namespace=place), "a", "b", lease=3.0) as (a, b):
            await begin_session(a)
            await a.connection.mail.publish([b"1"])
            server.command("SAVE")
            await a.connection.mail.publish([b"2", b"3"])
            await a.connection.sessions.save("key", "a", b"lost", version=1, lifetime=LIFETIME)
            await until(lambda: len(b.changes) == 3)
            server.crash()
            server.start()
            await until(lambda: a.gaps and b.gaps)
            found = await a.connection.sessions.open("key", "a")
            assert found == StoredSession(b"new", 1, "a", 1, 0)
            await a.connection.mail.publish([b"4"])
            await until(lambda: b.changes == [b"1", b"2", b"3", b"4"])


async def test_a_server_that_has_lost_everything_is_a_gap_also_during_calls(place: str) -> None:
    async def call_always(worker: Worker) -> None:
        while True:
            try:
                await worker.connection.mail.alive(["a"])
            except EngineUnavailable:
                await asyncio.sleep(0)

    with redis_running() as server:
        async with working(RedisEngine(server.url, namespace=place), "a", lease=1.0) as a:
            calling = asyncio.create_task(call_always(a))
            server.stop(keep=False)
            server.start()
            try:
                await until(lambda: a.gaps and a.connection.current)
            finally:
                calling.cancel()


async def test_a_server_that_writes_everything_down_loses_nothing(place: str) -> None:
    with redis_running("--appendonly", "yes", "--appendfsync", "always") as server:
        async with working(RedisEngine(server.url, namespace=place), "a", "b") as (a, b):
            await begin_session(a)
            await a.connection.events.append("key", "~", 1, [b"x"], lifetime=LIFETIME)
            await a.connection.mail.send([("b", b"1")])
            await until(lambda: b.messages)
            server.crash()
            server.start()
            await until(lambda: a.gaps and b.gaps)
            while True:
                try:
                    sent = await a.connection.mail.send([("b", b"2")])
                    break
                except EngineUnavailable:
                    await asyncio.sleep(0.02)
            assert sent == frozenset()
            await until(lambda: b.messages == [b"1", b"2"])
            assert await a.connection.sessions.open("key", "a") is not None
            appended = await a.connection.events.append("key", "~", 2, [b"y"], lifetime=LIFETIME)
            assert appended.accepted


async def test_a_replica_is_no_server_for_it(
    engine: RedisEngine, redis_server: RedisServer
) -> None:
    async with working(engine, "a", lease=0.5) as a:
        await begin_session(a)
        redis_server.command("REPLICAOF", "127.0.0.1", free_port())
        try:
            with pytest.raises(EngineUnavailable):
                await begin_session(a, "other")
            await until(lambda: not a.connection.current)
        finally:
            redis_server.command("REPLICAOF", "NO", "ONE")
        await until(lambda: a.connection.current)
        await begin_session(a, "other")
        assert a.gaps


# Passwords and certificates.


@pytest.fixture(scope="module")
def tls_server(tmp_path_factory: pytest.TempPathFactory) -> Generator[RedisServer, None, None]:
    """A server with TLS alone, and a password."""
    folder = tmp_path_factory.mktemp("certificate")
    openssl, (key, certificate) = program("openssl"), (folder / "key.pem", folder / "cert.pem")
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = [*("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"), *subject]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, *made, *files], check=True, capture_output=True)
    tls = ["--tls-cert-file", str(certificate), "--tls-key-file", str(key)]
    port = free_port()
    options = ["--tls-port", str(port), *tls, "--tls-auth-clients", "no"]
    with redis_running(*options, "--requirepass", "s@cret") as server:
        server.options = (str(port), str(certificate))
        yield server


async def test_tls_and_passwords_are_part_of_the_url(
    tls_server: RedisServer, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    port, certificate = tls_server.options
    after = f"localhost:{port}/0?ssl_ca_certs={certificate}"
    async with working(RedisEngine(f"rediss://:s%40cret@{after}", namespace=place), "a") as a:
        await begin_session(a)
    wrong = (
        f"rediss://:s%40crets@{after}",
        f"rediss://somebody:s%40crets@{after}",
        f"rediss://:s%40cret@localhost:{port}",
        f"rediss://:s%40cret@{after.replace('localhost', '127.0.0.1')}",
        f"redis://:s%40cret@localhost:{port}",
    )
    for url in wrong:
        with tables.case(url):
            async with working(RedisEngine(url, namespace=place, timeout=0.3), "a") as a:
                assert not a.connection.current
                with pytest.raises(EngineUnavailable) as failed:
                    await begin_session(a)
                assert "cret" not in f"{failed.value!r} {failed.value.__cause__!r}"
    assert "Redis is unavailable" in caplog.text
    assert "cret" not in caplog.text


UNREADABLE = (
    "http://localhost:6379",
    "localhost:6379",
    "redis://:s@cret#1@localhost",
    "redis://:s/cret@localhost",
    "redis://:scret@localhost:port/0",
    "redis://localhost/0?scret=1",
    "redis://:scret@localhost/0?db=x",
    "",
)


def test_invalid_redis_url_is_refused_without_password() -> None:
    for url in UNREADABLE:
        with tables.case(url), pytest.raises(ValueError) as refused:
            RedisEngine(url)
        assert "cret" not in str(refused.value)
    url = "redis://localhost"
    wrong: tuple[dict[str, Any], ...] = (
        *({"namespace": name} for name in ("", "a{b", "a}b")),
        {"timeout": 0},
        {"max_events": 0},
    )
    for options in wrong:
        with tables.case(options), pytest.raises(ValueError):
            RedisEngine(url, **options)


class Failing:
    """A redis-py connection that fails while it opens, or takes a minute."""

    is_connected = True

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    async def connect(self) -> None:
        if self.error is not None:
            raise self.error
        await asyncio.sleep(60)

    async def disconnect(self, *, nowait: bool) -> None:
        """There is nothing to close."""


@pytest.mark.skips_time
async def test_reason_of_a_failure_has_nothing_of_what_the_server_says() -> None:
    late, secret = "Redis does not answer in time", "wrong password: secret"
    rows: tuple[tuple[Exception | None, str], ...] = (
        (None, late),
        (TimeoutError(), late),
        (exceptions.TimeoutError("Timeout reading from secret"), late),
        (exceptions.ConnectionError("no route"), "Redis is unavailable: no route"),
        (exceptions.AuthenticationError(secret), "Redis is unavailable: AuthenticationError"),
        (exceptions.ResponseError(secret), "Redis is unavailable: ResponseError"),
        (ConnectionRefusedError("no server"), "Redis is unavailable: no server"),
        (ValueError(secret), "Redis is unavailable: ValueError"),
    )
    for error, reason in rows:
        with tables.case(reason):
            connection = CommandConnection(partial(Failing, error), timeout=5.0)
            with pytest.raises(EngineUnavailable) as raised:
                await connection.run([])
            assert str(raised.value) == reason
            assert not connection.is_open


class Hearing:
    """The connection of a listener; a server process answers after two seconds, or none does."""

    pause = 0.0

    def __init__(self, run_id: bytes | None) -> None:
        self.run_id = run_id

    async def run(self, *_: object, **options: object) -> list[Any]:
        await asyncio.sleep(2)
        if self.run_id is None:
            raise EngineUnavailable("Redis is unavailable")
        return [[1, 0, 0]]


class Calls:
    """Calls to a server process, which are never answered."""

    def __init__(self, task: object) -> None:
        self.task = task
        self.connection = CommandConnection(partial(Failing, None), timeout=5.0)
        self.connection.run_id = b"one"

    def run(self, *_: object) -> asyncio.Future[Any]:
        return asyncio.get_running_loop().create_future()


@pytest.mark.skips_time
async def test_lease_lasts_from_its_request_and_calls_follow_the_listener(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (lease, redis_listener):
        monkeypatch.setattr(module, "now", asyncio.get_running_loop().time)
    under_way, kept = object(), b"one"
    rows = (
        (b"one", None, kept),
        (b"other", None, None),
        (None, None, None),
        (None, under_way, kept),
    )
    for row in rows:
        heard, task, run_id = row
        hearing: Any = Hearing(heard)
        calls: Any = Calls(task)
        held = lease.Lease(6.0)
        listener = RedisListener(hearing, "workers", "a", held, print)
        listening = asyncio.create_task(listener.listen(calls))
        await listener.tried.wait()
        with tables.case(row):
            assert (held.wait, held.current) == (0.0, heard is not None)
            assert calls.connection.run_id == run_id
        listening.cancel()


async def test_pauses_between_attempts_to_connect_grow_to_one_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time = 0.0
    monkeypatch.setattr("mcp_protogen.runtime.features.sharing.redis.connection.now", lambda: time)
    connection = CommandConnection(partial(Failing, OSError("no server")), timeout=5.0)
    tried = pytest.raises(EngineUnavailable, match="no server")
    for pause in (0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0):
        with tables.case(pause):
            with tried:
                await connection.run([])
            time += pause - 0.01
            with pytest.raises(EngineUnavailable, match=r"Redis is unavailable$"):
                await connection.run([])
            time += 0.02
    for _ in range(2):
        # The server counts as back.
        connection.reopen()
        with tried:
            await connection.run([])


async def test_first_pause_after_a_success_is_short_again(
    engine: RedisEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = 0.0
    monkeypatch.setattr("mcp_protogen.runtime.features.sharing.redis.connection.now", lambda: time)
    made = iter([engine.make_connection(), *(Failing(OSError("no server")) for _ in range(2))])
    connection = CommandConnection(lambda: next(made), timeout=PATIENCE)
    await connection.run([("PING",)])
    await connection.close()
    tried = pytest.raises(EngineUnavailable, match="no server")
    with tried:
        await connection.run([])
    time = 0.04
    with pytest.raises(EngineUnavailable, match=r"Redis is unavailable$"):
        await connection.run([])
    time = 0.06
    with tried:
        await connection.run([])


def test_without_redis_py_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis.asyncio.connection", None)
    with pytest.raises(ImportError, match="pip install redis"):
        RedisEngine("redis://localhost")
