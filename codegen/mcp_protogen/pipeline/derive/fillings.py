"""The usual values of required members, which senders write and callers need not give.

A fact names a member of one type. It applies to each required member of that name and schema,
whatever its bounds, because a published schema repeats common members in every type. A fact that
does not fit is left out, and callers must give the member: a later revision may require more in it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.ir import Filled
from mcp_protogen.pipeline.ir import Json as JsonScalar
from mcp_protogen.pipeline.normalise.references import definition_name

Json = dict[str, Any]

BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")


@dataclass(frozen=True, slots=True)
class Filling:
    """A member that is filled in wherever this name and schema are required."""

    member: str
    schema: Json
    value: JsonScalar | Filled
    fact: str
    """The place of the fact, as a JSON pointer into the facts."""


def fillings(definitions: Json, facts: Facts) -> Sequence[Filling]:
    """Return the members that can be filled in by the facts."""
    return _possible_fillings(list(_read_fillings(definitions, facts)), definitions)


def impossible_fillings(definitions: Json, facts: Facts) -> Sequence[Filling]:
    """Return the members that the facts fill in against the schema."""
    fillings = list(_read_fillings(definitions, facts))
    possible = _possible_fillings(fillings, definitions)
    return [filling for filling in fillings if filling not in possible]


def fits(value: Any, schema: Json, definitions: Json) -> bool:
    """Return whether a value is valid for `schema`."""
    # Facts of published revisions have only such values, and importing jsonschema takes as long as
    # deriving two of them.
    match schema:
        case {"type": "string", **more} if type(value) is str and more.keys() <= {"enum"}:
            return value in more.get("enum", (value,))
        case {"const": str(constant), **more} if more.keys() <= {"type"}:
            return bool(value == constant)
        case {"type": "integer", **more} if type(value) is int and more.keys() <= {"minimum"}:
            return bool(value >= more.get("minimum", value))
        case _:
            pass
    from jsonschema import Draft202012Validator

    # Its declared parameter is a special JSON type, and the value is `Any` from a file.
    validator: Any = Draft202012Validator({**schema, "$defs": definitions})
    valid: bool = validator.is_valid(value)
    return valid


def _read_fillings(definitions: Json, facts: Facts) -> Iterator[Filling]:
    producer: Json = facts.document.get("producer", {})
    for key, fact in producer.items():
        owner, _, member = fact["where"].partition(".")
        schema = definitions.get(owner, {}).get("properties", {}).get(member)
        if schema is None:
            continue
        pointer = jsonpointer.join("producer", key)
        value: JsonScalar | Filled
        match fact["rule"]:
            case "names_revision":
                value = facts.revision
            case "names_sender":
                value = Filled(_required_texts(schema, definitions))
            case "filled_in":
                value = Filled() if fact["value"] == {} else fact["value"]
            case _:
                continue
        yield Filling(member, schema, value, pointer)
        for similar in _with_other_bounds(member, schema, definitions):
            if not isinstance(value, Filled) and fits(value, similar, definitions):
                yield Filling(member, similar, value, pointer)


def _with_other_bounds(member: str, schema: Json, definitions: Json) -> Iterator[Json]:
    """Yield the schemas of required members of this name that differ from `schema` in bounds."""
    for owner in definitions.values():
        other: Json = owner.get("properties", {}).get(member, {})
        is_required = member in owner.get("required", ())
        if is_required and schema != other and _without_bounds(schema) == _without_bounds(other):
            yield other


def _without_bounds(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key not in BOUNDS}


def _required_texts(schema: Json, definitions: Json) -> tuple[str, ...]:
    """Return the required members of an object that may be empty texts."""
    owner: Json = definitions.get(definition_name(schema["$ref"]), {}) if "$ref" in schema else {}
    members: Json = owner.get("properties", {})
    return tuple(
        member
        for member in owner.get("required", ())
        if member in members and fits("", members[member], definitions)
    )


def _possible_fillings(fillings: Sequence[Filling], definitions: Json) -> Sequence[Filling]:
    """Return the fillings that are possible; inner objects come before outer ones."""
    possible: list[Filling] = []
    waiting = fillings
    while ready := [filling for filling in waiting if _possible(filling, possible, definitions)]:
        possible += ready
        waiting = [filling for filling in waiting if filling not in ready]
    return possible


def _possible(filling: Filling, fillings: Sequence[Filling], definitions: Json) -> bool:
    if not isinstance(filling.value, Filled):
        scalar = not is_object(filling.value) and not is_array(filling.value)
        return scalar and fits(filling.value, filling.schema, definitions)
    reference = filling.schema.get("$ref")
    schema: Json = definitions.get(definition_name(reference), {}) if reference is not None else {}
    if "properties" not in schema or schema.get("x-any-of-required"):
        return False
    return all(
        member in filling.value.texts or _has_usual_value(member, schema, fillings)
        for member in schema.get("required", ())
    )


def _has_usual_value(member: str, owner: Json, fillings: Sequence[Filling]) -> bool:
    schema: Json = owner["properties"].get(member, {})
    return "const" in schema or any(
        filling.member == member and filling.schema == schema for filling in fillings
    )
