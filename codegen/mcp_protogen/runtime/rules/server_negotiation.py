"""What a server decides: which revision to agree on, and which era a message belongs to.

Revisions are opaque names: what counts is their place in the offer, never how they compare as text.
Nothing outside the offer is ever agreed on.

Pages: basic/lifecycle up to 2025-11-25, "Version Negotiation"; 2026-07-28, basic/versioning, and
basic, "_meta".
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
        """Return the revisions of an era, newest first."""
        return tuple(id for id in self.all if self.eras[id] == era)

    # Every message asks for these.

    @cached_property
    def handshake(self) -> tuple[str, ...]:
        return self.of(HANDSHAKE_ERA.name)

    @cached_property
    def stateless(self) -> tuple[str, ...]:
        return self.of(STATELESS_ERA.name)

    @cached_property
    def all(self) -> tuple[str, ...]:
        """All of them, newest first; what `server/discover` and a refusal name."""
        return tuple(self.eras)[::-1]


class UnsupportedVersion(RemoteError):
    """The peer asked for a revision that is not supported (2026-07-28, basic/versioning)."""

    CODE = UNSUPPORTED_VERSION

    def __init__(self, requested: str, offer: Offer, id: RequestId | None) -> None:
        data = {"supported": list(offer.all), "requested": requested}
        super().__init__("Unsupported protocol version", id=id, data=data)


class UnsupportedInHandshake(UnsupportedVersion):
    """The error that no revision can be had by a handshake (basic/lifecycle, "Error Handling")."""

    CODE = INVALID_PARAMS


def answer_initialize(params: Mapping[str, Any], offer: Offer, id: RequestId | None = None) -> str:
    """Return the revision that a server agrees on: the one asked for, or else its newest.

    Raises `InvalidParams` if none is asked for, and `UnsupportedInHandshake` if none is on offer.
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
    """What a message belongs to that does not stand by itself."""

    HANDSHAKE = "the handshake that was made"
    INITIALIZE = "the beginning of a handshake"
    NOTHING = "no handshake: a ping to answer, or a notification to pass over"


def route(call: Call, offer: Offer, *, handshaken: bool) -> str | Route:
    """Return what a call that is no member of a batch belongs to: its own revision, or a route.

    A request with a revision in its `_meta` is stateless, whatever happened before; any other
    belongs to the handshake, which `initialize` begins (2026-07-28, basic/versioning, "Backward
    Compatibility"). Cancellations carry no mark: theirs is the era of the request they name.

    Raises the `RemoteError` to answer with.
    """
    method, id = call.method, call.id
    if PROTOCOL_VERSION in call.meta and offer.stateless:
        if id is None:
            version = call.meta[PROTOCOL_VERSION]
            # Whatever is wrong with a notification, it is not answered.
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
            raise InvalidRequest("the handshake was made already", id=id)
        if not offer.handshake:
            raise no_handshake(call, offer)
        return Route.INITIALIZE
    if not offer.handshake:
        raise _missing([PROTOCOL_VERSION, CLIENT_CAPABILITIES], id)
    if method == "ping":
        return Route.NOTHING
    if PROTOCOL_VERSION in call.meta:
        # What a server of the handshake era makes of a probe: a method it does not have.
        raise MethodNotFound(method, id=id)
    raise InvalidRequest(f"{method} came before initialize", id=id)


def read_revision(call: Call) -> str:
    """Return the revision that a request of the stateless era names in its `_meta`.

    Raises `InvalidParams` if it does not, or says nothing of the client's capabilities.
    """
    version = call.meta.get(PROTOCOL_VERSION)
    if not isinstance(version, str):
        raise _missing([PROTOCOL_VERSION], call.id)
    if not isinstance(call.meta.get(CLIENT_CAPABILITIES), dict):
        raise _missing([CLIENT_CAPABILITIES], call.id)
    return version


def check_offered(version: str, offer: Offer, id: RequestId | None) -> None:
    """Raise `UnsupportedVersion` for a revision of the stateless era that is not on offer."""
    if version not in offer.stateless:
        raise UnsupportedVersion(version, offer, id)


def no_handshake(call: Call, offer: Offer, header: str | None = None) -> UnsupportedVersion:
    """Return the error for an `initialize` that cannot begin a handshake.

    It names the version of the HTTP `header` if that is not on offer, else that of the message.
    """
    version = call.params.get("protocolVersion")
    if header is not None and header not in offer.all:
        version = header
    return UnsupportedVersion(version if isinstance(version, str) else "", offer, call.id)


def _missing(keys: list[str], id: RequestId | None) -> InvalidParams:
    kinds = {PROTOCOL_VERSION: "a string", CLIENT_CAPABILITIES: "an object"}
    problems = [(f"/params/_meta/{escape_step(key)}", f"Required, {kinds[key]}") for key in keys]
    return InvalidParams("Invalid _meta of a request", problems, id=id)
