"""The choice of a result's class, and what a receiver forgives before.

An alternative to the plain result is known by a constant that only its class requires (`resultType:
input_required`), or by a member that only its class requires (`task`).
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, Union, cast

from ..core.json import is_object
from ..core.models.base import SUPPLIED, Validate, WireModel, required_members, validator_of
from ..core.spec import AnyRequest, Lenient, Rules

_RESULT_TYPE: Final = "resultType"


class UnknownResultType(Exception):
    """A `resultType` unknown to the method or the revision (2026-07-28, basic)."""


def result_reader(spec: AnyRequest, rules: Rules) -> Validate:
    """Return a reader of decoded results that raises `ValidationError` and `UnknownResultType`."""
    read, forgive = _by_value(spec), forgiver(spec, rules)
    return read if forgive is None else lambda value: read(forgive(value))


@cache
def forgiver(spec: AnyRequest, rules: Rules) -> Callable[[Any], Any] | None:
    """Return a function that repairs decoded results as the pages ask, or None.

    It raises `UnknownResultType`.
    """
    names = required_members(spec.results[0])
    lenient = [rule for rule in rules.leniency if rule.member in names]
    types = rules.result_types if _RESULT_TYPE in names else ()
    if not lenient and not types:
        return None
    plain_only = len(spec.results) == 1

    def forgiving(value: Any) -> Any:
        if not is_object(value):
            return value
        kind = value.get(_RESULT_TYPE, "complete")
        if kind == "complete":
            wrong = {rule.member: rule.value for rule in lenient if _is_wrong(rule, value)}
            return {**value, **wrong} if wrong else value
        if types and type(kind) is str and (plain_only or kind not in types):
            raise UnknownResultType(kind)
        return value

    return forgiving


def _is_wrong(rule: Lenient, value: dict[str, Any]) -> bool:
    if rule.rule == "absent":
        return rule.member not in value
    actual = value.get(rule.member)
    return isinstance(actual, (int, float)) and actual < 0


def _by_value(spec: AnyRequest) -> Validate:
    plain = validator_of(spec.results[0])
    if len(spec.results) == 1:
        return plain
    alternatives: list[tuple[str, Any, Validate]] = []
    for arm in spec.results[1:]:
        mark = _mark(arm, [result for result in spec.results if result is not arm])
        if mark is None:
            return validator_of(cast(Any, Union)[spec.results])
        alternatives.append((*mark, validator_of(arm)))

    def read(value: Any) -> Any:
        if type(value) is dict:
            for member, constant, validate in alternatives:
                if member in value and (constant is None or value[member] == constant):
                    return validate(value)
        return plain(value)

    return read


def _mark(arm: type[WireModel], others: Sequence[type[WireModel]]) -> tuple[str, Any] | None:
    """Return the member that tells a class from others, with its constant, or None for presence."""
    members, rest = required_members(arm), [required_members(cls) for cls in others]
    for member, constant in members.items():
        if constant is not SUPPLIED and all(required.get(member) != constant for required in rest):
            return member, constant
    for member in members:
        if not any(member in required for required in rest):
            return member, None
    return None
