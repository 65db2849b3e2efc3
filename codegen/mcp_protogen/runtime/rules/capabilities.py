"""Capability checks, both ways. Needs of level SHOULD are advice, and never enforced."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from ..core.errors import MissingCapability
from ..core.json import JSONObject, is_object, is_same
from ..core.models.base import WireModel, shape_of
from ..core.spec import Capability, Condition, Requirement, Role

Declared: TypeAlias = Mapping[Role, Mapping[str, Any]]


def require(
    method: str, needs: Iterable[Requirement], sender: Role, params: object, declared: Declared
) -> None:
    """Raise `MissingCapability` unless `method` meets its `needs`."""
    if (need := unmet(needs, sender, params, declared)) is not None:
        raise unmet_error(method, need)


def unmet_error(method: str, need: Requirement) -> MissingCapability:
    return MissingCapability(method, need.capability.name, " or ".join(map(str, need.when)))


def unmet(
    requirements: Iterable[Requirement], sender: Role, params: object, declared: Declared
) -> Requirement | None:
    """Return the first unmet requirement of level MUST."""
    for need in requirements:
        if (
            need.level == "MUST"
            and need.sender == sender
            and (not need.when or applies(need.when, params))
            and not need.capability.declared_in(declared[need.capability.role])
        ):
            return need
    return None


def applies(conditions: Collection[Condition], params: object) -> bool:
    """Return whether params, a model or a JSON object, meet any of the conditions."""
    members: JSONObject = {}
    if isinstance(params, WireModel):
        names = shape_of(type(params)).names
        # Most messages have none of these members. A member counts if it would be written, even as
        # null.
        keys = params.__pydantic_fields_set__ | (params.__pydantic_extra__ or {}).keys()
        for member, _, _ in conditions:
            if names.get(member, member) in keys:
                members = params.to_wire()
                break
    elif is_object(params):
        members = params
    for member, values, or_absent in conditions:
        if member not in members:
            met = or_absent
        else:
            met = values is None or any(is_same(members[member], value) for value in values)
        if met:
            return True
    return False


def required_capabilities(requirements: Iterable[Requirement], role: Role) -> Iterator[Capability]:
    """Yield the capabilities that `role` must declare for any params."""
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
