"""The status of a gateway and its servers: `schema/formats/gateway-status.schema.json`."""

from datetime import UTC, datetime
from typing import Any, Final

from mcp_protogen import __version__
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.upstreams.upstream import UpstreamServer

FORMAT: Final = 1


def status_of(gateway: Gateway) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "name": gateway.settings.name,
        "version": __version__,
        "servers": [_server(upstream) for upstream in gateway.upstreams.values()],
    }


def _server(upstream: UpstreamServer) -> dict[str, Any]:
    settings, health = upstream.settings, upstream.health
    failure = health.failure
    return {
        "name": settings.name,
        "transport": settings.transport,
        "address": settings.address,
        "required": settings.required,
        "state": "open" if upstream.circuit.is_open else health.state,
        "since": _time(health.since),
        "failure": failure
        and {"reason": failure.reason, "text": failure.text, "time": _time(failure.time)},
        "connections": {revision: n for revision, n in health.connections.items() if n},
        "items": {name: len(keys) for name, keys in upstream.last_keys.items()},
    }


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
