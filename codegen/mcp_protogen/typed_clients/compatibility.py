"""Return whether all values of one schema are values of another, and where not.

JSON Schema goes one way for arguments and the other for results: what a caller sends has to be
accepted by the schema after a change, and what the server answers by the schema before it. So there
is one question here, containment, and it is answered carefully: what cannot be proved is a fault.
Schemas are those of a server; nothing is fetched, and the work is bounded.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import floor, inf
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object

Json = dict[str, Any]

_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")
_BUDGET: Final = 5_000
"""How many pairs of schemas are looked at; the rest counts as not proved."""
_DEEPEST: Final = 60
# https://json-schema.org/draft/2020-12/json-schema-validation, section 9 and 7.2.1, and core, 8.2
# and 8.3: these say something about a value, and refuse none.
_ANNOTATIONS: Final = frozenset(
    {"$anchor", "$comment", "$defs", "$id", "$schema", "contentEncoding", "contentMediaType"}
    | {"contentSchema", "default", "definitions", "deprecated", "description", "examples"}
    | {"format", "id", "readOnly", "title", "writeOnly"}
)
# The keywords that are compared one by one, by the type of values that they restrict.
_COMPARED: Final = frozenset(
    {"$ref", "additionalItems", "additionalProperties", "allOf", "anyOf", "const", "enum"}
    | {"exclusiveMaximum", "exclusiveMinimum", "items", "maxItems", "maxLength", "maxProperties"}
    | {"maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "oneOf"}
    | {"prefixItems", "properties", "required", "type"}
)
# What any other keyword is judged with: two schemas agree on all of them or on none.
_TOGETHER: Final = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
)
_OF_ARRAYS: Final = frozenset({"contains", "minContains", "maxContains", "uniqueItems"})
_OF_STRINGS: Final = frozenset({"pattern"})
_OF_OBJECTS: Final = frozenset(
    {"dependencies", "dependentRequired", "dependentSchemas", "patternProperties"}
    | {"propertyNames", "unevaluatedProperties"}
)
_DEFINED: Final = ("$defs", "definitions")
_APPLIED: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
"""The keywords of schemas that are looked at one by one."""
_LEAST: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("minLength",),
    "array": ("minItems",),
    "object": ("minProperties",),
}
_MOST: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("maxLength",),
    "array": ("maxItems",),
    "object": ("maxProperties",),
}


class Kind(StrEnum):
    """What is different at a place."""

    TYPE = "type"
    """A type of values is not accepted."""
    VALUE = "value"
    """A single value is not accepted."""
    BOUND = "bound"
    """A value may be beyond a bound."""
    REQUIRED = "required"
    """A member may be missing."""
    UNDECLARED = "undeclared"
    """A member is not accepted at all."""
    REMOVED = "removed"
    """A member is not declared any more, so that it may be anything, or be missing."""
    EXTRA = "extra"
    """A member is accepted, but nothing is known of it; no fault."""
    FORMAT = "format"
    """Another format is meant, which nothing has to check; no fault."""
    RULE = "rule"
    """Another keyword differs, and nobody can say what that refuses."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A place at which values of the one schema need not be values of the other.

    `path` leads there by members: `hours[].at`. `narrow` and `wide` are the two sides as short
    text. `declared` says whether the one schema has the member of which this is about.
    """

    kind: Kind
    path: str
    narrow: str = ""
    wide: str = ""
    declared: bool = True


@dataclass(frozen=True, slots=True)
class Ends:
    """Who writes the values and who reads them.

    A typed caller sends no members but those that it knows; a server may send others. A reader
    that keeps or ignores what it does not know takes them, even where its schema closes an object.
    """

    writer_adds: bool
    reader_ignores: bool


ARGUMENTS: Final = Ends(writer_adds=False, reader_ignores=False)
RESULTS: Final = Ends(writer_adds=True, reader_ignores=True)


def faults(narrow: Json, wide: Json, ends: Ends) -> tuple[Fault, ...]:
    """Return where values of `narrow` need not be values of `wide`; nothing if all of them are.

    Those of the kinds `EXTRA` and `FORMAT` are no faults.
    """
    try:
        return tuple(dict.fromkeys(_Search(narrow, wide, ends).schema(narrow, wide, "")))
    except RecursionError:  # an intersection that refers to itself
        return (Fault(Kind.RULE, "", "…", "…"),)


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two schemas at a place, with the keywords of either in one object."""

    narrow: Json
    wide: Json
    path: str

    def fault(self, kind: Kind, narrow: object = "", wide: object = "") -> Fault:
        return Fault(kind, self.path, shown(narrow), shown(wide))


def shown(value: object) -> str:
    """Return a value as short text; a text stays as it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"


class _Search:
    """One question about two documents, with the pairs that are being examined."""

    def __init__(self, narrow: Json, wide: Json, ends: Ends) -> None:
        self._documents = (narrow, wide)
        self._ends = ends
        self._open: set[tuple[int, int]] = set()
        self._kept: list[object] = []
        self._texts: dict[int, bytes] = {}
        self._left = _BUDGET

    def schema(self, narrow: Any, wide: Any, path: str) -> list[Fault]:
        """Return the faults of two schemas, which may be booleans or references."""
        self._left -= 1
        if self._left < 0 or path.count(".") + path.count("[") > _DEEPEST:
            return [Fault(Kind.RULE, path, "…", "…")]
        if narrow is False or wide is True:
            return []
        one, other = self._resolved(narrow, 0), self._resolved(wide, 1)
        if one is None or other is None:
            same = canonical([narrow]) == canonical([wide]) and not self._differ
            return [] if same else [Fault(Kind.RULE, path, shown(narrow), shown(wide))]
        if wide is False:
            return [Fault(Kind.TYPE, path, shown(_types(one)), "nothing")]
        if not other.keys() - _ANNOTATIONS or self._alike(one, other):
            return []
        pair = (id(narrow), id(wide))
        if pair in self._open:
            return []
        # What is made on the way must live as long as its id is in use.
        self._kept += (narrow, wide)
        self._open.add(pair)
        try:
            return [
                fault
                for atom in self._atoms(one, 0)
                for fault in self._atom(_Pair(atom, other, path))
            ]
        finally:
            self._open.discard(pair)

    @cached_property
    def _differ(self) -> bool:
        """Return whether references may lead to something else in the two documents."""
        return canonical(self._documents[0]) != canonical(self._documents[1])

    def _resolved(self, schema: Any, side: int) -> Json | None:
        """Return a schema without a reference; None if it leads nowhere, or in a circle."""
        if schema is True:
            return {}
        if not is_object(schema):
            return {} if schema is False else None
        seen: set[str] = set()
        parts: list[Json] = []
        while isinstance(schema.get("$ref"), str):
            ref: str = schema["$ref"]
            beside = {key: one for key, one in schema.items() if key != "$ref"}
            if beside.keys() - _ANNOTATIONS:
                parts.append(beside)
            found = self._target(ref, side)
            if ref in seen or found is None:
                return None
            seen.add(ref)
            schema = found
        return {"allOf": [schema, *parts]} if parts else schema

    def _target(self, ref: str, side: int) -> Json | None:
        if not ref.startswith("#"):
            return None
        try:
            found = jsonpointer.get(self._documents[side], unquote(ref[1:]))
        except jsonpointer.Absent:
            return None
        return {} if found is True else found if is_object(found) else None

    def _alike(self, one: Json, other: Json) -> bool:
        """Return whether two schemas say the same, with all that they refer to."""
        if self._text(one) != self._text(other):
            return False
        return b'"$ref"' not in self._text(one) or not self._differ

    def _text(self, schema: Json) -> bytes:
        """Return a schema as text, without annotations at its own level."""
        if id(schema) not in self._texts:
            self._kept.append(schema)
            self._texts[id(schema)] = canonical(_plain(schema))
        return self._texts[id(schema)]

    def _atoms(self, schema: Json, side: int) -> Iterator[Json]:
        """Yield schemas of which each value of a schema is one of at least one.

        They may accept more than the schema, which only makes the answer more careful.
        """
        whole = self._joined(schema, side)
        for keyword in ("anyOf", "oneOf"):
            arms = whole.get(keyword)
            if is_array(arms) and arms:
                rest = {key: one for key, one in whole.items() if key != keyword}
                for arm in arms:
                    if arm is not False:
                        inner = self._resolved(arm, side) or {}
                        beside = [rest] if rest.keys() - _ANNOTATIONS else []
                        yield from self._atoms({"allOf": [*beside, inner]}, side)
                return
        yield whole

    def _joined(self, schema: Json, side: int) -> Json:
        """Return a schema without `allOf`, which accepts at least what the schema accepts."""
        parts = schema.get("allOf")
        if not is_array(parts):
            return schema
        done = {key: one for key, one in schema.items() if key != "allOf"}
        for part in parts:
            inner = self._resolved(part, side)
            if inner is not None:
                done = _both(done, self._joined(inner, side))
        return done

    def _atom(self, pair: _Pair) -> Iterator[Fault]:
        """Yield the faults of a schema without alternatives against any other."""
        wide = pair.wide
        for part in _listed(wide.get("allOf")):
            yield from self.schema(pair.narrow, part, pair.path)
        if is_array(wide.get("anyOf")):
            yield from self._one_of_them(pair, wide["anyOf"])
        if is_array(wide.get("oneOf")):
            yield from self._exactly_one(pair, wide["oneOf"])
        if "format" in wide and wide["format"] != pair.narrow.get("format"):
            yield pair.fault(Kind.FORMAT, _spelled_format(pair.narrow), _spelled_format(wide))
        values = _values(pair.narrow)
        if values is not None:
            yield from self._constants(pair, values)
        else:
            yield from self._types(pair)

    def _one_of_them(self, pair: _Pair, arms: Sequence[Any]) -> list[Fault]:
        """Return the faults of the alternative that is nearest; none if one has none."""
        best: list[Fault] | None = None
        for arm in arms:
            found = self.schema(pair.narrow, arm, pair.path)
            if best is None or _weight(found, pair.path) < _weight(best, pair.path):
                best = found
        return best if best is not None else [pair.fault(Kind.RULE, "", "anyOf")]

    def _exactly_one(self, pair: _Pair, arms: Sequence[Any]) -> list[Fault]:
        found = self._one_of_them(pair, arms)
        if _refusals(found):
            return found
        fits = [not _refusals(self.schema(pair.narrow, arm, pair.path)) for arm in arms]
        others = [arm for place, arm in enumerate(arms) if place != fits.index(True)]
        if all(self._apart(pair.narrow, arm) for arm in others):
            return found
        return [pair.fault(Kind.RULE, "", "oneOf")]

    def _apart(self, narrow: Json, arm: Any) -> bool:
        """Return whether no value can be one of both schemas."""
        other = self._resolved(arm, 1)
        if other is None:
            return False
        other = self._joined(other, 1)
        if not _overlap(_types(narrow), _types(other)):
            return True
        ours, theirs = _values(narrow), _values(other)
        if ours is not None and theirs is not None:
            return not {canonical(_number(one)) for one in ours} & {
                canonical(_number(one)) for one in theirs
            }
        if _types(narrow) != ["object"]:
            return False
        required = set(_listed(narrow.get("required"))) & set(_listed(other.get("required")))
        members = narrow.get("properties"), other.get("properties")
        if not is_object(members[0]) or not is_object(members[1]):
            return False
        for name in required & members[0].keys() & members[1].keys():
            inner = self._resolved(members[0][name], 0)
            if inner is not None and _values(inner) and self._apart(inner, members[1][name]):
                return True
        return False

    def _constants(self, pair: _Pair, values: Sequence[Any]) -> Iterator[Fault]:
        """Yield a fault for each constant that the other schema refuses."""
        wide = {key: one for key, one in pair.wide.items() if key not in _APPLIED}
        for value in values:
            if _may_be(pair.narrow, value) and not self._is_valid(value, wide):
                kind = Kind.TYPE if _values(wide) is None else Kind.VALUE
                yield Fault(kind, pair.path, shown(json.dumps(value)), _spelled(wide))

    def _is_valid(self, value: Any, schema: Json) -> bool:
        """Return whether a schema accepts a value; false if it is not safe to find out."""
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        # References lead into the whole document, and the empty registry fetches nothing.
        whole: Json = {
            key: self._documents[1][key] for key in _DEFINED if key in self._documents[1]
        }
        whole |= schema
        if '"pattern' in json.dumps(whole):  # of a server, which may take for ever to match
            return False
        try:
            validator: Any = Draft202012Validator(whole, registry=Registry[Any]())
            return bool(validator.is_valid(value))
        except (SchemaError, Unresolvable, TypeError, ValueError, RecursionError, AttributeError):
            return False

    def _types(self, pair: _Pair) -> Iterator[Fault]:
        accepted, missing = _types(pair.wide), list[str]()
        for kind in _types(pair.narrow):
            if not _accepts(accepted, kind):
                missing.append(kind)
            elif _values(pair.wide) is not None:
                yield from _enumerated(pair, kind)
            else:
                yield from self._of_type(pair, kind)
        if missing:
            yield pair.fault(Kind.TYPE, _spelled(pair.narrow), _spelled(pair.wide))

    def _of_type(self, pair: _Pair, kind: str) -> Iterator[Fault]:
        yield from _bounds(pair, kind)
        yield from _rules(pair, kind, alike=self._same_rule)
        if kind == "array":
            yield from self._items(pair)
        elif kind == "object":
            yield from self._members(pair)

    def _same_rule(self, one: Json, other: Json) -> bool:
        if canonical(one) != canonical(other):
            return False
        return "$ref" not in json.dumps(one) or not self._differ

    def _items(self, pair: _Pair) -> Iterator[Fault]:
        narrow, wide, path = pair.narrow, pair.wide, f"{pair.path}[]"
        if narrow.get("maxItems") == 0:
            return
        first, rest = _positions(narrow)
        wide_first, wide_rest = _positions(wide)
        for index, item in enumerate(first):
            other = wide_first[index] if index < len(wide_first) else wide_rest
            yield from self.schema(item, other, f"{pair.path}[{index}]")
        for index, other in enumerate(wide_first[len(first) :], len(first)):
            yield from self.schema(rest, other, f"{pair.path}[{index}]")
        yield from self.schema(rest, wide_rest, path)

    def _members(self, pair: _Pair) -> Iterator[Fault]:
        ours, theirs = _properties(pair.narrow), _properties(pair.wide)
        required = set(_listed(pair.narrow.get("required")))
        for name in _listed(pair.wide.get("required")):
            if name not in required:
                yield Fault(Kind.REQUIRED, _inside(pair.path, name), declared=name in ours)
        rest, wide_rest = self._written(pair.narrow), self._read(pair.wide)
        for name, member in ours.items():
            place = _inside(pair.path, name)
            if name in theirs:
                yield from self.schema(member, theirs[name], place)
            elif member is not False:
                yield from self._unknown(member, wide_rest, place)
        # What a pattern allows, this does not look at.
        other = True if pair.narrow.get("patternProperties") else rest
        for name in sorted(theirs.keys() - ours.keys()):
            found = _refusals(self.schema(other, theirs[name], _inside(pair.path, name)))
            stated = "additionalProperties" in pair.narrow
            if found and stated:
                yield from found
            elif found:
                yield Fault(Kind.REMOVED, _inside(pair.path, name), "", _spelled(theirs[name]))
        if rest is not False:
            yield from self.schema(rest, wide_rest, f"{pair.path}{{}}")

    def _unknown(self, member: Any, rest: Any, place: str) -> Iterator[Fault]:
        """Yield what becomes of a member that the other schema does not declare."""
        if rest is False:
            yield Fault(Kind.UNDECLARED, place, _spelled(member))
        elif rest is True or rest == {}:
            yield Fault(Kind.EXTRA, place, _spelled(member))
        else:
            yield from self.schema(member, rest, place)

    def _written(self, schema: Json) -> Any:
        """Return the schema of members that are not declared, of the side that writes them."""
        if "additionalProperties" in schema:
            return schema["additionalProperties"]
        declared = bool(_properties(schema) or schema.get("patternProperties"))
        return self._ends.writer_adds or not declared

    def _read(self, schema: Json) -> Any:
        """Return the schema of members that are not declared, of the side that reads them."""
        rest = schema.get("additionalProperties", True)
        return True if rest is False and self._ends.reader_ignores else rest


def _weight(found: Sequence[Fault], path: str) -> tuple[int, int]:
    """Return how far an alternative is away: another type at its own place is the farthest."""
    refused = _refusals(found)
    other_kind = any(one.kind in (Kind.TYPE, Kind.VALUE) and one.path == path for one in refused)
    return int(other_kind), len(refused)


def _refusals(found: Sequence[Fault]) -> list[Fault]:
    return [one for one in found if one.kind not in (Kind.EXTRA, Kind.FORMAT)]


def _plain(schema: Json) -> Json:
    """Return a schema without annotations at its own level, but for its format."""
    return {key: one for key, one in schema.items() if key not in _ANNOTATIONS - {"format"}}


def _listed(value: Any) -> list[Any]:
    return value if is_array(value) else []


def _properties(schema: Json) -> Json:
    found = schema.get("properties")
    return found if is_object(found) else {}


def _inside(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _types(schema: Json) -> list[str]:
    """Return the types of values that a schema may accept."""
    kinds = schema.get("type")
    found = [kinds] if isinstance(kinds, str) else _listed(kinds) or list(_TYPES)
    values = _values(schema)
    if values is not None:
        found = [one for one in found if any(one in _kinds(value) for value in values)]
    return [one for one in found if one != "integer" or "number" not in found]


def _accepts(kinds: Sequence[str], kind: str) -> bool:
    return kind in kinds or (kind == "integer" and "number" in kinds)


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    return any(_accepts(other, kind) for kind in one) or any(_accepts(one, kind) for kind in other)


def _kinds(value: Any) -> tuple[str, ...]:
    match value:
        case None:
            return ("null",)
        case bool():
            return ("boolean",)
        case int():
            return ("integer", "number")
        case float():
            return ("integer", "number") if value.is_integer() else ("number",)
        case str():
            return ("string",)
        case list():
            return ("array",)
        case _:
            return ("object",)


def _values(schema: Json) -> list[Any] | None:
    """Return the constants of a schema; None if it has other values, too."""
    if "const" in schema:
        return [schema["const"]]
    found = schema.get("enum")
    return found if is_array(found) else None


def _may_be(schema: Json, value: Any) -> bool:
    if "type" not in schema:
        return True
    kinds = _types({"type": schema["type"]})
    return any(_accepts(kinds, one) for one in _kinds(value))


def _number(value: Any) -> Any:
    """Return 1 for 1.0, because they are the same in JSON Schema."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _enumerated(pair: _Pair, kind: str) -> Iterator[Fault]:
    """Yield a fault if a type has values besides the constants of the other schema."""
    known = [canonical(one) for one in _values(pair.wide) or ()]
    all_of = {"boolean": (b"true", b"false"), "null": (b"null",)}.get(kind)
    if all_of is None or not set(all_of) <= set(known):
        yield pair.fault(Kind.VALUE, _spelled(pair.narrow), _spelled(pair.wide))


def _bounds(pair: _Pair, kind: str) -> Iterator[Fault]:
    if kind in ("integer", "number"):
        yield from _ranges(pair, whole=kind == "integer")
        return
    for keyword in _LEAST.get(kind, ()):
        if _measure(pair.narrow, keyword, 0) < _measure(pair.wide, keyword, 0):
            yield _beyond(pair, keyword)
    for keyword in _MOST.get(kind, ()):
        if _measure(pair.narrow, keyword, inf) > _measure(pair.wide, keyword, inf):
            yield _beyond(pair, keyword)


def _measure(schema: Json, keyword: str, otherwise: float) -> float:
    value = schema.get(keyword)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def _beyond(pair: _Pair, keyword: str) -> Fault:
    return pair.fault(Kind.BOUND, _keyword(pair.narrow, keyword), _keyword(pair.wide, keyword))


def _ranges(pair: _Pair, *, whole: bool) -> Iterator[Fault]:
    for edge in _EDGES:
        ours, theirs = (_edge(one, edge, whole=whole) for one in (pair.narrow, pair.wide))
        # Up to draft 4, the second keyword was a flag of the first.
        flag = isinstance(pair.wide.get(edge.opened), bool)
        if ours < theirs or (flag and pair.narrow.get(edge.opened) != pair.wide[edge.opened]):
            yield _beyond(pair, edge.closed if edge.closed in pair.wide else edge.opened)
    step = pair.wide.get("multipleOf")
    if step is not None and not _divides(step, pair.narrow.get("multipleOf", 1 if whole else None)):
        yield _beyond(pair, "multipleOf")


class _Edge(NamedTuple):
    """The keywords of one end of a range, and 1 for the lower end."""

    closed: str
    opened: str
    sign: int


_EDGES: Final = (
    _Edge("minimum", "exclusiveMinimum", 1),
    _Edge("maximum", "exclusiveMaximum", -1),
)


def _edge(schema: Json, edge: _Edge, *, whole: bool) -> tuple[float, bool]:
    """Return the tighter of two bounds, as if both were lower ones; true if it is excluded."""
    edges: list[tuple[float, bool]] = [(-inf, False)]
    for keyword, excluded in ((edge.closed, False), (edge.opened, True)):
        value = schema.get(keyword)
        if isinstance(value, int | float) and not isinstance(value, bool):
            bound = edge.sign * value
            edges.append((floor(bound) + 1, False) if excluded and whole else (bound, excluded))
    return max(edges)


def _divides(step: Any, by: Any) -> bool:
    if not isinstance(step, int) or not isinstance(by, int) or not step:
        return canonical([step]) == canonical([by])
    return by % step == 0


def _rules(pair: _Pair, kind: str, alike: Callable[[Json, Json], bool]) -> Iterator[Fault]:
    """Yield the other keywords of the wide schema that the narrow one does not have as well."""
    for keyword in sorted(pair.wide.keys() - _COMPARED - _ANNOTATIONS):
        if not _concerns(keyword, kind):
            continue
        group = next((one for one in _TOGETHER if keyword in one), frozenset({keyword}))
        if keyword.startswith("unevaluated"):
            group = frozenset({*pair.wide, *pair.narrow}) - _ANNOTATIONS
        sides = [{key: one[key] for key in group if key in one} for one in (pair.narrow, pair.wide)]
        if not alike(*sides):
            yield pair.fault(
                Kind.RULE, _keyword(pair.narrow, keyword), _keyword(pair.wide, keyword)
            )


def _spelled_format(schema: Json) -> str:
    return _keyword(schema, "format")


def _keyword(schema: Json, keyword: str) -> str:
    return (
        f"{keyword} {json.dumps(schema[keyword], ensure_ascii=False)}"
        if keyword in schema
        else f"no {keyword}"
    )


def _concerns(keyword: str, kind: str) -> bool:
    """Return whether a keyword restricts values of a type; an unknown one restricts nothing."""
    if keyword in _OF_ARRAYS or keyword == "unevaluatedItems":
        return kind == "array"
    if keyword in _OF_STRINGS:
        return kind == "string"
    if keyword in _OF_OBJECTS:
        return kind == "object"
    return keyword in ("if", "then", "else", "not", "$dynamicRef", "$recursiveRef")


def _positions(schema: Json) -> tuple[list[Any], Any]:
    """Return the schemas of the first items of an array, and of all others."""
    items = schema.get("items", True)
    if is_array(items):  # as up to draft 2019-09
        return items, schema.get("additionalItems", True)
    return _listed(schema.get("prefixItems")), items


def _both(one: Json, other: Json) -> Json:
    """Return keywords of two schemas of which both hold; of two equal keywords, the first."""
    done = {**other, **one}
    ours, theirs = _properties(one), _properties(other)
    if theirs and ours:
        done["properties"] = {
            name: (
                {"allOf": [ours[name], theirs[name]]}
                if name in ours and name in theirs
                else ours.get(name, theirs.get(name))
            )
            for name in {**ours, **theirs}
        }
    needed = [*_listed(one.get("required")), *_listed(other.get("required"))]
    if needed:
        done["required"] = list(dict.fromkeys(needed))
    for keyword in ("anyOf", "oneOf"):
        if keyword in one and keyword in other:
            done[keyword] = one[keyword]
    if "type" in one and "type" in other:
        kinds, more = _types({"type": one["type"]}), _types({"type": other["type"]})
        both = [kind for kind in kinds if _accepts(more, kind)]
        both += [kind for kind in more if _accepts(kinds, kind)]
        done["type"] = list(dict.fromkeys(both)) or one["type"]
    return done


def _spelled(schema: Any) -> str:
    """Return a schema in a few words."""
    if not is_object(schema):
        return "anything" if schema is not False else "nothing"
    if (values := _values(schema)) is not None:
        return shown(" | ".join(json.dumps(one, ensure_ascii=False) for one in values))
    if isinstance(schema.get("$ref"), str):
        return shown(str(schema["$ref"]).rpartition("/")[2])
    for keyword in ("anyOf", "oneOf"):
        if is_array(schema.get(keyword)):
            return shown(" | ".join(_spelled(arm) for arm in schema[keyword]))
    kinds = schema.get("type")
    if kinds == "array":
        return f"array of {_spelled(schema.get('items', True))}"
    return shown(" | ".join(map(str, kinds)) if is_array(kinds) else str(kinds or "anything"))
