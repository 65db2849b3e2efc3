"""What a user entered into a form, and whether it is what the form asked for.

A form is a flat object of strings, numbers, booleans and choices (client/elicitation, "Requested
Schema"), so checking it takes no JSON Schema library. Formats are hints to the one who fills the
form in, and are not checked. A form lists all it asks for: members that it does not list are left
out, unless its schema says by `additionalProperties` what is to become of them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from .jsonvalue import JSONObject, is_array, is_object
from .pointers import Problem, escaped

Schema: TypeAlias = Mapping[str, Any]

ELICIT: Final = "elicitation/create"

_CONTENT: Final = "content"
FORM: Final = "requestedSchema"
_OTHERS: Final = "additionalProperties"
_NONE: Final[Schema] = {}


def as_asked(answer: JSONObject, asked: Schema, shown: Schema) -> JSONObject:
    """An answer with what was asked for alone, in the types in which it was asked for.

    `asked` are the params of the question, `shown` those that the client had to answer: a revision
    without choices of several asks for a text instead, with commas between.
    """
    if not is_object(answer.get(_CONTENT)):
        return answer
    if FORM not in asked:
        # Whoever is sent to a URL has nothing to fill in.
        return {name: value for name, value in answer.items() if name != _CONTENT}
    members = _members(asked)
    several = {
        name
        for name, field in _members(shown).items()
        if field.get("type") != "array" and members.get(name, _NONE).get("type") == "array"
    }
    content = {
        name: _several(value, members[name]) if name in several else value
        for name, value in answer[_CONTENT].items()
        if name in members or _OTHERS in asked[FORM]
    }
    return {**answer, _CONTENT: content}


def faults_of(answer: JSONObject, asked: Schema, at: str) -> list[Problem]:
    """What is wrong with an answer to a question with the params `asked`; see `problems_of`."""
    if answer.get("action") != "accept" or FORM not in asked:
        return []
    return problems_of(answer.get(_CONTENT, {}), asked[FORM], f"{at}/{_CONTENT}")


def problems_of(content: object, schema: Schema, at: str) -> list[Problem]:
    """What is wrong with the content of a form, each with a pointer that begins with `at`."""
    if not is_object(content):
        return [Problem(at, "Input should be an object")]
    found = [
        Problem(f"{at}/{escaped(name)}", "Field required")
        for name in schema.get("required", ())
        if name not in content
    ]
    members: Schema = schema.get("properties", _NONE)
    for name, value in content.items():
        place = f"{at}/{escaped(name)}"
        if name in members:
            found += (Problem(place, text) for text in _faults(value, members[name]))
        elif schema.get(_OTHERS) is False:
            found.append(Problem(place, "Nothing was asked for here"))
    return found


def _members(question: Schema) -> Schema:
    members: Schema = question.get(FORM, _NONE).get("properties", _NONE)
    return members


def _several(value: object, field: Schema) -> object:
    """The choices that a text names, with commas between; a choice may have commas of its own."""
    if not isinstance(value, str):
        return value
    choices = _choices(field.get("items", _NONE)) or frozenset()
    sizes = [1 + str(choice).count(",") for choice in choices]
    longest = max(sizes, default=1)
    parts = value.split(",", sum(sizes) + 1)
    if len(parts) > sum(sizes) + 1:
        return value  # names more than there is to choose, even if a comma ends it
    found: list[str] = []
    start = 0
    while start < len(parts):
        ends = range(min(start + longest, len(parts)), start, -1)
        named = (",".join(parts[start:end]).strip() for end in ends)
        one = next((text for text in named if text in choices), parts[start].strip())
        found += [one] if one else []
        start += 1 + one.count(",")
    return found


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


def _choices(schema: Schema) -> frozenset[Any] | None:
    """The values of a choice, in any of the forms it may be written in."""
    if "enum" in schema:
        return frozenset(schema["enum"])
    for titled in ("oneOf", "anyOf"):
        if titled in schema:
            return frozenset(choice.get("const") for choice in schema[titled])
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
    if choices is not None and not all(isinstance(one, str) and one in choices for one in value):
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
