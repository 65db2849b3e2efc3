"""The part of the plan about HTTP: header fields, statuses, sessions."""

from functools import partial
from typing import Any, Final

from mcp_protogen.runtime.http import headers as fields
from mcp_protogen.runtime.messages.method_table import HANDSHAKE_ERA
from mcp_protogen.servers.inspect.feature_plan import EXTENSIONS, SUBSCRIPTIONS
from mcp_protogen.servers.inspect.plan import MISTAKES, NONE, OPENING, READING, SETTING
from mcp_protogen.servers.inspect.revision_facts import (
    HTTP,
    has_http_sessions,
    is_stateless,
    names_agreed_revision,
    newest,
)
from mcp_protogen.servers.inspect.steps import PlanStep, Probe, SessionClient, asking
from mcp_protogen.servers.inspect.transcript import UNKNOWN_REVISION, Session

ORIGIN: Final = "https://mcp-gen-inspect.invalid"
"""An origin that no server expects."""

WEIGHTED: Final = "text/event-stream;q=0.5, Application/JSON;q=0.9"
"""Both types that a client must accept, in another spelling that RFC 9110 allows."""

METADATA: Final = ("of the endpoint", "of the host")
"""The possible places of metadata of a protected resource: at the path of the endpoint, or without.

The first is at the address in the challenge if there is one (basic/authorization).
"""

_STREAM: Final[dict[str, str | None]] = {"accept": fields.EVENTS, "content-type": None}
GET: Final = PlanStep(method="GET", headers=_STREAM)
"""The opening of a stream for messages that the server sends by itself."""
_DELETE: Final = PlanStep(method="DELETE", headers={"content-type": None})


def session_id(session: Session) -> str:
    """Return the id that the server gave to a session; empty if it gave none."""
    return session.beginning.answered.get(fields.SESSION_ID, "")


def _in_session(client: SessionClient, id: str | None) -> PlanStep | None:
    """Return a request of a session with another id than its own, or without one."""
    return (
        client.ask("ping", headers={fields.SESSION_ID: id}) if session_id(client.session) else None
    )


def _delete(client: SessionClient) -> PlanStep | None:
    return _DELETE if session_id(client.session) else None


def _after_delete(client: SessionClient) -> PlanStep | None:
    deleted = client.session.first("DELETE")
    gone = deleted is not None and 200 <= deleted.status < 300
    headers = {fields.SESSION_ID: session_id(client.session)}
    return client.ask("ping", headers=headers) if gone else None


def _resume(client: SessionClient) -> PlanStep | None:
    """Return a GET that resumes after the first event of an answer."""
    answered = [
        exchange for exchange in client.session.exchanges if exchange.events and exchange.answer
    ]
    # After the last event of a stream, nothing can be sent again.
    found = max(answered, key=lambda one: len(one.events) > 1, default=None)
    if found is None:
        return None
    headers = {**_STREAM, fields.LAST_EVENT_ID: found.events[0]}
    # After the answer, messages of other streams may follow.
    return PlanStep(method="GET", headers=headers, waits=(NONE,), within=1.0)


def _metadata(client: SessionClient) -> PlanStep | None:
    tried = list(client.session.all("resource metadata"))
    known = any(exchange.status == 200 for exchange in tried)
    if client.session.beginning.status != 401 or known or len(tried) == len(METADATA):
        return None
    url = METADATA[len(tried)]
    return PlanStep(method="GET", headers={"accept": fields.JSON}, url=url)


def _of_handshake(client: SessionClient) -> PlanStep:
    headers = {fields.PROTOCOL_VERSION: newest(HANDSHAKE_ERA)}
    return client.ask(client.harmless, headers=headers)


def _call_named(client: SessionClient, name: str | None) -> PlanStep | None:
    params: dict[str, Any] = {"name": NONE, "arguments": {}}
    if not client.session.declares("tools"):
        return None
    return client.ask("tools/call", params, headers={fields.NAME: name})


_STATEFUL: Final[dict[str, Any]] = {"of": has_http_sessions, "transports": (HTTP,)}
_HEADER: Final[dict[str, Any]] = {"of": names_agreed_revision, "transports": (HTTP,)}
_STATELESS: Final[dict[str, Any]] = {"of": is_stateless, "transports": (HTTP,)}

OF_HTTP: Final = (
    asking("foreign Origin", headers={"origin": ORIGIN}, transports=(HTTP,)),
    asking("wrong version header", headers={fields.PROTOCOL_VERSION: UNKNOWN_REVISION}, **_HEADER),
    asking("no version header", headers={fields.PROTOCOL_VERSION: None}, **_HEADER),
    Probe(name="no session id", make=partial(_in_session, id=None), **_STATEFUL),
    Probe(name="wrong session id", make=partial(_in_session, id=NONE), **_STATEFUL),
    Probe(name="GET", make=lambda client: GET, transports=(HTTP,)),
    Probe(name="GET with Last-Event-ID", make=_resume, **_STATEFUL),
    asking("Accept of JSON only", headers={"accept": fields.JSON}, transports=(HTTP,)),
    asking("Accept of events only", headers={"accept": fields.EVENTS}, transports=(HTTP,)),
    asking("Accept with weights", headers={"accept": WEIGHTED}, transports=(HTTP,)),
    Probe(name="DELETE without session", make=lambda client: _DELETE, **_STATELESS),
    asking("no Mcp-Protocol-Version", headers={fields.PROTOCOL_VERSION: None}, **_STATELESS),
    Probe(name="other Mcp-Protocol-Version", make=_of_handshake, **_STATELESS),
    asking("no Mcp-Method", headers={fields.METHOD: None}, **_STATELESS),
    asking("other Mcp-Method", headers={fields.METHOD: "tools/list"}, **_STATELESS),
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
    name="resource metadata", make=_metadata, transports=(HTTP,), repeats=True
)
"""Questions for a server that refuses all clients."""

PLAN: Final = (
    *(*OPENING, *READING, *SETTING, *SUBSCRIPTIONS, *EXTENSIONS),
    *(*OF_HTTP, *MISTAKES, *ENDING),
)
"""All steps of a session, in order."""
