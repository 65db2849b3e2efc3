"""The protocol as data: capabilities, methods and error codes of one revision.

Generated tables are made of these. The type parameters of a method carry its params and result to
type checkers; at run time `params` and `result` are plain values, so that a union or an alias can
stand there. Nothing here reads or writes messages.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from .era import EraName
from .json import is_object

Role: TypeAlias = Literal["client", "server"]
Level: TypeAlias = Literal["MUST", "SHOULD"]
Phase: TypeAlias = Literal["any", "before_ready", "ready"]

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Capability:
    """Something a side declares that it can do.

    A `flag` counts when it is true, any other capability when its member is present, even if empty.
    An `implied` one also counts when the object around it is empty (elicitation: form).
    """

    role: Role
    path: tuple[str, ...]
    flag: bool = False
    implied: bool = False

    @property
    def name(self) -> str:
        """The dotted path, the declaring side first: `server.tools.listChanged`."""
        return ".".join((self.role, *self.path))

    def declared_in(self, capabilities: Mapping[str, Any]) -> bool:
        """Return whether `capabilities`, the JSON object that `role` declared, has this one."""
        around: Mapping[str, Any] = capabilities
        for step in self.path[:-1]:
            inner = around.get(step)
            if not is_object(inner):
                return False
            around = inner
        if self.implied and not around:
            return True
        value = around.get(self.path[-1])
        return value is True if self.flag else value is not None and value is not False


@dataclass(frozen=True, slots=True)
class Condition:
    """A member of the params that makes a requirement apply, by presence or by its value."""

    member: str
    one_of: tuple[str, ...] | None = None
    or_absent: bool = False

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Return whether `params`, the JSON object that is sent, meet the condition."""
        if self.member not in params:
            return self.or_absent
        return self.one_of is None or params[self.member] in self.one_of

    def __str__(self) -> str:
        if self.one_of is None:
            return f"params.{self.member} is present"
        absent = " or absent" if self.or_absent else ""
        return f"params.{self.member} is {' or '.join(self.one_of)}{absent}"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A capability that a message needs when `sender` sends it and any of `when` holds."""

    capability: Capability
    level: Level
    sender: Role
    when: tuple[Condition, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RequestSpec(Generic[P, R]):
    """One request: who may send it, what it carries, how it may be answered.

    `params` is the type expression to read params with, `results` the classes of `result`, the
    plain answer first. With `params_required` false the params may be left out.
    """

    method: str
    _: KW_ONLY
    senders: frozenset[Role]
    params: Any
    result: Any
    results: tuple[type, ...]
    requires: tuple[Requirement, ...] = ()
    traits: frozenset[str] = frozenset()
    phase: Phase = "any"
    since: str = ""
    removed: str | None = None
    deprecated: str | None = None
    params_required: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class NotificationSpec(Generic[P]):
    """One notification: who may send it and what it carries."""

    method: str
    _: KW_ONLY
    senders: frozenset[Role]
    params: Any
    requires: tuple[Requirement, ...] = ()
    traits: frozenset[str] = frozenset()
    phase: Phase = "any"
    since: str = ""
    removed: str | None = None
    deprecated: str | None = None
    params_required: bool = True


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """One error code, and the type of its data if the revision fixes one."""

    code: int
    name: str
    data: Any = None


@dataclass(frozen=True, slots=True)
class Lenient:
    """A value that stands for a required member which is absent, or for a negative number."""

    member: str
    rule: Literal["absent", "negative"]
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """The differences between revisions that no schema has: how messages travel, what is sent.

    `batching` says whether an array of messages may be received, `error_id_optional` whether an
    error may be sent without id, `server_requests` whether a server may send requests of its own,
    `polling` whether a server may close a stream over HTTP for the client to come back to it.
    `bad_arguments` says whether arguments that do not fit a tool are an error, or a result that a
    model reads; `resource_not_found` is the code for a resource that is not there.
    `result_types` are the values of `resultType`, where results have one; `leniency` is what a
    receiver forgives that the schema does not.
    """

    era: EraName = "handshake"
    batching: bool = False
    error_id_optional: bool = True
    server_requests: bool = True
    polling: bool = False
    bad_arguments: Literal["error", "result"] = "error"
    resource_not_found: int = -32002
    result_types: tuple[str, ...] = ()
    leniency: tuple[Lenient, ...] = ()
