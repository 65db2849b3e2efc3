"""The engines that workers share, as separate processes: their contents and their commands."""

import sys
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from typing import Final, TypeAlias

from .places import ROOT

sys.path.append(str(ROOT / "tests"))

from support.engines import (
    PostgresServer,
    RedisServer,
    postgres_is_installed,
    postgres_running,
    redis_is_installed,
    redis_running,
)

Engine: TypeAlias = RedisServer | PostgresServer

# Commands that workers send, without those that their scripts run.
_SENT: Final = {"eval", "evalsha", "mget", "xread", "ping"}

_KEPT: Final = """
local bytes = 0
for _, key in ipairs(redis.call('KEYS', 'mcp:*')) do
  bytes = bytes + redis.call('MEMORY', 'USAGE', key)
end
return bytes
"""
_TABLES: Final = """
select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
where relkind = 'r' and relnamespace = to_regnamespace('mcp')
"""


def engines(
    stack: ExitStack, names: Collection[str] = ("Redis", "PostgreSQL")
) -> dict[str, Engine]:
    """Start the engines of this machine, and name the missing ones."""
    found = dict[str, Engine]()
    starting: dict[str, tuple[bool, Callable[[], AbstractContextManager[Engine]]]] = {
        "Redis": (redis_is_installed(), redis_running),
        "PostgreSQL": (postgres_is_installed(), postgres_running),
    }
    for name in names:
        is_installed, running = starting[name]
        if is_installed:
            found[name] = stack.enter_context(running())
        else:
            print(f"LEFT OUT: {name}: it is not installed", file=sys.stderr)
    return found


def commands(server: Engine) -> int:
    """Return the number of commands that workers sent to Redis."""
    assert isinstance(server, RedisServer)
    told: dict[str, dict[str, int]] = server.command("INFO", "commandstats")
    return sum(
        command["calls"] for name, command in told.items() if name[len("cmdstat_") :] in _SENT
    )


def stored_bytes(server: Engine | None) -> int:
    """Return the bytes that an engine stores for workers."""
    if server is None:
        return 0
    if isinstance(server, RedisServer):
        return int(server.command("EVAL", _KEPT, 0))
    ((size,),) = server.run(_TABLES)
    return int(size)


def sizes(server: Engine) -> dict[str, int]:
    """Return the bytes that an engine stores, by the way of counting them."""
    if isinstance(server, RedisServer):
        return {
            "used_memory": server.command("INFO", "memory")["used_memory"],
            "MEMORY USAGE": stored_bytes(server),
        }
    for (table,) in server.run("select tablename from pg_tables where schemaname = 'mcp'"):
        # Remove dead rows now, as autovacuum would do later.
        server.run(f"vacuum mcp.{table}")
    return {"tables": stored_bytes(server)}
