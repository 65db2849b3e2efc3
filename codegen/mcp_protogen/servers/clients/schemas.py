"""Schemas of tools, prepared for making models.

Each schema becomes separate definitions: the schema itself, and those inside it. References lead
only to these; any other reference is never followed, and stands for any value.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Final

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.graph import find_reachable
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.base.subschemas import map_schemas, with_pointers
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.normalise import dialect, normalise, references
from mcp_protogen.servers.call.input_schemas import Part, as_array, read_schema
from mcp_protogen.servers.clients.keywords import UNIONS, enum_values, required_of
from mcp_protogen.servers.clients.naming import class_text, name_variants

Json = dict[str, Any]

_DEFINITIONS: Final = ("$defs", "definitions")
_NO_FACTS: Final = Facts("", {}, "")
_MOST_VALUES: Final = 5_000
"""The most JSON values in one schema: far more than usual servers have."""
_MOST_ARMS: Final = 500
"""The most alternatives of one value; Python cannot read a union that is much longer."""
_ANY_OBJECT: Final[Json] = {"type": "object", "additionalProperties": {}}
# A server's schema may be invalid in any place.
_FAULTS: Final = (*(ProblemError, RecursionError, KeyError, TypeError, AttributeError, ValueError),)


@dataclass(frozen=True)
class SchemaDefinitions:
    """A schema as definitions; `root` is the name of the schema itself."""

    root: str
    schemas: Json
    problems: tuple[Problem, ...] = ()

    @cached_property
    def _graph(self) -> Mapping[str, list[str]]:
        """The definitions that each definition refers to."""
        return _graph(self.schemas)

    def reachable(self, name: str) -> Json:
        """Return the definition of a name with those that it refers to."""
        needed = find_reachable(self._graph, [name])
        return {found: self.schemas[found] for found in sorted(needed & self.schemas.keys())}

    def with_root(self, schema: Json) -> "SchemaDefinitions":
        """Return another schema with the definitions that it refers to."""
        # Only used definitions stay, because unused ones that cannot be types would fail.
        needed = find_reachable({**self._graph, **_graph({self.root: schema})}, [self.root])
        used = {name: self.schemas[name] for name in sorted(needed & self.schemas.keys())}
        return replace(self, schemas={**used, self.root: schema})


def collect_definitions(schema: Json, root: str, place: str) -> SchemaDefinitions:
    """Return a schema as definitions, with a warning for each reference that leads elsewhere.

    Its definitions have safe names, and the schema itself the name `root`. A schema that is too
    large stands for any value, with a warning: its models would take minutes.
    """
    if _is_too_large(schema):
        message = f"the schema has more than {_MOST_VALUES:,} values or {_MOST_ARMS:,} alternatives"
        return SchemaDefinitions(
            root, {root: _any_value(schema)}, (_warning("loosened-schema", message, place),)
        )
    schema = map_schemas(with_pointers(schema), _as_models_read)
    named = {"": root}
    for keyword in _DEFINITIONS:
        inner = schema.get(keyword)
        for name in inner if is_object(inner) else ():
            variants = name_variants(class_text(name) or "Model")
            named[jsonpointer.join(keyword, name)] = next(
                candidate for candidate in variants if candidate not in named.values()
            )
    dangling: list[str] = []
    hoisted, _ = references.hoist(schema, named, dangling.append)
    messages = (f"the reference {ref!r:.80} is not followed" for ref in dict.fromkeys(dangling))
    problems = (_warning("dangling-ref", message, place) for message in messages)
    return SchemaDefinitions(root, hoisted["$defs"], tuple(problems))


def _as_models_read(schema: Json) -> Json:
    """Return a schema as models read it: open, and with a `$ref` that is a text."""
    # Models keep members that they do not know, also those of a later version.
    done = {k: v for k, v in schema.items() if (k, v) != ("additionalProperties", False)}
    if not is_object(done.get("properties", {})):
        done["properties"] = {}
    ref = done.pop("$ref", None)
    return {**done, "$ref": "#" if ref in ("", "#/") else ref} if isinstance(ref, str) else done


def with_all_members(found: SchemaDefinitions) -> SchemaDefinitions:
    """Return definitions whose root declares the members of all its alternatives and conditions.

    A call has its arguments one by one, and each may come from one of several alternatives.
    """
    above: Json = {"$defs": found.schemas, "$ref": references.PREFIX + found.root}
    part = read_schema(above)
    if not part.has_alternatives or not part.members:
        return found
    members = {name: _merge(member) for name, member in part.members.items()}
    root: Json = {"type": "object", "properties": members, "required": part.required}
    return replace(found, schemas={**found.schemas, found.root: root})


def _merge(member: Part) -> Json:
    """Return one schema of a member that several schemas may declare."""
    certain = [dict(schema) for schema in member.schemas(certain=True) if schema]
    # A default of an alternative must not be sent with another one.
    found = certain or [
        {key: value for key, value in schema.items() if key != "default"}
        for schema in member.schemas(certain=False)
    ]
    if len(found) < 2:
        return found[0] if found else {}
    values = None if certain else enum_values(found, alone=False)
    texts = [schema["description"] for schema in found if "description" in schema]
    done = {"allOf": found} if certain else {"enum": values} if values else {"anyOf": found}
    return {**done, "description": texts[0]} if texts else done


def _is_too_large(schema: Json) -> bool:
    values = [value for _, value in islice(jsonpointer.walk(schema), _MOST_VALUES + 1)]
    arms = (as_array(value.get(key)) for value in values if is_object(value) for key in UNIONS)
    return len(values) > _MOST_VALUES or any(len(found) > _MOST_ARMS for found in arms)


def _warning(code: str, message: str, place: str) -> Problem:
    hint = "any value is accepted in its place"
    return Problem(code, message, place, hint=hint, level=Level.WARNING)


def normal(found: SchemaDefinitions, place: str) -> SchemaDefinitions:
    """Return definitions normalised, with warnings about parts that the models do not check.

    A member that cannot be a type stands for any value, and so does an invalid schema.
    """
    try:
        return _normal(found, place)
    except _FAULTS as error:
        above: Any = found.schemas[found.root]
        members = above.get("properties") if is_object(above) else None
        loosened = _with_members(above, found, place) if is_object(members) else _any_value(above)
        reason = error.problems[0].message if isinstance(error, ProblemError) else str(error)
        message = f"a part of the schema cannot be a type: {reason}"
        done = _normal(found.with_root(loosened), place)
        return SchemaDefinitions(
            done.root, done.schemas, (_warning("loosened-schema", message, place), *done.problems)
        )


def _any_value(schema: Any) -> Json:
    """Return a schema of any value, or of any object if the schema says no other type."""
    kinds = schema.get("type", "object") if is_object(schema) else "object"
    return _ANY_OBJECT if kinds in ("object", ["object"]) else {}


def _normal(found: SchemaDefinitions, place: str) -> SchemaDefinitions:
    plain, unread = dialect.plain({"$defs": found.schemas}, (), place, exclusive=True)
    done, loosened = normalise(plain, _NO_FACTS, place)
    kept = reachable(done["$defs"], [found.root])
    return SchemaDefinitions(found.root, kept, (*found.problems, *unread, *loosened))


def _with_members(above: Json, found: SchemaDefinitions, place: str) -> Json:
    """Return the schema with its members; those that cannot be types accept any value."""
    members: Json = {}
    needed = set(required_of(above))
    for name, value in above["properties"].items():
        # An object that requires an impossible member is impossible itself.
        alone: Json = {"type": "object", "properties": {name: value}}
        try:
            _normal(found.with_root({**alone, "required": [*needed & {name}]}), place)
            members[name] = value
        except _FAULTS:
            members[name] = {}
    return {"type": "object", "properties": members, "required": sorted(needed & members.keys())}


def reachable(schemas: Json, names: Iterable[str]) -> Json:
    """Return the definitions of these names, with all references."""
    needed = find_reachable(_graph(schemas), names)
    return {name: schema for name, schema in schemas.items() if name in needed}


def _graph(schemas: Json) -> Mapping[str, list[str]]:
    return {name: [*references.references_in(schema)] for name, schema in schemas.items()}
