"""Several applications of one endpoint behind a forwarder, in the place of a single one.

`pytest --workers-behind=another` has `serving` and `attacked` do so, with that policy of the
forwarder: what holds for one application is shown to hold for several, by the same tests. With
`--engine=redis` they share a Redis, or else the memory of this process.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import pytest

from support.http.forwarding import POLICIES, forwarding

if TYPE_CHECKING:
    from mcp_revisions import HttpApp

T = TypeVar("T")

Boot: TypeAlias = Callable[[Any], AbstractAsyncContextManager[int]]
"""Serves an application on a port."""

NUMBER: Final = 3
"""The number of workers: one that is asked, one that was asked before, and one for neither."""

_KEY: Final = b"what all workers seal their states with"

_chosen: Final[dict[str, Any]] = {"policy": None, "engine": None}


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("workers", "servers over HTTP")
    group.addoption("--workers-behind", choices=POLICIES, help="which worker gets a request")
    group.addoption("--engine", choices=ENGINES, default="memory", help="what workers share")


def configure(config: pytest.Config) -> None:
    """Take over what the command line says, before test modules are imported."""
    _chosen["policy"] = config.getoption("--workers-behind")
    if _chosen["policy"] is not None:
        held = ExitStack()
        config.add_cleanup(held.close)
        _chosen["engine"] = ENGINES[config.getoption("--engine")](held)


def _memory(held: ExitStack) -> Callable[[], Any]:
    from mcp_revisions import MemoryEngine

    return MemoryEngine


def _redis(held: ExitStack) -> Callable[[], Any]:
    from mcp_revisions import RedisEngine

    from support.engines import redis_running

    server = held.enter_context(redis_running())
    names = (f"tests-{number}" for number in count())
    return lambda: RedisEngine(server.url, namespace=next(names))


ENGINES: Final[Mapping[str, Callable[[ExitStack], Callable[[], Any]]]] = {
    "memory": _memory,
    "redis": _redis,
}
"""What makes engines of a kind, of which none knows what another one keeps."""


class Workers:
    """Several applications, as far as tests treat them like one."""

    def __init__(self, apps: "Iterable[HttpApp]") -> None:
        self.apps: Final = tuple(apps)

    async def close(self) -> None:
        """Close all of them, at once as the processes of a service."""
        await asyncio.gather(*(app.close() for app in self.apps))


@asynccontextmanager
async def served(
    make: "Callable[..., HttpApp]", boot: Boot, chosen: dict[str, Any]
) -> AsyncGenerator[tuple[Any, int], None]:
    """An application, or the workers that stand for it, and the port to call.

    `chosen` is what it is made with.
    """
    policy: str | None = _chosen["policy"]
    if policy is None:
        app = make(**chosen)
        async with boot(app) as port:
            yield app, port
        return
    from mcp_revisions import Shared

    shared = Shared(engine=_chosen["engine"]())
    chosen = {"shared": shared, "state_keys": [_KEY], **chosen}
    workers = Workers(make(**chosen) for _ in range(NUMBER))
    async with (
        together([boot(app) for app in workers.apps]) as ports,
        forwarding(ports, policy) as forwarder,
    ):
        yield workers, forwarder.port


@asynccontextmanager
async def together(
    contexts: Sequence[AbstractAsyncContextManager[T]],
) -> AsyncGenerator[list[T], None]:
    """All of these, begun and ended at once."""
    begun = await asyncio.gather(*(one.__aenter__() for one in contexts), return_exceptions=True)
    try:
        entered = [one for one in begun if not isinstance(one, BaseException)]
        for one in begun:
            if isinstance(one, BaseException):
                raise one
        yield entered
    finally:
        await asyncio.gather(
            *(
                one.__aexit__(None, None, None)
                for one, result in zip(contexts, begun, strict=True)
                if not isinstance(result, BaseException)
            )
        )
