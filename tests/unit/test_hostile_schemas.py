"""Schemas that multiply or go round end as types or as an error with its place, in few steps."""

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from itertools import pairwise, product
from random import Random
from types import FrameType
from typing import Final

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.problems import Level, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs.snapshot import snapshot_of
from mcp_protogen.pipeline.inputs.sources import of_snapshot
from support import tables
from support.unit.schemas import STRING, Json, message, record, ref, schema, union

Define = Callable[[Random], Json]
"""Returns definitions, which take the place of those of the tiny protocol."""

_CALLS: Final = 400_000
_CALLS_FOR_VALUE: Final = 1_000


class TooMuchWork(AssertionError):
    """The code calls more functions than the size of its input explains."""


@contextmanager
def bounded_work(document: Json) -> Generator[None, None, None]:
    """Raise `TooMuchWork` if the work for a document takes more calls than its size allows."""
    left = _CALLS + _CALLS_FOR_VALUE * sum(1 for _ in jsonpointer.walk(document))

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal left
        left -= event.endswith("call")
        if left < 0:
            raise TooMuchWork

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


def hostile(kind: str, seed: int) -> Json:
    """A published schema of one kind."""
    document = schema()
    document["$defs"] |= KINDS[kind](Random(seed))
    return document


def _unions_of_unions(random: Random) -> Json:
    depth, width = random.choice(((40, 2), (12, 9), (300, 3)))
    layers = [[f"U{layer}x{place}" for place in range(width)] for layer in range(depth)]
    found: Json = {
        name: union(*random.sample(below, len(below)))
        for above, below in pairwise(layers)
        for name in above
    }
    found |= {
        name: record(("kind",), kind={"const": name}) if random.random() < 0.5 else STRING
        for name in layers[-1]
    }
    use = record(x=ref(layers[0][0]), y=union(*layers[0]))
    return {**found, "Use": use, "SayResult": union(*layers[0])}


def _unions_of_messages(random: Random) -> Json:
    names = [f"M{number}Request" for number in range(random.randrange(2, 30))]
    found: Json = {name: message(name.lower()) for name in names}
    below = [*names, "SayRequest"]
    for number in range(random.randrange(1, 40)):
        found[f"Sub{number}"] = union(*random.sample(below, min(len(below), 20)))
        below.append(f"Sub{number}")
    return {**found, "ClientRequest": union(*random.sample(below, len(below)))}


def _intersections(random: Random) -> Json:
    """Return objects whose members are intersections of such objects."""
    count = random.choice((4, 9, 30))
    found: Json = {}
    for number in range(count):
        members = {
            f"m{name}": {"allOf": [ref(f"D{name}"), record(**{f"z{number}x{name}": STRING})]}
            for name in random.sample(range(count), random.randrange(1, count))
        }
        found[f"D{number}"] = record(**members)
    return found


def _wide_and_deep(random: Random) -> Json:
    depth, width = random.choice(((6, 9), (14, 3), (40, 2)))
    found: Json = {
        f"{side}{layer}": record(
            **{f"m{place}": ref(f"{side}{layer + 1}") for place in range(width)}
        )
        for side, layer in product("AB", range(depth))
    }
    found |= {f"A{depth}": record(a=STRING), f"B{depth}": record(b=STRING)}
    return {**found, "Both": {"allOf": [ref("A0"), ref("B0")]}}


def _choices_in_intersections(random: Random) -> Json:
    count = random.randrange(3, 14)
    found: Json = {
        f"C{number}": {
            "anyOf": [
                record(**{f"a{number}x{arm}": STRING}) for arm in range(random.randrange(2, 9))
            ]
        }
        for number in range(count)
    }
    chain: Json = {
        f"L{number}": {"allOf": [ref(f"L{number + 1}"), ref(f"C{number}")], **record(z=STRING)}
        for number in range(count - 1)
    }
    whole = {"allOf": [ref(name) for name in found]}
    return {**found, **chain, f"L{count - 1}": ref("C0"), "Whole": whole}


def _cycle_through_intersections(random: Random) -> Json:
    count = random.choice((2, 12, 40))
    return {
        f"R{number}": {
            "allOf": [
                record(**{f"n{number}": ref(f"R{(number + 1) % count}")}),
                record(**{f"n{number}": record(x=ref(f"R{random.randrange(count)}"))}),
            ]
        }
        for number in range(count)
    }


def _deep(random: Random) -> Json:
    value: Json = STRING
    for _ in range(random.choice((10, 18, 19))):
        wrap = random.randrange(4)
        if wrap == 0:
            value = record(x=value, y=value)
        elif wrap == 1:
            value = {"anyOf": [value, {"type": "null"}]}
        elif wrap == 2:
            value = {"type": "array", "items": value}
        else:
            value = {"allOf": [value, {"description": "x"}]}
    return {"Deep": record(x=value)}


def _capabilities(random: Random) -> Json:
    depth = random.choice((3, 30, 300))
    found: Json = {
        f"C{layer}": record(x=ref(f"C{layer + 1}"), y=ref(f"C{layer + 1}"))
        for layer in range(depth)
    }
    last = ref("C0") if random.random() < 0.5 else {"type": "boolean"}
    return {**found, f"C{depth}": record(z=last), "ServerCapabilities": record(c=ref("C0"))}


def _dense(random: Random) -> Json:
    """Return objects and unions that each name many others."""
    names = [f"N{number}" for number in range(random.choice((5, 20, 40)))]
    found: Json = {}
    for name in names:
        others = random.sample(names, len(names) // 2)
        if random.random() < 0.2:
            found[name] = {"type": "array", "items": union(*others)}
        else:
            found[name] = record(**{f"m{link}": ref(link) for link in others}, u=union(*others))
    return found


def _anything(random: Random) -> Json:
    names = [f"T{number}" for number in range(random.randrange(2, 25))]

    def make(depth: int) -> Json:
        shape = random.randrange(9 if depth < 4 else 3)
        if shape < 2:
            return ref(random.choice(names))
        if shape == 2:
            return {"type": random.choice(("string", "integer", "null", "object", "array"))}
        inner = [make(depth + 1) for _ in range(random.randrange(1, 5))]
        if shape == 3:
            return {"type": "array", "items": inner[0]}
        if shape == 4:
            return {"type": "object", "additionalProperties": inner[0]}
        if shape in (5, 6):
            return {random.choice(("anyOf", "oneOf", "allOf")): inner}
        members = {f"m{place}": value for place, value in enumerate(inner)}
        done = record(*([("m0",)] if random.random() < 0.3 else []), **members)
        return {**done, "anyOf": inner[:2]} if random.random() < 0.2 else done

    return {name: make(0) for name in names}


KINDS: Final[Mapping[str, Define]] = {
    "unions of unions": _unions_of_unions,
    "unions of messages": _unions_of_messages,
    "intersections": _intersections,
    "wide and deep": _wide_and_deep,
    "choices in intersections": _choices_in_intersections,
    "cycle through intersections": _cycle_through_intersections,
    "deep": _deep,
    "capabilities": _capabilities,
    "dense": _dense,
    "anything": _anything,
}


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_schema_takes_work_by_its_size(kind: str) -> None:
    for seed in range(tables.count(4, 40)):
        with tables.case(seed):
            document = snapshot_of(hostile(kind, seed))
            source = of_snapshot("draft", schema_folder(), document, "tiny.json", {})
            try:
                with bounded_work(document):
                    derive_revision(source)
            except ProblemError as error:
                errors = [problem for problem in error.problems if problem.level is Level.ERROR]
                assert all(
                    problem.place == "tiny.json" and problem.pointer for problem in errors
                ), errors
