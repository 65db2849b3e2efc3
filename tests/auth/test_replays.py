"""Memory for used proofs: of one process, or of all that share an engine."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from itertools import count

import pytest
from mcp_protogen.runtime.features.auth.server.replays import MemoryReplays, SharedReplays
from mcp_protogen.runtime.features.sharing.postgres.postgres_engine import PostgresEngine
from mcp_protogen.runtime.features.sharing.redis.redis_engine import RedisEngine
from mcp_protogen.runtime.http.server.authentication import VerifierUnavailable
from mcp_protogen.runtime.storage.engine import Engine
from mcp_protogen.runtime.storage.memory import MemoryEngine
from support.auth.issuing import Clock

_places = count()


def key(number: int) -> bytes:
    return sha256(b"%d" % number).digest()


@pytest.fixture(params=("memory", "redis", "postgres"))
def engine(request: pytest.FixtureRequest) -> Callable[[], Engine]:
    """Yield a function that makes engines of a kind with the same content."""
    if request.param == "memory":
        one = MemoryEngine()
        return lambda: one
    place = f"replays{next(_places)}"
    url = request.getfixturevalue(f"{request.param}_server").url
    if request.param == "redis":
        return partial(RedisEngine, url, namespace=place)
    return partial(PostgresEngine, url, schema=place)


async def test_memory_replays_remember_until_expiry() -> None:
    clock = Clock()
    replays = MemoryReplays(clock=clock)
    assert await replays.first(key(1), 60)
    clock.now += 59
    assert not await replays.first(key(1), 60)
    assert await replays.first(key(2), 60)
    clock.now += 1
    assert await replays.first(key(1), 60)
    assert not await replays.first(key(2), 60)


async def test_the_oldest_make_room_and_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    replays = MemoryReplays(2, clock=clock)
    for number in (1, 2):
        assert await replays.first(key(number), 60)
    clock.now += 60
    assert await replays.first(key(3), 60)
    assert not caplog.text
    for number in (4, 5):
        assert await replays.first(key(number), 60)
    assert not await replays.first(key(5), 60)
    assert "too many valid proofs" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_of_all_workers_one_is_the_first(engine: Callable[[], Engine]) -> None:
    async with SharedReplays(engine()) as one, SharedReplays(engine()) as other:
        for number in range(5):
            seen = [worker.first(key(number), 60) for worker in (one, other) * 3]
            assert sorted(await asyncio.gather(*seen)) == [False] * 5 + [True]


async def test_without_its_engine_nothing_is_the_first() -> None:
    replays = SharedReplays(MemoryEngine())
    with pytest.raises(VerifierUnavailable):
        await replays.first(key(1), 60)
    async with replays:
        assert await replays.first(key(1), 60)
    with pytest.raises(VerifierUnavailable):
        await replays.first(key(2), 60)


async def test_while_its_engine_is_away_nothing_is_the_first() -> None:
    nobody = RedisEngine("redis://127.0.0.1:1/0")
    async with SharedReplays(nobody) as replays:
        with pytest.raises(VerifierUnavailable):
            await replays.first(key(1), 60)
