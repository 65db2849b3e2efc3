"""Capability checks, in both directions.

A message may need that a side has declared a capability. Before sending, an unmet need is this
side's fault (`MissingCapability`); on receipt it is the peer's, and what to answer is the caller's
decision. Needs of level SHOULD are advice: they are listed in the tables and never enforced.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from .errors import LocalError, MissingCapability
from .jsonvalue import JSONObject, is_object
from .model import WireModel
from .spec import Capability, NotificationSpec, RequestSpec, Requirement, Role

AnySpec: TypeAlias = RequestSpec[Any, Any] | NotificationSpec[Any]
Declared: TypeAlias = Mapping[Role, Mapping[str, Any]]


def check(spec: AnySpec, sender: Role, params: object, declared: Declared) -> None:
    """Let `sender` send a message only if the protocol allows it.

    `declared` maps each side to the JSON object of its capabilities. Raises `LocalError` if the
    message is not this side's to send, and `MissingCapability` if a capability is not declared.
    """
    if sender not in spec.senders:
        raise LocalError(f"a {sender} does not send {spec.method}")
    require(spec.method, spec.requires, sender, params, declared)


def require(
    method: str,
    requirements: Iterable[Requirement],
    sender: Role,
    params: object,
    declared: Declared,
) -> None:
    """Raise `MissingCapability`, naming it, unless `requirements` hold for `method`."""
    need = unmet(requirements, sender, params, declared)
    if need is not None:
        condition = " or ".join(map(str, need.when))
        raise MissingCapability(method, need.capability.name, condition)


def unmet(
    requirements: Iterable[Requirement], sender: Role, params: object, declared: Declared
) -> Requirement | None:
    """The first requirement of level MUST that does not hold for a message from `sender`."""
    for need in requirements:
        if need.level != "MUST" or need.sender != sender:
            continue
        if need.capability.declared_in(declared[need.capability.role]):
            continue
        if not need.when or any(condition.holds(_members(params)) for condition in need.when):
            return need
    return None


def _members(params: object) -> Mapping[str, Any]:
    # What would be written is what counts: a None that is left out is no member.
    if isinstance(params, WireModel):
        return params.to_wire()
    return params if is_object(params) else {}


def needed(requirements: Iterable[Requirement], role: Role) -> Iterator[Capability]:
    """The capabilities that `role` has to declare whatever a message carries."""
    for need in requirements:
        if need.level == "MUST" and not need.when and need.capability.role == role:
            yield need.capability


def declare(capabilities: Iterable[Capability]) -> JSONObject:
    """The JSON object that declares `capabilities`: flags as true, others as empty objects."""
    declared: JSONObject = {}
    for capability in sorted(capabilities, key=lambda capability: capability.path):
        around = declared
        for step in capability.path[:-1]:
            around = around.setdefault(step, {})
        around.setdefault(capability.path[-1], True if capability.flag else {})
    return declared
