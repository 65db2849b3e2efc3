"""The check of conditions against the objects that they are about."""

from collections.abc import Iterator, Mapping, Sequence
from json import dumps

from mcp_protogen.pipeline.derive.expressions import by_name
from mcp_protogen.pipeline.derive.value_paths import may_hold
from mcp_protogen.pipeline.ir import ConditionIR, FieldIR, TypeIR

Conditions = tuple[ConditionIR, ...]


def find_impossible(
    conditions: Conditions,
    kinds: Sequence[Sequence[FieldIR]],
    types: Mapping[str, TypeIR],
    revision: str,
) -> Iterator[tuple[str, str]]:
    """Yield a message and a hint for each condition that no kind of object can meet."""
    for condition in conditions:
        named = [by_name(fields).get(condition.member) for fields in kinds]
        members = [member for member in named if member is not None]
        if not members:
            message = f"{condition.member} is no member in {revision}"
            yield message, "name a member of the object there"
            continue
        for value in condition.one_of or ():
            if not any(may_hold(member, value, types) for member in members):
                message = f"{condition.member} is never {dumps(value):.80} in {revision}"
                yield message, "write a value of its type"
