"""The protocol as data: capabilities, methods and errors of one revision.

Type parameters are for type checkers. At run time `params` is a plain value.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from .json import is_object, json_text
from .value_paths import ValuePath

EraName: TypeAlias = Literal["handshake", "stateless"]
Role: TypeAlias = Literal["client", "server"]
Level: TypeAlias = Literal["MUST", "SHOULD"]
Phase: TypeAlias = Literal["any", "before_ready", "ready"]
Part: TypeAlias = Literal["params", "result"]

P = TypeVar("P")
R = TypeVar("R")
A = TypeVar("A")

CALL_TOOL: Final = "tools/call"
ELICIT: Final = "elicitation/create"
LIST_TOOLS: Final = "tools/list"
SET_LEVEL: Final = "logging/setLevel"
"""First names of methods: see `known_as`."""


class Capability(NamedTuple):
    """A declared ability of one side.

    A `flag` counts if it is true, any other capability if its member is present, even if empty. An
    `implied` one also counts if the object around it is empty (elicitation: form).
    """

    role: Role
    path: tuple[str, ...]
    flag: bool = False
    implied: bool = False

    @property
    def name(self) -> str:
        """The dotted path, beginning with the declaring side: `server.tools.listChanged`."""
        return ".".join((self.role, *self.path))

    def declared_in(self, capabilities: Mapping[str, Any]) -> bool:
        for step in self.path[:-1]:
            inner = capabilities.get(step)
            if not is_object(inner):
                return False
            capabilities = inner
        if self.implied and not capabilities:
            return True
        value = capabilities.get(self.path[-1])
        return value is True if self.flag else value is not None and value is not False


class Condition(NamedTuple):
    """A member of the params that makes a requirement apply, by presence or by value."""

    member: str
    one_of: tuple[Any, ...] | None = None
    or_absent: bool = False

    def __str__(self) -> str:
        if self.one_of is None:
            return f"params.{self.member} is present"
        absent = " or absent" if self.or_absent else ""
        texts = (
            text if isinstance(text, str) else json_text(text).decode() for text in self.one_of
        )
        return f"params.{self.member} is {' or '.join(texts)}{absent}"


class Requirement(NamedTuple):
    """A capability needed for a message of `sender` if any of `when` is true."""

    capability: Capability
    level: Level
    sender: Role
    when: tuple[Condition, ...] = ()
    source: str = ""


class HeaderField(NamedTuple):
    """A header field over HTTP that repeats the part of a message at `path`.

    With `both` it is equal, with `if_present` perhaps missing; with `header_wins` it replaces that.
    """

    header: str
    path: tuple[str, ...]
    policy: Literal["both", "if_present", "header_wins"] = "both"


class StreamPlace(NamedTuple):
    """Where the stream of a request has a notification."""

    request: str
    order: str = ""
    member: str = ""
    every: float = 0


@dataclass(frozen=True, eq=False)
class CallSpec(Generic[P]):
    """One request or notification, its senders and types.

    Types load at their first use. `items` is the only list that each result has.
    """

    method: str
    _: KW_ONLY
    known_as: str = ""
    """Its first name, which the runtime knows."""
    senders: frozenset[Role]
    load_params: Callable[[], Any] = field(repr=False)
    load_results: Callable[[], tuple[type, ...]] = field(default=tuple, repr=False)
    requires: tuple[Requirement, ...] = ()
    traits: frozenset[str] = frozenset()
    phase: Phase = "any"
    since: str = ""
    removed: str | None = None
    deprecated: str | None = None
    params_required: bool = True
    items: str = ""
    headers: tuple[HeaderField, ...] = ()
    stream: StreamPlace | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "known_as", self.known_as or self.method)

    @cached_property
    def params(self) -> Any:
        return self.load_params()


class RequestSpec(CallSpec[P], Generic[P, R, A]):
    """A request: `R` is its plain result, the first of `results`; `A` is any of them."""

    @cached_property
    def results(self) -> tuple[type, ...]:
        return self.load_results()


AnyRequest: TypeAlias = RequestSpec[Any, Any, Any]


class NotificationSpec(CallSpec[P]):
    pass


class ErrorSpec(NamedTuple):
    """One error code; `load` returns the type of its data, if it has one.

    `retry` is the member of its data with the time to wait, and the unit: "ms" or "s".
    """

    code: int
    name: str
    load: Callable[[], Any] | None = None
    status: int = 200
    """The status of the answer over HTTP."""
    retry: tuple[str, str] | None = None

    @property
    def data(self) -> Any:
        return None if self.load is None else self.load()


class Lenient(NamedTuple):
    """A replacement for a required member that is absent, or negative."""

    member: str
    rule: Literal["absent", "negative"]
    value: Any


class Rules(NamedTuple):
    """Differences between revisions that the schemas do not express.

    With `polling`, an HTTP server may close a stream until the client returns. With
    `unnamed_over_http`, requests of a session name no revision. Invalid arguments of a tool
    (`bad_arguments`) are an error, or a result for the model. `leniency` is for receivers. The
    schema of a tool's structured values is at `output_schema`, and each tool has the entry at
    `content_variant`; calls name variants at `requested_outputs`. Params of lists have `cursor`,
    pages `next_cursor`, tasks `task_id`. Results depend on the keys `varying` of `_meta`. All
    requests have `headers`, all answers `answer_headers`, errors `error_headers` with values.
    """

    era: EraName = "handshake"
    batching: bool = False
    error_id_optional: bool = True
    server_requests: bool = True
    polling: bool = False
    unnamed_over_http: bool = False
    bad_arguments: Literal["error", "result"] = "error"
    resource_not_found: int = -32002
    result_types: tuple[str, ...] = ()
    leniency: tuple[Lenient, ...] = ()
    requested_outputs: ValuePath | None = None
    complete_tool: Callable[[Any], None] | None = None
    content_variant: ValuePath | None = None
    output_schema: ValuePath | None = ("outputSchema",)
    cursor: str = "cursor"
    next_cursor: str = "nextCursor"
    task_id: str = "taskId"
    varying: tuple[str, ...] = ()
    headers: tuple[HeaderField, ...] = ()
    answer_headers: tuple[HeaderField, ...] = ()
    error_headers: tuple[tuple[str, str], ...] = ()
