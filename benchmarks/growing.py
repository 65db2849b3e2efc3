"""The growth of the time to generate with the number of definitions, which should be linear.

The schema is a revision's with made-up definitions: objects with members of all kinds that refer
to each other, choices, extensions, and a method for every fifty. Whole commands are timed, and the
time for the revision alone is subtracted on both sides.
"""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from .places import ROOT, environment, tool
from .rows import Row
from .timing import Action, command, interleave

TOPIC = "grow"
ROUNDS = 3

_BASE, _FEW = "2026-07-28", 1_250
_SIZES = (2_500, 5_000)
_SCALARS: tuple[dict[str, Any], ...] = (
    {"type": "string"},
    {"type": "integer", "minimum": 0},
    {"type": "boolean"},
    {"type": "number"},
    {"type": "array", "items": {"type": "string"}},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"type": "string", "enum": ["one", "two", "three"]},
)
# Definitions refer to others of their group, some of them in circles. One in ten is a choice, one
# extends another; a method takes four definitions.
_GROUP = 50


def rows(rounds: int) -> Iterator[Row]:
    """Compare the time for many definitions with that for few, multiplied."""
    with TemporaryDirectory() as folder:
        actions = {str(size): _generate(size, Path(folder)) for size in (0, _FEW, *_SIZES)}
        times = {name: median(taken) for name, taken in interleave(actions, rounds).items()}
    alone = times["0"]
    few = times[str(_FEW)] - alone
    for size in _SIZES:
        what = f"generate {size:,} definitions more, net of {_BASE}"
        times_few = size // _FEW
        taken = times[str(size)] - alone
        yield Row(TOPIC, what, taken, f"{times_few} × {_FEW:,}", times_few * few, 1.10)


def _generate(size: int, folder: Path) -> Action:
    """Return an action that generates from a schema into a new folder each time."""
    schema = folder / f"{size}.json"
    schema.write_text(json.dumps(_schema(size)))
    numbers = count()

    def run() -> None:
        out = folder / f"{size}-{next(numbers)}"
        arguments: list[str | Path] = ["--revision", "draft", "--schema", schema, "--out", out]
        command([tool("mcp-gen"), *arguments, "--no-cache"], folder, environment())()

    return run


def _schema(size: int) -> dict[str, Any]:
    """Return the schema of the base revision with `size` more definitions."""
    schema: dict[str, Any] = json.loads((ROOT / "schema" / _BASE / "schema.json").read_text())
    definitions = schema["$defs"]
    for first in range(0, size, _GROUP):
        for index in range(first, first + _GROUP - 4):
            definitions[f"Made{index}"] = _definition(index, first)
        definitions |= _method(f"MadeUp{first}", _to(f"Made{first}"))
        definitions["ClientRequest"]["anyOf"].append(_to(f"MadeUp{first}Request"))
    return schema


def _definition(index: int, first: int) -> dict[str, Any]:
    if index % 10 == 3:
        return {"anyOf": [_to(f"Made{index - back}") for back in (1, 2, 3)]}
    if index % 10 == 7:
        more = _object({"extra": {"type": "string"}}, "extra")
        return {"allOf": [_to(f"Made{index - 1}"), more]}
    another = first + index * index % max(1, index - first)
    members: dict[str, Any] = {"kind": {"const": f"made{index}", "type": "string"}}
    members |= {
        f"member{number}": _SCALARS[(index + number) % len(_SCALARS)] for number in range(4)
    }
    members["others"] = {"type": "array", "items": _to(f"Made{another}")}
    if index % 5 == 0:
        members["inner"] = _object({"x": {"type": "number"}, "owner": _to(f"Made{index}")}, "x")
    return _object(members, "kind")


def _method(name: str, value: dict[str, Any]) -> dict[str, Any]:
    meta = _to("RequestMetaObject")
    framed = {"id": _to("RequestId"), "jsonrpc": {"const": "2.0", "type": "string"}}
    method = {"const": f"made/{name}", "type": "string"}
    params = _to(f"{name}RequestParams")
    request = {**framed, "method": method, "params": params}
    result = {"resultType": {"type": "string"}, "values": {"type": "array", "items": value}}
    response = {**framed, "result": _to(f"{name}Result")}
    return {
        f"{name}Request": _object(request, *request),
        f"{name}RequestParams": _object({"_meta": meta, "value": value}, "_meta"),
        f"{name}Result": _object(result, "resultType"),
        f"{name}ResultResponse": _object(response, *response),
    }


def _object(members: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": members, "required": list(required)}


def _to(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}
