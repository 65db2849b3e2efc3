"""The connections of an inspection: each revision over each transport, one after the other."""

import asyncio
from collections import deque
from collections.abc import Collection
from functools import partial
from typing import Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.features.auth.errors import AuthorizationError
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.runtime.transports.subprocess import SAFE_VARIABLES
from mcp_protogen.servers.connect.echoes import refuse_echoes
from mcp_protogen.servers.connect.failures import (
    NO_CONNECTION,
    REQUEST_TIMEOUT,
    failure_of,
    problem_error,
)
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.connect.traffic import tap_opener
from mcp_protogen.servers.inspect.conversation import InspectOptions, run_session
from mcp_protogen.servers.inspect.http_transport import HttpProbing, SseTransport, open_http
from mcp_protogen.servers.inspect.intake import LONGEST, Clock, StepIntake
from mcp_protogen.servers.inspect.revision_facts import (
    HTTP,
    all_revisions,
    all_transports,
    framing_of,
    transports_for,
)
from mcp_protogen.servers.inspect.server import Server
from mcp_protogen.servers.inspect.stream_transport import GRACE, SOON, StreamProbing
from mcp_protogen.servers.inspect.transcript import (
    FLOOD,
    KILLED,
    TIMEOUT,
    UNKNOWN_REVISION,
    Transcript,
)

_SILENT: Final = 2
"""The number of connections without an answer after which there is no server."""
_LAST_LINES: Final = 20


def inspect(
    server: Server, options: InspectOptions, revisions: Collection[str] = (), shown: str = ""
) -> tuple[Transcript, ...]:
    """Return a transcript for each of the revisions, by default all, over each transport.

    Another connection asks for an unknown revision. `shown` is the server without secrets.

    Raise `ProblemError`: `no-connection` or `request-timeout` if the server never writes.
    """
    try:
        transcripts = asyncio.run(record_transcripts(server, options, revisions))
    except AuthorizationError as error:
        raise problem_error(error, shown) from error
    if not any(_has_answer(transcript) or transcript.beginning.noise for transcript in transcripts):
        raise _no_server(transcripts[-1], shown)
    order = [*all_transports()]
    return tuple(
        sorted(transcripts, key=lambda found: (order.index(found.transport), found.revision))
    )


async def record_transcripts(
    server: Server, options: InspectOptions, revisions: Collection[str]
) -> list[Transcript]:
    """Open all connections; stop early if the server never answers."""
    clock = Clock()
    transcripts: list[Transcript] = []
    for revision, transport in _choose_connections(server, revisions or all_revisions()):
        transcript = Transcript(revision=revision, transport=transport, url=server.url)
        errors = deque[str](maxlen=_LAST_LINES)
        # Wait long only once for a process that does not end.
        stubborn = any(earlier.exchanges[-1].outcome == KILLED for earlier in transcripts)
        grace = SOON if stubborn else GRACE
        await run_session(transcript, _probing(server, transcript, clock, errors, grace), options)
        transcript.errors = tuple(errors)
        transcripts.append(transcript)
        if not any(map(_has_answer, transcripts)) and len(transcripts) >= _SILENT:
            break
    return transcripts


def _choose_connections(server: Server, revisions: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of revision and transport, the newest first: most servers aim at it."""
    first, *more = transports_for("url" if server.url else "program", server.transport)
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
    server: Server, transcript: Transcript, clock: Clock, errors: deque[str], grace: float
) -> StreamProbing:
    intake = StepIntake(clock)
    over_http = framing_of(transcript.transport) == HTTP
    opener: Opener = partial(open_http if over_http else SseTransport.open, server)
    if server.words:
        opener = protocol().connect.make_opener(
            "program",
            server.transport,
            server.words,
            cwd=server.cwd,
            env=server.env,
            inherit=server.inherit or SAFE_VARIABLES,
            stderr=errors.append,
            grace=grace,
            limit=LONGEST,
        )
    if over_http:
        return HttpProbing(opener, transcript, intake, grace)
    return StreamProbing(tap_opener(refuse_echoes(opener), intake.note), intake, grace)


def _has_answer(transcript: Transcript) -> bool:
    first = transcript.beginning
    return bool(first.received or first.flawed_messages or first.status or first.outcome == FLOOD)


def _no_server(transcript: Transcript, shown: str) -> ProblemError:
    first = transcript.beginning
    code = REQUEST_TIMEOUT if first.outcome == TIMEOUT else NO_CONNECTION
    message = first.detail or "nothing answers"
    if transcript.errors:
        message += f"; it wrote: {' '.join(transcript.errors[-1].split()):.200}"
    hint = "run it by hand to see why, or give it more time with --timeout"
    if code == NO_CONNECTION:
        hint = failure_of(Disconnected(message), shown).problem.hint or hint
    return ProblemError(Problem(code, message, shown, hint=hint))
