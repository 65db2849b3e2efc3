"""A server's decisions: which revision to agree on, and the era of each message.

Revisions are opaque names: their order is that of the offer, never that of the text. Only revisions
of the offer are agreed on. Pages: basic/lifecycle up to 2025-11-25, "Version Negotiation";
2026-07-28, basic/versioning, and basic, "_meta".
"""

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import Any, Final

from ..core.errors import (
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    RemoteError,
    RequestId,
    escape_step,
)
from ..core.spec import EraName
from ..messages.envelope import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from ..messages.jsonrpc import Call
from ..messages.method_table import HANDSHAKE_ERA, STATELESS_ERA

DISCOVER: Final = STATELESS_ERA.opened_by
INITIALIZE: Final = HANDSHAKE_ERA.opened_by


class Offer:
    """The revisions that one side allows, oldest first, and their eras."""

    def __init__(self, eras: Mapping[str, EraName]) -> None:
        self.eras: Final = eras

    def of(self, era: EraName) -> tuple[str, ...]:
        return tuple(id for id in self.all if self.eras[id] == era)

    @cached_property
    def handshake(self) -> tuple[str, ...]:
        return self.of(HANDSHAKE_ERA.name)

    @cached_property
    def stateless(self) -> tuple[str, ...]:
        return self.of(STATELESS_ERA.name)

    @cached_property
    def all(self) -> tuple[str, ...]:
        """All revisions, newest first; the list in `server/discover` and in a refusal."""
        return tuple(self.eras)[::-1]


class UnsupportedVersion(RemoteError):
    """The peer asked for an unsupported revision (2026-07-28, basic/versioning)."""

    CODE = UNSUPPORTED_VERSION

    def __init__(self, requested: str, offer: Offer, id: RequestId | None) -> None:
        data = {"supported": list(offer.all), "requested": requested}
        super().__init__("Unsupported protocol version", id=id, data=data)


class UnsupportedInHandshake(UnsupportedVersion):
    """No revision is available by a handshake (basic/lifecycle, "Error Handling")."""

    CODE = INVALID_PARAMS


def answer_initialize(params: Mapping[str, Any], offer: Offer, id: RequestId | None = None) -> str:
    """Return the revision for a handshake: the requested one, or the newest available.

    Raise `InvalidParams` if none is requested, and `UnsupportedInHandshake` if none is available.
    """
    requested = params.get("protocolVersion")
    if not isinstance(requested, str):
        problem = ("/params/protocolVersion", "Input should be a string")
        raise InvalidParams("Invalid params of initialize", [problem], id=id)
    if requested in offer.handshake:
        return requested
    if not offer.handshake:
        raise UnsupportedInHandshake(requested, offer, id)
    return offer.handshake[0]


class Route(Enum):
    """The handling of a message without its own revision."""

    HANDSHAKE = "an open handshake"
    INITIALIZE = "the beginning of a handshake"
    NOTHING = "no handshake: a ping to answer, or a notification to ignore"


def route(call: Call, offer: Offer, *, handshaken: bool) -> str | Route:
    """Return the revision of a call outside a batch, or its route.

    A request with a revision in its `_meta` is stateless, whatever happened before; any other
    belongs to the handshake, which `initialize` begins (2026-07-28, basic/versioning, "Backward
    Compatibility"). A cancellation has no mark: it belongs to the era of the cancelled request.
    Raises the `RemoteError` to answer with.
    """
    method, id = call.method, call.id
    if PROTOCOL_VERSION in call.meta and offer.stateless:
        if id is None:
            version = call.meta[PROTOCOL_VERSION]
            return version if version in offer.stateless else Route.NOTHING
        version = read_revision(call)
        check_offered(version, offer, id)
        return version
    if handshaken and (id is None or method != INITIALIZE):
        return Route.HANDSHAKE
    if id is None:
        return Route.NOTHING
    if method == INITIALIZE:
        if handshaken:
            raise InvalidRequest("the handshake is already complete", id=id)
        if not offer.handshake:
            raise no_handshake(call, offer)
        return Route.INITIALIZE
    if not offer.handshake:
        raise _key_missing([PROTOCOL_VERSION, CLIENT_CAPABILITIES], id)
    if method == "ping":
        return Route.NOTHING
    if PROTOCOL_VERSION in call.meta:
        # A server of the handshake era answers a probe like any unknown method.
        raise MethodNotFound(method, id=id)
    raise InvalidRequest(f"{method} must follow initialize", id=id)


def read_revision(call: Call) -> str:
    """Return the revision that a request of the stateless era names in its `_meta`.

    Raise `InvalidParams` if it or the client's capabilities are missing.
    """
    version = call.meta.get(PROTOCOL_VERSION)
    if not isinstance(version, str):
        raise _key_missing([PROTOCOL_VERSION], call.id)
    if not isinstance(call.meta.get(CLIENT_CAPABILITIES), dict):
        raise _key_missing([CLIENT_CAPABILITIES], call.id)
    return version


def check_offered(version: str, offer: Offer, id: RequestId | None) -> None:
    if version not in offer.stateless:
        raise UnsupportedVersion(version, offer, id)


def no_handshake(call: Call, offer: Offer, header: str | None = None) -> UnsupportedVersion:
    """Return the error for an `initialize` that cannot begin a handshake.

    It names the version of the HTTP `header` if that is unsupported, else that of the message.
    """
    version = call.params.get("protocolVersion")
    if header is not None and header not in offer.all:
        version = header
    return UnsupportedVersion(version if isinstance(version, str) else "", offer, call.id)


def _key_missing(keys: list[str], id: RequestId | None) -> InvalidParams:
    kinds = {PROTOCOL_VERSION: "a string", CLIENT_CAPABILITIES: "an object"}
    problems = [(f"/params/_meta/{escape_step(key)}", f"Required, {kinds[key]}") for key in keys]
    return InvalidParams("Invalid _meta of a request", problems, id=id)
