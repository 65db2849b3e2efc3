"""Generated models and `jsonschema` accept the same values."""

import json
from collections import Counter
from random import Random
from typing import Any, Final

from jsonschema import Draft202012Validator
from mcp_protogen.runtime.core.models.base import validator_of
from support.generated.differential import difference, reader_of
from support.tables import case
from support.typed_clients.contracts import Json, module_of, tool

ITEM: Final[Json] = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "kind": {"const": "item"}},
    "required": ["id", "kind"],
}
NOTE: Final[Json] = {
    "type": "object",
    "properties": {"text": {"type": "string", "minLength": 1}, "kind": {"const": "note"}},
    "required": ["kind"],
}
MEMBERS: Final[tuple[Json, ...]] = (
    {"type": "string"},
    {"type": "integer", "minimum": 0, "maximum": 2},
    {"type": "number"},
    {"type": "boolean"},
    {"type": ["string", "null"]},
    {"enum": ["x", 1, True, None]},
    {"const": False},
    {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
    {"type": "object", "additionalProperties": {"type": "string"}},
    {"anyOf": [ITEM, NOTE]},
    {"oneOf": [{"type": "integer"}, {"type": "string"}]},
    {"allOf": [ITEM, {"required": ["id"], "properties": {"more": {"type": "boolean"}}}]},
    {"$ref": "#/$defs/Tree"},
    {},
)
TREE: Final[Json] = {
    "type": "object",
    "properties": {"inner": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "additionalProperties": False,
}
VALUES: Final[tuple[Any, ...]] = tuple(json.loads("""[
    null, true, false, 0, 1, 1.0, 2.5, 3, -1, "", "x", "1",
    [], [1], [1, 2], [1, 2, 3], ["x"], {}, {"a": "b"}, {"a": 1},
    {"id": 1, "kind": "item"}, {"id": "1", "kind": "item"}, {"kind": "note"},
    {"kind": "note", "text": ""}, {"kind": "other"}, {"id": 1, "kind": "item", "more": 1},
    {"inner": []}, {"inner": [{"inner": []}]}, {"inner": [{"inner": 1}]}, {"inner": null}
    ]"""))
# Models keep unknown members, even if a schema closes an object.
_CLOSED: Final = "additionalProperties"


def test_models_agree_with_their_schemas() -> None:
    verdicts: Counter[bool] = Counter()
    tools = [
        tool(
            f"t{number}",
            returns={
                "type": "object",
                "properties": {"m": member, "n": member},
                "required": ["m"],
                "$defs": {"Tree": TREE},
            },
        )
        for number, member in enumerate(MEMBERS)
    ]
    module = module_of(*tools)
    for number, member in enumerate(MEMBERS):
        opened = {key: node for key, node in TREE.items() if key != _CLOSED}
        schema = {**tools[number]["outputSchema"], "$defs": {"Tree": opened}}
        validator: Any = Draft202012Validator(schema)
        read = reader_of(getattr(module, f"T{number}Result"), validator_of)
        for value in samples(number):
            with case((member, value)):
                wanted = bool(validator.is_valid(value))
                verdicts[wanted] += 1
                assert difference(read, value, wanted, exact=False) is None
    assert min(verdicts.values()) > 100


def samples(seed: int) -> list[Json]:
    """Return each value alone, and with another one in the optional member."""
    random = Random(seed)
    alone = [{"m": value} for value in VALUES]
    return [{}, {"n": 1}, *alone, *({**sample, "n": random.choice(VALUES)} for sample in alone)]
