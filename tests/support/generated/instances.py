"""Instances of a schema, made at random, as far as the protocol's schemas go.

Values come from small pools of awkward ones: wrong models fail on them. They are the same in every
run. An unknown keyword stops the test. Not by Hypothesis, which takes twenty times as long.
"""

from collections.abc import Sequence
from math import inf
from random import Random
from typing import Any, Final

from mcp_protogen.base import jsonpointer

Json = dict[str, Any]

STRINGS: Final = (
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
ANYTHING: Final[tuple[Any, ...]] = (
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
KEYS: Final = (
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
INTEGERS: Final = (0, 1, -1, 255, 2**31, 2**53 + 1, -(10**30))
FLOATS: Final = (0.0, -0.0, 0.5, 1.0, -1.5, 5e-324, 1e300, 1 / 3)
LETTERS: Final = 'aZ5 _-~/%\\"\x00\x9a¸é\u0301\u2028\uffff\U0001f600\U0006e070'

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
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "not",
    "properties",
    "required",
    "type",
}


class Instances:
    """Values for the definitions of one document.

    `complete` ones hold exactly the declared members of every object.
    """

    def __init__(self, document: Json, *, complete: bool = False) -> None:
        self._document = document
        self._complete = complete

    def some(self, pointer: str, few: int) -> list[Any]:
        """Return a few instances of the schema at `pointer`."""
        schema: Any = jsonpointer.get(self._document, pointer)
        random = Random(pointer)
        return [self._of(schema, random) for _ in range(few)]

    def _of(self, schema: Any, random: Random) -> Any:
        if schema is True or not schema.keys() - _ANNOTATIONS:
            return random.choice(ANYTHING)
        unknown = schema.keys() - _KNOWN
        if unknown:
            raise NotImplementedError(f"no instances for the keywords {sorted(unknown)}")
        if "$ref" in schema:
            return self._of(self._follow(schema["$ref"]), random)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return random.choice(schema["enum"])
        if "allOf" in schema:
            return self._of(self._join_schemas(schema), random)
        if "anyOf" in schema:
            rest = {key: value for key, value in schema.items() if key != "anyOf"}
            return self._of(_both(rest, random.choice(schema["anyOf"])), random)
        kinds: str | list[str] = schema["type"]
        return self._of_kind(
            kinds if isinstance(kinds, str) else random.choice(kinds), schema, random
        )

    def _of_kind(self, kind: str, schema: Json, random: Random) -> Any:
        match kind:
            case "object":
                return self._object(schema, random)
            case "array":
                least, most = schema.get("minItems", 0), min(schema.get("maxItems", 2), 2)
                items = schema.get("items", True)
                return [self._of(items, random) for _ in range(random.randint(least, most))]
            case "string":
                refused: list[str] = schema.get("not", {}).get("enum", [])
                least, most = schema.get("minLength", 0), schema.get("maxLength", inf)
                limits = ["é" * limit for limit in (least, most) if limit < inf]
                usual = [text for text in (*STRINGS, *limits) if least <= len(text) <= most]
                while (value := _text(usual, random)) in refused or len(value) < least:
                    pass
                return value
            case "number":
                return _within(schema, (*FLOATS, *INTEGERS), random)
            case "integer":
                return _within(schema, INTEGERS, random)
            case "boolean":
                return random.random() < 0.5
            case _:
                return None

    def _follow(self, reference: str) -> Any:
        return jsonpointer.get(self._document, reference.removeprefix("#"))

    def _join_schemas(self, schema: Json) -> Json:
        joined = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema["allOf"]:
            while "$ref" in part:
                part = self._follow(part["$ref"])
            joined = _both(joined, part)
        return joined

    def _object(self, schema: Json, random: Random) -> Json:
        members: Json = schema.get("properties", {})
        required: list[str] = schema.get("required", [])
        others = schema.get("additionalProperties", True)
        whole = self._complete and bool(members)
        made: Json = {}
        if others is not False and not whole:
            for _ in range(random.randint(0, 2)):
                name = _text(KEYS, random)
                if name not in members and name not in required:
                    made[name] = self._of(others, random)
        for name in dict.fromkeys((*required, *members)):
            if name in required or whole or random.random() < 0.5:
                made[name] = self._of(members.get(name, True), random)
        return made


def _text(usual: Sequence[str], random: Random) -> str:
    if random.random() < 0.5:
        return random.choice(usual)
    return "".join(random.choices(LETTERS, k=random.randint(0, 4)))


def _within(schema: Json, numbers: Sequence[float], random: Random) -> float:
    low: float = schema.get("minimum", -inf)
    high: float = schema.get("maximum", inf)
    limits = [limit for limit in (low, high) if abs(limit) < inf]
    return random.choice([number for number in (*numbers, *limits) if low <= number <= high])


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
        case {"type": "string", "minLength": int(least)}:
            return "x" * least
        case {"type": str(kind)} | {"type": [str(kind), *_]}:
            return _SMALLEST[kind]
        case _:
            return {}


def _plain(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if value is not None}
