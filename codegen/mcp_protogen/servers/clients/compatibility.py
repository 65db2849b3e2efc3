"""The containment of schemas: whether all values of one are values of another, and where not.

After a change of a server, the new schema must accept the arguments of old callers, and the old
schema must accept the new results. Both are questions of containment. The answer is careful: it
counts as a fault if nothing proves containment. Schemas are those of a server; nothing is fetched,
and the work is bounded.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.servers.call.input_schemas import as_array, positions
from mcp_protogen.servers.clients.dialects import is_ambiguous, refers
from mcp_protogen.servers.clients.document import Document
from mcp_protogen.servers.clients.keywords import (
    ANNOTATIONS,
    UNIONS,
    accepts,
    common,
    enum_values,
    identities,
    may_be,
    meaning,
    patterns_of,
    properties_of,
    required_of,
    types_of,
    values_of,
)
from mcp_protogen.servers.clients.ranges import ranges_are_disjoint
from mcp_protogen.servers.clients.schema_faults import (
    FaultKind,
    Pair,
    SchemaFault,
    beside_constants,
    bounds,
    missing_keywords,
    refusals,
    weight,
)
from mcp_protogen.servers.clients.splitting import constant_schema, pieces
from mcp_protogen.servers.clients.wording import schema_text, short_text

Json = dict[str, Any]

_BUDGET: Final = 5_000
"""The most pairs of schemas to compare; the rest counts as not proved."""
_CONSTANTS: Final = 5
"""The number of constants that count as much as a pair."""
_DEEPEST: Final = 60
_NESTED: Final = 5
"""The most levels of members in which to look for a difference between two schemas."""
_APPLIED: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
"""The keywords that are compared one by one."""


@dataclass(frozen=True, slots=True)
class Direction:
    """The behaviour of the writer and the reader of values.

    A typed caller sends only members that it knows; a server may send others. A reader that keeps
    or ignores unknown members accepts them, even if its schema closes the object.
    """

    writer_adds: bool
    reader_ignores: bool


ARGUMENTS: Final = Direction(writer_adds=False, reader_ignores=False)
RESULTS: Final = Direction(writer_adds=True, reader_ignores=True)


def faults(narrow: Json, wide: Json, ends: Direction) -> tuple[SchemaFault, ...]:
    """Return the places where values of `narrow` may not be values of `wide`; empty if all are.

    Those of the kinds `EXTRA` and `FORMAT` do not count as faults.
    """
    unsure = SchemaFault(FaultKind.UNKNOWN, "", "…", "…")
    try:
        ambiguous = is_ambiguous(narrow) or is_ambiguous(wide)
        found = _Search(narrow, wide, ends).schema(narrow, wide, "")
        if ambiguous and canonical(narrow) != canonical(wide):
            found.append(unsure)
    except (RecursionError, ValueError):
        # An intersection that refers to itself, or a number such as 1e400, which has no JSON text.
        found = [unsure]
    return tuple(dict.fromkeys(found))


class _Search:
    """One question about two documents, with the pairs that are being examined."""

    def __init__(self, narrow: Json, wide: Json, ends: Direction) -> None:
        self._documents = (narrow, wide)
        self._narrow, self._wide = Document(narrow), Document(wide)
        self._ends = ends
        self._open: dict[tuple[int, int], str] = {}
        self._kept: list[object] = []
        self._texts: dict[int, bytes] = {}
        self._left = _BUDGET

    def schema(self, narrow: Any, wide: Any, path: str) -> list[SchemaFault]:
        """Return the faults of two schemas, which may be booleans or references."""
        self._left -= 1
        if self._left < 0 or path.count(".") + path.count("[") > _DEEPEST:
            return [SchemaFault(FaultKind.UNKNOWN, path, "…", "…")]
        if narrow is False or wide is True:
            return []
        one, other = self._narrow.resolve(narrow), self._wide.resolve(wide)
        if one is None or other is None:
            return self._compare_references(narrow, wide, path)
        if wide is False:
            return [SchemaFault(FaultKind.TYPE, path, short_text(types_of(one)), "nothing")]
        if not other.keys() - ANNOTATIONS or self._alike(one, other):
            return []
        # New schemas must live as long as their ids are in use.
        self._kept += (narrow, wide)
        return self._examine((id(narrow), id(wide)), Pair(one, other, path))

    def _examine(self, key: tuple[int, int], pair: Pair) -> list[SchemaFault]:
        """Return the faults of two schemas that differ, unless they are being examined already."""
        if key in self._open:
            # A reference that leads to itself without a step into the value means nothing.
            unknown = pair.fault(
                FaultKind.UNKNOWN, schema_text(pair.narrow), schema_text(pair.wide)
            )
            return [unknown] if self._open[key] == pair.path else []
        self._open[key] = pair.path
        try:
            return [
                fault
                for arm in self._narrow.alternatives(pair.narrow)
                for fault in self._alternative(replace(pair, narrow=arm))
            ]
        finally:
            del self._open[key]

    def _compare_references(self, narrow: Any, wide: Any, path: str) -> list[SchemaFault]:
        """Return a fault unless two schemas have the same reference, to the same place."""
        same = canonical(narrow) == canonical(wide)
        same = same and (not self._differ or self._leads_out(narrow))
        return (
            []
            if same
            else [SchemaFault(FaultKind.UNKNOWN, path, short_text(narrow), short_text(wide))]
        )

    @cached_property
    def _differ(self) -> bool:
        """Return whether references may lead to something else in the two documents."""
        one, other = (canonical(meaning(document, ordered=True)) for document in self._documents)
        return one != other

    def _leads_out(self, schema: Any) -> bool:
        """Return whether a schema is only a reference to another document."""
        if not is_object(schema) or schema.keys() - ANNOTATIONS != {"$ref"}:
            return False
        ref, bases = schema["$ref"], [document for document in self._documents if "$id" in document]
        return "://" in ref and not bases

    def _alike(self, one: Json, other: Json) -> bool:
        """Return whether two schemas are the same, including all references."""
        if self._text(one) != self._text(other):
            return False
        return not refers(self._text(one)) or not self._differ

    def _text(self, schema: Json) -> bytes:
        """Return the meaning of a schema as text."""
        if id(schema) not in self._texts:
            self._kept.append(schema)
            own = {
                key: value for key, value in schema.items() if key not in ANNOTATIONS - {"format"}
            }
            self._texts[id(schema)] = canonical(meaning(own))
        return self._texts[id(schema)]

    def _alternative(self, pair: Pair) -> Iterator[SchemaFault]:
        """Yield the faults of a schema without alternatives against any other."""
        wide = pair.wide
        for part in as_array(wide.get("allOf")):
            yield from self.schema(pair.narrow, part, pair.path)
        for keyword in UNIONS:
            if not is_array(arms := wide.get(keyword)):
                continue
            # A reader takes the first alternative that fits.
            alone = keyword == "oneOf" and not self._ends.reader_ignores
            if (values := enum_values(arms, alone=alone)) is not None:
                yield from self._alternative(replace(pair, wide={"enum": values}))
            else:
                yield from self._alternatives(pair, arms, alone=alone)
        if "format" in wide and wide["format"] != pair.narrow.get("format"):
            yield pair.differing(FaultKind.FORMAT, "format")
        values = values_of(pair.narrow)
        if values is not None:
            yield from self._constants(pair, values)
        else:
            yield from self._types(pair)

    def _alternatives(self, pair: Pair, arms: Sequence[Any], *, alone: bool) -> list[SchemaFault]:
        """Return the faults of the nearest alternatives, for all parts of a schema.

        With `alone`, no other alternative may accept any of its values.
        """
        if self._left < 0:
            return [pair.fault(FaultKind.UNKNOWN, "…", "…")]
        found = self._nearest(pair, arms)
        refused = bool(refusals(found))
        if not refused and (not alone or self._is_alone(pair, arms)):
            return found
        known = [arm for arm in map(self._wide.resolve, arms) if arm is not None]
        smaller = pieces(pair.narrow, [*map(self._wide.join, known)])
        if len(smaller) > 1:
            parts = [
                fault
                for piece in smaller
                for fault in self._alternatives(replace(pair, narrow=piece), arms, alone=alone)
            ]
            if all(fault.kind is not FaultKind.UNKNOWN for fault in parts):
                return parts
        return found if refused else [pair.fault(FaultKind.RULE, "", "oneOf")]

    def _nearest(self, pair: Pair, arms: Sequence[Any]) -> list[SchemaFault]:
        """Return the faults of the nearest alternative; none if one has none."""
        best: list[SchemaFault] | None = None
        for arm in arms:
            found = self.schema(pair.narrow, arm, pair.path)
            if best is None or weight(found, pair.path) < weight(best, pair.path):
                best = found
            if not refusals(best):
                break
        return best if best is not None else [pair.fault(FaultKind.RULE, "", "anyOf")]

    def _is_alone(self, pair: Pair, arms: Sequence[Any]) -> bool:
        """Return whether no other alternative accepts a value of a schema that one accepts."""
        fits = [not refusals(self.schema(pair.narrow, arm, pair.path)) for arm in arms]
        return fits.count(True) == 1 and all(
            fit or self._are_disjoint(pair.narrow, arm, _NESTED)
            for fit, arm in zip(fits, arms, strict=True)
        )

    def _are_disjoint(self, narrow: Any, wide: Any, depth: int) -> bool:
        """Return whether no value can be one of both schemas."""
        if narrow is False or wide is False:
            return True
        self._left -= 1
        one, other = self._narrow.resolve(narrow), self._wide.resolve(wide)
        if self._left < 0 or not depth or one is None or other is None:
            return False
        one, other = self._narrow.join(one), self._wide.join(other)
        for arms in (as_array(other.get(keyword)) for keyword in UNIONS):
            if arms and all(self._are_disjoint(one, arm, depth - 1) for arm in arms):
                return True
        ours, theirs = values_of(one), values_of(other)
        if ours is not None and theirs is not None:
            return identities(ours).isdisjoint(identities(theirs))
        return all(
            self._are_disjoint_in(first, second, kind, depth)
            for first in ([one] if ours is None else map(constant_schema, ours))
            for second in ([other] if theirs is None else map(constant_schema, theirs))
            for kind in common(types_of(first), types_of(second))
        )

    def _are_disjoint_in(self, one: Json, other: Json, kind: str, depth: int) -> bool:
        if ranges_are_disjoint(one, other, kind):
            return True
        if kind != "object":
            return False
        sides = (one, other)
        # A member that one side requires is in all values of both.
        for name in {name for side in sides for name in required_of(side)}:
            ours, theirs = (properties_of(side).get(name, _rest_of(side)) for side in sides)
            if self._are_disjoint(ours, theirs, depth - 1):
                return True
        return False

    def _constants(self, pair: Pair, values: Sequence[Any]) -> Iterator[SchemaFault]:
        """Yield a fault for each constant that the other schema refuses."""
        listed_ones = values_of(pair.wide)
        known = identities(listed_ones or ())
        left_out = _APPLIED | {"const", "enum", "format"}
        wide = {key: setting for key, setting in pair.wide.items() if key not in left_out}
        self._left -= len(values) // _CONSTANTS
        for value in values:
            if not may_be(pair.narrow, value):
                continue
            fine = listed_ones is None or identities([value]) <= known
            whole = replace(pair, narrow=constant_schema(value), wide=wide)
            if not fine or (wide and refusals([*self._types(whole)])):
                kind = FaultKind.TYPE if listed_ones is None else FaultKind.VALUE
                yield SchemaFault(
                    kind, pair.path, short_text(json.dumps(value)), schema_text(pair.wide)
                )

    def _types(self, pair: Pair) -> Iterator[SchemaFault]:
        accepted, missing = types_of(pair.wide), list[str]()
        for kind in types_of(pair.narrow):
            if not accepts(accepted, kind):
                missing.append(kind)
            elif found := list(beside_constants(pair, kind)):
                yield from found
            else:
                yield from self._of_type(pair, kind)
        if missing:
            yield pair.fault(FaultKind.TYPE, schema_text(pair.narrow), schema_text(pair.wide))

    def _of_type(self, pair: Pair, kind: str) -> Iterator[SchemaFault]:
        yield from bounds(pair, kind)
        yield from missing_keywords(pair, kind, alike=self._alike)
        if kind == "array":
            yield from self._items(pair)
        elif kind == "object":
            yield from self._members(pair)

    def _items(self, pair: Pair) -> Iterator[SchemaFault]:
        narrow, wide, path = pair.narrow, pair.wide, f"{pair.path}[]"
        if narrow.get("maxItems") == 0:
            return
        first, rest = positions(narrow)
        wide_first, wide_rest = positions(wide)
        for index, item in enumerate(first):
            wide_item = wide_first[index] if index < len(wide_first) else wide_rest
            yield from self.schema(item, wide_item, f"{pair.path}[{index}]")
        for index, wide_item in enumerate(wide_first[len(first) :], len(first)):
            yield from self.schema(rest, wide_item, f"{pair.path}[{index}]")
        yield from self.schema(rest, wide_rest, path)

    def _members(self, pair: Pair) -> Iterator[SchemaFault]:
        ours, theirs = properties_of(pair.narrow), properties_of(pair.wide)
        required = set(required_of(pair.narrow))
        for name in required_of(pair.wide):
            if name not in required:
                kind = FaultKind.REQUIRED if name in ours else FaultKind.MISSING
                yield SchemaFault(kind, _inside(pair.path, name))
        rest, wide_rest = self._writer_rest(pair.narrow), self._reader_rest(pair.wide)
        for name, member in ours.items():
            place = _inside(pair.path, name)
            if name in theirs:
                yield from self.schema(member, theirs[name], place)
            elif member is not False:
                yield from self._undeclared_member(member, wide_rest, place)
        yield from self._wide_only_members(pair, rest)
        others = [rest] if rest is not False else []
        if "patternProperties" not in pair.wide:  # else the two must be equal
            others += patterns_of(pair.narrow).values()
        for schema in others:
            yield from self.schema(schema, wide_rest, f"{pair.path}{{}}")

    def _wide_only_members(self, pair: Pair, rest: Any) -> Iterator[SchemaFault]:
        """Yield the faults of members that only the wide schema declares."""
        ours, theirs = properties_of(pair.narrow), properties_of(pair.wide)
        # This does not look at patterns.
        other = True if pair.narrow.get("patternProperties") else rest
        for name in sorted(theirs.keys() - ours.keys()):
            place = _inside(pair.path, name)
            found = refusals(self.schema(other, theirs[name], place))
            if found and "additionalProperties" not in pair.narrow:
                found = [SchemaFault(FaultKind.REMOVED, place, "", schema_text(theirs[name]))]
            yield from found

    def _undeclared_member(self, member: Any, rest: Any, place: str) -> Iterator[SchemaFault]:
        """Yield the faults of a member that the other schema does not declare."""
        if rest is False:
            yield SchemaFault(FaultKind.UNDECLARED, place, schema_text(member))
        elif rest is True or rest == {}:
            yield SchemaFault(FaultKind.EXTRA, place, schema_text(member))
        else:
            yield from self.schema(member, rest, place)

    def _writer_rest(self, schema: Json) -> Any:
        if "additionalProperties" in schema:
            return schema["additionalProperties"]
        declared = bool(properties_of(schema) or schema.get("patternProperties"))
        return self._ends.writer_adds or not declared

    def _reader_rest(self, schema: Json) -> Any:
        rest = schema.get("additionalProperties", True)
        return True if rest is False and self._ends.reader_ignores else rest


def _rest_of(schema: Json) -> Any:
    """Return the schema of undeclared members, if it is the same for all."""
    return True if "patternProperties" in schema else schema.get("additionalProperties", True)


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
