"""Which class reads a result, when a method may be answered in more than one way.

The choice is made by value, never by trying: an alternative is recognised by a constant it alone
requires (`resultType: input_required`), or else by a member that it alone requires (`task`). What
is none of the alternatives is the plain answer, and is held to the plain answer's rules.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from .model import Validate, WireModel, required_constants, required_members, validator_of
from .spec import RequestSpec


class _Alternative(NamedTuple):
    member: str
    constant: Any  # None where presence is enough
    validate: Validate


@cache
def result_reader(spec: RequestSpec[Any, Any]) -> Validate:
    """A function that reads the decoded result of `spec` as the class that fits it.

    Classes that nothing tells apart are left to Pydantic, which takes the one that fits best. The
    function raises `pydantic.ValidationError`.
    """
    if len(spec.results) == 1:
        return validator_of(spec.results[0])
    plain = validator_of(spec.results[0])
    alternatives: list[_Alternative] = []
    for arm in spec.results[1:]:
        others = [other for other in spec.results if other is not arm]
        alternative = _by_constant(arm, others) or _by_member(arm, others)
        if alternative is None:
            return validator_of(spec.result)
        alternatives.append(alternative)

    def read(value: Any) -> Any:
        if type(value) is dict:
            for member, constant, validate in alternatives:
                if member in value and (constant is None or value[member] == constant):
                    return validate(value)
        return plain(value)

    return read


def _by_constant(arm: type[WireModel], others: Sequence[type[WireModel]]) -> _Alternative | None:
    for member, constant in required_constants(arm).items():
        if all(required_constants(other).get(member) != constant for other in others):
            return _Alternative(member, constant, validator_of(arm))
    return None


def _by_member(arm: type[WireModel], others: Sequence[type[WireModel]]) -> _Alternative | None:
    for member in required_members(arm):
        if all(member not in required_members(other) for other in others):
            return _Alternative(member, None, validator_of(arm))
    return None
