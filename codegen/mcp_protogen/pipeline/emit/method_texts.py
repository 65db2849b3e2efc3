"""The texts about messages in tables and stubs: their purpose and requirements."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from mcp_protogen.pipeline.derive.calls import CallSignature, is_constant
from mcp_protogen.pipeline.ir import (
    ConditionIR,
    FieldIR,
    LiteralOf,
    MethodErrorIR,
    MethodIR,
    ObjectIR,
    RequirementIR,
    TypeIR,
)


def documentation(method: MethodIR) -> str:
    """Return the text about a method and its capabilities, for tables."""
    summary = f": {method.doc}" if method.doc else "."
    return _with_needs(f"`{method.method}`{summary}", method.requires)


def purpose(method: MethodIR) -> str:
    """Return the text of a stub: its purpose, in the imperative, and the name of the method."""
    return _with_needs(_purpose(method), method.requires)


def _purpose(method: MethodIR, beside: str = "") -> str:
    if not _says_what_for(method):
        return f"Send `{method.method}`{beside}. {method.doc}".rstrip()
    first, end, tail = method.doc.partition(".")
    return f"{first} (`{method.method}`){beside}{end}{tail}"


def call_text(signature: CallSignature, method: MethodIR, types: Mapping[str, TypeIR]) -> str:
    """Return the text of a stub with separate members, and their requirements."""
    arm = types.get(signature.params)
    fixed = (
        [field for field in arm.fields if is_constant(field)] if isinstance(arm, ObjectIR) else []
    )
    members = {field.wire: field for field in (*fixed, *signature.positional, *signature.keywords)}
    of, beside, answer = dict(method.variants).get(signature.name), "", ""
    if of is not None and signature.once:
        beside = f", with `{of}`"
        others = " or ".join(f"`{name}`" for name in method.results[1:])
        answer = f"\n\nThe answer may also be a {others}."
    elif of is not None:
        fixed_values = [
            f"`{wire}` {_values(field)}" for wire, field in members.items() if field in fixed
        ]
        beside = f", with {' and '.join(fixed_values) or f'`{of}`'}"
    needs = _filter_requirements(method.requires, members)
    return _with_needs(f"{_purpose(method, beside)}{answer}", needs)


def _filter_requirements(
    requires: Iterable[RequirementIR], members: Mapping[str, FieldIR]
) -> Iterator[RequirementIR]:
    """Yield the requirements of params with these members; conditions on values stay."""
    for requirement in requires:
        results = {
            condition: _evaluate_condition(condition, members) for condition in requirement.when
        }
        if True in results.values() or not results:
            yield replace(requirement, when=())
        elif None in results.values():
            yield replace(
                requirement,
                when=tuple(condition for condition in results if results[condition] is None),
            )


def _evaluate_condition(condition: ConditionIR, members: Mapping[str, FieldIR]) -> bool | None:
    """Return whether a condition is always or never true for these members; None if it depends."""
    field = members.get(condition.member)
    if field is None:
        return condition.or_absent
    outcomes: set[bool] = set() if field.required else {condition.or_absent}
    if condition.one_of is None:
        outcomes.add(True)
    elif isinstance(field.type, LiteralOf):
        outcomes |= {value in condition.one_of for value in field.type.values}
    else:
        outcomes |= {True, False}
    return outcomes.pop() if len(outcomes) == 1 else None


def _values(field: FieldIR) -> str:
    values = field.type.values if isinstance(field.type, LiteralOf) else ()
    return " or ".join(f"`{value}`" for value in values)


def handling(method: MethodIR) -> str:
    """Return the text of a stub that handles a message, with the errors that may answer it."""
    errors = "\n".join(map(_error_text, method.errors))
    return f"{_handling(method)}\n\n{errors}".rstrip()


_DEMANDS: Mapping[str, str] = {"MUST": "Must", "SHOULD": "Should"}


def _error_text(error: MethodErrorIR) -> str:
    demand = _DEMANDS.get(error.level, "May")
    return f"{demand} answer with {error.code}: {error.when}."


def _handling(method: MethodIR) -> str:
    handle = f"Handle `{method.method}`."
    if not _says_what_for(method):
        return _with_needs(f"{handle} {method.doc}".rstrip(), method.requires)
    if method.kind != "notification":
        return purpose(method)
    text = f"{handle}\n\nIt is sent to {method.doc[0].lower()}{method.doc[1:]}"
    return _with_needs(text, method.requires)


def _says_what_for(method: MethodIR) -> bool:
    """Return whether a method has a text beyond its deprecation."""
    return method.doc not in ("", "Deprecated.")


def _with_needs(text: str, requires: Iterable[RequirementIR]) -> str:
    needs = "\n".join(map(_requirement_text, _without_duplicates(requires)))
    return f"{text}\n\n{needs}" if needs else text


def _without_duplicates(requires: Iterable[RequirementIR]) -> Iterator[RequirementIR]:
    """Yield the requirements without duplicates that differ only in their sender."""
    keys: set[tuple[tuple[str, ...], tuple[ConditionIR, ...]]] = set()
    for requirement in requires:
        key = (requirement.path, requirement.when)
        if key not in keys:
            keys.add(key)
            yield requirement


def _requirement_text(requirement: RequirementIR) -> str:
    verb = "Needs" if requirement.level == "MUST" else "Should have"
    whose = "" if requirement.sender != requirement.role else " of its sender"
    when = " or ".join(_condition_text(condition) for condition in requirement.when)
    path = ".".join(requirement.path)
    return f"{verb} the capability `{path}`{whose}{f' if {when}' if when else ''}."


def _condition_text(condition: ConditionIR) -> str:
    if condition.one_of is None:
        return f"`{condition.member}` is given"
    values = " or ".join(f"`{value}`" for value in condition.texts)
    absent = " or absent" if condition.or_absent else ""
    return f"`{condition.member}` is {values}{absent}"
