"""The method table of a connection: with extensions, and perhaps for another revision on the wire.

All differences that follow from the era of a revision are fields of `Era`.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

from ..core.errors import LocalError
from ..core.json import JSONObject
from ..core.models.base import validator_of
from ..core.spec import AnyRequest, CallSpec, EraName, NotificationSpec, Part, R, RequestSpec, Role
from .codec import MessageCodec, Result, spec_for_sender
from .jsonrpc import Response

if TYPE_CHECKING:
    from ..core.extensions import ClaimedResult, Extension

CodeAndData: TypeAlias = tuple[int, Any]

EXTENSIONS: Final = "extensions"
"""The capability with the declared extensions, by identifier."""


class Era(NamedTuple):
    name: EraName
    opened_by: str
    """The request that the server answers with its capabilities and name."""
    has_handshake: bool
    """Whether a connection begins with a handshake, before most messages are allowed."""
    remembers_client: bool
    """Whether a client's capabilities, name and log level apply to its connection.

    Otherwise the `_meta` of each request has them.
    """
    has_listen_streams: bool
    """Whether changes go to listen streams instead of every connection."""
    signs_results: bool
    """Whether the `_meta` of each result has the name of the server."""
    names_missing_capabilities: bool
    """Whether a dedicated error names the capabilities that a client lacks."""


HANDSHAKE_ERA: Final = Era(
    name="handshake",
    opened_by="initialize",  # 2025-11-25, basic/lifecycle, "Initialization"
    has_handshake=True,
    remembers_client=True,  # the same, and server/utilities/logging, "Setting Log Level"
    has_listen_streams=False,  # 2025-11-25, server/resources, "Subscriptions"
    signs_results=False,  # the answer to `initialize` has it
    names_missing_capabilities=False,  # no page has one
)

STATELESS_ERA: Final = Era(
    name="stateless",
    opened_by="server/discover",  # 2026-07-28, server/discover
    has_handshake=False,  # 2026-07-28, basic, "Statelessness"
    remembers_client=False,
    has_listen_streams=True,  # 2026-07-28, basic/patterns/subscriptions
    signs_results=True,  # 2026-07-28, basic, "_meta"
    names_missing_capabilities=True,  # 2026-07-28, basic, "Error Codes"
)

ERAS: Final[Mapping[EraName, Era]] = {era.name: era for era in (HANDSHAKE_ERA, STATELESS_ERA)}


class MethodTable(MessageCodec):
    """The messages of one revision, as a connection uses them.

    Here the revision on the wire is the same, so nothing is translated.
    """

    carries: ClassVar[bool] = False
    """Whether params and results stay JSON values."""
    extensions: "tuple[Extension, ...]" = ()

    @cached_property
    def era(self) -> Era:
        return ERAS[self.rules.era]

    @cached_property
    def core(self) -> "MethodTable":
        return self

    @property
    def wire(self) -> "MethodTable":
        return self

    @cached_property
    def first_names(self) -> Mapping[str, Any]:
        specs = (self.notifications, self.input_requests, self.requests)
        return {spec.known_as: spec for named in specs for spec in named.values()}

    def spec_of(self, known_as: str) -> Any:
        """Return the spec with this first name, if there is one."""
        return self.first_names.get(known_as)

    def name_of(self, known_as: str) -> str:
        spec = self.spec_of(known_as)
        return known_as if spec is None else spec.method

    def wire_name(self, method: str) -> str:
        """Return a method's name on the wire, given that here."""
        return method

    @cached_property
    def _claims(self) -> "Mapping[str, Mapping[str, ClaimedResult]]":
        claims: dict[str, dict[str, ClaimedResult]] = {}
        for extension in self.extensions:
            for claim in extension.claims:
                claims.setdefault(claim.method, {})[claim.result_type] = claim
        return claims

    def claims(self, method: str) -> tuple[type[Any], ...]:
        """Return the classes of results that are neither plain nor questions: tasks."""
        method = self.wire_name(method)
        spec = self.wire.requests.get(method)
        own: tuple[type[Any], ...] = ()
        if spec is not None and "may_require_input" in spec.traits:
            own = spec.results[1:-1]
        return (*own, *(claim.load() for claim in self._claims.get(method, {}).values()))

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
        extra = {} if params is None else {"params": params.to_wire()}
        return {"method": spec.method, **extra}

    def read_response(self, spec: RequestSpec[Any, Any, R], value: Any) -> R:
        """Read the answer to such a request, which was validated on the wire."""
        response: R = validator_of(spec.results[0])(value)
        return response

    def carry_out(self, method: str, part: Part, value: JSONObject) -> JSONObject:
        """Return params or a result as on the wire; raise `Untranslatable`."""
        return value

    def inward(self, name: str, value: JSONObject) -> JSONObject:
        """Return a value of the type `name` from the wire, in this side's revision."""
        return value

    def presuming(self, members: Callable[[], Mapping[str, Any]]) -> "MethodTable":
        """Return a table for a connection whose requests all have these members in `_meta`."""
        return self

    def with_losses(self, on_loss: Any) -> "MethodTable":
        return self

    def admit(self, spec: CallSpec[Any], sender: Role) -> None:
        """Raise `LocalError` if this side may not send a message on the wire."""

    def lost(self, method: str, error: LocalError) -> None:
        """Handle a message that was not sent because the wire cannot express it."""
        raise error

    def error_to_send(self, method: str, error: CodeAndData, params: Any = None) -> CodeAndData:
        """Return the code and data of an error as on the wire; `params` are its request's."""
        return error

    def error_that_came(self, method: str, error: CodeAndData, params: Any = None) -> CodeAndData:
        return error
