"""Checks of how a server reacts to requests, right ones and wrong ones."""

from collections.abc import Iterator
from itertools import product
from typing import Final

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.core.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from mcp_protogen.runtime.core.subscriptions import LEVELS
from mcp_protogen.runtime.messages.envelope import LOG_LEVEL
from mcp_protogen.servers.inspect.messages import list_member
from mcp_protogen.servers.inspect.probes import LISTS, NONE, PAGES, SET_LEVEL
from mcp_protogen.servers.inspect.revision_facts import (
    HTTP,
    codes_in,
    framing_of,
    reports_in,
    value_in,
)
from mcp_protogen.servers.inspect.rule_faults import Fault, code_of, fault, members
from mcp_protogen.servers.inspect.transcript import CLOSED, UNKNOWN_REVISION, Exchange, Transcript

NO_RESOURCE: Final = -32002
_OR_NO_METHOD: Final = (INVALID_PARAMS, METHOD_NOT_FOUND)
_OF_TASKS: Final = ("tasks/get", "tasks/result", "tasks/cancel", "tasks/update")
_IN_BATCH: Final = 2
_DECLARED: Final = (
    # Resources need not have templates; the method may be missing then.
    *(method for method in LISTS if method != "resources/templates/list"),
    *(SET_LEVEL, "completion/complete", "resources/subscribe", "resources/unsubscribe"),
    *("subscriptions/listen", "tasks/list", "skills/list", "skills/get"),
    "resources/directory/read",
    *(f"unknown task: {method}" for method in _OF_TASKS),
)
"""The steps that are taken only where a capability says that their method exists."""
_ERROR_DATA: Final = (
    (UNSUPPORTED_VERSION, "supported", is_array, "unsupported-revision-data"),
    (MISSING_CLIENT_CAPABILITY, "requiredCapabilities", is_object, "missing-capability-data"),
)
"""Errors with a list in their data: its member, its kind, and the rule."""


def opening(transcript: Transcript) -> Iterator[Fault]:
    """Yield an agreement to an unknown revision, and messages that come too early."""
    first = transcript.beginning
    if transcript.negotiated == UNKNOWN_REVISION:
        message = f"the server agrees to {UNKNOWN_REVISION}, a revision that does not exist"
        yield fault(
            "unknown-revision-agreed", "protocolVersion", message, first, got=transcript.opening
        )
    if transcript.is_spoken and not transcript.is_stateless:
        for incoming in first.received:
            method = incoming.get("method")
            if method is not None and method not in ("ping", "notifications/message"):
                message = "sent before notifications/initialized"
                yield fault("sent-too-early", str(method), message, first, got=incoming)


def errors(transcript: Transcript) -> Iterator[Fault]:
    """Yield wrong answers to mistakes of the client."""
    stateless = transcript.is_stateless
    missing = "resource-missing-error" if stateless else "resource-missing-code"
    asked = "unknown-task-code"
    changed = "unknown-task-changed-code" if stateless else asked
    over_http = stateless and framing_of(transcript.transport) == HTTP
    # Over HTTP, the code belongs to the status 404 (basic/transports/streamable-http).
    unknown = "error-status" if over_http else "unknown-method-code"
    # A missing name is missing in the header fields, too.
    wrong = (INVALID_PARAMS, HEADER_MISMATCH) if over_http else (INVALID_PARAMS,)
    rows = (
        ("unknown method", unknown, (METHOD_NOT_FOUND,), NONE),
        ("wrong params", "wrong-params-code", wrong, ""),
        ("unknown tool", "unknown-tool-code", (INVALID_PARAMS,), "tools/call"),
        ("unknown prompt", "unknown-prompt-code", (INVALID_PARAMS,), "prompts/get"),
        ("prompt without its arguments", "missing-argument-code", (INVALID_PARAMS,), "prompts/get"),
        ("unknown resource", missing, (INVALID_PARAMS if stateless else NO_RESOURCE,), ""),
        ("wrong log level", "wrong-log-level-code", (INVALID_PARAMS,), ""),
        ("without clientCapabilities", "meta-missing-code", (INVALID_PARAMS,), "server/discover"),
        ("unknown revision in _meta", "unsupported-revision-code", (UNSUPPORTED_VERSION,), ""),
        # A missing feature counts as a missing method.
        *(
            (f"{method} wrong cursor", "wrong-cursor-code", _OR_NO_METHOD, method)
            for method in LISTS
        ),
        ("tasks/list wrong cursor", "task-cursor-code", _OR_NO_METHOD, "tasks/list"),
        *((f"unknown task: {method}", asked, _OR_NO_METHOD, method) for method in _OF_TASKS[:2]),
        *((f"unknown task: {method}", changed, _OR_NO_METHOD, method) for method in _OF_TASKS[2:]),
    )
    for probe, code, wanted, item in rows:
        for exchange in transcript.all(probe):
            if code_of(exchange) not in codes_in(transcript.revision, wanted):
                yield from _check_error(exchange, code, wanted, item)


def _check_error(
    exchange: Exchange, code: str, wanted: tuple[int, ...], item: str
) -> Iterator[Fault]:
    found = code_of(exchange)
    if found in wanted or not (exchange.answer or found is not None):
        return
    if code == "error-status" and exchange.status != 404:
        return  # The status is a finding, of the same rule.
    what = "a result" if found is None else f"the error {found}"
    message = f"{what} in place of the error {wanted[0]}"
    yield fault(code, item or exchange.rpc_method, message, exchange)


def error_data(transcript: Transcript) -> Iterator[Fault]:
    """Yield errors without a list of the revisions or of the required capabilities."""
    if not transcript.is_spoken:
        return  # Earlier revisions leave these codes to servers.
    for exchange in transcript.exchanges:
        data = members(exchange.error, "data")
        for number, member, fits, code in _ERROR_DATA:
            listed = data.get(member)
            if code_of(exchange) == number and not (listed and fits(listed)):
                message = f"the error {number} lists nothing in data.{member}"
                yield fault(code, exchange.rpc_method, message, exchange)


def bad_messages(transcript: Transcript) -> Iterator[Fault]:
    """Yield wrong reactions to invalid messages."""
    if not transcript.is_spoken:
        return
    for exchange in transcript.all("without jsonrpc"):
        if exchange.result is not None:
            message = "a message without jsonrpc is served"
            yield fault("no-jsonrpc-accepted", "jsonrpc", message, exchange)
    rows = (
        ("no JSON", PARSE_ERROR, "parse-error-code"),
        ("without method", INVALID_REQUEST, "invalid-request-code"),
    )
    for probe, wanted, code in rows:
        for exchange in transcript.all(probe):
            found = code_of(exchange)
            if found is not None and found != wanted:
                message = f"{probe}: the code {found}, not {wanted}"
                yield fault(code, probe, message, exchange)


def declarations(transcript: Transcript) -> Iterator[Fault]:
    """Yield declared methods that are missing, and undeclared methods that exist."""
    for probe in _DECLARED:
        for exchange in transcript.all(probe):
            if code_of(exchange) == METHOD_NOT_FOUND:
                message = "the capability is declared, but the method does not exist"
                yield fault("declared-method-missing", exchange.rpc_method, message, exchange)
    for method in (*LISTS, SET_LEVEL):
        for hidden in transcript.all(f"{method} undeclared"):
            result, items = hidden.result, list_member(transcript.revision, method)
            # A list without items offers nothing.
            if result is not None and (method == SET_LEVEL or result.get(items)):
                message = "served, although the capability is not declared"
                yield fault("served-undeclared", method, message, hidden)


def reading(transcript: Transcript) -> Iterator[Fault]:
    """Yield listed items that cannot be read."""
    for probe in ("resources/read", "prompts/get", "skills/get"):
        for exchange in transcript.all(probe):
            if exchange.answer and exchange.result is None:
                params = exchange.request.get("params", {})
                name = params.get("uri") or params.get("name")
                message = f"{name} is listed, but an error comes in its place"
                yield fault("listed-not-readable", probe, message, exchange)


def pages(transcript: Transcript) -> Iterator[Fault]:
    """Yield lists that do not end."""
    for method in LISTS:
        found = list(transcript.all(method))
        cursors = [value_in(transcript.revision, "next_cursor", page.result) for page in found]
        if len(found) >= PAGES and cursors[-1]:
            message = f"there are more than {PAGES} pages"
            yield fault("pages-without-end", method, message, found[-1])
        elif cursors and isinstance(cursors[-1], str) and cursors[-1] in cursors[:-1]:
            message = "the cursor does not advance: the page after it names it again"
            yield fault("pages-without-end", method, message, found[-1])


def cancellation(transcript: Transcript) -> Iterator[Fault]:
    """Yield an error in answer to a cancelled request."""
    for exchange in transcript.all("request cancelled"):
        if is_object(exchange.answer.get("error")):
            message = "a cancelled request is answered with an error"
            yield fault("cancelled-answered", "notifications/cancelled", message, exchange)


def batch(transcript: Transcript) -> Iterator[Fault]:
    """Yield a batch that is not served completely."""
    for exchange in transcript.all("batch"):
        asked = [call["id"] for call in exchange.calls if "id" in call][:_IN_BATCH]
        # Over HTTP the answers may come one by one (2025-03-26, basic/transports).
        served = [
            answer
            for answer in exchange.received
            if "result" in answer and answer.get("id") in asked
        ]
        if len(served) < _IN_BATCH and exchange.outcome != CLOSED:
            message = "a batch of two requests and a notification does not bring two results"
            got = served or exchange.error or "no answer to any of them"
            yield fault("batch-not-served", "batch", message, exchange, got=got)


def logging(transcript: Transcript) -> Iterator[Fault]:
    """Yield log messages below the level that was set, or without a level in the request."""
    if not transcript.is_spoken:
        return
    is_set = False
    for exchange in transcript.exchanges:
        if exchange.probe == SET_LEVEL:
            is_set = exchange.result is not None
            continue
        names_level = LOG_LEVEL in members(exchange.request, "params", "_meta")
        for notification in exchange.notifications("notifications/message"):
            if transcript.is_stateless and not names_level:
                message = "the request names no log level"
                yield fault(
                    "log-unasked", "notifications/message", message, exchange, got=notification
                )
            elif is_set and members(notification, "params").get("level") in LEVELS[:-1]:
                message = "the level is emergency, and this is below it"
                yield fault(
                    "log-below-level", "notifications/message", message, exchange, got=notification
                )


def reports(transcript: Transcript) -> Iterator[Fault]:
    """Yield reports with an unknown token, or whose number does not increase."""
    last: dict[tuple[str, str], float] = {}
    stated = reports_in(transcript.revision).items()
    for exchange, (method, (key, number)) in product(transcript.exchanges, stated):
        meta = members(exchange.request, "params", "_meta")
        for notification in exchange.notifications(method):
            params = members(notification, "params")
            token, value = params.get(key), params.get(number)
            if token != meta.get(key):
                message = f"the token {token!r} belongs to no request that is open"
                yield fault("progress-token-unknown", key, message, exchange, got=notification)
            elif isinstance(value, int | float):
                report = (method, str(token))
                if report in last and value <= last[report]:
                    message = f"{value} comes after {last[report]}"
                    yield fault("progress-not-rising", number, message, exchange, got=notification)
                last[report] = value


CHECKS = (
    *(opening, errors, error_data, bad_messages, declarations, reading, pages),
    *(cancellation, batch, logging, reports),
)
