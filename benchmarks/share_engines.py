"""The engines that workers share, as processes of their own, and what they keep and are asked."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Final, TypeAlias

import pytest

from .places import ROOT

sys.path.append(str(ROOT / "tests"))

from support.engines import (
    PostgresServer,
    RedisServer,
    postgres_running,
    redis_running,
)

Engine: TypeAlias = RedisServer | PostgresServer

# What workers send; what their scripts run besides is none of these.
_SENT: Final = {"eval", "evalsha", "mget", "xread", "ping"}

_KEPT: Final = """
local bytes = 0
for _, key in ipairs(redis.call('KEYS', 'mcp:*')) do
  bytes = bytes + redis.call('MEMORY', 'USAGE', key)
end
return bytes
"""
_TABLES: Final = """
select sum(pg_total_relation_size(oid))::bigint from pg_class
where relkind = 'r' and relnamespace = 'mcp'::regnamespace
"""


def engines(stack: ExitStack) -> dict[str, Engine]:
    """Start those that this machine has, and say which are left out."""
    found = dict[str, Engine]()
    starting: dict[str, Callable[[], AbstractContextManager[Engine]]] = {
        "Redis": redis_running,
        "PostgreSQL": postgres_running,
    }
    for name, running in starting.items():
        try:
            found[name] = stack.enter_context(running())
        except pytest.skip.Exception as missing:
            print(f"LEFT OUT: {name}: {missing}", file=sys.stderr)
    return found


def commands(server: Engine) -> int:
    """Return the number of commands that Redis was sent by workers."""
    assert isinstance(server, RedisServer)
    told: dict[str, dict[str, int]] = server.command("INFO", "commandstats")
    return sum(each["calls"] for name, each in told.items() if name[len("cmdstat_") :] in _SENT)


def kept(server: Engine | None) -> int:
    """Return the bytes that an engine holds for what workers share."""
    if server is None:
        return 0
    if isinstance(server, RedisServer):
        return int(server.command("EVAL", _KEPT, 0))
    ((size,),) = server.run(_TABLES)
    return int(size)
