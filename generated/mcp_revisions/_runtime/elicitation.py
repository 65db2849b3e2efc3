"""Whether what a user entered is what a form asked for.

A form is a flat object of strings, numbers, booleans and choices (client/elicitation, "Requested
Schema"), so checking it takes no JSON Schema library. Formats are hints to the one who fills the
form in, and are not checked. Members the form does not have are let pass, as JSON Schema does.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from .jsonvalue import is_array, is_object
from .pointers import Problem, escaped

Schema: TypeAlias = Mapping[str, Any]


def problems_of(content: object, schema: Schema, at: str) -> list[Problem]:
    """What is wrong with the content of a form, each with a pointer that begins with `at`."""
    if not is_object(content):
        return [Problem(at, "Input should be an object")]
    found = [
        Problem(f"{at}/{escaped(name)}", "Field required")
        for name in schema.get("required", ())
        if name not in content
    ]
    for name, member in schema.get("properties", {}).items():
        if name in content:
            place = f"{at}/{escaped(name)}"
            found += (Problem(place, text) for text in _faults(content[name], member))
    return found


def restored(content: object, schema: Schema) -> object:
    """The content of a form as its schema has it, if choices came back as one text.

    A revision without choices of several asks for a text instead, with commas between.
    """
    if not is_object(content):
        return content
    members: Mapping[str, Any] = schema.get("properties", {})
    several = {
        name
        for name, value in content.items()
        if isinstance(value, str) and members.get(name, {}).get("type") == "array"
    }
    return {
        name: (
            [part.strip() for part in value.split(",") if part.strip()]
            if name in several
            else value
        )
        for name, value in content.items()
    }


def _faults(value: object, schema: Schema) -> Iterator[str]:
    check = _CHECKS.get(schema.get("type", ""))
    if check is None:
        return
    if not check[0](value):
        yield f"Input should be {check[1]}"
        return
    yield from check[2](value, schema)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return _is_number(value)


def _string(value: Any, schema: Schema) -> Iterator[str]:
    if len(value) < schema.get("minLength", 0):
        yield f"Should have at least {schema['minLength']} characters"
    if len(value) > schema.get("maxLength", len(value)):
        yield f"Should have at most {schema['maxLength']} characters"
    choices = _choices(schema)
    if choices is not None and value not in choices:
        yield "Should be one of the choices"


def _choices(schema: Schema) -> list[Any] | None:
    """The values of a choice, in any of the forms it may be written in."""
    if "enum" in schema:
        return list(schema["enum"])
    for titled in ("oneOf", "anyOf"):
        if titled in schema:
            return [choice.get("const") for choice in schema[titled]]
    return None


def _number(value: Any, schema: Schema) -> Iterator[str]:
    if value < schema.get("minimum", value):
        yield f"Should be at least {schema['minimum']}"
    if value > schema.get("maximum", value):
        yield f"Should be at most {schema['maximum']}"


def _array(value: Any, schema: Schema) -> Iterator[str]:
    if len(value) < schema.get("minItems", 0):
        yield f"Should have at least {schema['minItems']} items"
    if len(value) > schema.get("maxItems", len(value)):
        yield f"Should have at most {schema['maxItems']} items"
    choices = _choices(schema.get("items", {}))
    if choices is not None and any(item not in choices for item in value):
        yield "Should hold nothing but choices"


def _nothing(value: Any, schema: Schema) -> Iterator[str]:
    return iter(())


_Check: TypeAlias = tuple[Callable[[object], bool], str, Callable[[Any, Schema], Iterator[str]]]

_CHECKS: Final[Mapping[str, _Check]] = {
    "array": (is_array, "an array", _array),
    "boolean": (lambda value: isinstance(value, bool), "a boolean", _nothing),
    "integer": (_is_integer, "an integer", _number),
    "number": (_is_number, "a number", _number),
    "string": (lambda value: isinstance(value, str), "a string", _string),
}
