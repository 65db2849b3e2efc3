"""Web pages of other origins: their preflights, and what lets them read the answers.

Which origins may call, `OriginGuard` decides, for preflights too. A browser asks it for each
request that is no plain form, as all of the protocol's are
(https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

import re
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from .. import headers
from .asgi import Field, HttpExchange, Message, Scope, Send

_SENT: Final = (
    *("accept", "authorization", "content-type", "dpop", headers.LAST_EVENT_ID),
    *(headers.METHOD, headers.NAME, headers.PROTOCOL_VERSION, headers.SESSION_ID),
)
"""The fields that a client of any revision sends; `mcp-param-*` come beside them."""
_PARAM: Final = re.compile(r"mcp-param-[!#$%&'*+.^_`|~0-9a-z-]+")

_READ: Final = (
    *("dpop-nonce", headers.PROTOCOL_VERSION, headers.SESSION_ID),
    *("retry-after", "www-authenticate"),
)

_ALLOW_ORIGIN: Final = b"access-control-allow-origin"
_ORIGIN: Final = b"origin"
_METHOD: Final = b"access-control-request-method"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cors:
    """What web pages of other origins may do, those of `allowed_origins` and at allowed hosts.

    They may use all that the protocol does; what is listed here comes beside it.
    """

    headers: Collection[str] = ()
    """More header fields that pages may send."""
    expose: Collection[str] = ()
    """More header fields of answers that pages may read."""
    credentials: bool = False
    """Whether browsers may send cookies along; tokens in `Authorization` do not need it.

    Then only pages of `allowed_origins` may call: cookies belong to a host, whatever the port.
    """
    max_age: int = 600
    """The seconds for which a browser need not ask again what is allowed."""

    def __post_init__(self) -> None:
        for name in ("headers", "expose"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"Cors: {name} has to be a list of names, and not one")


class CrossOrigin:
    """The header fields for pages whose origin `allows`."""

    def __init__(self, cors: Cors, allows: Callable[[bytes], bool]) -> None:
        self._allows = allows
        self._sent = dict.fromkeys(map(str.lower, (*_SENT, *cors.headers)))
        self._max_age = b"access-control-max-age", b"%d" % cors.max_age
        exposed = ", ".join(dict.fromkeys(map(str.lower, (*_READ, *cors.expose)))).encode()
        self._usual: list[Field] = [(b"access-control-expose-headers", exposed)]
        if cors.credentials:
            self._usual.append((b"access-control-allow-credentials", b"true"))

    def sending(self, scope: Scope, send: Send) -> Send:
        """Return a `send` that adds to a response what its reader has to know."""
        origin: bytes | None = dict(scope["headers"]).get(_ORIGIN)

        def sending(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start":
                listed: list[Field] = list(message.get("headers", ()))
                message = {**message, "headers": [*listed, *self._response_fields(origin, listed)]}
            return send(message)

        return sending

    def _response_fields(self, origin: bytes | None, listed: list[Field]) -> Iterable[Field]:
        if any(name.lower() == _ALLOW_ORIGIN for name, _ in listed):
            return  # An application beside the endpoint sees to it itself.
        yield b"vary", _ORIGIN
        if origin is not None and self._allows(origin):
            yield _ALLOW_ORIGIN, origin
            yield from self._usual

    @staticmethod
    def preflight_method(exchange: HttpExchange) -> str | None:
        """Return the method that a preflight asks for; None for what is none."""
        is_asking = exchange.scope["method"] == "OPTIONS" and _ORIGIN in exchange.fields
        return exchange.field(_METHOD) if is_asking else None

    async def answer(self, exchange: HttpExchange, methods: Iterable[str]) -> None:
        asked = exchange.field(b"access-control-request-headers") or ""
        names = map(str.strip, asked.lower().split(","))
        own = [name for name in names if _PARAM.fullmatch(name)]
        fields = [
            (b"access-control-allow-methods", ", ".join(methods).encode()),
            (b"access-control-allow-headers", ", ".join([*self._sent, *own]).encode()),
            self._max_age,
            (b"vary", b"access-control-request-headers"),
        ]
        await exchange.respond(204, fields=fields)
