"""Translations against the schemas: the result of a value, and its missing parts."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache
from itertools import permutations
from typing import Any

from jsonschema import Draft202012Validator
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.runtime.core.revision import load_generated
from mcp_protogen.runtime.translation.translator import Translator
from mcp_protogen.runtime.translation.translator import translator as between
from support.generated import oracle
from support.generated.golden_package import PACKAGE, REVISIONS

Json = dict[str, Any]

PAIRS = tuple(permutations(REVISIONS, 2))


def translator(source: str, destination: str) -> Translator:
    """The translator of the package between two revisions."""
    return between(load_generated(PACKAGE.name), source, destination)


@cache
def names(source: str, destination: str) -> tuple[tuple[str, str], ...]:
    """Return the translated types with their counterparts, as far as both have a schema."""
    between = translator(source, destination)
    theirs = oracle.subjects(destination)
    pairs: list[tuple[str, str]] = []
    for name in sorted(oracle.subjects(source)):
        with suppress(LookupError):
            pairs.append((name, between.becomes(name)))
    return tuple((name, becomes) for name, becomes in pairs if becomes in theirs)


@cache
def accepts(revision: str, name: str) -> Callable[[Any], bool]:
    """Whether the patched schema of a revision, strictly taken, accepts a value as a type."""
    document = oracle.patch_snapshot(revision)
    pointer = oracle.subjects(revision)[name].pointer
    validator: Any = Draft202012Validator({"$ref": f"#{pointer}", "$defs": document["$defs"]})
    is_valid: Callable[[Any], bool] = validator.is_valid
    return is_valid


def absent(value: Any, other: Any, at: str = "") -> Iterator[str]:
    """Pointers to the members and items of `value` that `other` does not have."""
    if is_object(value):
        parts: Any = value.items()
    elif is_array(value):
        parts = enumerate(value)
    else:
        return
    for key, inner in parts:
        place = f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}"
        there = (is_object(other) and key in other) or (
            is_array(other) and is_array(value) and key < len(other)
        )
        if there:
            yield from absent(inner, other[key], place)
        else:
            yield place


def unnamed_losses(value: Any, outcome: Any) -> list[str]:
    """Return the places missing from the outcome without a loss there or above."""
    named = {loss.pointer for loss in outcome.losses}
    return [place for place in absent(value, outcome.value) if not _is_covered(place, named)]


def _is_covered(place: str, named: set[str]) -> bool:
    steps = place.split("/")
    return any("/".join(steps[:length]) in named for length in range(1, len(steps) + 1))


def without(value: Any, pointers: list[str]) -> Any:
    left = deepcopy(value)
    for pointer in sorted(pointers, reverse=True):
        *way, last = [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]
        around = left
        for step in way:
            around = around[int(step)] if is_array(around) else around.get(step, {})
        if is_array(around):
            del around[int(last)]
        else:
            around.pop(last, None)
    return left


def bare(value: Any) -> Any:
    """Return an object without an empty `_meta`."""
    if is_object(value) and value.get("_meta") == {}:
        return {key: inner for key, inner in value.items() if key != "_meta"}
    return value
