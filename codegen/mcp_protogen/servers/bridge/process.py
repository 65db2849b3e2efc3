"""A bridge that runs until its client disconnects or a signal ends it."""

import asyncio
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final, TypeAlias

from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.server.lifespan import LifespanError
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.runtime.transports.recordings import RecordingError
from mcp_protogen.runtime.transports.replaying import replaying
from mcp_protogen.servers.bridge.http_side import HttpSide, serve_http
from mcp_protogen.servers.bridge.logs import log_loss
from mcp_protogen.servers.bridge.recorder import Recorder, RecordOptions
from mcp_protogen.servers.connect.failures import ERRORS, NO_CONNECTION, problem_error
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.connect.traffic import TappedEnd

Beside: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]

_log: Final = getLogger("mcp_protogen.bridge")


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeOptions:
    """The two sides of a bridge, and its recording.

    The server is `server`, or that of the recording `replay`. Clients come over `http`;
    without it, one client comes over standard input and output. `timeout` is the longest time for
    an answer, in seconds.
    """

    server: NamedServer | None = None
    replay: Path | None = None
    http: HttpSide | None = None
    revisions: Sequence[str] = ()
    server_revisions: Sequence[str] = ()
    timeout: float = 600.0
    record: RecordOptions | None = None


def run_bridge(
    options: BridgeOptions, opener: Opener | None = None, beside: Beside = nullcontext
) -> None:
    """Carry messages until the end; raise `ProblemError` if the bridge cannot start, or fails.

    `opener` leads to the server in place of its own. `beside` runs as long as the bridge.
    """
    package = protocol()
    opener = opener or _opener(options)
    recorder = None if options.record is None else Recorder(options.record)
    if recorder is not None:
        opener = recorder.opener(opener)
    settings: dict[str, Any] = {
        "client_revisions": _revisions(package, "--revision", options.revisions),
        "server_revisions": _revisions(package, "--server-revision", options.server_revisions),
        "options": package.Options(max_timeout=options.timeout, lenient=True, on_loss=log_loss),
    }
    try:
        if options.http is None:
            _run_stdio(package, opener, recorder, settings, beside)
        else:
            _run_http(package, opener, recorder, settings, options.http, beside)
    except (KeyboardInterrupt, asyncio.CancelledError):
        # The second if the signal comes before the first step of the work.
        _log.info("a signal ended the bridge")
    except LifespanError as error:
        raise ProblemError(Problem(NO_CONNECTION, str(error), _place(options))) from error
    except ERRORS as error:
        raise problem_error(error, _place(options)) from error
    finally:
        if recorder is not None:
            recorder.close()


def _opener(options: BridgeOptions) -> Opener:
    if options.server is not None:
        return options.server.opener()
    assert options.replay is not None
    try:
        return replaying(options.replay)
    except RecordingError as error:
        place = f"{options.replay}:{error.line}"
        raise ProblemError(Problem("bad-recording", error.reason, place)) from error
    except OSError as error:
        raise ProblemError(
            Problem("bad-recording", f"{error.strerror}", str(options.replay))
        ) from error


def _revisions(package: ModuleType, option: str, ids: Iterable[str]) -> Sequence[Revision] | None:
    """Return revisions by their ids; None for all. Raise `ProblemError` (`unknown-revision`)."""
    known: dict[str, Revision] = {revision.id: revision for revision in package.REVISIONS}
    chosen = dict.fromkeys(ids)
    for id in chosen:
        if id not in known:
            message, hint = f"{option} cannot be {id!r:.40}", did_you_mean(id, known)
            raise ProblemError(Problem("unknown-revision", message, hint=hint))
    return [known[id] for id in chosen] or None


def _run_stdio(
    package: ModuleType,
    opener: Opener,
    recorder: Recorder | None,
    settings: dict[str, Any],
    beside: Beside,
) -> None:
    async def run() -> None:
        transport = await package.open_stdio()
        if recorder is not None:
            transport = TappedEnd(transport, recorder.tap("client"), "server")
        bridge = package.Bridge(transport, opener, **settings)
        # Without this, a user who starts it by hand would see nothing.
        _log.info("waiting for a client on standard input; its end, or Ctrl-C, ends the bridge")
        async with beside():
            await bridge.run()

    signal.signal(signal.SIGTERM, _interrupt)
    asyncio.run(run())


def _interrupt(_: int, frame: FrameType | None) -> None:
    """End in order, as after Ctrl-C, together with the server."""
    handle = signal.getsignal(signal.SIGINT)
    if not callable(handle):  # a shell that starts this in the background ignores SIGINT for it
        raise KeyboardInterrupt
    handle(signal.SIGINT, frame)


def _run_http(
    package: ModuleType,
    opener: Opener,
    recorder: Recorder | None,
    settings: dict[str, Any],
    side: HttpSide,
    beside: Beside,
) -> None:
    def make_app(http: Any) -> Any:
        app = package.bridge_app(package.Bridge, opener, http=http, **settings)
        if beside is not nullcontext:
            (server,) = app.way.served.servers
            server.lifespan = beside
        if recorder is None:
            return app
        # Over stdio, no HTTP server is imported.
        from mcp_protogen.servers.bridge.tapped_app import TappedApp

        return TappedApp(app, recorder.tap("client"))

    _log.info("serving %s", side.url)
    serve_http(package, make_app, side)


def _place(options: BridgeOptions) -> str:
    return str(options.replay) if options.server is None else options.server.safe_text
