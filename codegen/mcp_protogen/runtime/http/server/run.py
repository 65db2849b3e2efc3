"""`run_http` serves HTTP with uvicorn, and limits its connections.

uvicorn limits neither the size of a request's head nor the wait for it, and closes only when all
clients have read. Applications cannot see this, so `LimitedProtocol` is between uvicorn and its
transports.
"""

import sys
from asyncio import (
    FIRST_COMPLETED,
    AbstractEventLoop,
    BaseTransport,
    Future,
    Protocol,
    Task,
    TimerHandle,
    create_task,
    ensure_future,
    get_running_loop,
    wait,
)
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from faulthandler import dump_traceback_later
from functools import partial
from importlib import import_module
from logging import getLogger
from multiprocessing import current_process
from multiprocessing.connection import Connection
from operator import attrgetter
from pickle import dumps
from secrets import token_bytes
from signal import Signals, getsignal, signal
from socket import AF_INET, AF_INET6, create_server, socket
from threading import Thread, current_thread, main_thread
from types import ModuleType
from typing import Any, ClassVar, Final, Unpack, cast

from ...core.libraries import library
from ...core.tasks import Tasks, is_running
from ...server.base import ServerBase
from ...server.lifespan import LifespanError
from ...server.serve import Server
from ...storage.memory import MemoryEngine
from .app import AppOptions, HttpApp, http_app
from .asgi import Message, Receive, Scope, Send
from .options import HttpOptions
from .time_limits import SharedTimer
from .workers import BEGUN, Workers

_log: Final = getLogger(__name__)

# The signals that end uvicorn; Windows has one more.
_SIGNALS: Final = [number for number in Signals if number.name in ("SIGINT", "SIGTERM", "SIGBREAK")]

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")

# Seconds for which a worker leaves a new connection to others, and waits after a failure.
_PAUSE: Final = 0.001
_RETRY: Final = 1.0

_REFUSAL: Final = "HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_TOO_SLOW: Final = _REFUSAL.format("408 Request Timeout").encode()
_TOO_LARGE: Final = _REFUSAL.format("431 Request Header Fields Too Large").encode()


class HttpRunOptions(AppOptions, total=False):
    host: str
    port: int
    workers: int


def run_http(
    servers: Server | Iterable[Server] | HttpApp | str,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    **app_options: Unpack[AppOptions],
) -> None:
    """Serve HTTP until a signal ends the process; `app_options` are those of `http_app`.

    `servers` may also be a name, `"module:app"`, of a server, of the result of `http_app`, which
    already has the other options, or of a function that returns this result. Several `workers`
    (processes) need a name, or one server that is a global of a module.

    Only this machine can reach the server unless `host` says otherwise; then `http` must have
    `allowed_hosts`. SIGTERM and Ctrl-C end it: streams close, and handlers get
    `options.drain` seconds to finish. Raise `ValueError` for options that leave requests
    unanswered, `ImportError` without uvicorn, `LifespanError` for a failing lifespan, and
    `RuntimeError` in a running event loop.
    """
    if is_running():
        advice = "serve what http_app(...) returns with any ASGI server"
        raise RuntimeError(f"run_http cannot run in a running event loop: {advice}")
    _check_number(workers)
    name, app = _application(servers, app_options, workers)
    if host not in _LOOPBACK and not app.http.allowed_hosts:
        raise ValueError(
            f"a server on {host} needs HttpOptions(allowed_hosts=...), its public names"
        )
    server, _ = new_server(app, host, port)
    if workers == 1:
        _run(server, app)
        return
    _check_workers(app)
    family = AF_INET6 if ":" in host else AF_INET
    with create_server((host, port), family=family) as listening:
        work = partial(_run_worker, name, app_options, listening, token_bytes(32))
        Workers(work, workers).run(_shutdown_seconds(app) + 1)


def _application(
    servers: Server | Iterable[Server] | HttpApp | str, options: AppOptions, workers: int
) -> tuple[str, HttpApp]:
    if isinstance(servers, str):
        return servers, _load_app(servers, options)
    if isinstance(servers, HttpApp):
        if workers > 1 or options:
            reason = "an HttpApp takes no parameters and one worker: give run_http its server"
            raise ValueError(f"{reason}, {_BY_NAME}")
        return "", servers
    name = "" if workers == 1 else _name_of(servers, options)
    return name, http_app(servers, **options)


def _run(server: Any, app: HttpApp, sockets: Sequence[socket] | None = None) -> None:
    try:
        server.run(sockets=sockets)
    except SystemExit:
        if app.failure is None:
            raise
    # uvicorn only logs a failed lifespan.
    if app.failure is not None:
        raise app.failure


def _shutdown_seconds(app: HttpApp) -> float:
    # Two drains to close the application, and one for the rest.
    return 3 * app.options.drain + 5


def _load_app(name: str, options: AppOptions) -> HttpApp:
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ValueError(f"{name!r} must be like 'module:app'")
    try:
        value: Any = attrgetter(attribute)(import_module(module))
    except AttributeError as error:
        advice = 'create it at import, not below if __name__ == "__main__":'
        raise AttributeError(f"{name}: {error}: {advice}") from error
    if _is_server(value):
        return http_app(value, **options)
    app = value() if callable(value) and not isinstance(value, HttpApp) else value
    if not isinstance(app, HttpApp):
        raise TypeError(f"{name} must be a server or the result of http_app")
    if options:
        raise ValueError(
            f"{name} has its own revisions, options, http and routes: give them to http_app"
        )
    return app


def _is_server(value: object) -> bool:
    return issubclass(value if isinstance(value, type) else type(value), ServerBase)


def _check_number(workers: int) -> None:
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    # multiprocessing finds this, too, but only after the port turns out to be taken.
    if workers > 1 and getattr(current_process(), "_inheriting", False):
        advice = 'call run_http, or app.run, below if __name__ == "__main__":'
        raise RuntimeError(f"each worker imports the program and would start workers: {advice}")


_BY_NAME: Final = 'or name an application: run_http("module:app", workers=4)'


def _name_of(server: object, options: AppOptions) -> str:
    """Return the name for importing a server in workers; raise `ValueError` without one."""
    name = next(_names_of(server), None) if _is_server(server) else None
    if name is None:
        reason = "each worker imports its server"
        raise ValueError(f"{reason}: assign it to a global of a file, app = ..., {_BY_NAME}")
    try:
        dumps(options)
    except Exception as error:
        reason = f"{', '.join(options)} cannot be sent to workers: {error}"
        raise ValueError(f"{reason}: use functions and classes of modules, {_BY_NAME}") from error
    return name


def _names_of(server: object) -> Iterator[str]:
    # A module comes before `__main__`: workers can import it, however the program was started.
    for module, loaded in sorted(sys.modules.items(), key=lambda item: item[0] == "__main__"):
        if module != "__main__" or _is_imported(loaded):
            members = [*getattr(loaded, "__dict__", {}).items()]
            yield from (f"{module}:{name}" for name, value in members if value is server)


def _is_imported(program: ModuleType) -> bool:
    spec = program.__spec__
    return hasattr(program, "__file__") if spec is None else not spec.name.endswith("__main__")


def _check_workers(app: HttpApp) -> None:
    http, shared = app.http, app.http.shared
    in_memory = shared is not None and isinstance(shared.engine, MemoryEngine)
    for unfit, need in (
        (http.old_sse, "old_sse=False"),
        (app.has_sessions and shared is None, "shared=Shared(engine=...), or sessions=False"),
        (in_memory, "a shared engine: a MemoryEngine is in one process"),
    ):
        if unfit:
            raise ValueError(f"workers > 1 needs HttpOptions with {need}")


def _run_worker(
    name: str,
    options: AppOptions,
    shared: socket,
    key: bytes,
    parent: Connection,
    counts: MutableSequence[int],
    place: int,
) -> None:
    app = _load_app(name, options)
    if not app.options.state_keys:
        # Another worker may continue a round.
        app.options = replace(app.options, state_keys=[key])
    # asyncio disables delays only if a socket knows its protocol, as a new one does.
    listening = socket(fileno=shared.detach())
    # The event loop of Windows cannot watch sockets.
    sockets: list[socket] = [listening] if sys.platform == "win32" else []

    def listen() -> SharedListener | None:
        # Not pickled: Python 3.13 would complain if the parent has ended.
        with suppress(BrokenPipeError):
            parent.send_bytes(BEGUN)
        return None if sockets else SharedListener(listening, counts, place, server)

    server, shutdown = new_server(app, "", 0, listen)

    def watch() -> None:
        parent.poll(None)
        shutdown.end()
        # If a thread hangs, no parent may be left to end it.
        dump_traceback_later(_shutdown_seconds(app), exit=True)

    Thread(target=watch, daemon=True).start()
    with suppress(KeyboardInterrupt):
        _run(server, app, sockets)


def new_server(
    app: HttpApp, host: str, port: int, listen: Callable[[], "SharedListener | None"] = lambda: None
) -> "tuple[Any, _Shutdown]":
    uvicorn = library("uvicorn", "run_http")
    config = partial(
        uvicorn.Config,
        host=host,
        port=port,
        # Programs own their standard output.
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(app.options.drain)),
    )

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await scope["state"].pop("connection").answer(app, scope, receive, send)

    inner = config(answer)
    inner.load()
    heads = SharedTimer(app.http.head_timeout)
    members = {"http": app.http, "inner": inner, "connections": set[Any](), "heads": heads}
    protocol = type("LimitedHTTPProtocol", (LimitedProtocol,), members)
    server = uvicorn.Server(config(app, http=protocol))
    shutdown = _Shutdown(server, app, listen)
    app.on_begun = shutdown.begin
    return server, shutdown


@dataclass(eq=False, slots=True)
class _Shutdown:
    """The shutdown of a server: the application closes before uvicorn does.

    uvicorn waits for open responses, and streams do not end by themselves.
    """

    _server: Any
    _app: HttpApp
    _listen: "Callable[[], SharedListener | None]"
    _loop: AbstractEventLoop | None = None
    _listener: "SharedListener | None" = None
    _closing: Task[None] | None = None

    def begin(self) -> None:
        self._loop = get_running_loop()
        self._listener = self._listen()
        if current_thread() is main_thread():
            for number in _SIGNALS:
                signal(number, partial(self.end, getsignal(number)))

    def end(self, pass_on: Any = None, *received: Any) -> None:
        """Close the application, then uvicorn, or pass on what was received; from any thread."""

        def tell_uvicorn(_: object = None) -> None:
            if pass_on is None or self._app.failure is not None:
                # It would raise the signal again, and end the process instead of raising the error.
                self._server.should_exit = True
            else:
                pass_on(*received)

        def end() -> None:
            self._closing = self._closing or create_task(self._close())
            self._closing.add_done_callback(tell_uvicorn)

        if self._loop is None:
            tell_uvicorn()
        else:
            with suppress(RuntimeError):  # of a loop that has ended
                self._loop.call_soon_threadsafe(end)

    async def _close(self) -> None:
        try:
            await self._app.close()
        except LifespanError as error:
            self._app.failure = error
        finally:
            for connection in list(self._server.config.http.connections):
                # uvicorn would wait until a client reads, and this one does not.
                if connection.paused:
                    connection.abort()
            if self._listener is not None:
                await self._listener.close()


class SharedListener:
    """The listening socket of several workers, which share connections evenly.

    The system wakes all idle workers, and usually the same one is first. So a worker with more
    connections than another leaves new ones to the others for a moment. `counts` has the
    connections of each, its own at `place`.
    """

    def __init__(
        self, listening: socket, counts: MutableSequence[int], place: int, server: Any
    ) -> None:
        config = server.config
        # uvicorn closes these connections with its own, and has no other way to be given them.
        self._protocol = partial(config.http, server_state=server.server_state)
        self._listening, self._counts, self._place = listening, counts, place
        self._connections = config.http.connections
        self._loop = get_running_loop()
        self._tasks = Tasks()
        listening.setblocking(False)
        listening.listen(config.backlog)
        counts[place] = 0
        self._loop.add_reader(listening, self._ready)

    async def close(self) -> None:
        self._loop.remove_reader(self._listening)
        self._listening.close()
        await self._tasks.cancel()

    def _ready(self) -> None:
        counts, least = self._counts, min(self._counts)
        counts[self._place] = len(self._connections)
        if counts[self._place] > least + least // 8:
            self._take_later(_PAUSE)
        else:
            self._take()

    def _take_later(self, seconds: float) -> None:
        self._loop.remove_reader(self._listening)
        self._loop.call_later(seconds, self._take)

    def _take(self) -> None:
        if self._listening.fileno() < 0:
            return
        self._loop.add_reader(self._listening, self._ready)
        try:
            accepted, _ = self._listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # Another worker was faster, or the client is gone.
        except OSError as error:
            _log.warning("accepting a connection failed: %s", error)
            self._take_later(_RETRY)
            return
        accepted.setblocking(False)
        self._counts[self._place] = len(self._connections) + 1
        self._tasks.start(self._connect(accepted))

    async def _connect(self, accepted: socket) -> None:
        await self._loop.connect_accepted_socket(self._protocol, accepted)


class LimitedProtocol(Protocol):
    """The protocol of a transport, and the transport of uvicorn's protocol."""

    http: ClassVar[HttpOptions]
    inner: ClassVar[Any]
    """The configuration of uvicorn's protocol."""
    connections: ClassVar[set["LimitedProtocol"]]
    heads: ClassVar[SharedTimer]

    paused = False
    _transport: Any = None
    _reading: TimerHandle | None = None
    _received = 0
    # Of the newest request.
    _answered = True
    _method = ""
    _more_body = False

    def __init__(self, **given: Any) -> None:
        given |= {"config": self.inner, "app_state": {"connection": self}}
        self._protocol: Protocol = self.inner.http_protocol_class(**given)
        self._lost: Future[Any] = get_running_loop().create_future()

    def connection_made(self, transport: BaseTransport) -> None:
        self._transport = transport
        self.connections.add(self)
        self._protocol.connection_made(cast(BaseTransport, self))
        self.heads.begin(self)

    def data_received(self, data: bytes) -> None:
        self._protocol.data_received(data)
        if self._answered:
            # It belongs to a head, or to a request whose task begins before `_refuse` is called.
            self._received += len(data)
            if self not in self.heads.open:
                self.heads.begin(self)
            if self._received > self.http.max_headers:
                get_running_loop().call_soon(self._refuse, _TOO_LARGE, 1)

    def eof_received(self) -> bool | None:
        return self._protocol.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.discard(self)
        self.heads.open.pop(self, None)
        self._all_read()
        self._lost.set_result(None)
        self._protocol.connection_lost(exc)
        del self._protocol  # which knows this one

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if not self._lost.done():
            self._transport.write(data)

    def close(self) -> None:
        self._transport.close()
        # It closes once all is written, perhaps never.
        self._wait_for_reader()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()
        self.paused = True
        self._wait_for_reader()

    def resume_writing(self) -> None:
        self.paused = False
        self._all_read()
        self._protocol.resume_writing()

    async def answer(self, app: HttpApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; uvicorn begins the next one only then."""
        self.heads.open.pop(self, None)
        self._received, self._answered, self._more_body = 0, False, True
        self._method = scope.get("method", "")

        async def receive_part() -> Message:
            if self._more_body:
                message = await receive()
                self._more_body = message.get("more_body", message["type"] != "http.request")
                return message
            # uvicorn tells only the last of several requests that the client is gone.
            end: Future[Any] = ensure_future(receive())
            try:
                await wait([end, self._lost], return_when=FIRST_COMPLETED)
            finally:
                end.cancel()
            return {"type": "http.disconnect"}

        async def send_part(message: Message) -> None:
            await send(message)
            starts = message["type"] == "http.response.start"
            self._answered = not (starts or message.get("more_body"))

        await app(scope, receive_part, send_part)
        if self._lost.done() and not self._answered:
            # uvicorn would miss the answer to a request that it takes for open.
            with suppress(RuntimeError):  # if it has begun
                await send({"type": "http.response.start", "status": 400})
            await send({"type": "http.response.body"})

    def on_end(self) -> None:
        self._refuse(_TOO_SLOW, 0)

    def _refuse(self, answer: bytes, least: int) -> None:
        """Refuse what came since the last request, if it has `least` bytes."""
        if self._received < least or not self._answered or self._transport.is_closing():
            return
        # The rest of a refused body is not a head, and was already answered.
        if self._received and (self._method == "GET" or not self._more_body):
            self.write(answer)
        self.close()

    def _wait_for_reader(self) -> None:
        if not (self._reading or self._lost.done()):
            self._reading = get_running_loop().call_later(self.http.send_timeout, self.abort)

    def _all_read(self) -> None:
        if self._reading:
            self._reading.cancel()
            self._reading = None
