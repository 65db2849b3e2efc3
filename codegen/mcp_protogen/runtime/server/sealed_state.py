"""The sealed state of a request, which a client carries from one round to the next.

A server can trust it only if it was made for this request and this caller, and has not expired
(2026-07-28, basic/patterns/mrtr, "Server Requirements"). The client can read the content, and use
it twice; a server for which that matters must check it.
"""

import hmac
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from json import dumps
from secrets import token_bytes
from struct import Struct
from time import time
from typing import Any, Final

from pydantic_core import to_json

from ..core.base64url import base64url, base64url_bytes
from ..core.errors import InvalidParams, LocalError
from ..core.json import json_text, read_json, without

# The version of the format, then the time of expiry in whole seconds.
_HEAD: Final = Struct(">BQ")
_VERSION: Final = 1
_MAC_SIZE: Final = sha256().digest_size
_LONGEST: Final = 4_000_000
_SHORTEST_KEY: Final = 16

# The members that change between the rounds of one request.
_OF_A_ROUND: Final = ("_meta", "inputResponses", "requestState")


def binding(method: str, params: Mapping[str, Any], principal_id: str | None, server: str) -> bytes:
    return to_json([method, digest(without(params, *_OF_A_ROUND)), principal_id, server])


def digest(value: Mapping[str, Any]) -> str:
    text = dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


# A client may return on another connection, but to the same process.
_KEY_OF_THIS_PROCESS: Final = token_bytes(32)


class StateSeal:
    """A seal for states: the first key seals, every key opens.

    Without keys, it uses a random one of this process. `lifetime` is in seconds, `clock` returns
    seconds since the epoch. Raises `ValueError` for a key of less than 16 bytes.
    """

    __slots__ = ("_clock", "_keys", "_lifetime")

    def __init__(
        self,
        keys: Sequence[bytes] = (),
        *,
        lifetime: float = 3600.0,
        clock: Callable[[], float] = time,
    ) -> None:
        if isinstance(keys, (bytes, str)):
            raise TypeError("state_keys must be a list of keys, not a single key")
        if any(len(key) < _SHORTEST_KEY for key in keys):
            raise ValueError(f"a state key must have at least {_SHORTEST_KEY} bytes")
        self._keys = tuple(keys) or (_KEY_OF_THIS_PROCESS,)
        self._lifetime = lifetime
        self._clock = clock

    def seal(self, value: Any, bound: bytes) -> str:
        """Return the sealed text of a JSON value; raise `LocalError` if it is too long."""
        head = _HEAD.pack(_VERSION, int(self._clock() + self._lifetime))
        body = head + json_text(value)
        sealed = base64url(_mac(self._keys[0], body, bound) + body)
        if len(sealed) > _LONGEST:
            raise LocalError(f"the state of a request has more than {_LONGEST} characters")
        return sealed

    def open(self, text: str, bound: bytes) -> Any:
        """Return the sealed value; raise `InvalidParams` without a reason."""
        try:
            sealed = base64url_bytes(text) if len(text) <= _LONGEST else b""
        except ValueError:
            sealed = b""
        mac, body = sealed[:_MAC_SIZE], sealed[_MAC_SIZE:]
        valid = any(hmac.compare_digest(mac, _mac(key, body, bound)) for key in self._keys)
        # Only one of the texts for these bytes is valid.
        if valid and base64url(sealed) == text and len(body) > _HEAD.size:
            version, lapses = _HEAD.unpack_from(body)
            if version == _VERSION and self._clock() <= lapses:
                return read_json(body[_HEAD.size :])
        problem = ("/params/requestState", "It was not made for this request, or has expired")
        raise InvalidParams("Invalid requestState", [problem])


def _mac(key: bytes, body: bytes, bound: bytes) -> bytes:
    # The length separates the binding from the sealed body.
    return hmac.digest(key, b"%d:%b%b" % (len(bound), bound, body), "sha256")
