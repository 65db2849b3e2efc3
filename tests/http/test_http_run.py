"""`run_http` with several workers: its options, and the replacement and end of processes."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from pickle import dumps, loads
from socket import create_connection, create_server
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp_protogen.runtime.http.server import run as http_run
from mcp_protogen.runtime.http.server import workers
from support.engines import redis_running
from support.folders import environment
from support.http.serving import (
    WORKER,
    Events,
    Site,
    app_of,
    calling,
    chosen_of_runs,
    text_in,
)
from support.json_types import JsonObject
from support.peers.http_peers import Served, serve_module
from support.ports import free_port
from support.revisions import OLD, STATELESS
from support.sessions.talking import META, pkg, run, server
from support.tables import case, some

ALONE = {"connection": "close"}
"""A connection of its own, which either worker may take."""
SAMPLING: JsonObject = {**META, "io.modelcontextprotocol/clientCapabilities": {"sampling": {}}}


class Engine:
    """An engine that claims to be shared by processes."""

    def connect(self, worker: str, lease: float, receive: object) -> Any:
        raise NotImplementedError


SHARED, ALONE_IN_MEMORY = (pkg.Shared(engine=engine) for engine in (Engine(), pkg.MemoryEngine()))

# Applications and their errors; None if they may have several workers.
REFUSED: dict[str, tuple[dict[str, Any], str | None]] = {
    "a session stays where it began": ({}, "shared=Shared"),
    "in memory": ({"shared": ALONE_IN_MEMORY}, "a MemoryEngine is in one process"),
    "all is shared": ({"shared": SHARED}, None),
    "nothing is sent again": ({"shared": SHARED, "resumable": False}, None),
    "old clients are of one worker": ({"shared": SHARED, "old_sse": True}, "old_sse=False"),
    "there are no sessions": ({"sessions": False}, None),
    "old clients have streams": ({"sessions": False, "old_sse": True}, "old_sse=False"),
}


def test_several_workers_need_to_share_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[float] = []

    class Noted(workers.Workers):
        """Workers that are not processes."""

        def run(self, patience: float) -> None:
            begun.append(patience)

    monkeypatch.setattr(http_run, "Workers", Noted)

    def start(app: Any) -> None:
        monkeypatch.setattr(sys.modules[__name__], "chosen", app, raising=False)
        pkg.run_http(f"{__name__}:chosen", workers=2, port=0)

    for name, (options, why) in REFUSED.items():
        with case(name):
            app = app_of(server(OLD), pkg.REVISIONS, **options)
            if why is None:
                start(app)
                assert begun.pop()
            else:
                with pytest.raises(ValueError, match=why):
                    start(app)
    with case("no revision that is spoken has sessions"):
        start(app_of(server(STATELESS)))
    assert begun


OURS = server(STATELESS)
Ours = type(OURS)


def test_shared_options_can_be_pickled_for_workers() -> None:
    engine = pkg.RedisEngine("redis://ada:pass@localhost:1/2", namespace="n", timeout=1.5)
    http = loads(dumps(pkg.HttpOptions(shared=pkg.Shared(engine=engine, lease=5.0))))
    assert (http.shared.lease, vars(http.shared.engine)) == (5.0, vars(engine))


@pytest.mark.shows("S3-11")
def test_a_server_is_for_this_machine_unless_it_is_given_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = chosen_of_runs(monkeypatch)
    with pytest.raises(ValueError, match="allowed_hosts"):
        pkg.run_http(OURS, host="0.0.0.0")
    pkg.run_http(OURS)
    assert [options.host for options in chosen] == ["127.0.0.1"]


def test_a_name_is_that_of_an_application_or_of_what_makes_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen = chosen_of_runs(monkeypatch)
    options = pkg.HttpOptions(sessions=False)
    for name in (WORKER, "support.http.worker:build_app"):
        pkg.run_http(name)
        pkg.run_http(name)
    for name in ("OURS", "Ours"):
        pkg.run_http(f"{__name__}:{name}", http=options)
    app, again, made, another, *ours = [cast(pkg.HttpApp, http.app) for http in chosen]
    assert app is again
    assert made is not another
    assert isinstance(made, pkg.HttpApp)
    assert [app_options.http for app_options in ours] == [options, options]


def no_application() -> str:
    """A factory of something else."""
    return "none"


def test_an_application_that_cannot_be_served_so_is_refused() -> None:
    here = __name__
    cases: dict[str, tuple[Callable[[], None], type[Exception], str]] = {
        "an object": (lambda: pkg.run_http(server(OLD), workers=2), ValueError, '"module:app"'),
        "none": (lambda: pkg.run_http(WORKER, workers=0), ValueError, "got 0"),
        "no name": (lambda: pkg.run_http("os", workers=2), ValueError, "'module:app'"),
        "no module": (lambda: pkg.run_http("no.such:app"), ImportError, "no"),
        "nothing there": (lambda: pkg.run_http(f"{here}:no"), AttributeError, "no"),
        "two": (lambda: pkg.run_http([OURS], workers=2), ValueError, "a global of a file"),
        "what is in no file": (
            lambda: pkg.run_http(OURS, workers=2, routes=[pkg.Route("/x", lambda _: "x")]),
            ValueError,
            "routes cannot be sent to workers: .* name an application",
        ),
        "no app": (lambda: pkg.run_http(f"{here}:no_application"), TypeError, "http_app"),
        "unshared": (lambda: pkg.run_http(WORKER, workers=2, port=0), ValueError, "sessions"),
        "two options": (
            lambda: pkg.run_http(WORKER, http=pkg.HttpOptions()),
            ValueError,
            "give them to http_app",
        ),
    }
    for name, (call, error, why) in cases.items():
        with case(name), pytest.raises(error, match=why):
            call()


def listening(shared: Any, numbers: list[int], place: int, served: set[Any]) -> Any:
    """A listener for a worker that is not a process here."""

    class Served(asyncio.Protocol):
        connections = served

        def __init__(self, **_: Any) -> None: ...

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            served.add(self)
            transport.close()

    return http_run.SharedListener(
        shared.dup(),
        numbers,
        place,
        SimpleNamespace(config=SimpleNamespace(http=Served, backlog=100), server_state=None),
    )


async def test_connections_are_shared_out_and_a_worker_that_is_busy_gets_none() -> None:
    numbers = [99, 99, 99]
    one, other = set[Any](), set[Any]()
    async with AsyncExitStack() as stack:
        shared = stack.enter_context(create_server(("127.0.0.1", 0)))
        address = shared.getsockname()
        for place, served in enumerate((one, other)):
            stack.push_async_callback(listening(shared, numbers, place, served).close)
        assert numbers == [0, 0, 99]
        # From then on one of them has none, and accepts none.
        for busy, total in ((99, 20), (0, 24)):
            numbers[2] = busy
            while len(one) + len(other) < total:
                before = len(one) + len(other)
                create_connection(address).close()
                while len(one) + len(other) == before:
                    await asyncio.sleep(0)
            assert abs(len(one) - len(other)) <= 4


Redis = dict[str, str]
"""What the environment of workers is to have, so that they share a server."""


@pytest.fixture(scope="module")
def redis() -> Generator[Redis, None, None]:
    with redis_running() as server:
        yield {"WORKER_REDIS": server.url}


def children(pid: int) -> set[int]:
    """Return the workers of a process: its children except helpers of Python."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {int(found_pid) for found_pid in found if b"spawn_main" in command_of(found_pid)}


def command_of(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""  # it has ended since it was listed


async def pid_of(site: Site) -> int:
    """The worker that answers a new connection."""
    return int(text_in(await site.modern("tools/call", name="who", headers=ALONE)))


async def pids_of(site: Site) -> set[int]:
    """The workers, once both have answered."""
    pids: set[int] = set()
    while len(pids) < 2:
        pids |= set(await asyncio.gather(*(pid_of(site) for _ in range(8))))
    return pids


@asynccontextmanager
async def working(site: Site, name: str) -> AsyncGenerator[Events, None]:
    """Return the answer to a call whose tool reports progress when it begins."""
    meta = {**META, "progressToken": name}
    async with site.modern_stream("tools/call", meta=meta, name=name) as events:
        assert (await events.take())["method"] == "notifications/progress"
        yield events


async def a_round_goes_on_elsewhere(site: Site) -> None:
    """One worker asks, and the other takes the answer: both seal with the same key."""
    first = await site.modern("tools/call", meta=SAMPLING, name="asks", headers=ALONE)
    asked = first.json()["result"]
    said = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "yes"}}
    more = {
        "requestState": asked["requestState"],
        "inputResponses": dict.fromkeys(asked["inputRequests"], said),
    }
    pids: set[str] = set()
    while len(pids) < 2:
        answer = await site.modern("tools/call", meta=SAMPLING, name="asks", headers=ALONE, **more)
        pids = {*text_in(answer).split()}


async def a_session_goes_on_elsewhere(site: Site) -> None:
    session = await site.initialize(headers=ALONE)
    while len({text_in(await session.call("who")) for _ in range(4)}) < 2:
        pass


async def all_hear_what_one_publishes(site: Site, pids: set[int]) -> None:
    uris = [f"file:///{pid}" for pid in sorted(pids)]
    async with AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(site.listening(number, resourceSubscriptions=uris))
            for number in range(4)
        ]
        left = set(uris)
        while left:
            # The caller does not know which of them answers.
            for pid in sorted(pids):
                said = await site.modern(
                    "tools/call", name="publish", arguments={"pid": str(pid)}, headers=ALONE
                )
                if text_in(said) == str(pid):
                    left.discard(uri := f"file:///{pid}")
                    heard = [(await stream.take())["params"]["uri"] for stream in streams]
                    assert heard == [uri] * len(streams)


async def another_takes_the_place_of(dead: int, process: Served, site: Site) -> None:
    os.kill(dead, signal.SIGKILL)
    while dead in (left := children(process.processes[0].pid)) or len(left) < 2:
        await asyncio.sleep(0.01)
    assert dead not in await pids_of(site)


@pytest.mark.long
def test_workers_share_a_port_and_are_replaced_and_drained(redis: Redis) -> None:
    async def script() -> None:
        async with serve_module("support.http.worker", "PORT", environment=redis) as process:
            async with calling(process.port) as site:
                pids = await pids_of(site)
                assert pids == children(process.processes[0].pid)
                await a_round_goes_on_elsewhere(site)
                await a_session_goes_on_elsewhere(site)
                await all_hear_what_one_publishes(site, pids)
                await another_takes_the_place_of(min(pids), process, site)
                workers = children(process.processes[0].pid)
                async with working(site, "waits") as events:
                    code, said = await process.stop()
                    answer = await events.take()
                    assert await events.take() is None
                assert int(answer["result"]["content"][0]["text"]) in workers
            assert code == -signal.SIGTERM
            assert f"worker {min(pids)} ended with -9; another takes its place now" in said
            assert said.count("WARNING") == 1
            assert "Traceback" not in said
            assert not any(Path(f"/proc/{pid}").exists() for pid in workers)

    run(script(), 300)


FORKING = """
import asyncio, multiprocessing, os, time
from pathlib import Path
from mcp_revisions import HttpApp, Options, http_app, run_http
from support.http.worker import on_call_tool
from support.revisions import STATELESS
from support.sessions.talking import server

async def handle(self, session, params):
    if params.name == "blocks":
        await session.progress(1)
        await asyncio.to_thread(time.sleep, 60)
    return await on_call_tool(self, session, params)

app = http_app(server(STATELESS, on_call_tool=handle), options=Options(drain=0))
if multiprocessing.parent_process() and os.fork() == 0:
    while Path(__file__).exists():
        time.sleep(0.01)
    os._exit(0)
if __name__ == "__main__":
    run_http("forking:app", port=int(os.sys.argv[1]), workers=2)
"""


async def kill_one_and_block_another(process: Served) -> None:
    async with calling(process.port) as site:
        await another_takes_the_place_of(min(await pids_of(site)), process, site)
        pids = await pids_of(site)
        async with working(site, "blocks"):
            process.processes[0].kill()
            while any(Path(f"/proc/{pid}/exe").exists() for pid in pids):
                await asyncio.sleep(0.01)


@pytest.mark.long
def test_workers_are_replaced_and_end_whatever_they_leave_running(tmp_path: Path) -> None:
    # A child of a worker keeps all its pipes open.
    program = tmp_path / "forking.py"
    program.write_text(FORKING)
    paths = {"PYTHONPATH": os.pathsep.join([environment()["PYTHONPATH"], str(tmp_path)])}

    async def script() -> None:
        async with serve_module("forking", "PORT", environment=paths) as process:
            try:
                await kill_one_and_block_another(process)
            finally:
                program.unlink()
            _, said = await process.stop()
            assert "Timeout (0:00:05)!" in said

    run(script(), 40)


@pytest.mark.long
def test_workers_that_are_to_end_before_they_could_begin_say_nothing(redis: Redis) -> None:
    async def script() -> None:
        # It listens before any worker exists.
        async with serve_module("support.http.worker", "PORT", environment=redis) as process:
            assert await process.stop() == (-signal.SIGTERM, "")

    run(script(), 300)


def dies_twice(lives: Path, own: Any, _numbers: object, _place: int) -> None:
    """Begin and die, then die at once, then begin and end the parent."""
    lives.write_text(str(life := int(lives.read_text()) + 1))
    if life != 2:
        own.send_bytes(workers.BEGUN)
    if life == 3:
        os.kill(os.getppid(), signal.SIGTERM)
        own.poll(None)
    os._exit(life)


@pytest.mark.long
def test_a_worker_that_dies_again_is_replaced_after_a_pause(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lives = tmp_path / "lives"
    lives.write_text("0")
    ended: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    try:
        workers.Workers(partial(dies_twice, lives), 1).run(20)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended == [signal.SIGTERM]
    said = [re.sub(r"\d{2,}", "N", record.getMessage()) for record in caplog.records]
    assert said == [
        "worker N ended with 1; another takes its place now",
        "worker N ended with 2; another takes its place in 1 seconds",
    ]


OF_AN_APP = """
import os, sys
from mcp_revisions import HttpOptions
from mcp_revisions import v2026_07_28 as mcp

{guard_of_app}
    app = mcp.App("workers")

    @app.route("/pid")
    def pid(request: object) -> int:
        return os.getpid()

{guard}
    app.run("http", port=int(sys.argv[1]), workers=2, http=HttpOptions(sessions=False))
"""
BESIDE = """
import sys
import app_alone

{guard}
    options = app_alone.HttpOptions(sessions=False)
    app_alone.app.run("http", port=int(sys.argv[1]), workers=2, http=options)
"""
GUARD = 'if __name__ == "__main__":'


@pytest.mark.long
def test_an_app_in_a_program_has_workers(tmp_path: Path) -> None:
    (tmp_path / "app_alone.py").write_text(OF_AN_APP.format(guard_of_app="if True:", guard=GUARD))
    (tmp_path / "app_beside.py").write_text(BESIDE.format(guard=GUARD))
    paths = {"PYTHONPATH": os.pathsep.join([environment()["PYTHONPATH"], str(tmp_path)])}

    async def script(command: str) -> None:
        async with serve_module(command, "PORT", environment=paths) as process:
            pids: set[int] = set()
            async with calling(process.port) as site:
                while len(pids) < 2:
                    pids.add((await site.http.get("/pid", headers=ALONE)).json())
            assert pids == children(process.processes[0].pid)
            assert await process.stop() == (-signal.SIGTERM, "")

    commands = str(tmp_path / "app_alone.py"), "app_alone", "app_beside"
    for command in some(commands, 2, "programs with workers"):
        with case(command):
            run(script(command), 300)


WITHOUT_GUARD = {
    "the call": ("if True:", "if True:", "would start workers: call run_http, or app.run, below"),
    "the app": (GUARD, GUARD, "app: .* create it at import, not below if __name__"),
}


@pytest.mark.long
def test_a_program_whose_workers_cannot_import_the_app_says_what_to_write(tmp_path: Path) -> None:
    for name, (of_app, of_call, why) in WITHOUT_GUARD.items():
        program = tmp_path / "program.py"
        program.write_text(OF_AN_APP.format(guard_of_app=of_app, guard=of_call))
        command = [sys.executable, str(program), str(free_port())]
        ran = subprocess.run(
            command, env=environment(), capture_output=True, text=True, timeout=300, check=False
        )
        with case(name):
            assert ran.returncode == 1
            assert re.search(why, ran.stderr), ran.stderr
            ended = r"RuntimeError: worker \d+ ended with 1 before it could begin"
            assert re.search(ended, ran.stderr)


class DyingProcess:
    """A worker that dies at its start; the last one ends its parent, too."""

    pid = exitcode = 1
    left = 1100
    sentinel, _other = Pipe()
    _other.close()

    def __init__(self, target: object, args: tuple[Any, list[int], int]) -> None:
        self._pipe, self._numbers, self._place = args

    def start(self) -> None:
        self._pipe.send_bytes(workers.BEGUN)
        self._numbers[self._place] = 0
        DyingProcess.left -= 1
        if not self.left:
            signal.raise_signal(signal.SIGTERM)

    def is_alive(self) -> bool:
        return False


def test_a_worker_is_replaced_however_often_it_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: list[list[int]] = []

    class Context:
        Pipe = staticmethod(Pipe)
        Process = DyingProcess

        def RawArray(self, kind: str, given: Any) -> list[int]:
            self.numbers = [0] * given if isinstance(given, int) else list(given)
            return self.numbers

    context = Context()

    class Log:
        def warning(self, *_: object) -> None:
            numbers.append(list(context.numbers))

    def get_context(_: str) -> Context:
        return context

    def do_nothing(*_: object) -> None: ...

    monkeypatch.setattr(workers, "get_context", get_context)
    monkeypatch.setattr(workers, "_LONGEST_PAUSE", 0.0)
    monkeypatch.setattr(workers, "_log", Log())
    before = signal.signal(signal.SIGTERM, do_nothing)
    try:
        workers.Workers(do_nothing, 1).run(0)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert DyingProcess.left == 0
    # Until it has begun, no connection is left to it.
    assert {number for (number,) in numbers} == {2**31 - 1}


ENDING = """
import sys
from contextlib import asynccontextmanager
from mcp_revisions import run_http
from support.http.worker import TOLD, on_call_tool
from support.revisions import STATELESS
from support.sessions.talking import server

@asynccontextmanager
async def lifespan(self):
    yield
    raise ValueError("it cannot end")

ours = server(STATELESS, lifespan=lifespan, on_call_tool=on_call_tool, SENDS=TOLD)
run_http(ours, port=int(sys.argv[1]))
"""


async def test_a_server_says_that_it_ends_and_what_fails_then(tmp_path: Path) -> None:
    program = tmp_path / "ending.py"
    program.write_text(ENDING)
    async with serve_module(str(program), "PORT") as process:
        async with calling(process.port) as site, working(site, "waits"):
            process.processes[0].terminate()
            while (answer := await site.http.get("/ready")).status_code == 200:
                await asyncio.sleep(0.01)
            assert (answer.status_code, answer.json()["status"]) == (503, "closing")
        code, said = await process.stop()
    assert code == 1
    assert "LifespanError" in said and "it cannot end" in said
