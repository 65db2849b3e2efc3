"""The growth of the work to generate with the number of definitions, which should be linear.

The schema is a revision's with made-up definitions: objects with members of all kinds that refer
to each other, choices, extensions, and a method for every fifty; or objects alone, flat, in one
ring or in a chain. Whole commands are measured: the time of processors, and the most memory. Those
of the revision alone are subtracted on both sides.
"""

import json
import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from .places import ROOT, environment, tool
from .rows import Row

TOPIC = "grow"
ROUNDS = 3

_BASE, _FEW = "2026-07-28", 1_250
_SIZES = (2_500, 5_000, 10_000)
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


class _Cost(NamedTuple):
    """The cost of a command: seconds of processors, and bytes of memory."""

    time: float
    memory: float


def rows(rounds: int) -> Iterator[Row]:
    """Compare the cost of many definitions with that of few, multiplied."""
    sizes = {(shape, size) for shape in _SHAPES for size in (_FEW, _SIZES[-1])}
    sizes |= {("mixed", size) for size in _SIZES} | {("mixed", 0)}
    with TemporaryDirectory() as folder:
        runs = {key: _generate(*key, Path(folder)) for key in sorted(sizes)}
        taken = [{key: run() for key, run in runs.items()} for _ in range(rounds)]
    costs = {
        key: _Cost(*(median(column) for column in zip(*(row[key] for row in taken), strict=True)))
        for key in runs
    }
    alone = costs["mixed", 0]
    for shape, size in sorted(sizes):
        if size <= _FEW:
            continue
        what, times = f"generate {size:,} definitions more, {shape}, net of {_BASE}", size // _FEW
        many, few = costs[shape, size], costs[shape, _FEW]
        ours, theirs = many.time - alone.time, times * (few.time - alone.time)
        yield Row(TOPIC, what, ours, f"{times} × {_FEW:,}", theirs, 1.10)
        ours, theirs = many.memory - alone.memory, times * (few.memory - alone.memory)
        yield Row(TOPIC, f"{what}: memory", ours, f"{times} × {_FEW:,}", theirs, 1.10, "MiB")


def _generate(shape: str, size: int, folder: Path) -> Callable[[], _Cost]:
    """Return a function that generates from a schema into a new folder each time."""
    schema = folder / f"{shape}-{size}.json"
    schema.write_text(json.dumps(_SHAPES[shape](size)))
    numbers = count()

    def run() -> _Cost:
        out = folder / f"{shape}-{size}-{next(numbers)}"
        options = ["--revision", "draft", "--schema", str(schema), "--out", str(out), "--no-cache"]
        process = Popen(
            [tool("mcp-gen"), *options],
            cwd=folder,
            env=environment(),
            stdout=DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"mcp-gen failed for {size:,} definitions, {shape}")
        return _Cost(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)

    return run


def _base() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((ROOT / "schema" / _BASE / "schema.json").read_text())
    return schema


def _plain_schema(size: int, follow: Callable[[int], int | None]) -> dict[str, Any]:
    """Return the schema of the base revision with objects, of which each may lead to another."""
    schema = _base()
    for index in range(size):
        following = follow(index)
        link = {} if following is None else {"next": _to(f"Made{following}")}
        schema["$defs"][f"Made{index}"] = _object({"text": {"type": "string"}, **link})
    return schema


def _mixed_schema(size: int) -> dict[str, Any]:
    """Return the schema of the base revision with `size` more definitions."""
    schema = _base()
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


_SHAPES: dict[str, Callable[[int], dict[str, Any]]] = {
    "mixed": _mixed_schema,
    "flat": lambda size: _plain_schema(size, lambda _: None),
    "in a ring": lambda size: _plain_schema(size, lambda index: (index + 1) % size),
    "in a chain": lambda size: _plain_schema(
        size, lambda index: index + 1 if index + 1 < size else None
    ),
}
