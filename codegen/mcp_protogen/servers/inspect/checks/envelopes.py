"""Checks of JSON-RPC and the schema for each message, in every transcript."""

from collections.abc import Iterator
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.runtime.core.connection_errors import is_frame
from mcp_protogen.runtime.core.errors import ParseError
from mcp_protogen.runtime.http.headers import EVENTS, media_type
from mcp_protogen.runtime.messages.repairing import Repair, RepairKind
from mcp_protogen.servers.inspect.messages import Protocol, protocol_of
from mcp_protogen.servers.inspect.rule_faults import Fault, fault
from mcp_protogen.servers.inspect.transcript import (
    CLOSED,
    TIMEOUT,
    Exchange,
    Transcript,
    reason_of,
    same_id,
)

_LINES: Final = 3
_OF_ENCODING: Final = ("not-utf-8", "byte-order-mark")
_REPAIRED: Final = {
    RepairKind.BYTE_ORDER_MARK: "byte-order-mark",
    RepairKind.LONE_SURROGATE: "lone-surrogate",
    RepairKind.SEVERAL_VALUES: "several-messages",
}
_UNANSWERED: Final = (
    *("initialized", "unknown notification", "request without id"),
    "unknown request cancelled",
)
"""The steps with a notification."""


def noise(transcript: Transcript) -> Iterator[Fault]:
    """Yield text in place of messages, on standard output or in the answer to a request."""
    for exchange in transcript.exchanges:
        media = media_type(exchange.answered.get("content-type"))
        asks = any("id" in call for call in exchange.calls)
        expected = media == EVENTS or ("json" in media and asks)
        if exchange.status and not (expected and exchange.status < 300):
            continue
        if exchange.noise:
            text = b" ".join(exchange.noise[:_LINES]).decode("utf-8", "backslashreplace")
            frames = any(map(is_frame, exchange.noise))
            what = "Content-Length frames, as in LSP," if frames else "something else"
            message = f"the server writes {what} where messages are expected"
            yield fault("not-a-message", transcript.transport, message, exchange, got=text)


def strictness(transcript: Transcript) -> Iterator[Fault]:
    """Yield messages that are not strict JSON: those that clients forgive, and all others."""
    for exchange in transcript.exchanges:
        for text in exchange.flawed_messages:
            for flaw in text.flaws:
                yield _of_text(transcript, exchange, text.data, flaw)


def _of_text(
    transcript: Transcript, exchange: Exchange, data: bytes, flaw: Repair | ParseError
) -> Fault:
    if isinstance(flaw, Repair):
        code, message = _REPAIRED[flaw.kind], f"clients of mcp-gen forgive {flaw}"
    else:
        # JSON has no zeros; UTF-16 and UTF-32 have them in each character of ASCII.
        is_utf_8 = b"\0" not in data and data.decode("utf-8", "ignore").encode() == data
        code = "not-strict-json" if is_utf_8 else "not-utf-8"
        message = f"clients cannot read it: {reason_of(flaw)}"
    # A server writes all its messages in one encoding.
    item = transcript.transport if code in _OF_ENCODING else exchange.rpc_method
    return fault(code, item, message, exchange, got=data.decode("utf-8", "backslashreplace"))


def answers(transcript: Transcript) -> Iterator[Fault]:
    """Yield answers without an open request, and requests without an answer."""
    asked: list[Any] = []
    answered: list[Any] = []
    for exchange in transcript.exchanges:
        asked += exchange.asked_ids
        for answer in exchange.received:
            if "method" in answer or answer.get("id") is None:
                continue
            if not _among(answer["id"], asked):
                message = "an answer has an id that no request had"
                # A made-up id comes again and again, whatever was asked.
                yield fault("unknown-id", f"id {answer['id']!r:.40}", message, exchange, got=answer)
            elif _among(answer["id"], answered) and not exchange.is_resumed:
                message = "a request is answered twice"
                yield fault("answered-twice", exchange.rpc_method, message, exchange, got=answer)
            answered.append(answer["id"])
    yield from _missing_answers(transcript)


def _among(id: object, others: list[Any]) -> bool:
    return any(same_id(id, candidate) for candidate in others)


def _missing_answers(transcript: Transcript) -> Iterator[Fault]:
    if not transcript.is_spoken:
        return
    for exchange in transcript.exchanges:
        # After broken JSON, only the ping that is sent with it needs an answer.
        first = next(filter(is_object, exchange.sent_values[:1]), dict[str, Any]())
        method = first.get("method")
        # A subscription is not answered as long as it is open.
        asked = "id" in first and method not in (None, "subscriptions/listen")
        if exchange.outcome == TIMEOUT and asked:
            item = exchange.probe if exchange.probe.startswith("id ") else str(method)
            yield fault("no-answer", item, "a request is not answered in time", exchange)
        elif exchange.outcome == CLOSED:
            message = f"the connection ends: {exchange.detail or 'the server closed it'}"
            yield fault("ended-early", exchange.probe, message, exchange)


def notifications_answered(transcript: Transcript) -> Iterator[Fault]:
    """Yield answers to notifications: errors without an id and without another cause."""
    for exchange in transcript.exchanges:
        # A refusal over HTTP may have an error as its body.
        if exchange.probe not in _UNANSWERED or exchange.status >= 400:
            continue
        for answer in exchange.received:
            if answer.get("id") is None and ("error" in answer or "result" in answer):
                message = "a notification is answered"
                item = exchange.rpc_method
                yield fault("answered-notification", item, message, exchange, got=answer)


def messages(transcript: Transcript) -> Iterator[Fault]:
    """Yield messages that break the schema of the revision, and calls that are not allowed."""
    if not transcript.is_spoken:
        return
    protocol = protocol_of(transcript.revision)
    for exchange in transcript.exchanges:
        for incoming in exchange.received:
            if "method" not in incoming:
                yield from _of_answer(protocol, exchange, incoming)
                continue
            yield from _of_call(protocol, exchange, incoming)
            if "id" in incoming and transcript.is_stateless:
                message = "the server sends a request"
                yield fault(
                    "request-of-server", str(incoming["method"]), message, exchange, got=incoming
                )
            else:
                yield from _missing_capabilities(transcript, protocol, exchange, incoming)


def _of_answer(protocol: Protocol, exchange: Exchange, one: dict[str, Any]) -> Iterator[Fault]:
    with_result, with_error = protocol.envelopes
    if "result" in one and "error" in one:
        message = "an answer has a result and an error"
        yield fault("invalid-envelope", exchange.rpc_method, message, exchange, got=one)
        return
    name = with_result if "result" in one else with_error
    if name == with_error and one.get("id") is None:
        # Where no id could be read, JSON-RPC has null, and some revisions leave it out.
        mistakes = list(protocol.mistakes(name, {**one, "id": 0}))
    else:
        mistakes = list(protocol.mistakes(name, one))
    for found in mistakes:
        message = f"{found.pointer or 'the message'}: {found.message}"
        yield fault(
            "invalid-envelope", found.member, message, exchange, pointer=found.pointer, got=one
        )
    method = _asking_method(exchange, one.get("id"))
    result = one.get("result")
    if mistakes or "result" not in one or not (name := protocol.result_of(method, result)):
        return
    for found in protocol.mistakes(name, result):
        yield _misfit(exchange, one, found, "/result")


def _misfit(exchange: Exchange, one: dict[str, Any], found: Any, above: str) -> Fault:
    pointer = above + found.pointer
    got = _near(one, pointer)
    return fault("invalid-message", found.member, found.message, exchange, pointer=pointer, got=got)


def _near(message: dict[str, Any], pointer: str) -> Any:
    try:
        return jsonpointer.get(message, pointer)
    except jsonpointer.NothingThere:
        return message


def _of_call(protocol: Protocol, exchange: Exchange, one: dict[str, Any]) -> Iterator[Fault]:
    method = one["method"]
    name = protocol.message_of(method) if isinstance(method, str) else ""
    if not name:
        if "id" in one or not str(method).startswith("notifications/"):
            message = "the revision has no such method, and no extension was agreed on"
            yield fault("unknown-method-sent", str(method), message, exchange, got=one)
        return
    for found in protocol.mistakes(name, one):
        yield _misfit(exchange, one, found, "")


def _asking_method(exchange: Exchange, id: object) -> str:
    found = (call for call in exchange.calls if same_id(call.get("id"), id))
    return next((str(call.get("method", "")) for call in found), "")


def _missing_capabilities(
    transcript: Transcript, protocol: Protocol, exchange: Exchange, call: dict[str, Any]
) -> Iterator[Fault]:
    """Yield a call that needs an undeclared capability of either side."""
    method = str(call["method"])
    for name, about in protocol.needs(method).items():
        role, *path = name.split(".")
        if about.get("when"):
            continue
        if role == "client":
            message = f"the client did not declare {'.'.join(path)}"
            yield fault("client-capability-assumed", method, message, exchange, got=call)
        elif not transcript.declares(*path):
            message = f"the server did not declare {'.'.join(path)}"
            code = "log-undeclared" if path == ["logging"] else "notification-undeclared"
            yield fault(code, method, message, exchange, got=call)


CHECKS = (noise, strictness, answers, notifications_answered, messages)
