"""The check of clients over HTTP: access tokens of an issuer."""

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.servers.bridge.http_side import HttpSide
from mcp_protogen.servers.gateway.settings.names import server_problem
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings


def check_callers(settings: GatewaySettings, side: HttpSide) -> None:
    """Raise `ProblemError` if other machines could call without a token."""
    if settings.auth is None and not side.address.is_local:
        message = f"without tokens, clients of other machines must not reach {side.address.host}"
        hint = (
            "serve this machine only, with --http PORT, or name the issuer and the audience of"
            " tokens in the file, as auth of the gateway"
        )
        raise ProblemError(Problem("wrong-usage", message, settings.file, hint=hint))


def token_problems(settings: GatewaySettings, side: HttpSide | None) -> Iterator[Problem]:
    """Yield the servers that need tokens of clients, which have none on stdio."""
    message = "its users have tokens of their own, and clients on stdio do not say who they are"
    for server in settings.servers:
        if side is None and server.is_for_user:
            yield server_problem(server, message, "serve clients over HTTP, with --http PORT")


def with_authentication(package: ModuleType, settings: GatewaySettings, http: Any) -> Any:
    """Return HTTP options that require tokens, if the settings do; raise `ProblemError`.

    The host of the audience is the host of the gateway, unless others are allowed.
    """
    auth = settings.auth
    if auth is None:
        return http
    try:
        authentication = package.Authentication(
            verify=package.JwtVerifier(issuer=auth.issuer, audience=auth.audience),
            scopes=auth.scopes,
            resource=package.ProtectedResource(
                url=auth.audience, authorization_servers=[auth.issuer]
            ),
        )
        hosts = http.allowed_hosts or (urlsplit(auth.audience).hostname or "",)
        return replace(http, authentication=authentication, allowed_hosts=hosts)
    except ImportError as error:
        hint = "install joserfc and httpx2, which verify tokens"
        raise ProblemError(
            Problem("missing-package", str(error), settings.file, hint=hint)
        ) from error
