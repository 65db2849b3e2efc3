"""The plan of a gateway: what it would serve, and how, without a connection."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from mcp_protogen.base.canonical import as_document
from mcp_protogen.base.printable import pluralize
from mcp_protogen.pipeline.reports.view import FindingsPage, View
from mcp_protogen.servers.connect.named_server import safe_url
from mcp_protogen.servers.connect.protocol import protocol
from mcp_protogen.servers.gateway.settings.settings import (
    ExchangeSettings,
    GatewaySettings,
    ItemKind,
    LockMode,
    Patterns,
    RuleSettings,
    ServerSettings,
)
from mcp_protogen.servers.gateway.settings.sharing import safe_place

FORMAT: Final = 1
_LOCK_TEXTS: Final[Mapping[LockMode, str]] = {
    "off": "",
    "warn": "items that are not accepted are logged",
    "enforce": "items that are not accepted are hidden",
}

_LIMITS: Final = {
    "concurrent": "calls of a principal at the same time",
    "per_minute": "calls of a principal per minute",
}


def plan_page(settings: GatewaySettings, view: View) -> FindingsPage:
    """Return the plan for people, or for programs: `schema/formats/gateway-plan.schema.json`."""
    if view.format == "json":
        return FindingsPage(as_document(_document(settings)))
    return FindingsPage("".join(f"{line}\n" for line in _lines(settings)))


def _document(settings: GatewaySettings) -> dict[str, Any]:
    auth = settings.auth
    return {
        "format": FORMAT,
        "file": settings.file,
        "name": settings.name,
        "title": settings.title,
        "instructions": settings.instructions,
        "revisions": _all_revisions(),
        "listTimeout": settings.list_timeout,
        "auth": auth
        and {"issuer": auth.issuer, "audience": auth.audience, "scopes": sorted(auth.scopes)},
        "logins": settings.logins,
        "rules": [_rule(rule) for rule in settings.rules],
        "admin": settings.admin and str(settings.admin),
        "adminHosts": sorted(settings.admin_hosts),
        "share": safe_place(settings),
        "servers": [_server(server) for server in settings.servers],
    }


def _rule(rule: RuleSettings) -> dict[str, Any]:
    patterns = {kind: list(globs) for kind in get_args(ItemKind) if (globs := getattr(rule, kind))}
    return {
        "servers": list(rule.servers),
        "items": patterns,
        "principals": list(rule.principals),
        "scopes": sorted(rule.scopes),
        "claims": dict(rule.claims),
    }


def _all_revisions() -> list[str]:
    return [revision.id for revision in protocol().REVISIONS]


def _server(server: ServerSettings) -> dict[str, Any]:
    return {
        "name": server.name,
        "place": server.place,
        "transport": server.transport,
        "address": server.address,
        "auth": server.auth,
        "exchange": server.token_exchange and _exchange(server.token_exchange),
        "login": server.login and {"isClient": server.login.client is not None},
        "revisions": _all_revisions() if server.revision is None else [server.revision],
        "prefix": server.prefix,
        "separator": server.separator,
        "rename": dict(server.rename),
        "uris": server.uris,
        "allow": {kind: list(patterns) for kind, patterns in server.allow.items()},
        "deny": {kind: list(patterns) for kind, patterns in server.deny.items()},
        "questions": sorted(server.questions),
        "timeout": server.timeout,
        "maxTimeout": server.max_timeout,
        "concurrency": server.concurrency,
        "maxConnections": server.max_connections,
        "limits": {
            "concurrent": server.limits.get("concurrent"),
            "perMinute": server.limits.get("per_minute"),
        },
        "catalogue": server.catalogue,
        "required": server.required,
        "lock": server.lock,
    }


def _exchange(exchange: ExchangeSettings) -> dict[str, Any]:
    return {
        "endpoint": safe_url(exchange.exchange),
        "audience": exchange.audience,
        "scopes": sorted(exchange.scopes),
        "isClient": exchange.client is not None,
    }


def _lines(settings: GatewaySettings) -> Iterator[str]:
    yield f"{settings.name}, a gateway for {pluralize(len(settings.servers), 'server')}"
    yield _row("clients", f"revisions {', '.join(_all_revisions())}")
    if settings.auth is not None:
        scopes = f", with {', '.join(sorted(settings.auth.scopes))}" if settings.auth.scopes else ""
        yield _row("tokens", f"of {settings.auth.issuer} for {settings.auth.audience}{scopes}")
    if any(server.login is not None for server in settings.servers):
        yield _row("logins", settings.logins or "are kept in memory")
    yield _row("lists", f"wait {settings.list_timeout:g} s for a server")
    for rule in settings.rules:
        yield _row("only for", _describe_rule(rule))
    if settings.admin is not None:
        hosts = f", for requests to {', '.join(sorted(settings.admin_hosts))}"
        yield _row("admin", f"{settings.admin}{hosts if settings.admin_hosts else ''}")
    if settings.share is not None:
        yield _row("share", f"sessions with other processes, in {safe_place(settings)}")
    for server in settings.servers:
        yield ""
        yield f"{server.name}: {server.address}"
        yield from (_row(label, text) for label, text in _rows(server).items() if text)


def _row(label: str, text: str) -> str:
    return f"  {label:<10} {text}"


def _rows(server: ServerSettings) -> Mapping[str, str]:
    auth = "" if server.auth == "none" else f", authorized by {server.auth}"
    requests = server.concurrency and f"{server.concurrency} at a time on one connection"
    return {
        "transport": f"{server.transport}{auth}",
        "exchange": _exchange_words(server.token_exchange),
        "revision": server.revision or "that of the client, else the newest in common",
        "names": f"{server.prefix}{server.separator}NAME" if server.prefix else "unchanged",
        "renamed": ", ".join(f"{own} to {new}" for own, new in server.rename.items()),
        "URIs": "with the prefix" if server.uris == "rewrite" and server.prefix else "unchanged",
        "allowed": _patterns(server.allow),
        "denied": _patterns(server.deny),
        "questions": ", ".join(sorted(server.questions)) or "none",
        "times": f"{server.timeout:g} s without progress, at most {server.max_timeout:g} s",
        "requests": requests or "",
        "limits": "; ".join(f"{most} {_LIMITS[kind]}" for kind, most in server.limits.items()),
        "open": f"at most {pluralize(server.max_connections, 'connection')}",
        "catalogue": "shared by all clients" if server.catalogue == "shared" else "",
        "lock": _LOCK_TEXTS[server.lock],
        "required": "the gateway is ready only with it" if server.required else "",
    }


def _describe_rule(rule: RuleSettings) -> str:
    document = _rule(rule)
    items = f" ({_patterns(document['items'])})" if document["items"] else ""
    conditions = [
        f"{name} {', '.join(document[name])}" for name in ("principals", "scopes") if document[name]
    ]
    if rule.claims:
        conditions.append(f"claims {json.dumps(document['claims'])}")
    return f"{' and '.join(conditions)}: {', '.join(rule.servers)}{items}"


def _exchange_words(exchange: ExchangeSettings | None) -> str:
    if exchange is None:
        return ""
    scopes = f", with {', '.join(sorted(exchange.scopes))}" if exchange.scopes else ""
    return f"at {safe_url(exchange.exchange)}, for {exchange.audience}{scopes}"


def _patterns(patterns: Patterns) -> str:
    return "; ".join(f"{kind} {', '.join(globs) or 'none'}" for kind, globs in patterns.items())
