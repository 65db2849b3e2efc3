"""Work that grows with the number of definitions, and no faster: calls are counted, not seconds."""

from collections import Counter
from collections.abc import Callable, Generator
from cProfile import Profile
from importlib import import_module
from inspect import unwrap
from pathlib import Path
from typing import Any, cast

import pytest
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit.models import TypeDefiner
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.metacheck import check
from pydantic import BaseModel
from support.tables import case
from support.unit import schemas
from support.unit.schemas import record, ref, union

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
NUMBERS: Json = {"type": "array", "items": {"type": "integer"}}


def flat(size: int) -> Json:
    return {f"D{index}": record(text=TEXT, numbers=NUMBERS) for index in range(size)}


def chain(size: int) -> Json:
    links = {f"D{index}": record(next=ref(f"D{index + 1}")) for index in range(size - 1)}
    return {**links, f"D{size - 1}": record(text=TEXT)}


def rings(size: int, each: int) -> Json:
    return {
        f"D{index}": record(
            text=TEXT, next=ref(f"D{index + 1 if (index + 1) % each else index + 1 - each}")
        )
        for index in range(size)
    }


def knot(size: int) -> Json:
    """Return objects that lead to each other in many ways, through inner objects."""
    return {
        f"D{index}": record(
            **{
                f"m{number}": record(next=ref(f"D{(7 * index + number) % (size // 5)}"))
                for number in range(4)
            }
        )
        for index in range(size // 5)
    }


def unions(size: int, each: int) -> Json:
    arms = {
        f"D{index}": record(("type",), type={"const": f"d{index}"}, text=TEXT)
        for index in range(size)
    }
    groups = range(0, size, each)
    named = {
        f"U{first}": union(*(f"D{index}" for index in range(first, first + each)))
        for first in groups
    }
    return {**arms, **named, **{f"H{first}": record(u=ref(f"U{first}")) for first in groups}}


SHAPES: dict[str, tuple[int, Callable[[int], Json]]] = {
    "flat objects": (30, flat),
    "a chain": (125, chain),
    "one ring": (60, lambda size: rings(size, size)),
    "rings of 40": (40, lambda size: rings(size, 40)),
    "a knot": (100, knot),
    "unions of 100": (100, lambda size: unions(size, 100)),
}


def count_work(definitions: Json, folder: Path, package: str) -> Counter[str]:
    """Generate and import; return the number of calls, and the size of what Pydantic builds."""
    document = schemas.schema()
    document["$defs"] |= definitions
    given = schemas.schema_file(document)
    options = GenerationOptions(("draft",), {"draft": given}, runtime="mcp_protogen.runtime")
    profile = Profile()
    with profile:
        made = generate(options)
    with schemas.import_package(made, folder, package), profile:
        models = import_module(f"{package}.vdraft.models")
        classes = [
            cast(type[BaseModel], model)
            for model in (getattr(models, name) for name in definitions)
            if isinstance(model, type)
        ]
        for model in classes:
            model.model_rebuild()
    nodes = sum(nodes_in(model.__pydantic_core_schema__) for model in classes)
    return Counter(calls=sum(entry.callcount for entry in profile.getstats()), nodes=nodes)


def nodes_in(value: Any) -> int:
    count, waiting = 0, [value]
    while waiting:
        node = waiting.pop()
        count += 1
        if isinstance(node, dict):
            waiting += node.values()
        elif isinstance(node, (list, tuple)):
            waiting += node
    return count


@pytest.fixture(scope="module")
def work_alone(tmp_path_factory: pytest.TempPathFactory) -> Generator[Counter[str], None, None]:
    """The work for a schema without more definitions, after one that fills the caches."""
    folder = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patched:
        # All types are printed and checked anew: nothing of earlier packages is used again.
        patched.setattr("mcp_protogen.pipeline.generate.TypeDefiner", unwrap(TypeDefiner))
        patched.setattr("mcp_protogen.pipeline.inputs.metacheck.check", check)
        count_work({}, folder, "large_first")
        yield count_work({}, folder, "large_alone")


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_definitions(
    shape: str, work_alone: Counter[str], tmp_path: Path
) -> None:
    size, make = SHAPES[shape]
    few, many = (
        count_work(make(times * size), tmp_path, f"large_{times}") - work_alone for times in (1, 2)
    )
    for kind in few:
        with case(kind):
            assert many[kind] < 2.1 * few[kind]


def test_types_that_nest_too_deeply_are_refused_at_their_place() -> None:
    shapes: dict[str, tuple[int, Callable[[Json], Json]]] = {
        "array": (84, lambda inner: {"type": "array", "items": inner}),
        "map": (84, lambda inner: {"type": "object", "additionalProperties": inner}),
        "union": (60, lambda inner: {"anyOf": [TEXT, {"type": "array", "items": inner}]}),
    }
    for shape, (most, around) in shapes.items():
        for size in (most + 1, 1000):
            with case((shape, size)):
                document = schemas.schema()
                names = [f"D{index}" for index in range(size)]
                document["$defs"] |= {
                    name: around(ref(inner))
                    for name, inner in zip(names, names[1:] + names[:1], strict=True)
                }
                (error,) = schemas.errors_of(document)
                place = f"/$defs/D{size - most - 1}"
                assert (error.code, error.pointer) == ("unsupported-schema", place)
                document["$defs"]["D30"] = record(next=ref("D31"))
                if size < 1000:
                    schemas.read(document)
