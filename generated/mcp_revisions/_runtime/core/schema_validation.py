"""Handwritten JSON Schemas, and the package that validates values against them.

The member `$schema` names the dialect; without it the dialect is 2020-12 (2025-11-25, basic, "JSON
Schema Usage").
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from itertools import islice
from typing import Any, Final, TypeAlias

from .json import JSONObject
from .models.validation_errors import Problem, escaped
from .schema_references import REFERENCES, parts_aside

Check: TypeAlias = Callable[[Any], list[Problem]]
"""A function that returns the problems of a value, each with a pointer into it."""

_USUAL: Final = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS: Final[Mapping[str, str]] = {
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    _USUAL: "Draft202012Validator",
}
"""The validator class of the package jsonschema for each dialect, by its URI without a fragment."""

_LONGEST: Final = 200
_MOST: Final = 20
# Far more than any value needs (2026-07-28, basic, "Composition-Keyword Resource Use"): a schema of
# a few lines can refer to itself so often that validation would take years.
_FOLLOWED: Final = 100_000


def checker(schema: Mapping[str, Any], what: str, *, of_objects: bool) -> Check:
    """Return a function that validates values against a schema; `what` names it in messages.

    With `of_objects`, the root has to be of the type object. Raises `ValueError` for a schema that
    cannot be used, and `ImportError` if the package jsonschema is not installed: a value is never
    accepted without a check.
    """
    validators = _jsonschema(what)
    dialect = str(schema.get("$schema", _USUAL)).removesuffix("#")
    name = _DIALECTS.get(dialect)
    if name is None:
        known = ", ".join(_DIALECTS)
        raise ValueError(
            f"{what} is written in the unsupported dialect {dialect}; supported: {known}"
        )
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
            return [Problem("", "the value or its schema is nested too deeply")]
        except _TooOften:
            return [Problem("", f"the schema refers to itself more than {_FOLLOWED:,} times")]
        return [Problem(_pointer(one), _brief(one.message)) for one in found]

    return check


def _check_form(cls: Any, schema: JSONObject, what: str) -> None:
    """Raise `ValueError` if a schema is not valid in its dialect."""
    # The format checker finds patterns that Python cannot compile.
    meta = cls(cls.META_SCHEMA, format_checker=cls.FORMAT_CHECKER)
    error = next(iter(meta.iter_errors(schema)), None)
    if error is not None:
        raise ValueError(
            f"{what} is not a valid schema: {_pointer(error) or '/'}: {_brief(error.message)}"
        )


class _TooOften(Exception):
    """The validation of a value follows too many references."""


class _Followed:
    """The number of references followed for one value."""

    __slots__ = ("times",)

    def __init__(self) -> None:
        self.times = 0


def _counting(validators: Any, cls: Any, followed: _Followed) -> Any:
    """Return a subclass of the validator that counts the references it follows."""

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
        needs = "needs the package jsonschema: pip install jsonschema"
        raise ImportError(f"{what} {needs}") from None


def _pointer(error: Any) -> str:
    return "".join(f"/{escaped(str(step))}" for step in error.absolute_path)


def _brief(message: str) -> str:
    # The message repeats the value, which may be of any length.
    return message if len(message) <= _LONGEST else message[:_LONGEST] + "…"
