"""Random schedules of calls through gateways whose servers and workers stop, die and change.

No call is answered with what belongs to another, done twice, or fails without its reason; and all
is well when the servers are.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from itertools import starmap
from random import Random
from typing import Any, Final

import pytest
from mcp_protogen.runtime.core.errors import INVALID_PARAMS
from mcp_protogen.servers.gateway.endpoint import make_app
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import (
    GatewaySettings,
    RuleSettings,
    ServerSettings,
)
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support import tables
from support.auth.guarding import OTHER, WRITING, authentication, bearing
from support.gateway.gateways import behind, gateway_settings
from support.gateway.listing import tools_of
from support.gateway.sharing import STATE_KEY, Balancer
from support.http.memory_http import MemoryHttp
from support.revisions import ERAS, HANDSHAKE, STATELESS
from support.sessions.talking import pkg
from support.sharing.faults import Engine, shared_by
from support.tables import case
from support.tasks.gateway import CLIENTS
from support.toolkit.mounting import ASKING, only, revision_of, text_of

SCHEDULES: Final = 1000
SAMPLE: Final = 6
STEPS: Final = 14
NAMES: Final = ("s0", "s1", "s2", "s3")
TOOLS: Final = [f"{name}_{tool}" for name in NAMES for tool in ("work", "job")]
STEADY: Final = "s0"
"""A server to which nothing happens."""
USERS: Final = (WRITING, OTHER)
REASONS: Final = {"unreachable", "interrupted", "timeout", "open"}
_LOST: Final = (pkg.Disconnected, pkg.HttpError)
"""Errors of a client whose worker was killed."""
_WORKERS: Final = ("worker 0", "worker 1")
URL: Final = "http://localhost/mcp"


class StoppableServer:
    """A server over HTTP that does work, and can be stopped, killed and started again."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.revision = random.choice(ERAS)
        self.done = Counter[str]()
        """How often each work was finished, by its text."""
        self.list_delay = 0.0
        self.http = MemoryHttp()
        self._old: list[Any] = []
        self.start()

    def start(self) -> None:
        """Serve without any session of before."""
        kind: Any = pkg.load(self.revision).App
        bases = (TasksServer, kind) if self.revision == STATELESS else (kind,)
        made: Any = type("Tools", bases, {})(self.name)
        made.tool(self._work_tool())
        made.tool(self._do_job, name="job", task=True)
        made.middleware = (self._delay_lists,)
        if self.http.app is not None:
            self._old.append(self.http.app)
        self.http.app = pkg.http_app(only(made))

    def _work_tool(self) -> Any:
        session_type: Any = pkg.load(self.revision).Session

        async def work(text: str, seconds: float, session: Any, asks: bool = False) -> str:
            await session.progress(1, message=text)
            await asyncio.sleep(seconds)
            if asks:
                answer = await session.ask(text, int)
                text += f" {answer.value}"
            self.done[text] += 1
            return f"{self.name} {text}"

        work.__annotations__["session"] = session_type
        return work

    async def _do_job(self, text: str, seconds: float) -> str:
        await asyncio.sleep(seconds)
        self.done[text] += 1
        return f"{self.name} {text}"

    async def _delay_lists(self, call: Any, next: Any) -> Any:
        if call.method == "tools/list":
            await asyncio.sleep(self.list_delay)
        return await next(call)

    def stop(self) -> None:
        """Answer what has come, and take no more."""
        if self.http.app is not None:
            self._old.append(self.http.app)
        self.http.app = None

    def kill(self) -> None:
        self.stop()
        self.http.cut()

    async def close(self) -> None:
        self.stop()
        for old in self._old:
            await old.close()

    def settings(self, **options: Any) -> ServerSettings:
        opener = pkg.open_http(URL, http=self.http.client)
        return behind(self.name, opener, **options)


class User:
    """A client with a token, which counts what it hears."""

    def __init__(
        self, number: int, revision: str, worker: MemoryHttp | Balancer, worker_names: list[str]
    ) -> None:
        self.number = number
        self.worker_names = worker_names
        """The workers that may get its requests."""
        self.token = USERS[number // 2 % len(USERS)]
        self.revision = revision
        self.heard: list[str] = []
        m: Any = pkg.load(revision).models

        async def on_elicit(_: object, params: Any) -> Any:
            self.heard.append(params.message)
            return m.ElicitResult(action="accept", content={"value": 42})

        kind = CLIENTS[revision]
        self.client: Any = type("Asked", (kind,), {"on_elicit": on_elicit})()
        self._opener = pkg.open_http(URL, http=worker.client, headers=bearing(self.token))

    def connect(self) -> Any:
        return pkg.connect(self._opener, self.client, revisions=(revision_of(self.client),))


class Schedule:
    """Users that call servers through workers, and what happens to the three meanwhile.

    With an engine, the workers share their sessions, and each request goes to any of them.
    """

    def __init__(self, seed: int, engine: Engine | None = None) -> None:
        self.random, self.engine = Random(seed), engine
        self.servers = {name: StoppableServer(name, self.random) for name in NAMES}
        self.shown = [*NAMES]
        """The names of the servers in the file, in its order."""
        self.closed: str = self._any_name()
        """The server that only one principal may use."""
        self.events = Counter[str]()
        """What has happened to each server or worker, in which calls may have been lost."""
        self.answered = self.answered_tasks = 0
        self.workers = [MemoryHttp(), MemoryHttp()]
        self._gateways: dict[MemoryHttp, Gateway] = {}
        self._apps: list[Any] = []
        self._versions = Counter[str]()
        self._calls: list[asyncio.Task[None]] = []
        for worker in self.workers:
            self._start(worker)

    def _settings(self) -> GatewaySettings:
        servers = (
            self.servers[name].settings(opener_digest=str(self._versions[name]))
            for name in self.shown
        )
        rules = (RuleSettings(servers=(self.closed,), principals=("ada",)),) * bool(self.closed)
        return gateway_settings(*servers, rules=rules, list_timeout=0.5, state_keys=(STATE_KEY,))

    def _permits(self, user: User, server: str) -> bool:
        return server != self.closed or user.token != OTHER

    def _start(self, worker: MemoryHttp) -> None:
        gateway = Gateway(self._settings(), pkg)
        shared = None if self.engine is None else shared_by(self.engine)
        options = pkg.HttpOptions(authentication=authentication(), shared=shared)
        worker.app = make_app(gateway, pkg, options)
        self._gateways[worker] = gateway
        self._apps.append(worker.app)

    @asynccontextmanager
    async def users(self) -> AsyncGenerator[list[User], None]:
        revisions = self.random.choices(ERAS, k=4)
        users = [*starmap(self._user, enumerate(revisions))]
        async with AsyncExitStack() as stack:
            for user in users:
                await stack.enter_async_context(user.connect())
            # A process that is killed during a handshake leaves a session that cannot ask.
            await asyncio.sleep(1)
            yield users

    def _user(self, number: int, revision: str) -> User:
        if self.engine is not None:
            return User(number, revision, Balancer(self.workers, self.random), [*_WORKERS])
        place = number % len(self.workers)
        return User(number, revision, self.workers[place], [_WORKERS[place]])

    async def run(self) -> None:
        async with self.users() as users:
            for _ in range(STEPS):
                self.random.choice(self.steps())(self.random.choice(users))
                await asyncio.sleep(self.random.choice((0, 0.001, 0.2, 1.5, 40.0)))
            await asyncio.gather(*self._calls)
            await self._mend(users)
        await self._close()

    def steps(self) -> list[Any]:
        at_servers = [self._stop, self._kill, self._start_again, self._expire, self._be_slow]
        # A task belongs to the worker where it began.
        work = [self._call] * 4 if self.engine is not None else [self._start_task] * 4
        return [
            *[self._call] * 7,
            *work,
            self._list,
            *at_servers,
            self._reload,
            self._restart_worker,
        ]

    def _is_well(self, server: StoppableServer) -> bool:
        is_served = server.name in self.shown and server.http.app is not None
        # Lists tell which tools may be tasks, so that calls can wait for them.
        return is_served and server.list_delay < 60

    def _any_name(self) -> str:
        return self.random.choice(("", *NAMES[1:]))

    def _any_server(self) -> StoppableServer:
        return self.servers[self.random.choice(NAMES[1:])]

    def _stop(self, _: User) -> None:
        server = self._any_server()
        self.events[server.name] += 1
        server.stop()

    def _kill(self, _: User) -> None:
        server = self._any_server()
        self.events[server.name] += 1
        server.kill()

    def _start_again(self, _: User) -> None:
        server = self._any_server()
        if server.http.app is None:
            server.start()

    def _expire(self, _: User) -> None:
        """Forget the sessions of a server, which goes on with what it does."""
        server = self._any_server()
        if server.http.app is not None:
            self.events[f"{server.name} sessions"] += 1
            server.start()

    def _be_slow(self, _: User) -> None:
        server = self._any_server()
        self.events[f"{server.name} lists"] += 1
        server.list_delay = self.random.choice((0.0, 0.3, 3.0, 90.0))

    def _reload(self, _: User) -> None:
        others = self.random.sample(NAMES[1:], self.random.randint(0, len(NAMES) - 1))
        changed = self.random.choice(NAMES[1:])
        self._versions[changed] += 1
        closed = self._any_name()
        # A server has changed if its rules have.
        new_rules: set[str] = {closed, self.closed} if closed != self.closed else set()
        for name in NAMES[1:]:
            is_new = name == changed or name in new_rules
            self.events[name] += is_new or (name in others) != (name in self.shown)
        self.shown, self.closed = [*others, STEADY], closed
        for gateway in self._gateways.values():
            gateway.apply(self._settings())

    def _restart_worker(self, user: User) -> None:
        """Kill a worker of a user, and start another in its place."""
        name = self.random.choice(user.worker_names)
        self.events[name] += 1
        worker = self.workers[_WORKERS.index(name)]
        if self.engine is not None:
            _kill_in(self.engine, worker.app)
        worker.cut()
        self._start(worker)

    def _events_before(self, user: User) -> Counter[str]:
        """Return the events that cannot excuse what happens to a user from now on."""
        # Without an engine, a session ends with its worker.
        ended = [] if self.engine is not None else user.worker_names
        return self.events - Counter({name: self.events[name] for name in ended})

    def _has_event(self, names: Iterable[str], before: Counter[str]) -> bool:
        return any(self.events[name] > before[name] for name in names)

    def _list(self, user: User) -> None:
        self._calls.append(asyncio.create_task(self._check_list(user)))

    async def _check_list(self, user: User) -> None:
        closed, before = self.closed, self._events_before(user)
        try:
            listed = await tools_of(user.client)
        except (pkg.McpError, *_LOST) as error:
            assert self._has_event(user.worker_names, before), error
        else:
            assert {*listed} <= {*TOOLS}
            assert len({*listed}) == len(listed)
            if closed == self.closed and not self._has_event([closed], before):
                assert all(self._permits(user, name.split("_")[0]) for name in listed)

    def _call(self, user: User) -> None:
        text = f"{user.number}-{len(self._calls)}"
        self._calls.append(asyncio.create_task(self._check_call(user, text)))

    async def _check_call(self, user: User, text: str) -> None:
        server = self.servers[self.random.choice(NAMES)]
        asks = self.random.random() < 0.3 and {*ASKING}.issuperset((user.revision, server.revision))
        # Such a question waits in the worker that asked it.
        waits = user.revision == STATELESS and server.revision in HANDSHAKE
        asks = asks and not (waits and self.engine is not None)
        seconds = self.random.choice((0, 0.001, 0.1, 1.0, 10.0))
        concerned = [server.name, f"{server.name} lists", *[f"{server.name} sessions"] * asks]
        before = self._events_before(user)
        is_permitted = self._permits(user, server.name)
        was_served = is_permitted and self._is_well(server)
        arguments = {"text": text, "seconds": seconds, "asks": asks}
        try:
            result = await user.client.call_tool(
                f"{server.name}_work",
                arguments,
                timeout=1000,
                on_progress=partial(self._check_progress, text),
            )
        except (pkg.McpError, *_LOST) as error:
            if self._has_event(user.worker_names, before):
                return
            changed = self._has_event(concerned, before)
            self._check_failure(error, user, server, text, was_served and not changed)
        else:
            assert is_permitted or self._has_event([server.name], before)
            expected = f"{server.name} {text}{' 42' if asks else ''}"
            assert (result.text, bool(result.is_error)) == (expected, False), (expected, result)
            self.answered += 1
        assert sum(server.done[key] for key in (text, f"{text} 42")) <= 1

    def _start_task(self, user: User) -> None:
        text = f"{user.number}-{len(self._calls)}"
        self._calls.append(asyncio.create_task(self._check_task(user, text)))

    async def _check_task(self, user: User, text: str) -> None:
        server = self.servers[self.random.choice(NAMES)]
        seconds = self.random.choice((0, 0.1, 5.0, 20.0))
        is_cancelled, pause = self.random.random() < 0.3, self.random.choice((0, 1.0, 30.0))
        parts = [f"{server.name} {part}" for part in ("sessions", "lists")]
        concerned, before = [server.name, *parts], self._events_before(user)
        is_permitted = self._permits(user, server.name)
        is_well = is_permitted and self._is_well(server)
        arguments = {"text": text, "seconds": seconds}
        try:
            handle = await user.client.start_task(f"{server.name}_job", arguments, timeout=1000)
            await asyncio.sleep(pause)
            if is_cancelled:
                await handle.cancel()
            result = await handle.result()
        except pkg.TaskCancelled:
            assert is_cancelled
        except (pkg.McpError, pkg.LocalError, *_LOST) as error:
            if self._has_event(user.worker_names, before):
                return
            is_same = not self._has_event(concerned, before)
            self._check_failed_task(error, server, is_well and is_same)
        else:
            assert is_permitted or self._has_event([server.name], before)
            assert (result.text, bool(result.is_error)) == (f"{server.name} {text}", False), result
            self.answered_tasks += 1
        assert server.done[text] <= 1

    def _check_failed_task(self, error: Exception, server: StoppableServer, is_well: bool) -> None:
        assert not isinstance(error, _LOST) and server.name != STEADY, error
        if isinstance(error, pkg.LocalError):
            return  # The last list had no such tool.
        data: Any = getattr(error, "data", None)
        reason = data["reason"] if data and "reason" in data else None
        is_unknown = getattr(error, "code", None) == INVALID_PARAMS
        assert is_unknown or reason in REASONS, error
        assert not is_well or reason == "open", error

    def _check_progress(self, text: str, progress: Any) -> None:
        assert progress.message in (None, text)

    def _check_failure(
        self, error: Exception, user: User, server: StoppableServer, text: str, is_well: bool
    ) -> None:
        assert not isinstance(error, _LOST) and server.name != STEADY, error
        data: Any = getattr(error, "data", None)
        reason = data["reason"] if data else None
        if reason is None:
            is_hidden = server.name not in self.shown or not self._permits(user, server.name)
            assert f"{server.name}_work" in str(error) and is_hidden, error
            return
        assert reason in REASONS, error
        assert not is_well or reason == "open", error
        if reason in ("unreachable", "open"):
            assert not server.done[text], error

    async def _mend(self, users: list[User]) -> None:
        """Require that all is well some time after the servers are."""
        for server in self.servers.values():
            server.list_delay = 0.0
            if server.http.app is None:
                server.start()
        self.shown, self.closed = [*NAMES], ""
        for worker in self.workers:
            self._gateways[worker].apply(self._settings())
        await asyncio.sleep(1000)
        for user in users:
            assert all(f": {user.number}-" in text for text in user.heard), user.heard
        async with self.users() as others:
            # Shared sessions outlive their workers.
            for user in [*others, *(users if self.engine is not None else [])]:
                await tools_of(user.client)
                await asyncio.sleep(10)
                assert await tools_of(user.client) == TOOLS
                for name in NAMES:
                    text = await text_of(user.client, f"{name}_work", text="x", seconds=0)
                    assert text == f"{name} x"

    async def _close(self) -> None:
        for served in self._apps:
            await served.close()
        for server in self.servers.values():
            await server.close()


def _kill_in(engine: Engine, app: Any) -> None:
    """Make an application count as gone; it connects to the engine with its first request."""
    if app._running is not None:
        name = app._running.state.worker.name
        next(worker for worker in engine.workers if worker.name == name).kill()


@pytest.mark.long
@pytest.mark.skips_time(within=1e9)
async def test_no_call_is_lost_mistaken_or_repeated() -> None:
    answered = answered_tasks = 0
    for seed in tables.some(range(SCHEDULES), SAMPLE, "schedules of gateways"):
        # Every second schedule, so that each seed stays what it is.
        engine = Engine() if seed % 2 else None
        with case(seed):
            schedule = Schedule(seed, engine)
            await schedule.run()
            answered += schedule.answered
            answered_tasks += schedule.answered_tasks
    assert answered > SAMPLE and answered_tasks
