"""Gateways as processes, before servers as processes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal, TypeAlias

from support.gateway.gateways import GATEWAY, write_config
from support.json_types import JsonObject
from support.peers.http_peers import serve_command
from support.peers.places import Command

Form: TypeAlias = Literal["stdio", "http", "sse"]
FORMS: Final[tuple[Form, ...]] = ("stdio", "http", "sse")
"""The transports on both sides of the gateway; HTTP+SSE is on that of servers only."""

QUESTIONS: Final = ("elicitation", "sampling", "roots")


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
                path = "sse" if form == "sse" else "mcp"
                found[name] = {"url": f"http://127.0.0.1:{served.port}/{path}"}
            found[name]["x-gateway"] = {"questions": [*questions]}
        folder = stack.enter_context(TemporaryDirectory(prefix="gateway-"))
        config = write_config(Path(folder), found)
        yield await stack.enter_async_context(gateway_at(form, config))


@asynccontextmanager
async def gateway_at(form: str, config: Path) -> AsyncGenerator[str | Command, None]:
    """Run a gateway over a transport; yield its URL, or its command over stdio."""
    if form == "stdio":
        yield *GATEWAY, config
        return
    async with serve_command(*GATEWAY, config, "--http", "PORT") as gateway:
        yield f"http://127.0.0.1:{gateway.port}/mcp"
