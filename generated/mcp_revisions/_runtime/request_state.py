"""The state that a client carries from one round of a request to the next, sealed.

It passes through the client, so nothing in it can be believed unless it is known to be ours, meant
for this request, for this caller, and still good (2026-07-28, basic/patterns/mrtr, "Server
Requirements"). A seal proves that; it does not hide anything: the client can read what is inside.
Nor does it make the state good for one use only, which a server that needs that has to see to.
"""

import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Mapping
from hashlib import sha256
from json import dumps
from secrets import token_bytes
from struct import Struct
from typing import Any, Final, NamedTuple

from pydantic_core import from_json, to_json

from .errors import InvalidParams, LocalError
from .jsonvalue import json_text

# Version of the format, then when it lapses, in whole seconds.
_HEAD: Final = Struct(">BQ")
_VERSION: Final = 1
_MAC_SIZE: Final = sha256().digest_size
_LONGEST: Final = 4_000_000
_SHORTEST_KEY: Final = 16

# What changes between the rounds of one request.
_OF_A_ROUND: Final = frozenset({"_meta", "inputResponses", "requestState"})


class Bearer(NamedTuple):
    """What a state is bound to: a request, by method and digest of its params, who makes it, and to
    whom: the server, by its class, and the revision.
    """

    method: str
    digest: bytes
    principal: str | None
    audience: str = ""


def digest_of(params: Mapping[str, Any]) -> bytes:
    """A digest of params that is the same in every round of a request, however they are written."""
    lasting = {key: value for key, value in params.items() if key not in _OF_A_ROUND}
    return sha256(dumps(lasting, sort_keys=True, separators=(",", ":")).encode()).digest()


# Whichever connection a client comes back on, this process knows what it has sealed.
_KEY_OF_THIS_PROCESS: Final = token_bytes(32)


class StateSeal:
    """Seals and opens states with a key; without one, with a random one of this process.

    `lifetime` is in seconds. Raises `ValueError` for a key of less than 16 bytes.
    """

    __slots__ = ("_clock", "_key", "_lifetime")

    def __init__(
        self,
        key: bytes | None = None,
        *,
        lifetime: float = 3600.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if key is not None and len(key) < _SHORTEST_KEY:
            raise ValueError(f"the key of a state needs at least {_SHORTEST_KEY} bytes")
        self._key = _KEY_OF_THIS_PROCESS if key is None else key
        self._lifetime = lifetime
        self._clock = clock

    def seal(self, value: Any, bearer: Bearer) -> str:
        """The sealed text of a JSON value.

        Raises `LocalError` for one that is too long to come back, and
        `pydantic_core.PydanticSerializationError` for what has no JSON form.
        """
        head = _HEAD.pack(_VERSION, int(self._clock() + self._lifetime))
        body = head + json_text(value)
        sealed = urlsafe_b64encode(self._mac(body, bearer) + body).rstrip(b"=")
        if len(sealed) > _LONGEST:
            raise LocalError(f"the state of a request has more than {_LONGEST} characters")
        return sealed.decode("ascii")

    def open(self, text: str, bearer: Bearer) -> Any:
        """The value that `seal` was given; raises `InvalidParams`, which tells nothing more."""
        sealed = _decoded(text)
        mac, body = sealed[:_MAC_SIZE], sealed[_MAC_SIZE:]
        if len(body) <= _HEAD.size or not hmac.compare_digest(mac, self._mac(body, bearer)):
            raise refused()
        version, lapses = _HEAD.unpack_from(body)
        if version != _VERSION or self._clock() > lapses:
            raise refused()
        return from_json(body[_HEAD.size :])

    def _mac(self, body: bytes, bearer: Bearer) -> bytes:
        bound = to_json([bearer.method, bearer.digest.hex(), bearer.principal, bearer.audience])
        # The length keeps what is bound and what is sealed apart.
        return hmac.digest(self._key, b"%d:%b%b" % (len(bound), bound, body), "sha256")


def refused() -> InvalidParams:
    """A state that is not accepted, for whatever reason."""
    problem = ("/params/requestState", "The state is not one for this request, or has lapsed")
    return InvalidParams("Invalid requestState", [problem])


def _decoded(text: str) -> bytes:
    if len(text) > _LONGEST:
        raise refused()
    try:
        sealed = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (NotBase64, ValueError):
        raise refused() from None
    # Decoding is lenient; one text for each seal is enough.
    if urlsafe_b64encode(sealed).rstrip(b"=") != text.encode("ascii"):
        raise refused()
    return sealed
