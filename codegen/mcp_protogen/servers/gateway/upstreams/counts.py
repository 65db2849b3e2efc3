"""Events of a server behind the gateway, counted for metrics."""

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.core.losses import Loss
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy
from mcp_protogen.runtime.transports.base import Opener


class Counts:
    """The number of events of a server since the gateway began."""

    def __init__(self) -> None:
        self.denied: Counter[str] = Counter()
        """Requests that a client may not send, by the reason."""
        self.questions: Counter[str] = Counter()
        """Questions to clients, by method."""
        self.losses: Counter[str] = Counter()
        """What translation and repairs lose, by what happens; each kind once for a connection."""

    def add_denied(self, reason: str) -> None:
        """Count a request that a client may not send; there must be few reasons."""
        self.denied[reason] += 1

    def add_loss(self, loss: Loss) -> None:
        if not loss.harmless:
            self.losses[loss.what] += 1


def count_events(proxy: Proxy, counts: Counts) -> Proxy:
    """Return a proxy that counts the questions of its server, and what is lost."""

    @asynccontextmanager
    async def connect(
        revision: str,
        declared: JSONObject,
        info: JSONObject | None,
        opener: Opener,
        options: Options,
    ) -> AsyncGenerator[Any, None]:
        counted = _with_counted_losses(options, counts)
        async with proxy(revision, declared, info, opener, counted) as server:
            client: Any = server.__mcp_runtime__.client
            name_server_in = client.name_server_in

            # Each question passes here once, in any pair of revisions.
            def count(spec: Any, params: Any) -> Any:
                counts.questions[spec.method] += 1
                return name_server_in(spec, params)

            client.name_server_in = count
            yield server

    return connect


def _with_counted_losses(options: Options, counts: Counts) -> Options:
    report = options.on_loss

    def count(loss: Loss) -> None:
        counts.add_loss(loss)
        if report is not None:
            report(loss)

    return replace(options, on_loss=count)
