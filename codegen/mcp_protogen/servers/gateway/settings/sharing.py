"""The sessions of a gateway that several processes serve, and the engine that they share."""

from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any
from urllib.parse import quote, urlsplit

from mcp_protogen.base.problems import Problem
from mcp_protogen.runtime.core.options import Options
from mcp_protogen.servers.bridge.http_side import HttpSide
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings


def engine_problems(settings: GatewaySettings, package: ModuleType) -> Iterator[Problem]:
    """Yield the problem of an engine that cannot be used, whether it runs or not."""
    try:
        if settings.share is not None:
            _engine(settings, package)
    except ImportError as error:
        hint = "install it, or leave out share"
        yield _problem(settings, str(error), hint, "missing-package")
    except ValueError as error:
        yield _problem(settings, str(error), "write redis://HOST or postgresql://HOST/DATABASE")


def sharing_problems(settings: GatewaySettings, side: HttpSide | None) -> Iterator[Problem]:
    """Yield the problem of clients that have no sessions to share."""
    if settings.share is None:
        return
    if side is None:
        message = "a client on stdio has no session that processes could share"
        hint = "serve clients over HTTP, with --http PORT, or leave out share"
        yield _problem(settings, message, hint)
    elif side.sse:
        message = "sessions of HTTP+SSE, which --sse serves, belong to one process"
        yield _problem(settings, message, "leave out --sse, or share")


def with_sharing(package: ModuleType, settings: GatewaySettings, http: Any) -> Any:
    """Return HTTP options with which processes share their sessions, if the settings say so."""
    if settings.share is None:
        return http
    return replace(http, shared=package.Shared(engine=_engine(settings, package)))


def with_state_keys(options: Options, settings: GatewaySettings) -> Options:
    """Return options with the keys of the settings."""
    return replace(options, state_keys=[key.encode() for key in settings.state_keys])


def safe_place(settings: GatewaySettings) -> str | None:
    """Return where the engine is, without a password."""
    if settings.share is None:
        return None
    parts = urlsplit(settings.share)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _engine(settings: GatewaySettings, package: ModuleType) -> Any:
    # Gateways of other names may use the same engine.
    url, name = str(settings.share), quote(settings.name, safe="")
    if urlsplit(url).scheme in ("postgres", "postgresql"):
        return package.PostgresEngine(url, schema=f"mcp_{name}")
    return package.RedisEngine(url, namespace=f"mcp:{name}")


def _problem(
    settings: GatewaySettings, message: str, hint: str, code: str = "bad-gateway-config"
) -> Problem:
    file, separator, pointer = settings.place.partition("#")
    between = "" if not separator else "/" if pointer.startswith("/") else "."
    return Problem(code, message, file, f"{pointer}{between}share", hint)
