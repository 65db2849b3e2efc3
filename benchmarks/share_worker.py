"""A worker of the echo server, alone or with others: for sessions, and for 2026-07-28 without them.

`python -m benchmarks.share_worker [URL LEASE [PORT]]` shares the engine at that URL, with a lease
of that many seconds. Some of its tools also report progress or publish a change. At a port of its
own, it ends in order.
"""

import sys
from typing import Any, Final

from mcp_revisions import (
    HttpOptions,
    Options,
    PostgresEngine,
    RedisEngine,
    Shared,
    http_app,
    run_http,
)

from .http_echo import server_of
from .http_requests import STATELESS
from .http_uvicorn import serve
from .places import REVISION

_KEY: Final = bytes(32)
# Comments that keep streams alive would disturb the figures.
_SILENCE: Final = 3600.0
_MOST: Final = 100_000


def server_that_talks(revision: str) -> Any:
    """Return the echo server with a tool that reports progress and one that publishes a change."""
    server: Any = server_of(revision)
    echo: Any = server.__class__

    class Talking(echo):  # type: ignore[misc]
        SENDS = frozenset({"notifications/tools/list_changed", "notifications/resources/updated"})

        async def on_call_tool(self, session: Any, params: Any) -> Any:
            talking: Any = self
            if params.name == "say":
                await session.progress(1)
            elif params.name == "publish":
                await talking.tools_list_changed()
            elif params.name == "tell":
                await talking.resource_updated(params.arguments["text"])
            return await echo.on_call_tool(self, session, params)

        async def on_read_resource(self, session: Any, params: Any) -> Any:
            """Have resources, so that clients may subscribe to them."""
            raise LookupError(params.uri)

    return Talking()


def _open_shared(url: str, lease: str) -> Shared:
    engine = RedisEngine(url) if url.startswith("redis") else PostgresEngine(url)
    return Shared(engine=engine, lease=float(lease))


if __name__ == "__main__":
    url_and_lease, port = sys.argv[1:3], sys.argv[3:]
    options = HttpOptions(
        shared=_open_shared(*url_and_lease) if url_and_lease else None,
        keep_alive=_SILENCE,
        max_sessions=_MOST,
        max_streams=_MOST,
    )
    servers = [server_that_talks(revision) for revision in (REVISION, STATELESS)]
    app = http_app(servers, options=Options(state_keys=[_KEY]), http=options)
    if port:
        run_http(app, port=int(port[0]))
    else:
        serve(app)
