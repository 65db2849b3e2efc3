"""The access log: an entry for each request that is forwarded to a server, or refused.

It has no arguments, results and tokens.
"""

import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from logging import INFO, getLogger
from time import monotonic
from typing import Any, Final

from mcp_protogen.runtime.core.middleware import failure
from mcp_protogen.runtime.core.models.base import declared_member
from mcp_protogen.runtime.messages.codec import Request
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.toolkit.links import Link, Work
from mcp_protogen.runtime.toolkit.remote_mounts import RemoteMount
from mcp_protogen.servers.bridge.logs import DETAILS

_log: Final = getLogger("mcp_protogen.gateway.access")

# Names come from clients.
_LONGEST: Final = 200

# https://www.w3.org/TR/trace-context/#traceparent-header
_PARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}.*")


class LoggedMount(RemoteMount):
    """A remote server whose requests are logged."""

    server_name = ""

    def use(self, outer: RequestContext, work: Work) -> Any:
        if outer.call is None or not _log.isEnabledFor(INFO):
            return super().use(outer, work)
        return self._use_and_log(outer, work, _describe(outer, outer.call, self.server_name))

    async def _use_and_log(self, outer: RequestContext, work: Work, entry: dict[str, Any]) -> Any:
        async def note_revision(link: Link) -> Any:
            entry["server_revision"] = revision_of(link.connection.server)
            return await work(link)

        with _log_request(entry, outer):
            return await super().use(outer, note_revision)


def revision_of(proxy: Any) -> str:
    """Return the revision that is spoken with the server behind a proxy."""
    revision: str = proxy.__mcp_runtime__.client.revision
    return revision


@contextmanager
def _log_request(entry: dict[str, Any], context: RequestContext) -> Generator[None, None, None]:
    start, outcome = monotonic(), None
    try:
        yield
    except BaseException as error:
        rounds = context.questions.rounds
        # A request that waits for a question of its server is answered with the question.
        outcome = None if rounds is not None and rounds.suspended else error
        raise
    finally:
        entry["duration_ms"] = round((monotonic() - start) * 1000, 3)
        failed = failure(outcome)
        entry["outcome"] = "cancelled" if failed == "CancelledError" else failed or "ok"
        _write(entry)


def log_refusal(context: RequestContext, server: str, outcome: str) -> None:
    """Log a request of a client that is not forwarded."""
    if context.call is not None and _log.isEnabledFor(INFO):
        _write({**_describe(context, context.call, server), "outcome": outcome})


def _write(entry: Mapping[str, Any]) -> None:
    told = {name: value for name, value in entry.items() if value is not None}
    text = " ".join(f"{name}={value}" for name, value in told.items())
    _log.info("%s", text, extra={DETAILS: told})


def _describe(context: RequestContext, call: Request[Any], server: str) -> dict[str, Any]:
    client = context.peer_info() or {}
    # An undeclared member of a client must not hide the item.
    about = declared_member(call.params, "ref") or call.params
    return {
        "principal": context.principal_id,
        "client": _cut(client.get("name")),
        "method": call.spec.method,
        "server": server,
        "item": _cut(declared_member(about, "name") or declared_member(about, "uri")),
        "revision": context.spoken.revision,
        "server_revision": None,
        "trace_id": _trace_id(context.meta),
    }


def _cut(text: object) -> str | None:
    return text[:_LONGEST] if isinstance(text, str) else None


def _trace_id(meta: Mapping[str, Any]) -> str | None:
    """Return the id of the trace: that of our span, or else of the client's."""
    if (api := sys.modules.get("opentelemetry.trace")) is not None:
        context = api.get_current_span().get_span_context()
        if context.is_valid:
            return f"{context.trace_id:032x}"
    parent = meta.get("traceparent")
    found = _PARENT.fullmatch(parent) if isinstance(parent, str) else None
    return None if found is None else found[1]
