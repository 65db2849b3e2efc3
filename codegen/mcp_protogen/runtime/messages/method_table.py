"""The method table of a connection: with extensions, and perhaps in the words of a wire.

What follows from the era of a revision is a field of `Era`, and decided nowhere else.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar

from ..core.errors import LocalError
from ..core.json import JSONObject
from ..core.models.base import validator_of
from ..core.spec import AnyRequest, EraName, NotificationSpec, Part, RequestSpec, Role
from .codec import MessageCodec, Result, spec_for_sender
from .jsonrpc import Response

if TYPE_CHECKING:
    from ..core.extensions import ClaimedResult, Extension

R = TypeVar("R")


EXTENSIONS: Final = "extensions"
"""The capability below which a side declares its extensions, by identifier."""


class Era(NamedTuple):
    """What distinguishes the revisions of an era."""

    name: EraName
    opened_by: str
    """The request that the server answers with its capabilities and name."""
    has_handshake: bool
    """Whether a connection has to be opened before most messages may pass."""
    remembers_client: bool
    """Whether a client's capabilities, name and log level hold for its connection.

    Otherwise the `_meta` of each request has them.
    """
    has_listen_streams: bool
    """Whether changes go to the streams that asked for them, not to each connection."""
    signs_results: bool
    """Whether the `_meta` of each result has the name of the server."""
    names_missing_capabilities: bool
    """Whether an error of its own names the capabilities that a client lacks."""


HANDSHAKE_ERA: Final = Era(
    name="handshake",
    opened_by="initialize",  # 2025-11-25, basic/lifecycle, "Initialization"
    has_handshake=True,  # the same
    remembers_client=True,  # the same, and server/utilities/logging, "Setting Log Level"
    has_listen_streams=False,  # 2025-11-25, server/resources, "Subscriptions"
    signs_results=False,  # the answer to `initialize` says it
    names_missing_capabilities=False,  # no page has one
)

STATELESS_ERA: Final = Era(
    name="stateless",
    opened_by="server/discover",  # 2026-07-28, server/discover
    has_handshake=False,  # 2026-07-28, basic, "Statelessness"
    remembers_client=False,  # the same
    has_listen_streams=True,  # 2026-07-28, basic/patterns/subscriptions
    signs_results=True,  # 2026-07-28, basic, "_meta"
    names_missing_capabilities=True,  # 2026-07-28, basic, "Error Codes"
)

ERAS: Final[Mapping[EraName, Era]] = MappingProxyType(
    {era.name: era for era in (HANDSHAKE_ERA, STATELESS_ERA)}
)


class MethodTable(MessageCodec):
    """The messages of one revision, and what else a connection asks of the revision on its wire.

    Here both are the same, so that values need no translation.
    """

    carries: ClassVar[bool] = False
    """Whether params and results stay JSON values."""
    extensions: "tuple[Extension, ...]" = ()

    @cached_property
    def era(self) -> Era:
        return ERAS[self.rules.era]

    @cached_property
    def core(self) -> "MethodTable":
        """The table without extensions."""
        return self

    @property
    def wire(self) -> "MethodTable":
        """The table of the revision on the wire: this one, unless it translates."""
        return self

    @property
    def names(self) -> Mapping[str, str]:
        """The members of params that `Mcp-Name` repeats, by the methods of extensions."""
        return {
            method: name
            for extension in self.extensions
            for method, name in extension.names.items()
        }

    @cached_property
    def _claims(self) -> "Mapping[str, Mapping[str, ClaimedResult]]":
        """The results that extensions have, by method and `resultType`."""
        found: dict[str, dict[str, ClaimedResult]] = {}
        for extension in self.extensions:
            for claim in extension.claims:
                found.setdefault(claim.method, {})[claim.result_type] = claim
        return found

    def claimed_class(self, method: str, result_type: str) -> type[Any] | None:
        """Return the class that an extension has for a `resultType` of a method; None without."""
        claim = self._claims.get(method, {}).get(result_type)
        return None if claim is None else claim.load()

    def claims(self, method: str) -> tuple[type[Any], ...]:
        """Return the classes that extensions have for results of a method."""
        return tuple(claim.load() for claim in self._claims.get(method, {}).values())

    def request(self, method: str, sender: Role) -> AnyRequest | None:
        return spec_for_sender(self.requests.get(method), sender)

    def notification(self, method: str, sender: Role) -> NotificationSpec[Any] | None:
        return spec_for_sender(self.notifications.get(method), sender)

    def read_result(self, spec: RequestSpec[Any, Any, R], result: Any) -> R:
        """Read the decoded result of a request made with `spec`; raise `InvalidAnswer`."""
        answer = self.read_answer(Response(0, result), spec)
        assert isinstance(answer, Result)
        value: R = answer.value
        return value

    def write_question(self, spec: AnyRequest, params: Any) -> JSONObject:
        """Return a request that is sent inside a result, as JSON; raise `LocalError`."""
        given = {} if params is None else {"params": params.to_wire()}
        return {"method": spec.method, **given}

    def read_response(self, spec: RequestSpec[Any, Any, R], value: Any) -> R:
        """Read what answers such a request, which was found to be valid on the wire."""
        response: R = validator_of(spec.results[0])(value)
        return response

    def carry_out(self, method: str, part: Part, value: JSONObject) -> JSONObject:
        """Return params or a result as on the wire; raise `Untranslatable`."""
        return value

    def outward(self, name: str, value: JSONObject) -> JSONObject:
        """Return a value of the type `name` as on the wire."""
        return value

    def inward(self, name: str, value: JSONObject) -> JSONObject:
        """Return a value of the type `name` from the wire, in this side's own revision."""
        return value

    def presuming(self, members: Callable[[], Mapping[str, Any]]) -> "MethodTable":
        """Return the table for a connection whose requests all have these members in `_meta`."""
        return self

    def admit(self, method: str, sender: Role) -> None:
        """Raise `LocalError` for a method that is not this side's to send on the wire."""

    def lost(self, method: str, error: LocalError) -> None:
        """Take note of a message that was not sent, because the wire cannot express it."""
        raise error

    def code_to_send(self, method: str, code: int) -> int:
        return code

    def code_that_came(self, method: str, code: int) -> int:
        return code
