"""The sessions of an inspection: each revision over each transport, one after the other."""

import asyncio
from collections import deque
from collections.abc import Collection
from functools import partial
from typing import Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.runtime.transports.subprocess import SAFE_VARIABLES, stdio_client
from mcp_protogen.servers.connect.failures import NO_CONNECTION, REQUEST_TIMEOUT, problem_error
from mcp_protogen.servers.connect.traffic import tap_opener
from mcp_protogen.servers.inspect.conversation import InspectOptions, hold
from mcp_protogen.servers.inspect.http_transport import HttpProbing, SseTransport
from mcp_protogen.servers.inspect.intake import LONGEST, Clock, SessionIntake
from mcp_protogen.servers.inspect.revision_facts import HTTP, SSE, STDIO, all_revisions
from mcp_protogen.servers.inspect.server import Server
from mcp_protogen.servers.inspect.stream_transport import GRACE, SOON, StreamProbing
from mcp_protogen.servers.inspect.transcript import (
    FLOOD,
    KILLED,
    TIMEOUT,
    UNKNOWN_REVISION,
    Session,
)

_SILENT: Final = 2
"""The number of sessions without an answer after which there is no server."""
_LAST_LINES: Final = 20


def inspect(
    server: Server, options: InspectOptions, revisions: Collection[str] = (), shown: str = ""
) -> tuple[Session, ...]:
    """Hold all sessions with a server: each of the revisions, by default all, over each transport.

    A last one asks for an unknown revision. `shown` is the server without secrets.

    Raise `ProblemError`: `no-connection` or `request-timeout` if the server never writes.
    """
    try:
        sessions = asyncio.run(_open_sessions(server, options, revisions))
    except AuthorizationError as error:
        raise problem_error(error, shown) from error
    if not any(_has_answer(session) or session.beginning.noise for session in sessions):
        raise _no_server(sessions[-1], shown)
    return tuple(sorted(sessions, key=lambda one: (one.transport == SSE, one.revision)))


async def _open_sessions(
    server: Server, options: InspectOptions, revisions: Collection[str]
) -> list[Session]:
    """Hold the planned sessions; stop early if the server never answers."""
    clock = Clock()
    sessions: list[Session] = []
    for revision, transport in _plan_sessions(server, revisions or all_revisions()):
        session = Session(revision=revision, transport=transport)
        errors = deque[str](maxlen=_LAST_LINES)
        # Wait long only once for a process that does not end.
        stubborn = any(earlier.exchanges[-1].outcome == KILLED for earlier in sessions)
        grace = SOON if stubborn else GRACE
        await hold(session, _probing(server, session, clock, errors, grace), options)
        session.errors = tuple(errors)
        sessions.append(session)
        if not any(map(_has_answer, sessions)) and len(sessions) >= _SILENT:
            break
    return sessions


def _plan_sessions(server: Server, revisions: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of revision and transport, the newest first: most servers aim at it."""
    first, *more = (HTTP, SSE) if server.url else (STDIO,)
    tried = {
        transport: [
            (revision, transport)
            for revision in sorted(revisions, reverse=True)
            if transport in all_revisions()[revision].transports
        ]
        for transport in (first, *more)
    }
    others = (pair for transport in more for pair in tried[transport])
    return [*tried[first], (UNKNOWN_REVISION, first), *others]


def _probing(
    server: Server, session: Session, clock: Clock, errors: deque[str], grace: float
) -> StreamProbing:
    intake = SessionIntake(clock)
    if session.transport == HTTP:
        return HttpProbing(server, session, intake)
    opener: Opener = partial(SseTransport.open, server)
    if session.transport == STDIO:
        opener = stdio_client(
            server.words,
            cwd=server.cwd,
            env=server.env,
            inherit=server.inherit or SAFE_VARIABLES,
            stderr=errors.append,
            grace=grace,
            limit=LONGEST,
        )
    return StreamProbing(tap_opener(opener, intake.note), intake, grace)


def _has_answer(session: Session) -> bool:
    first = session.beginning
    return bool(first.received or first.flawed or first.status or first.outcome == FLOOD)


def _no_server(session: Session, shown: str) -> ProblemError:
    first = session.beginning
    code = REQUEST_TIMEOUT if first.outcome == TIMEOUT else NO_CONNECTION
    message = first.detail or "nothing answers"
    if session.errors:
        message += f"; it wrote: {' '.join(session.errors[-1].split()):.200}"
    hint = "run it by hand to see why, or give it more time with --timeout"
    return ProblemError(Problem(code, message, shown, hint=hint))
