"""The verdicts of a target's types, against those of `jsonschema`.

A target may differ from the schema on purpose. Each `Difference` changes the schema in the same
way. Together they must explain every sample, and each must be needed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from random import Random
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from support import tables
from support.generated import oracle
from support.generated.golden_package import REVISIONS
from support.generated.instances import Instances
from support.generated.mutants import DROP, Edit, edits
from support.made_once import once

Json = dict[str, Any]
Accepts = Callable[[str, Any], bool]
"""Whether a type accepts a value; it is named after its revision: "2025-11-25 Tool"."""

COMPARED: Final = REVISIONS if tables.count(0, 1) else (REVISIONS[0], REVISIONS[-1])
"""The revisions whose types are compared: the first and the last, or all with `--all`."""

EXAMPLES: Final = tables.count(3, 30)
_NO_FRACTION = "x_no_fraction"
_exceptions: Any = import_module("jsonschema.exceptions")  # has types in part


@dataclass(frozen=True, slots=True)
class Difference:
    """The reason why types differ from the schema, and the change of the schema that models it."""

    reason: str
    change: Callable[[Json], None]


@dataclass(frozen=True, slots=True)
class Sample:
    """A value for a type, and the type's place in the schema."""

    name: str
    pointer: str
    value: Any
    valid: bool
    """Whether the schema accepts it."""


def objects(document: Json) -> Iterator[Json]:
    for _, schema in list(jsonpointer.walk(document["$defs"], "/$defs")):
        if is_object(schema):
            yield schema


def _null_for_optional(document: Json) -> None:
    for schema in objects(document):
        members: Any = schema.get("properties")
        if is_object(members) and all(map(is_object, members.values())):
            for name in members.keys() - set(schema.get("required", ())):
                members[name] = {"anyOf": [members[name], {"type": "null"}]}


def _exact_integers(document: Json) -> None:
    for schema in objects(document):
        kinds: Any = schema.get("type")
        either = is_array(kinds) and "integer" in kinds and "number" not in kinds
        if kinds == "integer" or either or isinstance(schema.get("const"), int):
            schema[_NO_FRACTION] = True


ANY_JSON_SCHEMA = Difference(*oracle.WANTED[1])
NULL_FOR_OPTIONAL = Difference("None stands for an absent member", _null_for_optional)
EXACT_INTEGERS = Difference("1.0 is a number with a fraction to Python", _exact_integers)


@cache
def samples(revision: str) -> tuple[Sample, ...]:
    """Return valid values for each type of a revision, and small changes of them."""
    found: tuple[Sample, ...] = once(f"samples {revision}", lambda: _samples(revision))
    return found


def _samples(revision: str) -> tuple[Sample, ...]:
    found: list[Sample] = []

    def add(subject: oracle.Subject, value: Any) -> None:
        valid = _says(revision, (), subject.pointer, value)
        found.append(Sample(subject.name, subject.pointer, value, valid))

    for subject in oracle.subjects(revision).values():
        least = oracle.smallest_request(revision, subject)
        for member in least if is_object(least) else ():
            without = Edit((member,), DROP).of(least)
            add(subject, without)
    usual, whole = (
        Instances(oracle.patch_snapshot(revision), complete=complete) for complete in (False, True)
    )

    def collect(subject: oracle.Subject, value: Any, everything: bool) -> None:
        changes = list(edits(value, depth=1 if everything else 4))
        few = tables.count(50, len(changes)) if everything else 8
        changes = Random(subject.pointer).sample(changes, min(few, len(changes)))
        for sample in (value, *(change.of(value) for change in changes)):
            add(subject, sample)

    for subject in oracle.subjects(revision).values():
        for value in usual.some(subject.pointer, EXAMPLES):
            collect(subject, value, everything=False)
        (value,) = whole.some(subject.pointer, 1)
        collect(subject, value, everything=True)
    return tuple(found)


def require_agreement(accepts: Accepts, differences: Sequence[Difference]) -> None:
    """Require that types agree with the schemas of revisions, except for the differences.

    Raise `AssertionError` for the first unexplained sample, or for an unused difference.
    """
    used: set[Difference] = set()
    for revision in COMPARED:
        with tables.case(revision):
            verdicts = [
                accepts(f"{revision} {sample.name}", sample.value) for sample in samples(revision)
            ]
            used |= explain_differences(revision, verdicts, differences, used)
    assert used == set(differences), {difference.reason for difference in set(differences) - used}


def explain_differences(
    revision: str,
    verdicts: Iterable[bool],
    differences: Sequence[Difference],
    known: Set[Difference] = frozenset(),
) -> set[Difference]:
    """Return the differences that explain the verdicts on `samples`, beyond those `known` already.

    Raise `AssertionError` for the first unexplained verdict.
    """
    used: set[Difference] = set()
    for sample, verdict in zip(samples(revision), verdicts, strict=True):
        if sample.valid == verdict:
            continue
        name, value = sample.name, sample.value
        said = "accepted" if verdict else "refused"
        agreed = _says(revision, tuple(differences), sample.pointer, value) == verdict
        assert agreed, f"{name} {said} {value!r:.300}"
        for difference in set(differences) - known - used:
            others = tuple(second for second in differences if second is not difference)
            if _says(revision, others, sample.pointer, value) != verdict:
                used.add(difference)
    return used


def _says(revision: str, differences: tuple[Difference, ...], pointer: str, value: object) -> bool:
    accepts: bool = _validator(revision, differences, pointer).is_valid(value)
    return accepts


@cache
def _document(revision: str, differences: tuple[Difference, ...]) -> Json:
    document = deepcopy(oracle.patch_snapshot(revision))
    for difference in differences:
        difference.change(document)
    return document


def _no_fraction(_: Any, __: Any, value: object, ___: Json) -> Iterator[object]:
    if isinstance(value, float):
        yield _exceptions.ValidationError("a number with a fraction")


@cache
def _validator_class(revision: str, differences: tuple[Difference, ...]) -> Any:
    definitions = _document(revision, differences)["$defs"]
    return oracle.make_validator_class(definitions, **{_NO_FRACTION: _no_fraction})


@cache
def _validator(revision: str, differences: tuple[Difference, ...], pointer: str) -> Any:
    # Changes may wrap the schema at a pointer, but not a definition or the object of a member.
    schema = _at(_document(revision, differences), pointer)
    return _validator_class(revision, differences)(schema)


def _at(document: Json, pointer: str) -> Json:
    """Return the schema at a published pointer, through alternatives for null."""
    schema: Any = document
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        while is_object(schema) and key not in schema and "anyOf" in schema:
            schema = schema["anyOf"][0]
        schema = schema[int(key)] if is_array(schema) else schema[key]
    found: Json = schema
    return found
