"""Checks of subscriptions: the order of messages, their ids, and the request for them."""

from collections.abc import Iterator
from typing import Any

from mcp_protogen.base.jsonvalue import is_array
from mcp_protogen.runtime.core.errors import METHOD_NOT_FOUND
from mcp_protogen.runtime.messages.envelope import SUBSCRIPTION_ID
from mcp_protogen.servers.inspect.feature_probes import ACKNOWLEDGED, LISTEN, LISTENING
from mcp_protogen.servers.inspect.revision_facts import selectors_in
from mcp_protogen.servers.inspect.rule_faults import Fault, fault, members
from mcp_protogen.servers.inspect.transcript import Exchange, Transcript, same_id


class _Subscription:
    """A subscription by id, and its state."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.id = request.get("id")
        self.wanted = members(request, "params", "notifications")
        self.is_acknowledged = False
        self.cancelled_in: Exchange | None = None


def subscriptions(transcript: Transcript) -> Iterator[Fault]:
    """Yield messages that do not belong on a subscription, or that come too early."""
    if not transcript.is_stateless or not transcript.is_spoken:
        return
    opened: list[_Subscription] = []
    for exchange in transcript.exchanges:
        for call in exchange.calls:
            found = _of(call.get("id"), opened) or _of(_request_id(call), opened)
            if call.get("method") == LISTEN and found is None:
                opened.append(_Subscription(call))
            elif call.get("method") == "notifications/cancelled" and found is not None:
                found.cancelled_in = exchange
        for incoming in exchange.received:
            yield from _check_incoming(transcript, exchange, incoming, opened)
        yield from _silence(exchange, opened)


def _request_id(message: dict[str, Any]) -> object:
    return members(message, "params").get("requestId")


def _of(id: object, opened: list[_Subscription]) -> _Subscription | None:
    return next((subscription for subscription in opened if same_id(subscription.id, id)), None)


def _check_incoming(
    transcript: Transcript,
    exchange: Exchange,
    incoming: dict[str, Any],
    opened: list[_Subscription],
) -> Iterator[Fault]:
    method = str(incoming.get("method", ""))
    if method == "notifications/cancelled":
        if _of(_request_id(incoming), opened) is None:
            message = "the server cancels an unknown subscription"
            yield fault("cancelled-by-server", method, message, exchange, got=incoming)
    elif method in selectors_in(transcript.revision) or method == ACKNOWLEDGED:
        yield from _notification(transcript, exchange, incoming, opened)
    elif not method and (found := _of(incoming.get("id"), opened)):
        if found.cancelled_in is not None:
            message = "a subscription that was cancelled is answered"
            yield fault("cancelled-answered", LISTEN, message, exchange, got=incoming)
        elif "result" in incoming and not same_id(
            members(incoming, "result", "_meta").get(SUBSCRIPTION_ID), found.id
        ):
            message = "the result has another subscriptionId than the id of its request, or none"
            yield fault("subscription-id", f"{LISTEN} result", message, exchange, got=incoming)


def _notification(
    transcript: Transcript, exchange: Exchange, one: dict[str, Any], opened: list[_Subscription]
) -> Iterator[Fault]:
    method: str = one["method"]
    id = members(one, "params", "_meta").get(SUBSCRIPTION_ID)
    found, selectors = _of(id, opened), selectors_in(transcript.revision)
    paths = {selector.member: selector.path for selector in selectors.values()}
    if found is None and not opened:
        message = "nothing was subscribed to"
        yield fault("subscription-unasked", method, message, exchange, got=one)
    elif found is None:
        wrong = "the subscriptionId belongs to no subscription"
        message = "without a subscriptionId" if id is None else wrong
        yield fault("subscription-id", method, message, exchange, got=one)
    elif method == ACKNOWLEDGED:
        found.is_acknowledged = True
        for member, value in members(one, "params", "notifications").items():
            path = paths.get(member, ())
            if value and not _is_within(value, found.wanted.get(member)):
                message = f"{member} is acknowledged, and was not asked for"
                yield fault("acknowledged-too-much", member, message, exchange, got=one)
            elif value and path and not transcript.declares(*path):
                message = f"{member} is acknowledged, but {'.'.join(path)} is not declared"
                yield fault("acknowledged-too-much", member, message, exchange, got=one)
    else:
        if not found.is_acknowledged:
            message = f"{method} comes before the acknowledgement"
            yield fault("listen-not-acknowledged", method, message, exchange, got=one)
        if found.cancelled_in not in (None, exchange):
            message = "the subscription was cancelled"
            yield fault("subscription-goes-on", method, message, exchange, got=one)
        if not found.wanted.get(selectors[method].member):
            message = f"the filter has no {selectors[method].member}"
            yield fault("subscription-unasked", method, message, exchange, got=one)


def _is_within(found: Any, wanted: Any) -> bool:
    if is_array(found) and is_array(wanted):
        return all(value in wanted for value in found)
    return bool(found == wanted)


def _silence(exchange: Exchange, opened: list[_Subscription]) -> Iterator[Fault]:
    """Yield a subscription that is opened and never acknowledged."""
    if exchange.probe not in LISTENING or exchange.error.get("code") == METHOD_NOT_FOUND:
        return
    found = _of(exchange.request.get("id"), opened)
    if found is not None and not found.is_acknowledged:
        message = f"{ACKNOWLEDGED} does not come"
        yield fault("listen-not-acknowledged", LISTEN, message, exchange)


CHECKS = (subscriptions,)
