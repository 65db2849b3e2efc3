"""Handwritten JSON Schemas, validated with the package jsonschema.

The member `$schema` names the dialect; the default is 2020-12 (2025-11-25, basic, "JSON Schema
Usage"). References must lead into the schema: nothing is fetched (2026-07-28, basic, "`$ref`
Resolution").
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from .errors import Problem
from .json import JSONObject, is_array, is_object
from .libraries import library
from .models.validation_errors import pointer_to
from .schema_patterns import NotChecked, Patterns, Report, keywords

Check: TypeAlias = Callable[[Any], list[Problem]]
"""Returns the problems of a value, each with a pointer into it."""

_USUAL: Final = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS: Final[Mapping[str, str]] = {
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    _USUAL: "Draft202012Validator",
}
"""The class of jsonschema for each dialect, by its URI without a fragment."""

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
# With one of these, a value may be invalid because a part of it is valid.
_TURNING: Final = frozenset({"contains", "if", "not", "oneOf"})

_TOO_DEEP: Final = "the value or its schema is nested too deeply"
_LONGEST: Final = 200
_MOST: Final = 20
# Far more than any schema or value needs (2026-07-28, basic, "Composition-Keyword Resource Use"): a
# short schema can refer to itself so often that validation would take years.
_SCHEMAS: Final = 10_000
_FOLLOWED: Final = 100_000


def checker(
    schema: Mapping[str, Any], label: str, *, of_objects: bool, report: Report | None = None
) -> Check:
    """Return a function that validates values against a schema; `label` names it in messages.

    With `of_objects`, the root must have the type object. Raise `ValueError` for an unusable
    schema, and `ImportError` without the package jsonschema. `report` is for schemas from
    elsewhere: it is called with what is not checked. A check that would not end is a problem.
    """
    validators = library("jsonschema", label)
    dialect = _dialect(schema, label)
    if of_objects and schema.get("type") != "object":
        raise ValueError(f'{label} must have "type": "object" at its root')
    cls: Any = getattr(validators, _DIALECTS[dialect])
    own: JSONObject = dict(schema)
    registry = library("jsonschema_specifications", label).REGISTRY
    patterns = Patterns(report)
    _check_meta(cls, own, label, patterns)
    for part in _parts_aside(own, dialect, registry, label):
        _check_meta(cls, part, label, patterns)
    room = [0]
    validator = _bounded_class(validators, cls, room, patterns, own)(own, registry=registry)

    def check(value: Any) -> list[Problem]:
        room[0] = _FOLLOWED
        patterns.renew()
        faults: list[Problem] = []
        try:
            for error in islice(validator.iter_errors(value), _MOST):
                faults.append(_problem(error))
        except (RecursionError, _TooOften) as endless:
            why = str(endless) if isinstance(endless, _TooOften) else _TOO_DEEP
            patterns.skip(why)
            return [Problem("", why)]
        except NotChecked:
            patterns.skip("the rest is not checked, because a pattern cannot be")
        return faults

    return check


def _dialect(schema: Mapping[str, Any], label: str) -> str:
    dialect = str(schema.get("$schema", _USUAL)).removesuffix("#")
    if dialect not in _DIALECTS:
        names = ", ".join(_DIALECTS)
        raise ValueError(f"{label} uses the unsupported dialect {dialect}; supported: {names}")
    return dialect


def _problem(error: Any) -> Problem:
    # The message repeats the value, which may be long.
    brief = error.message if len(error.message) <= _LONGEST else error.message[:_LONGEST] + "…"
    return Problem(pointer_to(error.absolute_path), brief)


def _check_meta(cls: Any, schema: JSONObject, label: str, patterns: Patterns) -> None:
    formats: Any = type(cls.FORMAT_CHECKER)(())
    formats.checks("regex")(patterns.is_readable)
    meta = cls(cls.META_SCHEMA, format_checker=formats)
    try:
        for error in meta.iter_errors(schema):
            pointer, brief = _problem(error)
            raise ValueError(f"{label} is not a valid schema: {pointer or '/'}: {brief}")
    except RecursionError:
        raise ValueError(f"{label} is nested too deeply") from None


def _parts_aside(schema: JSONObject, dialect: str, registry: Any, label: str) -> list[JSONObject]:
    """Return subschemas that only references reach, in places where keywords have no schema.

    Raise `ValueError` for a reference outside the schema, and for a dialect named below the root,
    which would have other rules.
    """
    specification = library("referencing.jsonschema", label).specification_with(dialect)
    root = specification.create_resource(schema)
    stack, lookups = [(root, registry.resolver_with_root(root))], list[Any]()
    own, seen, aside = {id(part) for part in _objects_in(schema)}, set[int](), list[JSONObject]()
    while stack or lookups:
        if not stack:
            lookup = lookups.pop()
            if id(lookup.contents) in own - seen:
                aside.append(lookup.contents)
                stack.append((specification.create_resource(lookup.contents), lookup.resolver))
            continue
        resource, resolver = stack.pop()
        contents = resource.contents
        if not is_object(contents) or id(contents) in seen:
            continue
        seen.add(id(contents))
        if len(seen) > _SCHEMAS:
            raise ValueError(f"{label} contains more than {_SCHEMAS:,} schemas")
        if "$schema" in contents and contents is not schema:
            raise ValueError(f"{label} has $schema below its root, which is not supported")
        lookups += _lookups(contents, resolver, label)
        stack += [(inner, resolver.in_subresource(inner)) for inner in resource.subresources()]
    return aside


def _lookups(contents: JSONObject, resolver: Any, label: str) -> Iterator[Any]:
    unresolvable: Any = library("referencing.exceptions", label).Unresolvable
    for reference in map(contents.get, _REFERENCES):
        if not isinstance(reference, str):
            continue
        try:
            lookup = resolver.lookup(reference)
        except (unresolvable, ValueError):
            reason = "is not in the schema; references are never fetched"
            raise ValueError(f"{label} refers to {reference!r}, which {reason}") from None
        if not isinstance(lookup.contents, dict | bool):
            raise ValueError(f"{label} refers to {reference!r}, which is not a schema")
        yield lookup


def _objects_in(value: Any) -> Iterator[JSONObject]:
    stack = [value]
    while stack:
        part = stack.pop()
        if is_object(part):
            yield part
            stack += part.values()
        elif is_array(part):
            stack += part


class _TooOften(Exception):
    pass


def _bounded_class(
    validators: Any, cls: Any, room: list[int], patterns: Patterns, schema: JSONObject
) -> Any:
    def count_calls(follow: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any) -> Any:
            room[0] -= 1
            if room[0] < 0:
                raise _TooOften(f"the schema refers to itself more than {_FOLLOWED:,} times")
            return follow(*arguments)

        return counting

    usual: Mapping[str, Any] = cls.VALIDATORS
    changed = {keyword: count_calls(usual[keyword]) for keyword in usual.keys() & _REFERENCES}
    used = frozenset[str]().union(*_objects_in(schema))
    patterns.can_skip = _TURNING.isdisjoint(used)
    changed |= keywords(usual, patterns, used)
    return validators.validators.extend(cls, changed)
