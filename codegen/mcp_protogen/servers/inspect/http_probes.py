"""The probes of HTTP: header fields, statuses, sessions."""

from dataclasses import replace
from functools import partial
from typing import Any, Final

from mcp_protogen.runtime.http import headers as fields
from mcp_protogen.runtime.messages.method_table import HANDSHAKE_ERA
from mcp_protogen.servers.connect.server_cards import CARD, CATALOG, published_documents
from mcp_protogen.servers.inspect.feature_probes import EXTENSIONS, SUBSCRIPTIONS
from mcp_protogen.servers.inspect.probes import MISTAKES, NONE, OPENING, READING, SETTING
from mcp_protogen.servers.inspect.revision_facts import (
    HTTP,
    has_http_sessions,
    is_stateless,
    names_agreed_revision,
    newest,
    session_in,
)
from mcp_protogen.servers.inspect.steps import PlanClient, Probe, ProbeStep, request_step
from mcp_protogen.servers.inspect.transcript import UNKNOWN_REVISION, Transcript

ORIGIN: Final = "https://mcp-gen-inspect.invalid"
"""An origin that no server expects."""

WEIGHTED: Final = "text/event-stream;q=0.5, Application/JSON;q=0.9"
"""Both types that a client must accept, in another spelling that RFC 9110 allows."""

METADATA: Final = ("of the endpoint", "of the host")
"""The possible places of metadata of a protected resource: at the path of the endpoint, or without.

The first is at the address in the challenge if there is one (basic/authorization).
"""

_STREAM: Final[dict[str, str | None]] = {"accept": fields.EVENTS, "content-type": None}
GET: Final = ProbeStep(method="GET", headers=_STREAM)
"""The opening of a stream for messages that the server sends by itself."""
_DELETE: Final = ProbeStep(method="DELETE", headers={"content-type": None})


def session_id(transcript: Transcript) -> str:
    """Return the id that the server gave to a session; empty if it gave none."""
    session = session_in(transcript.revision)
    return transcript.beginning.answered.get(session.header, "") if session else ""


def _in_session(client: PlanClient, id: str | None) -> ProbeStep | None:
    """Return a request of a session with another id than its own, or without one."""
    return (
        client.ask("ping", headers={fields.SESSION_ID: id})
        if session_id(client.transcript)
        else None
    )


def _delete(client: PlanClient) -> ProbeStep | None:
    session = session_in(client.transcript.revision)
    if session is None or not session_id(client.transcript):
        return None
    return replace(_DELETE, method=session.ends)


def _after_delete(client: PlanClient) -> ProbeStep | None:
    deleted = client.transcript.first("DELETE")
    gone = deleted is not None and 200 <= deleted.status < 300
    headers = {fields.SESSION_ID: session_id(client.transcript)}
    return client.ask("ping", headers=headers) if gone else None


def _resume(client: PlanClient) -> ProbeStep | None:
    """Return a GET that resumes after the first event of an answer."""
    answered = [
        exchange for exchange in client.transcript.exchanges if exchange.events and exchange.answer
    ]
    # After the last event of a stream, nothing can be sent again.
    found = max(answered, key=lambda one: len(one.events) > 1, default=None)
    if found is None:
        return None
    headers = {**_STREAM, fields.LAST_EVENT_ID: found.events[0]}
    # After the answer, messages of other streams may follow.
    return ProbeStep(method="GET", headers=headers, waits=(NONE,), within=1.0)


def _metadata(client: PlanClient) -> ProbeStep | None:
    tried = list(client.transcript.all("resource metadata"))
    known = any(exchange.status == 200 for exchange in tried)
    if client.transcript.beginning.status != 401 or known or len(tried) == len(METADATA):
        return None
    url = METADATA[len(tried)]
    return ProbeStep(method="GET", headers={"accept": fields.JSON}, url=url)


def _document(client: PlanClient, name: str) -> ProbeStep:
    accepted: dict[str, str | None] = {"accept": published_documents()[name].media_type}
    return ProbeStep(method="GET", headers=accepted, url=name)


def _card_again(client: PlanClient) -> ProbeStep | None:
    """Return a request for a card that the client has already; None without an `ETag`."""
    card = client.transcript.first("server card")
    tag = card.answered.get("etag") if card is not None and card.status == 200 else None
    known = _document(client, CARD)
    return replace(known, headers={**known.headers, "if-none-match": tag}) if tag else None


def _of_handshake(client: PlanClient) -> ProbeStep:
    headers = {fields.PROTOCOL_VERSION: newest(HANDSHAKE_ERA)}
    return client.ask(client.harmless, headers=headers)


def _call_named(client: PlanClient, name: str | None) -> ProbeStep | None:
    params: dict[str, Any] = {"name": NONE, "arguments": {}}
    if not client.transcript.declares("tools"):
        return None
    return client.ask("tools/call", params, headers={"mcp-name": name})


_STATEFUL: Final[dict[str, Any]] = {"of": has_http_sessions, "framings": (HTTP,)}
_HEADER: Final[dict[str, Any]] = {"of": names_agreed_revision, "framings": (HTTP,)}
_STATELESS: Final[dict[str, Any]] = {"of": is_stateless, "framings": (HTTP,)}

OF_HTTP: Final = (
    request_step("foreign Origin", headers={"origin": ORIGIN}, framings=(HTTP,)),
    request_step(
        "wrong version header", headers={fields.PROTOCOL_VERSION: UNKNOWN_REVISION}, **_HEADER
    ),
    request_step("no version header", headers={fields.PROTOCOL_VERSION: None}, **_HEADER),
    Probe(name="no session id", make=partial(_in_session, id=None), **_STATEFUL),
    Probe(name="wrong session id", make=partial(_in_session, id=NONE), **_STATEFUL),
    Probe(name="GET", make=lambda client: GET, framings=(HTTP,)),
    Probe(name="GET with Last-Event-ID", make=_resume, **_STATEFUL),
    request_step("Accept of JSON only", headers={"accept": fields.JSON}, framings=(HTTP,)),
    request_step("Accept of events only", headers={"accept": fields.EVENTS}, framings=(HTTP,)),
    request_step("Accept with weights", headers={"accept": WEIGHTED}, framings=(HTTP,)),
    Probe(name="server card", make=partial(_document, name=CARD), framings=(HTTP,)),
    Probe(name="server card again", make=_card_again, framings=(HTTP,)),
    Probe(name="server catalog", make=partial(_document, name=CATALOG), framings=(HTTP,)),
    Probe(name="DELETE without session", make=lambda client: _DELETE, **_STATELESS),
    request_step("no Mcp-Protocol-Version", headers={fields.PROTOCOL_VERSION: None}, **_STATELESS),
    Probe(name="other Mcp-Protocol-Version", make=_of_handshake, **_STATELESS),
    request_step("no Mcp-Method", headers={fields.METHOD: None}, **_STATELESS),
    request_step("other Mcp-Method", headers={fields.METHOD: "tools/list"}, **_STATELESS),
    Probe(name="no Mcp-Name", make=partial(_call_named, name=None), **_STATELESS),
    Probe(name="other Mcp-Name", make=partial(_call_named, name=f"{NONE}-other"), **_STATELESS),
)
"""Requests with wrong header fields, and other methods of HTTP."""

ENDING: Final = (
    Probe(name="DELETE", make=_delete, **_STATEFUL),
    Probe(name="ping after DELETE", make=_after_delete, **_STATEFUL),
)
"""The end of a session."""

UNAUTHORIZED: Final = Probe(
    name="resource metadata", make=_metadata, framings=(HTTP,), repeats=True
)
"""Questions for a server that refuses all clients."""

PROBES: Final = (
    *(*OPENING, *READING, *SETTING, *SUBSCRIPTIONS, *EXTENSIONS),
    *(*OF_HTTP, *MISTAKES, *ENDING),
)
"""All probes of a connection, in order."""
