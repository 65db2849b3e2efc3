"""Cross-origin requests of web pages: preflights, and the fields for reading answers.

`OriginGuard` decides which origins may call, also for preflights. Browsers send one before any
request of this protocol (https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from ...core.options import string_set
from ...messages.method_table import MethodTable
from .. import headers
from .asgi import Field, HttpExchange, Message, Scope

# A client probes with the method and its newest revision, before it knows that of the server.
_SENT: Final = (
    *("accept", "authorization", "content-type", "dpop", headers.LAST_EVENT_ID),
    *(headers.METHOD, headers.PROTOCOL_VERSION, headers.SESSION_ID),
)
_PARAM: Final = re.compile(r"mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+")

_READ: Final = (
    *("dpop-nonce", headers.PROTOCOL_VERSION, headers.SESSION_ID),
    *("retry-after", "www-authenticate"),
)

_ALLOW_ORIGIN: Final = b"access-control-allow-origin"
_ORIGIN: Final = b"origin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cors:
    """The rights of web pages of other origins: `allowed_origins`, and allowed hosts.

    They may use the whole protocol; the options here add to that.
    """

    headers: Collection[str] = ()
    """More header fields to accept."""
    expose: Collection[str] = ()
    """More header fields of answers to expose."""
    credentials: bool = False
    """Whether browsers may send cookies; tokens in `Authorization` do not need it.

    Then only `allowed_origins` may call, since cookies belong to a host with all its ports.
    """
    max_age: int = 600
    """The seconds that browsers may cache a preflight."""

    def __post_init__(self) -> None:
        for name in ("headers", "expose"):
            string_set(getattr(self, name), f"Cors: {name}")


class CrossOrigin:
    """The CORS header fields of revisions, by their `tables`, for origins that `allows` accepts."""

    def __init__(
        self, cors: Cors, allows: Callable[[bytes], bool], tables: Iterable[MethodTable]
    ) -> None:
        self._allows = allows
        sent, read = {*_SENT, *cors.headers}, {*_READ, *cors.expose}
        for facts in map(headers.facts_of, tables):
            methods = facts.table.requests
            sent |= {field.header for name in methods for field in facts.of_method(name)}
            read |= {field.header for field in facts.rules.answer_headers}
        self._sent = sorted({*map(str.lower, sent)})
        self._max_age = b"access-control-max-age", b"%d" % cors.max_age
        exposed = ", ".join(sorted({*map(str.lower, read)})).encode()
        self._usual: list[Field] = [(b"access-control-expose-headers", exposed)]
        if cors.credentials:
            self._usual.append((b"access-control-allow-credentials", b"true"))

    def response_fields(self, scope: Scope, start: Message) -> Iterable[Field]:
        origin: bytes | None = dict(scope["headers"]).get(_ORIGIN)
        if any(name.lower() == _ALLOW_ORIGIN for name, _ in start.get("headers", ())):
            return  # An application beside the endpoint handles it.
        yield b"vary", _ORIGIN
        if origin is not None and self._allows(origin):
            yield _ALLOW_ORIGIN, origin
            yield from self._usual

    @staticmethod
    def preflight_method(exchange: HttpExchange) -> str | None:
        """Return the method of a preflight; None for other requests."""
        is_asking = exchange.scope["method"] == "OPTIONS" and _ORIGIN in exchange.fields
        return exchange.field(b"access-control-request-method") if is_asking else None

    async def answer(self, exchange: HttpExchange, methods: Iterable[str]) -> None:
        header = exchange.field(b"access-control-request-headers") or ""
        names = map(str.strip, header.lower().split(","))
        valid = [name for name in names if _PARAM.fullmatch(name)]
        fields = [
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", ", ".join([*self._sent, *valid]).encode()),
            self._max_age,
            (b"vary", b"access-control-request-headers"),
        ]
        await exchange.respond(204, fields=fields)
