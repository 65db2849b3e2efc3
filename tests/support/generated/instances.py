"""Hypothesis strategies for instances of a schema, as far as the protocol's schemas go.

Values come mostly from small pools of awkward ones: that is fast, and wrong models fail on them. An
unknown keyword stops the test.
"""

from typing import Any

from hypothesis import strategies as st
from mcp_protogen.base import jsonpointer

Json = dict[str, Any]
Values = st.SearchStrategy[Any]

STRINGS = (
    "",
    "text",
    "a/b~c",
    "é\u2028\x00",
    "\U0001f600",
    "null",
    "1",
    "true",
    "file:///a b",
    "__class__",
)
ANYTHING: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    10**30,
    2.5,
    2.0,
    1e300,
    "",
    "text",
    [],
    [1, None, 1.0],
    {},
    {"a": {"b": [None]}, "type": "text"},
)
# Names that mean something to Python or Pydantic, or are the Python name of some member.
KEYS = (
    "x",
    "",
    "type",
    "self",
    "cls",
    "model_config",
    "to_wire",
    "meta",
    "next_cursor",
    "__dict__",
    "$ref",
    "a b",
)

_ANNOTATIONS = {"format", "default", "x-open-arm"}
_KNOWN = _ANNOTATIONS | {
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "items",
    "maxItems",
    "maximum",
    "minItems",
    "minimum",
    "not",
    "properties",
    "required",
    "type",
}
_ANY = st.sampled_from(ANYTHING)
_MAP_KEYS = st.sampled_from(KEYS) | st.text(max_size=3)


class Instances:
    """Strategies for the definitions of one document, each made once.

    `complete` ones hold exactly the declared members of every object.
    """

    def __init__(self, document: Json, *, complete: bool = False) -> None:
        self._document = document
        self._complete = complete
        self._made: dict[str, Values] = {}

    def at(self, pointer: str) -> Values:
        if pointer not in self._made:
            schema: Any = jsonpointer.get(self._document, pointer)
            self._made[pointer] = st.deferred(lambda: self._of(schema))
        return self._made[pointer]

    def _of(self, schema: Any) -> Values:
        if schema is True or not schema.keys() - _ANNOTATIONS:
            return _ANY
        unknown = schema.keys() - _KNOWN
        if unknown:
            raise NotImplementedError(f"no instances for the keywords {sorted(unknown)}")
        if "$ref" in schema:
            return self.at(schema["$ref"].removeprefix("#"))
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        if "allOf" in schema:
            return self._of(self._join_schemas(schema))
        if "anyOf" in schema:
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return st.one_of([self._of(_both(rest, arm)) for arm in schema["anyOf"]])
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return st.one_of([self._of_kind(kind, schema) for kind in kinds])

    def _of_kind(self, kind: str, schema: Json) -> Values:
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return self._array(schema)
            case "string":
                return _string(schema)
            case "number":
                return _number(schema)
            case "integer":
                return _integer(schema)
            case "boolean":
                return st.booleans()
            case _:
                return st.none()

    def _join_schemas(self, schema: Json) -> Json:
        joined = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            while "$ref" in part:
                part = jsonpointer.get(self._document, part["$ref"].removeprefix("#"))
            joined = _both(joined, part)
        return joined

    def _object(self, schema: Json) -> Values:
        members = {name: self._of(value) for name, value in schema.get("properties", {}).items()}
        required = {name: members.pop(name, _ANY) for name in schema.get("required", ())}
        others = schema.get("additionalProperties", True)
        if others is False:
            return st.fixed_dictionaries(required, optional=members)
        if self._complete and members:
            return st.fixed_dictionaries({**required, **members})
        declared = required.keys() | members.keys()
        named = st.fixed_dictionaries(required, optional=members)
        extra = st.dictionaries(
            _MAP_KEYS.filter(lambda key: key not in declared), self._of(others), max_size=2
        )
        return st.builds(_together, named, extra)

    def _array(self, schema: Json) -> Values:
        items = self._of(schema.get("items", True))
        most = min(schema.get("maxItems", 2), 2)
        return st.lists(items, min_size=schema.get("minItems", 0), max_size=most)


def _together(known: Json, more: Json) -> Json:
    return {**more, **known}


def _string(schema: Json) -> Values:
    values = st.sampled_from(STRINGS) | st.text(max_size=4)
    refused: list[str] = schema.get("not", {}).get("enum", [])
    return values.filter(lambda value: value not in refused) if refused else values


def _number(schema: Json) -> Values:
    low, high = schema.get("minimum"), schema.get("maximum")
    floats = st.floats(min_value=low, max_value=high, allow_nan=False, allow_infinity=False)
    return floats | _integer(schema)


def _integer(schema: Json) -> Values:
    return st.integers(min_value=schema.get("minimum"), max_value=schema.get("maximum"))


def _both(left: Json, right: Json) -> Json:
    """Return the intersection of two object schemas, or of one schema and an empty one."""
    joined = {**left, **right}
    for keyword in {"properties"} & left.keys() & right.keys():
        joined[keyword] = {**left[keyword], **right[keyword]}
    if "required" in joined:
        joined["required"] = sorted({*left.get("required", ()), *right.get("required", ())})
    return joined


_SMALLEST: dict[str, Any] = {
    "object": {},
    "array": [],
    "string": "",
    "number": 0,
    "integer": 0,
    "boolean": False,
    "null": None,
}


def smallest(document: Json, schema: Json) -> Any:
    """Return an instance of `schema` with only the required members and always the first choice."""
    match schema:
        case {"$ref": str(ref)}:
            return smallest(document, jsonpointer.get(document, ref.removeprefix("#")))
        case {"const": value} | {"enum": [value, *_]}:
            return value
        case {"allOf": [*parts]}:
            parts.append({"type": "object", **schema, "allOf": None})
            return {
                name: item
                for part in parts
                for name, item in smallest(document, _plain(part)).items()
            }
        case {"type": "object", "required": [*names]}:
            members = schema.get("properties", {})
            names += schema.get("anyOf", [{"required": []}])[0]["required"]
            return {name: smallest(document, members.get(name, {})) for name in names}
        case {"anyOf": [first, *_]}:
            return smallest(document, first)
        case {"type": str(kind)} | {"type": [str(kind), *_]}:
            return _SMALLEST[kind]
        case _:
            return {}


def _plain(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if value is not None}
