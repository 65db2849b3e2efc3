"""The features that a gateway carries between each two revisions, measured with real processes."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, TypeAlias

from support.gateway.gateways import GATEWAY, write_config
from support.json_types import JsonObject
from support.peers.features import Use, client_of, outcomes
from support.peers.http_peers import serve_command
from support.peers.matrix import Run
from support.peers.places import PROGRAMS, Command
from support.sessions.talking import pkg
from support.toolkit.mounting import revision_of

Form: TypeAlias = Literal["stdio", "http", "sse"]
FORMS: Final[tuple[Form, ...]] = ("stdio", "http", "sse")
"""The transports on both sides of the gateway; HTTP+SSE is on that of servers only."""

QUESTIONS: Final = ("elicitation", "sampling", "roots")
PREFIX, URI = "up_", "file:///up/a"
_AT_ONCE: Final = 3


def our_server(revision: str, form: Form) -> Command:
    """Return the command of a server of one revision."""
    if form == "stdio":
        return sys.executable, PROGRAMS / "our_server.py", revision
    return sys.executable, PROGRAMS / "http_our_server.py", "PORT", revision


@asynccontextmanager
async def gateway_before(
    form: Form, questions: Sequence[str] = QUESTIONS, /, **servers: Command
) -> AsyncGenerator[str | Command, None]:
    """Run servers and a gateway before them; yield its URL, or its command over stdio."""
    async with AsyncExitStack() as stack:
        found: dict[str, JsonObject] = {}
        for name, command in servers.items():
            if form == "stdio":
                first, *others = map(str, command)
                found[name] = {"command": first, "args": others}
            else:
                served = await stack.enter_async_context(serve_command(*command))
                found[name] = {"url": _url(served.port, form)}
            found[name]["x-gateway"] = {"questions": [*questions]}
        folder = stack.enter_context(TemporaryDirectory(prefix="gateway-"))
        config = write_config(Path(folder), found)
        if form == "stdio":
            yield *GATEWAY, config
            return
        gateway = serve_command(*GATEWAY, config, "--http", "PORT")
        yield f"http://127.0.0.1:{(await stack.enter_async_context(gateway)).port}/mcp"


def connect_at(address: str | Command, client: Any) -> Any:
    """Connect a client, in its own revision alone."""
    opener = (
        pkg.open_http(address)
        if isinstance(address, str)
        else pkg.stdio_client(address, inherit=True, stderr=str)
    )
    return pkg.connect(opener, client, revisions=(revision_of(client),))


async def run(server: str, client: str, form: Form, *, direct: bool = False) -> Run:
    """Run a client of one revision at a server of another, with or without a gateway."""
    mcp, done = pkg.load(client), Run(server, client)
    names = () if direct else (PREFIX, URI)
    async with (
        _address(server, form, direct) as address,
        connect_at(address, client_of(mcp)) as one,
    ):
        done.seen = await outcomes(Use(one, mcp.models, *names))
    return done


@asynccontextmanager
async def _address(server: str, form: Form, direct: bool) -> AsyncGenerator[str | Command, None]:
    command = our_server(server, form)
    if not direct:
        async with gateway_before(form, up=command) as address:
            yield address
    elif form == "stdio":
        yield command
    else:
        async with serve_command(*command) as running:
            yield _url(running.port, form)


def _url(port: object, form: Form) -> str:
    return f"http://127.0.0.1:{port}/{'sse' if form == 'sse' else 'mcp'}"


async def run_pairs(pairs: Iterable[tuple[str, str]], form: Form) -> list[tuple[Run, Run]]:
    """Return pairs of servers and clients through a gateway, and each server without it.

    Without it, the client is one of the server's revision.
    """
    slots = asyncio.Semaphore(_AT_ONCE)

    async def run_one(server: str, client: str, direct: bool) -> Run:
        async with slots:
            return await run(server, client, form, direct=direct)

    given = list(pairs)
    servers = sorted({server for server, _ in given})
    found = await asyncio.gather(
        *(run_one(server, server, True) for server in servers),
        *(run_one(*pair, False) for pair in given),
    )
    natives = dict(zip(servers, found, strict=False))
    return [(run, natives[run.server]) for run in found[len(servers) :]]
