"""Capability checks, in both directions. Needs of level SHOULD are advice, and never enforced."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from ..core.errors import MissingCapability
from ..core.json import JSONObject, is_object
from ..core.models.base import WireModel
from ..core.spec import Capability, Condition, Requirement, Role

Declared: TypeAlias = Mapping[Role, Mapping[str, Any]]

_NOTHING: Final[Mapping[str, Any]] = {}


def require(
    method: str,
    requirements: Iterable[Requirement],
    sender: Role,
    params: object,
    declared: Declared,
) -> None:
    """Raise `MissingCapability` unless `requirements` hold for `method`."""
    need = unmet(requirements, sender, params, declared)
    if need is not None:
        raise missing(method, need)


def missing(method: str, need: Requirement) -> MissingCapability:
    return MissingCapability(method, need.capability.name, " or ".join(map(str, need.when)))


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
