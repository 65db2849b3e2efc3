"""Several applications of one endpoint behind a forwarder, or a gateway, in place of a single one.

With `pytest --workers-sharing=memory`, `serving` uses the former: the same tests then show that
the behaviour holds for several, which share the memory of this process, or another engine. With
`--behind-gateway`, each server has a gateway in front of it.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from mcp_revisions import HttpApp

T = TypeVar("T")

Boot: TypeAlias = Callable[[Any], AbstractAsyncContextManager[int]]
"""Serves an application on a port."""

NUMBER: Final = 3
"""The number of workers: one that is asked, one that was asked before, and one for neither."""

ALONE: Final[Mapping[str, Sequence[str]]] = {
    "each worker has limits of its own": (
        "test_fire_floods.py::test_a_session_has_a_limit_of_its_own_that_answers_and",
        "test_fire_floods.py::test_requests_beyond_the_limit_are_sent_away_and_the_others_served",
        "test_fire_floods.py::test_sessions_in_use_are_not_ended_to_make_room",
        "test_fire_sessions.py::test_trying_the_sessions_of_others_does_not_keep_them_alive",
        "test_http_endings.py::TestLifetime::test_the_one_whose_stream_ended_last_does_not_make",
        "test_http_posts.py::test_a_flood_of_rubbish_is_no_flood_of_log_entries",
        "test_quotas.py",
    ),
    "each worker asks by itself which arguments are repeated in header fields": (
        "test_http_params.py::test_each_principal_has_a_list_of_its_own",
        "test_http_params.py::test_tool_list_is_fetched_again_after_change",
        "test_http_params.py::test_the_list_is_not_asked_for_with_each_call",
        "test_http_tool_lists.py::test_a_list_that_nobody_waits_for_any_more_is_given_up",
        "test_http_tool_lists.py::test_an_earlier_list_is_compared_with_while_a_newer_one_fails",
        "test_http_tool_lists.py::test_callers_that_declare_the_same_share_one_list",
        "test_http_tool_lists.py::test_calls_that_come_while_a_list_is_made_wait_for_that_one",
        "test_http_tool_lists.py::test_who_still_waits_for_a_list_has_it_made_when_another_goes",
    ),
    "a session that workers share outlives each of them, and may live for twice its lifetime": (
        "test_http_endings.py::TestLifetime::test_session_expires_after_stream",
        "test_http_streams.py::test_a_server_that_closes_ends_all_streams_and_fails_what_waits",
    ),
    "a change goes to all by way of the engine, and may come after what was done later": (
        "test_http_streams.py::test_HS09_nothing_is_told_before_the_client_is_ready",
    ),
    "which requests are under way, each worker knows of its own": (
        "test_fire_races.py::test_an_id_that_is_in_use_is_refused_and_the_first_request_served",
    ),
    "a worker that does nothing is closed at once": ("test_http_endings.py::TestShutdown",),
    "workers cannot serve HTTP+SSE": ("test_http_old_sse.py",),
    "the test looks into an application, or counts what it asks of its engine": (
        "test_fire_clients.py::test_a_client_can_open_its_stream_anew_while_the_one_before_is",
        "test_fire_clients.py::test_a_client_that_does_not_read_its_stream_counts_as_gone",
        "test_fire_clients.py::test_a_server_can_be_closed_while_a_client_does_not_read",
        "test_fire_clients.py::test_a_session_can_be_ended_while_its_stream_is_stuck",
        "test_fire_floods.py::test_many_streams_that_are_dropped_leave_nothing_behind",
        "test_fire_hosts.py::test_guard_memory_is_bounded",
        "test_fire_sessions.py::test_engines_are_not_asked_for_what_cannot_be_an_id",
        "test_http_resuming.py::test_events_go_with_their_session",
    ),
}
"""Tests that take a single application, by why; names are what those of tests begin with."""

DIRECT: Final[Mapping[str, Sequence[str]]] = {
    "a gateway writes arguments again, and a number that it cannot hold cannot be written": (
        "http/test_fire_bodies.py::test_a_number_that_is_too_large_to_hold_is_served",
    ),
    "a gateway connects to a server when a client first asks for its items": (
        "http/test_fire_floods.py::test_there_are_never_more_sessions_than_said_and_the_idlest",
        "http/test_fire_races.py::test_of_two_streams_of_a_session_the_new_one_speaks_and_the",
    ),
    "a server in memory does not say which of its calls a question belongs to": (
        "http/test_fire_floods.py::test_a_session_has_a_limit_of_its_own_that_answers_and",
        "http/test_fire_races.py::test_a_session_that_ends_ends_all_that_is_under_way_in_it",
    ),
    "a server that cannot list its items has none": (
        "http/test_fire_races.py::test_a_server_whose_list_of_tools_fails_still_serves_them",
    ),
    "notifications of a client end at the gateway": (
        "http/test_fire_memory.py::test_a_notification_counts_until_its_handler_ends_though",
        "http/test_fire_memory.py::test_running_work_counts_until_its_end[left]",
    ),
    "a server does not see the principal of a client": (
        "auth/test_attacks_on_servers.py::test_tokens_for_others_and_of_other_times_reach_no",
        "auth/test_attacks_on_servers.py::test_session_is_bound_to_issuer",
    ),
}
"""Tests that a server behind a gateway does not pass, by why."""

_SESSION: Final = b"mcp-session-id"
_KEY: Final = b"what all workers seal their states with"

_chosen: Final[dict[str, Any]] = {
    "seed": 0,
    "engine": None,
    "gateway": False,
    "described": None,
}


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("workers", "servers over HTTP")
    group.addoption("--workers-sharing", choices=ENGINES, help="the engine of several workers")
    group.addoption("--behind-gateway", action="store_true", help="a gateway in front of each")


def configure(config: pytest.Config) -> None:
    """Read the command line before test modules are imported."""
    engine: str | None = config.getoption("--workers-sharing")
    if engine is not None:
        held = ExitStack()
        config.add_cleanup(held.close)
        _chosen["seed"] = crc32(str(config.getoption("--seed")).encode())
        _chosen["engine"] = _engines(engine, held)
        _chosen["described"] = f"workers: sharing {engine}"
    if config.getoption("--behind-gateway"):
        _chosen["gateway"] = True
        _chosen["described"] = "servers: behind a gateway"


def is_behind_gateway() -> bool:
    """Return whether the servers of tests have a gateway in front of them."""
    return bool(_chosen["gateway"])


def run_tests(files: Iterable[Path], option: str, described: str) -> None:
    """Run the tests of files with such an option, in a process of their own."""
    chosen = ("-p", "no:cacheprovider", "-n0", "--tb=short", option)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *chosen, *sorted(map(str, files))],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    assert described in ran.stdout


def describe_run() -> Iterator[str]:
    if _chosen["described"] is not None:
        yield _chosen["described"]


def omitted_tests(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Return the tests of `ALONE` if there are workers, and of `DIRECT` if there is a gateway."""
    omitted: list[str] = []
    if _chosen["engine"] is not None:
        omitted += [f"tests/http/{name}" for names in ALONE.values() for name in names]
    if _chosen["gateway"]:
        omitted += [f"tests/{name}" for names in DIRECT.values() for name in names]
    return [item for item in items if item.nodeid.startswith(tuple(omitted))]


ENGINES: Final = ("memory", "redis", "postgres")


def _engines(kind: str, held: ExitStack) -> Callable[[], Any]:
    """Return what makes engines of a kind, of which none knows what another one keeps."""
    from mcp_revisions import MemoryEngine, PostgresEngine, RedisEngine
    from support.engines import postgres_running, redis_running

    if kind == "memory":
        return MemoryEngine
    server: Any = held.enter_context(redis_running() if kind == "redis" else postgres_running())
    names = (f"tests-{number}" for number in count())
    if kind == "redis":
        return lambda: RedisEngine(server.url, namespace=next(names))
    return lambda: PostgresEngine(server.url, schema=next(names))


class Forwarder:
    """An ASGI application in front of others, like a load balancer without session affinity.

    Each request of a session goes to another one than the last, as a seed chooses; `passed` has
    their places.
    """

    def __init__(self, apps: Sequence[Any], seed: int = 0) -> None:
        self.passed: list[int] = []
        self._apps = apps
        self._random = Random(seed)
        self._last: dict[bytes | None, int] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        # The applications have servers of their own for lifespans.
        assert scope["type"] != "lifespan"
        session = dict(scope["headers"]).get(_SESSION)
        others = [place for place in range(len(self._apps)) if place != self._last.get(session)]
        chosen = self._last[session] = self._random.choice(others)
        self.passed.append(chosen)

        async def pass_on(message: Any) -> None:
            if (begun := dict(message.get("headers", ())).get(_SESSION)) is not None:
                self._last[begun] = chosen
            await send(message)

        await self._apps[chosen](scope, receive, pass_on)


class Workers(Forwarder):
    """Several applications with the interface of one; each has its own port, too."""

    def __init__(self, apps: "Iterable[HttpApp]", seed: int) -> None:
        self.apps: Final = tuple(apps)
        self.ports: list[int] = []
        self.port = 0
        super().__init__(self.apps, seed)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    async def close(self) -> None:
        """Close all of them at once, like the processes of a service."""
        await asyncio.gather(*(app.close() for app in self.apps))


@asynccontextmanager
async def serve_behind(
    make: "Callable[..., HttpApp]", boot: Boot, chosen: dict[str, Any]
) -> AsyncGenerator[tuple[Any, int], None]:
    """Serve an application, or workers in its place; yield it and its port.

    `chosen` are the arguments of `make`.
    """
    if _chosen["engine"] is None:
        app = make(**chosen)
        async with boot(app) as port:
            yield app, port
        return
    async with workers(make, boot, chosen, _chosen["engine"](), _chosen["seed"]) as served:
        yield served, served.port


@asynccontextmanager
async def workers(
    make: "Callable[..., HttpApp]",
    boot: Boot,
    chosen: dict[str, Any],
    engine: Any,
    seed: int = 0,
) -> AsyncGenerator[Workers, None]:
    """Serve workers that share an engine."""
    from mcp_revisions import Shared

    chosen = {"shared": Shared(engine=engine), "state_keys": [_KEY], **chosen}
    workers = Workers((make(**chosen) for _ in range(NUMBER)), seed)
    async with (
        together([boot(app) for app in workers.apps]) as workers.ports,
        boot(workers) as workers.port,
    ):
        yield workers


@asynccontextmanager
async def together(
    contexts: Sequence[AbstractAsyncContextManager[T]],
) -> AsyncGenerator[list[T], None]:
    """Enter all contexts at once."""
    async with AsyncExitStack() as stack:
        async with asyncio.TaskGroup() as entering:
            entered = [
                entering.create_task(stack.enter_async_context(context)) for context in contexts
            ]
        yield [task.result() for task in entered]
