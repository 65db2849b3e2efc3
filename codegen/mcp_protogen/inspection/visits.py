"""The sessions of an inspection: each revision over each transport, one after the other."""

import asyncio
from collections.abc import Collection
from typing import Any, Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.inspection.conversation import Clock, Manners, Wire, hold
from mcp_protogen.inspection.http_wire import HttpWire, SseTransport
from mcp_protogen.inspection.server import Server
from mcp_protogen.inspection.steps import (
    HANDSHAKE,
    HTTP,
    REVISIONS,
    SSE,
    STDIO,
)
from mcp_protogen.inspection.streams import StreamWire
from mcp_protogen.inspection.transcript import FLOOD, UNKNOWN_REVISION, Session
from mcp_protogen.runtime.http.httpx2 import httpx2

_SILENT: Final = 2
"""After how many sessions without an answer there is no server."""
_NEWEST_FIRST: Final = tuple(reversed(REVISIONS))


def visit(
    server: Server, manners: Manners, revisions: Collection[str] = REVISIONS
) -> tuple[Session, ...]:
    """Hold all sessions with a server: each of the revisions over each transport.

    A last one asks for a revision that does not exist.

    Raise `ProblemError`: `no-server` if there is none, `missing-package` without httpx2 for a URL.
    """
    if server.url:
        _check_http(server)
    return asyncio.run(_visited(server, manners, revisions))


async def _visited(
    server: Server, manners: Manners, revisions: Collection[str]
) -> tuple[Session, ...]:
    clock = Clock()
    sessions: list[Session] = []
    for revision, transport in _planned(server, revisions):
        session = Session(revision=revision, transport=transport)
        errors: list[str] = []
        await hold(session, _wire(server, session, clock, errors), manners)
        session.errors = tuple(errors)
        sessions.append(session)
        if not any(map(_has_answer, sessions)) and len(sessions) >= _SILENT:
            raise _no_server(server, session)
    return tuple(sorted(sessions, key=lambda one: (one.transport == SSE, one.revision)))


def _planned(server: Server, revisions: Collection[str]) -> list[tuple[str, str]]:
    """Return what to try, the newest first: most servers aim at it."""
    named = [revision for revision in _NEWEST_FIRST if revision in revisions]
    transport = HTTP if server.url else STDIO
    tried = [(revision, transport) for revision in (*named, UNKNOWN_REVISION)]
    older = [(HANDSHAKE[0], SSE)] if server.url and HANDSHAKE[0] in revisions else []
    return [*tried, *older]


def _wire(server: Server, session: Session, clock: Clock, errors: list[str]) -> Wire:
    if session.transport == HTTP:
        return HttpWire(server.url, session, clock, server.headers)
    if session.transport == SSE:
        return StreamWire(lambda: SseTransport.open(server.url, server.headers), clock, errors)
    settings: dict[str, Any] = {"cwd": server.cwd, "env": dict(server.env)}
    return StreamWire.of(server.words, clock, errors, **settings)


def _check_http(server: Server) -> None:
    try:
        httpx2()
    except ImportError as error:
        hint = "install it, or install mcp-gen with its extra http"
        raise ProblemError(Problem("missing-package", str(error), server.url, hint=hint)) from error


def _has_answer(session: Session) -> bool:
    first = session.exchanges[0]
    return bool(first.received or first.status or first.outcome == FLOOD)


def _no_server(server: Server, session: Session) -> ProblemError:
    first = session.exchanges[0]
    message = first.detail or "nothing answers"
    if session.errors:
        message += f"; it wrote: {' '.join(session.errors[-1].split()):.200}"
    hint = "start it by hand to see why, or give it more time with --timeout"
    return ProblemError(Problem("no-server", message, server.url or server.words[0], hint=hint))
