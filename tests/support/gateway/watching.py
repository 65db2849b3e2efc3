"""The metrics and the status of a gateway, as an operator reads them."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp_protogen.servers.bridge.http_side import Address
from mcp_protogen.servers.gateway.admin import AdminApp, AdminServer
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.operating import metrics
from mcp_protogen.servers.gateway.settings.settings import ServerSettings
from mcp_protogen.servers.gateway.status import status_of
from prometheus_client.parser import text_string_to_metric_families
from pytest import MonkeyPatch
from support.gateway.gateways import gateway_settings
from support.http.serving import Site, calling
from support.sessions.talking import pkg

ADMIN: Final = Address("127.0.0.1", 0)


def watched_gateway(*servers: ServerSettings, **options: Any) -> Gateway:
    """Return a gateway with metrics."""
    return Gateway(gateway_settings(*servers, admin=ADMIN, **options), pkg)


async def scrape(gateway: Gateway) -> str:
    """Return the metrics as they are now."""
    assert gateway.metrics is not None
    with MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_FRESH", 0)
        return (await gateway.metrics.text()).decode()


def samples(text: str, name: str, **labels: str) -> list[tuple[Mapping[str, str], float]]:
    """Return the samples of a metric that have these labels; without empty labels."""
    return [
        ({label: value for label, value in sample.labels.items() if value}, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]


def total(text: str, name: str, **labels: str) -> float:
    """Return the sum of the samples of a metric that have these labels."""
    return sum(value for _, value in samples(text, name, **labels))


def status_by_name(gateway: Gateway) -> Mapping[str, Any]:
    return {server["name"]: server for server in status_of(gateway)["servers"]}


@asynccontextmanager
async def admin_of(gateway: Gateway) -> AsyncGenerator[Site, None]:
    """Serve the admin address of a gateway, and yield a caller."""
    server = AdminServer(AdminApp(gateway), ADMIN)
    async with server.serve(), calling(server.address.port) as site:
        yield site
