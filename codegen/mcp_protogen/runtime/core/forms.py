"""Checks of the data that a user entered into a form.

A form is a flat object of strings, numbers, booleans and choices (client/elicitation, "Requested
Schema"), so no JSON Schema library is needed. Formats are not checked. Unlisted members are removed
unless the schema has `additionalProperties`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from .errors import Problem, escape_step
from .json import JSONObject, is_array, is_object, without

Schema: TypeAlias = Mapping[str, Any]

_CONTENT: Final = "content"
FORM: Final = "requestedSchema"
_OTHERS: Final = "additionalProperties"
_NONE: Final[Schema] = {}

_MOST: Final = 1000


def fit_answer(answer: JSONObject, requested: Schema, received: Schema) -> JSONObject:
    """Return an answer with only the requested members, in the requested types.

    `requested` are the params of the request, `received` those that the client received. A revision
    without multiple choice asks for a text with commas between the choices.
    """
    if not is_object(answer.get(_CONTENT)):
        return answer
    if FORM not in requested:
        return without(answer, _CONTENT)
    members = _members(requested)
    lists = {
        name
        for name, field in _members(received).items()
        if field.get("type") != "array" and members.get(name, _NONE).get("type") == "array"
    }
    content = {
        name: _split_choices(value, members[name]) if name in lists else value
        for name, value in answer[_CONTENT].items()
        if name in members or _OTHERS in requested[FORM]
    }
    return {**answer, _CONTENT: content}


def faults_of(answer: JSONObject, schema: Schema, at: str) -> list[Problem]:
    if answer.get("action") != "accept" or FORM not in schema:
        return []
    return problems_of(answer.get(_CONTENT, {}), schema[FORM], f"{at}/{_CONTENT}")


def problems_of(content: object, schema: Schema, at: str) -> list[Problem]:
    """Return the problems of a form's content, with pointers that begin with `at`."""
    if not is_object(content):
        return [Problem(at, "Input should be an object")]
    problems = [
        Problem(f"{at}/{escape_step(name)}", "Field required")
        for name in schema.get("required", ())
        if name not in content
    ]
    members: Schema = schema.get("properties", _NONE)
    for name, value in content.items():
        place = f"{at}/{escape_step(name)}"
        if name in members:
            problems += (Problem(place, text) for text in _faults(value, members[name]))
        elif schema.get(_OTHERS) is False and len(problems) < _MOST:
            problems.append(Problem(place, "The form has no such field"))
    return problems


def _members(question: Schema) -> Schema:
    members: Schema = question.get(FORM, _NONE).get("properties", _NONE)
    return members


def _split_choices(value: object, field: Schema) -> object:
    """Split a text at commas into choices; a choice may itself contain commas."""
    if not isinstance(value, str):
        return value
    choices = _choices(field.get("items", _NONE)) or frozenset()
    sizes = [1 + str(choice).count(",") for choice in choices]
    longest = max(sizes, default=1)
    parts = value.split(",", sum(sizes) + 1)
    if len(parts) > sum(sizes) + 1:
        return value  # more names than choices, even if the text ends with a comma
    values: list[str] = []
    start = 0
    while start < len(parts):
        ends = range(min(start + longest, len(parts)), start, -1)
        texts = (",".join(parts[start:end]).strip() for end in ends)
        one = next((text for text in texts if text in choices), parts[start].strip())
        values += [one] if one else []
        start += 1 + one.count(",")
    return values


def _choices(schema: Schema) -> frozenset[Any] | None:
    if "enum" in schema:
        return frozenset(schema["enum"])
    for titled in ("oneOf", "anyOf"):
        if titled in schema:
            return frozenset(choice.get("const") for choice in schema[titled])
    return None


def _faults(value: Any, schema: Schema) -> Iterator[str]:
    kind = _TYPES.get(schema.get("type", ""))
    if kind is None:
        return
    is_one, noun, (lower, upper), be, unit = kind
    if not is_one(value):
        yield f"Input should be {noun}"
        return
    if isinstance(value, bool):
        return
    size = len(value) if isinstance(value, str) or is_array(value) else value
    if size < schema.get(lower, size):
        yield f"Should {be} at least {schema[lower]}{unit}"
    if size > schema.get(upper, size):
        yield f"Should {be} at most {schema[upper]}{unit}"
    if isinstance(value, str):
        choices = _choices(schema)
        if choices is not None and value not in choices:
            yield "Should be one of the choices"
    elif is_array(value):
        choices = _choices(schema.get("items", _NONE))
        if choices is not None and not all(isinstance(x, str) and x in choices for x in value):
            yield "Every item should be one of the choices"


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return value.is_integer() if isinstance(value, float) else _is_number(value)


_Type: TypeAlias = tuple[Callable[[object], bool], str, tuple[str, str], str, str]

# For each type: its test, its name, the keywords of its bounds, and words for messages.
_TYPES: Final[Mapping[str, _Type]] = {
    "array": (is_array, "an array", ("minItems", "maxItems"), "have", " items"),
    "boolean": (lambda value: isinstance(value, bool), "a boolean", ("", ""), "", ""),
    "integer": (_is_integer, "an integer", ("minimum", "maximum"), "be", ""),
    "number": (_is_number, "a number", ("minimum", "maximum"), "be", ""),
    "string": (
        lambda value: isinstance(value, str),
        "a string",
        ("minLength", "maxLength"),
        "have",
        " characters",
    ),
}
