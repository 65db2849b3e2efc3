"""Faults as checks find them: the broken rule, the place, and the cause."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from mcp_protogen.base.canonical import on_one_line
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.runtime.http.headers import LAST_EVENT_ID
from mcp_protogen.servers.inspect.transcript import Exchange, Transcript

_SHOWN: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One break of a rule.

    `code` is that of the rule, `item` the subject: a method, a type with a member, a header field.
    `message` describes the fault, `sent` and `got` show it, and `pointer` is the place in the
    server's message.
    """

    code: str
    item: str
    message: str
    pointer: str = ""
    sent: str = ""
    got: str = ""


Check = Callable[[Transcript], Iterator[Fault]]


def fault(
    code: str, item: str, message: str, exchange: Exchange, *, pointer: str = "", got: Any = None
) -> Fault:
    """Return a fault that an exchange shows, by default with its answer."""
    shown = short(answer_of(exchange) if got is None else got)
    return Fault(
        code=code,
        item=item,
        message=message,
        pointer=pointer,
        sent=request_text(exchange),
        got=shown,
    )


def request_text(exchange: Exchange) -> str:
    """Return the client's message, in short."""
    first = next((message for message in exchange.messages if message.sender == "client"), None)
    body = short(first.data.decode("utf-8", "replace")) if first else ""
    if exchange.method in ("", "POST"):
        return body
    resumed = exchange.headers.get(LAST_EVENT_ID)
    after = f"Last-Event-ID: {resumed}" if resumed else ""
    return " ".join(part for part in (exchange.method, after, body) if part)


def answer_of(exchange: Exchange) -> Any:
    """Return the outcome of an exchange: the answer, or all messages, or the status."""
    found: Any = exchange.answer or (exchange.values[0] if exchange.values else None)
    if exchange.status and not 200 <= exchange.status < 300:
        return f"HTTP {exchange.status}" + (f" {short(found)}" if found else "")
    if found:
        return found
    return f"HTTP {exchange.status}" if exchange.status else (exchange.outcome or "nothing")


def short(value: Any) -> str:
    """Return a value as JSON, or a text, not longer than is easy to read."""
    text = value if isinstance(value, str) else on_one_line(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def members(value: Any, *path: str) -> dict[str, Any]:
    """Return the object at a place in a message; empty without one."""
    for name in path:
        value = value.get(name) if is_object(value) else None
    return value if is_object(value) else {}


def code_of(exchange: Exchange) -> int | None:
    """Return the code of the error in the answer, or None."""
    code = exchange.error.get("code")
    return code if isinstance(code, int) else None
