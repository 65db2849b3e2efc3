"""Capability checks, in both directions.

Before sending, an unmet need is this side's fault (`MissingCapability`); on receipt it is the
peer's, and the caller decides what to answer. Needs of level SHOULD are advice, and never enforced;
the `task` of a request is left out where its receiver would ignore it.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from ..core.errors import LocalError, MissingCapability
from ..core.json import JSONObject, is_object
from ..core.models.base import WireModel
from ..core.spec import CallSpec, Capability, Condition, Requirement, Role

Declared: TypeAlias = Mapping[Role, Mapping[str, Any]]

P = TypeVar("P")

_NOTHING: Final[Mapping[str, Any]] = {}
_TASK: Final = "task"


def check(spec: CallSpec[Any], sender: Role, params: object, declared: Declared) -> None:
    """Raise `LocalError` unless `sender` may send a message.

    That is `MissingCapability` if a capability is not `declared`: the JSON objects of both sides.
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
    """Return the first requirement of level MUST that a message from `sender` does not meet."""
    for need in requirements:
        if (
            need.level == "MUST"
            and need.sender == sender
            # Most conditions are about a member that few messages have.
            and (not need.when or applies(need.when, params))
            and not need.capability.declared_in(declared[need.capability.role])
        ):
            return need
    return None


class OpenNeeds(dict[CallSpec[Any], tuple[Requirement, ...]]):
    """The requirements of messages, made when first asked for, that `role` does not meet itself."""

    def __init__(self, role: Role, declared: Mapping[str, Any]) -> None:
        super().__init__()
        self._role = role
        self._declared = declared

    def __missing__(self, spec: CallSpec[Any]) -> tuple[Requirement, ...]:
        found = self[spec] = tuple(
            need
            for need in spec.requires
            if need.capability.role != self._role
            or not (need.capability.declared_in(self._declared) or _is_passed_over(need))
        )
        return found


def _is_passed_over(need: Requirement) -> bool:
    """Return whether only senders are held to a need, and receivers ignore what has it.

    So it is with the `task` of a request (2025-11-25, basic/utilities/tasks, "Task Support and
    Handling").
    """
    return any(one.member == _TASK for one in need.when)


def open_needs(spec: CallSpec[Any], sender: Role, declared: Declared) -> tuple[Requirement, ...]:
    """Return the needs that are not declared; see `admitted`."""
    return tuple(
        need
        for need in spec.requires
        if need.sender == sender
        and (need.level == "MUST" or _is_passed_over(need))
        and not need.capability.declared_in(declared[need.capability.role])
    )


def admitted(
    method: str, needs: Iterable[Requirement], sender: Role, params: P, declared: Declared
) -> P:
    """Return `params` without a `task` that the receiver would ignore.

    (2025-11-25, basic/utilities/tasks, "Capability Negotiation") Raise as `require` does.
    """
    require(method, needs, sender, params, declared)
    for need in needs:
        if need.level != "MUST" and isinstance(params, WireModel) and applies(need.when, params):
            params = params.model_copy(update={_TASK: None})
    return params


def applies(conditions: Iterable[Condition], params: object) -> bool:
    """Return whether params, a model or a JSON object, meet any of some conditions."""
    for one in conditions:
        if not isinstance(params, WireModel):
            members = params if is_object(params) else _NOTHING
        elif (name := _names(type(params)).get(one.member)) is None:
            members = params.model_extra or _NOTHING
        elif (value := getattr(params, name)) is not None:
            members = {one.member: value}
        else:
            # What would be written counts, be it null; a None that is left out is no member.
            members = params.to_wire() if name in params.__pydantic_fields_set__ else _NOTHING
        if one.member not in members:
            met = one.or_absent
        else:
            met = one.one_of is None or members[one.member] in one.one_of
        if met:
            return True
    return False


@cache
def _names(cls: type[WireModel]) -> Mapping[str, str]:
    return {field.alias or name: name for name, field in cls.__pydantic_fields__.items()}


def needed(requirements: Iterable[Requirement], role: Role) -> Iterator[Capability]:
    """Yield the capabilities that `role` has to declare whatever a message carries."""
    for need in requirements:
        if need.level == "MUST" and not need.when and need.capability.role == role:
            yield need.capability


def declare(capabilities: Iterable[Capability]) -> JSONObject:
    """Return the JSON object that declares `capabilities`: flags as true, others as `{}`."""
    declared: JSONObject = {}
    for capability in sorted(capabilities, key=lambda capability: capability.path):
        around = declared
        for step in capability.path[:-1]:
            around = around.setdefault(step, {})
        around.setdefault(capability.path[-1], True if capability.flag else {})
    return declared
