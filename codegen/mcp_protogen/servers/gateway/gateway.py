"""A gateway: its upstream servers, and the front for clients of each revision."""

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.servers.gateway.fronts import make_front
from mcp_protogen.servers.gateway.names import names_of
from mcp_protogen.servers.gateway.settings import GatewaySettings
from mcp_protogen.servers.gateway.tracing import Recordings
from mcp_protogen.servers.gateway.upstream import Upstream

if TYPE_CHECKING:
    from mcp_protogen.servers.gateway.metrics import Metrics


class Gateway:
    """The upstream servers, by name and in the order of the file, mounted in each front."""

    def __init__(self, settings: GatewaySettings, package: ModuleType) -> None:
        self.settings: Final = settings
        self.upstreams: Final = {
            server.name: Upstream(server, names_of(server), settings.hide)
            for server in settings.servers
        }
        self.metrics: Final = None if settings.admin is None else self._make_metrics()
        self.recordings: Final = Recordings(package, self._providers())
        self.fronts: Final[list[ServerBase[Any]]] = [
            make_front(settings, self.upstreams.values(), package, revision, self.recordings)
            for revision in package.REVISIONS
        ]

    def _make_metrics(self) -> "Metrics":
        try:
            from mcp_protogen.servers.gateway.metrics import Metrics
        except ImportError as error:
            raise missing_for_admin(str(error)) from error
        return Metrics(lambda: self.upstreams)

    def _providers(self) -> Mapping[str, Any] | None:
        if self.metrics is not None:
            return self.metrics.providers(self.settings.telemetry)
        return {} if self.settings.telemetry else None


def missing_for_admin(why: str) -> ProblemError:
    hint = "install mcp-gen with its extra metrics, or leave out admin"
    message = f"the admin address cannot be served: {why}"
    return ProblemError(Problem("missing-package", message, hint=hint))
