"""A gateway: its upstream servers, and the front for clients of each revision."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from logging import getLogger
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.servers.gateway.fronts.fronts import (
    announce_lists,
    change_front,
    make_front,
    mounts_for,
)
from mcp_protogen.servers.gateway.logins.pages import LoginPages
from mcp_protogen.servers.gateway.logins.server_logins import Logins
from mcp_protogen.servers.gateway.operating.last_reload import Reload
from mcp_protogen.servers.gateway.operating.readiness import Readiness
from mcp_protogen.servers.gateway.operating.tracing import Recordings
from mcp_protogen.servers.gateway.settings.names import names_of
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings
from mcp_protogen.servers.gateway.upstreams.upstream import UpstreamServer

if TYPE_CHECKING:
    from mcp_protogen.servers.gateway.operating.metrics import Metrics

_log: Final = getLogger("mcp_protogen.gateway")

_AT_START: Final = (
    "name",
    "title",
    "auth",
    "logins",
    "admin",
    "admin_hosts",
    "share",
    "state_keys",
)
"""Settings that apply after a restart."""


class Gateway:
    """The upstream servers, by name and in the order of the file, mounted in each front."""

    def __init__(self, settings: GatewaySettings, package: ModuleType) -> None:
        self.settings = settings
        self.last_reload = Reload(datetime.now(UTC))
        self.readiness: Final = Readiness(package)
        self.upstreams: dict[str, UpstreamServer] = {}
        auth = settings.auth
        self.logins: Final = None if auth is None else Logins(settings, auth.audience, self._tell)
        self.metrics: Final = None if settings.admin is None else self._make_metrics()
        self._recordings: Final = Recordings(package, self._providers())
        self.fronts: Final[list[ServerBase[Any]]] = [
            make_front(settings, revision, self._recordings) for revision in package.REVISIONS
        ]
        for route in () if self.logins is None else LoginPages(self.logins).routes():
            route.add_to(self.fronts[0])
        self._serve(settings)

    def apply(self, settings: GatewaySettings) -> None:
        """Serve other settings, in the loop that serves clients.

        Servers whose settings are the same keep their connections. Requests that others have got
        can finish, and all other requests are for the new servers.
        """
        running = self.settings
        kept = {name: getattr(running, name) for name in _AT_START}
        for name, value in kept.items():
            if value != getattr(settings, name):
                _log.warning("%s: %s of the gateway applies after a restart", settings.file, name)
        before = self.upstreams
        self._serve(replace(settings, telemetry=running.telemetry, **kept))
        self.last_reload = Reload(datetime.now(UTC))
        changes = ", ".join(_changes(before, self.upstreams)) or "no server has changed"
        _log.info("%s was read again: %s", settings.file, changes)

    def refuse(self, problems: Sequence[Problem]) -> None:
        """Go on with the last settings, because a file has problems."""
        self.last_reload = Reload(datetime.now(UTC), tuple(problems))
        for problem in problems:
            _log.error("%s", " ".join(line.strip() for line in problem.lines))
        _log.error("%s was not applied; nothing has changed", self.settings.file)

    def _serve(self, settings: GatewaySettings) -> None:
        upstreams = {server.name: self._upstream(server, settings) for server in settings.servers}
        # Nothing has changed if one of them cannot be mounted.
        mounts = [
            mounts_for(front, settings, upstreams.values(), self._recordings)
            for front in self.fronts
        ]
        has_new_lock = settings.lock_parts() != self.settings.lock_parts()
        self.settings, self.upstreams = settings, upstreams
        self.readiness.expect(upstreams.values())
        if self.logins is not None:
            self.logins.keep({server.name for server in settings.servers if server.login})
        for front, mounted in zip(self.fronts, mounts, strict=True):
            change_front(front, settings, mounted)
            if has_new_lock:
                announce_lists(front)

    def _upstream(self, server: ServerSettings, settings: GatewaySettings) -> UpstreamServer:
        known, rules = self.upstreams.get(server.name), settings.rules_of(server.name)
        has_same_rules = self.settings.rules_of(server.name) == rules
        is_same = known is not None and replace(known.settings, locked=server.locked) == server
        if known is not None and is_same and has_same_rules:
            known.accept_as_in(server)
            return known
        users = self.logins.at(server) if self.logins and server.login else None
        upstream = UpstreamServer(server, names_of(server), rules, settings.hide, users)
        if known is not None:
            upstream.go_on_from(known)
        return upstream

    def _tell(self, server: str, principal: str) -> None:
        """Tell the clients of a principal who has logged in to a server."""
        _log.info("%s: %s has logged in", server, principal)
        for front in self.fronts:
            announce_lists(front, principal)

    def _make_metrics(self) -> "Metrics":
        try:
            from mcp_protogen.servers.gateway.operating.metrics import Metrics
        except ImportError as error:
            raise missing_for_admin(str(error)) from error
        return Metrics(lambda: self.upstreams, lambda: self.last_reload)

    def _providers(self) -> Mapping[str, Any] | None:
        if self.metrics is not None:
            return self.metrics.providers(self.settings.telemetry)
        return {} if self.settings.telemetry else None


def _changes(before: dict[str, UpstreamServer], after: dict[str, UpstreamServer]) -> Iterator[str]:
    for name in before.keys() - after.keys():
        yield f"{name} has left"
    for name, upstream in after.items():
        if name not in before:
            yield f"{name} is new"
        elif before[name] is not upstream:
            yield f"{name} has changed"


def missing_for_admin(why: str) -> ProblemError:
    hint = "install mcp-gen with its extra metrics, or leave out admin"
    message = f"the admin address cannot be served: {why}"
    return ProblemError(Problem("missing-package", message, hint=hint))
