"""The comparison of the values that two schemas accept.

Only kinds of values count: bounds are compared separately, and a change inside a type that both
schemas name is reported for that type. Optional members of an open object restrict nothing here,
because an object without them is valid.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_array, is_object, is_of_type
from mcp_protogen.pipeline.normalise.references import definition_name

Json = dict[str, Any]

# These are made once, so that a recursive schema is met again as the same object.
_ANYTHING: Json = {}
_NULL: Json = {"type": "null"}
_KINDS: tuple[Json, ...] = (
    *({"type": kind} for kind in ("array", "boolean", "number", "object", "string")),
    _NULL,
)


_Pair = tuple[int, int]


class Relation(StrEnum):
    """The relation of the values of a schema to those of the schema before it."""

    SAME = "same"
    WIDER = "wider"
    NARROWER = "narrower"
    OTHER = "other"


class Values:
    """A comparison of schemas of two sides; `renamed` has the new names of older types."""

    def __init__(self, before: Json, after: Json, renamed: Mapping[str, str]) -> None:
        self._before = before
        self._after = after
        self._renamed = renamed

    def relation(self, before: Json, after: Json) -> Relation:
        """Return the relation of `after` to `before`, without null on both sides."""
        was = [atom for atom in atoms(before, self._before) if not _is_null(atom)]
        now = [atom for atom in atoms(after, self._after) if not _is_null(atom)]
        keeps = _Covering(self._after, self._before, lambda new, old: self._is_same(old, new))
        adds = _Covering(self._before, self._after, self._is_same)
        match keeps.all(now, was), adds.all(was, now):
            case True, True:
                return Relation.SAME
            case True, False:
                return Relation.WIDER
            case False, True:
                return Relation.NARROWER
            case _:
                return Relation.OTHER

    def of_names(self, before: Json, after: Json) -> Relation | None:
        """Return the relation of two unions of named objects, by their names alone.

        Return None for other schemas. The name that is meant matters more than the common members
        of two types.
        """
        was, now = atoms(before, self._before), atoms(after, self._after)
        if not all("$ref" in atom for atom in (*was, *now)):
            return None
        old = {
            self._renamed.get(name, name)
            for name in (definition_name(atom["$ref"]) for atom in was)
        }
        new = {definition_name(atom["$ref"]) for atom in now}
        if old == new:
            return Relation.SAME
        return Relation.WIDER if old < new else Relation.NARROWER if new < old else Relation.OTHER

    def member_names(self, before: Json, after: Json) -> tuple[frozenset[str], frozenset[str]]:
        """Return the members that objects of either schema are known to have.

        Types that both schemas name are left out: their differences are reported for them.
        """
        was, now = atoms(before, self._before), atoms(after, self._after)
        pairs = [(old, new) for old in was for new in now if self._is_one(old, new)]
        kept = ([atom for atom in was if all(atom is not old for old, _ in pairs)], self._before)
        new = ([atom for atom in now if all(atom is not new for _, new in pairs)], self._after)
        return _members(*kept), _members(*new)

    def _is_one(self, old: Json, new: Json) -> bool:
        both_named = "$ref" in old and "$ref" in new
        return both_named and self._is_same(
            definition_name(old["$ref"]), definition_name(new["$ref"])
        )

    def _is_same(self, old: str, new: str) -> bool:
        return self._renamed.get(old, old) == new


def atoms(schema: Json, definitions: Json) -> list[Json]:
    """Return the alternatives of a schema: references to objects, kinds and constants."""
    return list(_atoms(schema, definitions, frozenset()))


def _atoms(schema: Json, definitions: Json, inside: frozenset[str]) -> Iterator[Json]:
    if "$ref" in schema:
        name = definition_name(schema["$ref"])
        named: Json = definitions[name]
        if named.get("properties"):
            yield schema
        elif name not in inside:
            yield from _atoms(named, definitions, inside | {name})
    elif "anyOf" in schema and not schema.get("properties"):
        for arm in schema["anyOf"]:
            yield from _atoms(arm, definitions, inside)
    elif "const" in schema or "enum" in schema:
        values: list[Any] = [schema["const"]] if "const" in schema else schema["enum"]
        yield from ({"enum": [value]} if value is not None else _NULL for value in values)
    elif is_array(kinds := schema.get("type")):
        for kind in kinds:
            yield from _atoms({**schema, "type": kind}, definitions, inside)
    elif kinds is None and not schema.get("properties"):
        yield from _KINDS
    else:
        yield schema


class _Covering:
    """A check whether schemas of one side accept the values of schemas of the other.

    `same` gets two names, the wider side's first, and returns whether they are one type.
    """

    def __init__(self, wide: Json, narrow: Json, same: Callable[[str, str], bool]) -> None:
        self._wide = wide
        self._narrow = narrow
        self._same = same
        self._assumed: list[_Pair] = []
        self._results: dict[_Pair, bool] = {}

    def all(self, wide: list[Json], narrow: list[Json]) -> bool:
        """Return whether each of `narrow` is accepted by one of `wide`."""
        return all(
            any(self._atom(wide_atom, narrow_atom) for wide_atom in wide) for narrow_atom in narrow
        )

    def _schema(self, wide: Json, narrow: Json) -> bool:
        """Return the same for two schemas, either of which may refer to itself.

        A pair that comes again while it is examined is assumed to match; only other parts can
        contradict that. If one does, all results from under the assumption are dropped, too.
        """
        pair = (id(wide), id(narrow))
        if pair in self._results:
            return self._results[pair]
        start = len(self._assumed)
        self._assumed.append(pair)
        self._results[pair] = True
        if self.all(atoms(wide, self._wide), atoms(narrow, self._narrow)):
            return True
        for assumed in self._assumed[start:]:
            del self._results[assumed]
        del self._assumed[start:]
        self._results[pair] = False
        return False

    def _atom(self, wide: Json, narrow: Json) -> bool:
        if "$ref" in wide and "$ref" in narrow:
            names = definition_name(wide["$ref"]), definition_name(narrow["$ref"])
            if self._same(*names):
                return True
        wide, narrow = _resolve(wide, self._wide), _resolve(narrow, self._narrow)
        if "enum" in narrow:
            (value,) = narrow["enum"]
            return _accepts(wide, value)
        if "enum" in wide:
            return False
        kind = narrow.get("type", "object")
        if kind == "integer" and wide.get("type") == "number":
            return True
        if kind != wide.get("type", "object"):
            return False
        if kind == "array":
            return self._schema(wide.get("items", _ANYTHING), narrow.get("items", _ANYTHING))
        return self._object(wide, narrow) if kind == "object" else True

    def _object(self, wide: Json, narrow: Json) -> bool:
        ours: Json = wide.get("properties", {})
        theirs: Json = narrow.get("properties", {})
        if not {*wide.get("required", ())} <= {*narrow.get("required", ())}:
            return False
        if ours.keys() - theirs.keys() and theirs.keys() - ours.keys():
            return False  # Each has members that the other lacks: they have different purposes.
        if not all(self._schema(ours[name], theirs[name]) for name in ours if name in theirs):
            return False
        rest, other_rest = wide.get("additionalProperties"), narrow.get("additionalProperties")
        further = [theirs[name] for name in theirs if name not in ours]
        if rest is False:
            return not further and other_rest is False
        if is_object(other_rest):
            unknown = [ours[name] for name in ours if name not in theirs]
            if not all(self._schema(schema, other_rest) for schema in unknown):
                return False
        if not is_object(rest):
            return True
        if is_object(other_rest) or not theirs:
            further.append(other_rest if is_object(other_rest) else _ANYTHING)
        return all(self._schema(rest, schema) for schema in further)


def _resolve(atom: Json, definitions: Json) -> Json:
    named: Json = definitions[definition_name(atom["$ref"])] if "$ref" in atom else atom
    return named


def _is_null(atom: Json) -> bool:
    return atom.get("type") == "null"


def _accepts(atom: Json, value: object) -> bool:
    if "enum" in atom:
        return canonical(atom["enum"][0]) == canonical(value)
    return is_of_type(value, atom.get("type", "object"))


def _members(found: list[Json], definitions: Json) -> frozenset[str]:
    named = (_resolve(atom, definitions) for atom in found)
    return frozenset(name for schema in named for name in schema.get("properties", ()))
