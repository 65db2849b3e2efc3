"""Checks of HTTP: statuses, content types, header fields, sessions, origins, authorization."""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.runtime.core.errors import HEADER_MISMATCH
from mcp_protogen.runtime.http.headers import EVENTS, JSON, LAST_EVENT_ID, SESSION_ID, media_type
from mcp_protogen.servers.inspect.http_probes import session_id
from mcp_protogen.servers.inspect.rule_faults import Fault, code_of, fault
from mcp_protogen.servers.inspect.transcript import Exchange, Transcript, same_id

_VISIBLE: Final = re.compile(r"[!-~]+")
_MEDIA: Final = (JSON, EVENTS)
_RESUMED: Final = "GET with Last-Event-ID"
_ACCEPTING: Final = ("Accept of JSON only", "Accept of events only")
_NOTIFIED: Final = ("initialized", "unknown notification", "unknown request cancelled")

_STATUSES: Final = (
    ("no session id", 400, "session-id-missing-status", "Mcp-Session-Id"),
    ("wrong session id", 404, "session-id-unknown-status", "Mcp-Session-Id"),
    ("ping after DELETE", 404, "session-ended-status", "Mcp-Session-Id"),
    ("wrong version header", 400, "version-header-status", "MCP-Protocol-Version"),
    ("unknown method", 404, "error-status", ""),
    ("without clientCapabilities", 400, "error-status", ""),
    ("unknown revision in _meta", 400, "error-status", ""),
    ("tasks/get without the extension", 400, "error-status", ""),
    ("subscriptions/listen without the extension", 400, "error-status", ""),
)
"""Steps with the expected status of their answer, the rule, and the item.

The item is the method if it is left out. Rules apply in their own revisions only.
"""
_OF_STATELESS_SERVERS: Final = (
    ("GET", 405, "method-not-allowed-status", "GET"),
    ("DELETE without session", 405, "method-not-allowed-status", "DELETE"),
)


def _media(exchange: Exchange) -> str:
    return media_type(exchange.answered.get("content-type"))


def _fine(exchange: Exchange) -> bool:
    return 200 <= exchange.status < 300


def answers(transcript: Transcript) -> Iterator[Fault]:
    """Yield answers of another media type or encoding, and statuses of a failing server."""
    for exchange in transcript.exchanges:
        if exchange.replaced:
            message = "clients forgive bytes that are not UTF-8 in a stream, and show U+FFFD"
            yield fault("not-utf-8", transcript.transport, message, exchange)
        if exchange.status >= 500:
            message = f"the status {exchange.status}"
            yield fault("server-error", exchange.probe, message, exchange)
        is_request = "id" in exchange.request and "method" in exchange.request
        if is_request and _fine(exchange) and _media(exchange) not in _MEDIA:
            media = _media(exchange) or "no type"
            message = f"a request is answered with {media}"
            yield fault("content-type", "Content-Type", message, exchange, got=media)


def notifications(transcript: Transcript) -> Iterator[Fault]:
    """Yield notifications that are accepted with another status than 202, or with a body."""
    for exchange in chain.from_iterable(map(transcript.all, _NOTIFIED)):
        item = exchange.rpc_method
        if not transcript.is_spoken:
            return
        if _fine(exchange) and exchange.status != 202:
            message = f"a notification gets the status {exchange.status}"
            yield fault("notification-status", item, message, exchange)
        elif exchange.status == 202 and (exchange.values or exchange.noise):
            message = "the status 202 has a body"
            yield fault("notification-body", item, message, exchange)


def statuses(transcript: Transcript) -> Iterator[Fault]:
    """Yield steps with an unexpected status."""
    # A server that speaks earlier revisions, too, may have streams and sessions for those.
    rows = _STATUSES if transcript.others else (*_STATUSES, *_OF_STATELESS_SERVERS)
    for probe, wanted, code, item in rows:
        for exchange in transcript.all(probe):
            if exchange.status not in (0, wanted):
                message = f"{probe}: the status {exchange.status}, not {wanted}"
                yield fault(code, item or exchange.rpc_method, message, exchange)


def sessions(transcript: Transcript) -> Iterator[Fault]:
    """Yield session ids that change or cannot be sent, and fields that a server ignores."""
    found = session_id(transcript)
    if found and not _VISIBLE.fullmatch(found):
        message = "the id has other characters than visible ASCII"
        first = transcript.beginning
        yield fault("session-id-characters", "Mcp-Session-Id", message, first, got=found)
    for exchange in transcript.exchanges:
        other = exchange.answered.get(SESSION_ID, found)
        if exchange.headers.get(SESSION_ID) == found != other:
            message = "a request with the id of the session is answered with another one"
            yield fault("session-id-changed", "Mcp-Session-Id", message, exchange, got=other)
    for exchange in transcript.all("no version header"):
        if exchange.status >= 400:
            message = f"a request without the field gets the status {exchange.status}"
            yield fault("version-header-required", "MCP-Protocol-Version", message, exchange)


def origins(transcript: Transcript) -> Iterator[Fault]:
    """Yield a server that serves pages of any origin."""
    for exchange in transcript.all("foreign Origin"):
        if _fine(exchange):
            message = "a request from a page of another origin is served"
            yield fault("origin-accepted", "Origin", message, exchange)
        elif exchange.status not in (0, 403):
            message = f"a wrong Origin gets the status {exchange.status}, not 403"
            yield fault("origin-status", "Origin", message, exchange)


def listening(transcript: Transcript) -> Iterator[Fault]:
    """Yield answers to GET that are neither a stream nor a refusal."""
    for exchange in (*transcript.all("GET"), *transcript.all(_RESUMED)):
        streams = _fine(exchange) and _media(exchange) == EVENTS
        if exchange.status not in (0, 405) and not streams:
            found = f"{exchange.probe} gets the status {exchange.status} {_media(exchange)}"
            message = f"{found.strip()}, not a stream and not 405"
            yield fault("get-status", exchange.probe, message, exchange)


def accept_header(transcript: Transcript) -> Iterator[Fault]:
    """Yield answers of a type that the client does not accept, and refusals of accepted types."""
    for probe, wanted in zip(_ACCEPTING, _MEDIA, strict=True):
        for exchange in transcript.all(probe):
            if _fine(exchange) and _media(exchange) in _MEDIA and _media(exchange) != wanted:
                message = f"only {wanted} is accepted, and {_media(exchange)} comes"
                yield fault("type-not-accepted", "Accept", message, exchange)
    for exchange in transcript.all("Accept with weights"):
        if exchange.status in (400, 406):
            message = f"{exchange.headers.get('accept')} gets the status {exchange.status}"
            yield fault("accept-refused", "Accept", message, exchange)


def beginnings(transcript: Transcript) -> Iterator[Fault]:
    """Yield streams that proxies may hold back, and those that cannot be resumed from the start."""
    if not transcript.is_spoken:
        return
    for exchange in transcript.exchanges:
        buffered = exchange.answered.get("x-accel-buffering", "").lower() != "no"
        if exchange.status and _media(exchange) == EVENTS and buffered:
            message = "a stream of events without X-Accel-Buffering: no"
            yield fault("stream-buffered", "X-Accel-Buffering", message, exchange)
        # Without the version header, a request is of 2025-03-26, which does not know this.
        primes = exchange.probe != "no version header"
        if primes and exchange.method == "POST" and exchange.events and exchange.primed is False:
            message = "the first event of a stream has no id, or data"
            yield fault("stream-not-primed", "id", message, exchange, got=exchange.events[0])


def streams(transcript: Transcript) -> Iterator[Fault]:
    """Yield ids of events that come twice, and events replayed from another stream."""
    known: dict[str, Exchange] = {}
    for exchange in transcript.exchanges:
        if exchange.is_resumed:
            resumed = known.get(exchange.headers[LAST_EVENT_ID])
            yield from _check_replay(exchange, resumed, known) if resumed else ()
            continue
        for id in exchange.events:
            if id in known:
                message = f"the id {id!r:.60} comes on two streams"
                yield fault("event-id-not-unique", "id", message, exchange, got=id)
            known.setdefault(id, exchange)


def _check_replay(
    exchange: Exchange, resumed: Exchange, known: Mapping[str, Exchange]
) -> Iterator[Fault]:
    """Yield messages on a resumed stream that belong to another one."""
    strange: list[Any] = [id for id in exchange.events if known.get(id, resumed) is not resumed]
    answers = (answer for answer in exchange.received if "method" not in answer and "id" in answer)
    strange += [
        answer for answer in answers if not same_id(answer["id"], resumed.request.get("id"))
    ]
    for got in strange[:1]:
        message = "messages after Last-Event-ID belong to another stream"
        yield fault("replayed-elsewhere", "Last-Event-ID", message, exchange, got=got)


def fields(transcript: Transcript) -> Iterator[Fault]:
    """Yield missing or wrong header fields of 2026-07-28 that a server accepts."""
    named = ("Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name")
    for name in named:
        for kind, code in (("no", "header-missing"), ("other", "header-mismatch")):
            exchange = transcript.first(f"{kind} {name}")
            if exchange is None or not exchange.status:
                continue
            if kind == "no" and name == named[0] and transcript.others:
                continue  # it may read such a request as one of an earlier revision
            if exchange.status != 400 or code_of(exchange) != HEADER_MISMATCH:
                what = "missing" if kind == "no" else "not that of the message"
                found = f"the status {exchange.status}" + _with_code(exchange)
                message = f"{name} is {what}: {found}, not 400 and {HEADER_MISMATCH}"
                yield fault(f"{code}-status", name, message, exchange)


def _with_code(exchange: Exchange) -> str:
    code = code_of(exchange)
    return "" if code is None else f" and the code {code}"


def bad_bodies(transcript: Transcript) -> Iterator[Fault]:
    """Yield an accepted body that is not JSON."""
    for exchange in transcript.all("no JSON"):
        if _fine(exchange) and code_of(exchange) is None:
            message = f"a body that is not JSON gets the status {exchange.status}"
            yield fault("body-not-refused", "POST", message, exchange)


def authorization(transcript: Transcript) -> Iterator[Fault]:
    """Yield a refusal that does not say how to log in."""
    first = transcript.beginning
    if first.status != 401:
        return
    challenge = first.answered.get("www-authenticate", "")
    if not challenge:
        message = "the status 401 has no WWW-Authenticate"
        yield fault("challenge-missing", "WWW-Authenticate", message, first)
    metadata = list(transcript.all("resource metadata"))
    if metadata and not any(map(_names_issuers, metadata)):
        message = "there is no metadata of the protected resource with authorization servers"
        yield fault("resource-metadata", "authorization_servers", message, metadata[0])


def _names_issuers(exchange: Exchange) -> bool:
    named = any(value.get("authorization_servers") for value in filter(is_object, exchange.values))
    return exchange.status == 200 and named


CHECKS = (
    *(answers, notifications, statuses, sessions, origins, listening),
    *(accept_header, beginnings, streams, fields, bad_bodies, authorization),
)
