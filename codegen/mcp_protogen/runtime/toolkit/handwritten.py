"""JSON Schemas written by hand, and the package that checks values against them.

A schema says by `$schema` which dialect it is written in, and is of 2020-12 if it does not
(2025-11-25, basic, "JSON Schema Usage").
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from itertools import islice
from typing import Any, Final, TypeAlias

from ..jsonvalue import JSONObject
from ..pointers import Problem, escaped
from .schema_references import REFERENCES, parts_aside

Check: TypeAlias = Callable[[Any], list[Problem]]
"""What is wrong with a value, as pointers into it; nothing if it fits."""

_USUAL: Final = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS: Final[Mapping[str, str]] = {
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    _USUAL: "Draft202012Validator",
}
"""The validator of the package jsonschema for each dialect, by its URI without a fragment."""

_LONGEST: Final = 200
_MOST: Final = 20
# Far more than any value needs (2026-07-28, basic, "Composition-Keyword Resource Use"): a schema of
# a few lines can refer to itself so often that checking would take years.
_FOLLOWED: Final = 100_000


def checker(schema: Mapping[str, Any], what: str, *, of_objects: bool) -> Check:
    """What checks values against a schema; `what` names the schema in messages.

    `of_objects` wants a root of the type object. Raises `ValueError` for a schema that nobody can
    use, and `ImportError` where the package jsonschema is not installed: nothing goes unchecked.
    """
    validators = _jsonschema(what)
    dialect = str(schema.get("$schema", _USUAL)).removesuffix("#")
    name = _DIALECTS.get(dialect)
    if name is None:
        known = ", ".join(_DIALECTS)
        raise ValueError(f"{what} is written in {dialect}, which is not understood; known: {known}")
    if of_objects and schema.get("type") != "object":
        raise ValueError(f'{what} has to say "type": "object" at its root')
    cls: Any = getattr(validators, name)
    own: JSONObject = dict(schema)
    registry = import_module("jsonschema_specifications").REGISTRY
    _check_form(cls, own, what)
    for part in parts_aside(own, dialect, registry, what):
        _check_form(cls, part, what)
    followed = _Followed()
    validator = _counting(validators, cls, followed)(own, registry=registry)

    def check(value: Any) -> list[Problem]:
        followed.times = 0
        try:
            found: Iterable[Any] = list(islice(validator.iter_errors(value), _MOST))
        except RecursionError:
            return [Problem("", "the value, or its schema, has no end")]
        except _TooOften:
            return [Problem("", f"the schema refers to itself more than {_FOLLOWED:,} times")]
        return [Problem(_pointer(one), _brief(one.message)) for one in found]

    return check


def _check_form(cls: Any, schema: JSONObject, what: str) -> None:
    """Raise `ValueError` for what is no schema of a dialect."""
    # Patterns that Python cannot read are found by their format.
    meta = cls(cls.META_SCHEMA, format_checker=cls.FORMAT_CHECKER)
    error = next(iter(meta.iter_errors(schema)), None)
    if error is not None:
        raise ValueError(f"{what} is no schema: {_pointer(error) or '/'}: {_brief(error.message)}")


class _TooOften(Exception):
    """Checking a value follows too many references."""


class _Followed:
    """How many references have been followed for one value."""

    __slots__ = ("times",)

    def __init__(self) -> None:
        self.times = 0


def _counting(validators: Any, cls: Any, followed: _Followed) -> Any:
    """The same class of validators, which counts the references it follows."""

    def counted(keyword: str) -> Callable[..., Any]:
        follow = cls.VALIDATORS[keyword]

        def counting(*arguments: Any) -> Any:
            followed.times += 1
            if followed.times > _FOLLOWED:
                raise _TooOften
            return follow(*arguments)

        return counting

    known = [keyword for keyword in REFERENCES if keyword in cls.VALIDATORS]
    return validators.validators.extend(cls, {keyword: counted(keyword) for keyword in known})


def _jsonschema(what: str) -> Any:
    try:
        return import_module("jsonschema")
    except ImportError:
        needs = "which takes the package jsonschema: pip install jsonschema"
        raise ImportError(f"{what} is there to check values with, {needs}") from None


def _pointer(error: Any) -> str:
    return "".join(f"/{escaped(str(step))}" for step in error.absolute_path)


def _brief(message: str) -> str:
    # Messages repeat the value, which may be of any length.
    return message if len(message) <= _LONGEST else message[:_LONGEST] + "…"
