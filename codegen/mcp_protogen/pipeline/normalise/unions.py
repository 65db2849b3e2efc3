"""Unions: their names, the order of their arms, and the constant that tells the arms apart."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from mcp_protogen.base import graph
from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.names import pascal
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.normalise.references import arms_within, definition_name, to

Json = dict[str, Any]


def order_arms(definitions: Json, facts: Facts, keep: Iterable[str] = ()) -> Json:
    """Return definitions with arms and values in the order of the specification's source.

    A union that the facts name and the schema repeats at each use becomes a definition again. The
    schema decides the arms of a union: new arms come last, and removed arms are dropped. Names in
    `keep` are unions even without a fact.
    """
    ordered = _with_arms(definitions, {**dict.fromkeys(keep, ()), **facts.unions})
    while missing := [name for name in facts.unions if _is_complete(name, ordered, facts)]:
        ordered |= {name: {"anyOf": [to(arm) for arm in facts.unions[name]]} for name in missing}
    stated = {
        name: _in_order(name, arms, ordered)
        for name, arms in facts.unions.items()
        if name in definitions and _is_union(ordered[name])
    }
    ordered |= stated
    union_names = {
        frozenset(_leaves(name, ordered)): name
        for name in facts.unions
        if name in ordered and _tag(list(_leaves(name, ordered)), definitions)
    }
    within = {union: frozenset(arms_within(union, ordered)) for union in union_names.values()}
    for name, schema in ordered.items():
        if name not in facts.unions:
            # A union cannot have the name of a union that contains it.
            usable = {
                arms: union
                for arms, union in union_names.items()
                if "properties" in schema or name not in within[union]
            }
            ordered[name] = _rewrite(schema, name, _Renaming(usable, facts))
    return ordered


def deduplicate_arms(definitions: Json) -> Json:
    """Return definitions without unions that lead to a type in several ways.

    Models try each way for a value, and nested unions double their number.
    """
    result = dict(definitions)
    arms = {name: _arms(schema) for name, schema in definitions.items()}
    within = {
        name: [definition_name(arm["$ref"]) for arm in arms[name] if "$ref" in arm] for name in arms
    }
    ways: dict[str, int] = {}
    for name in graph.dependencies_first(within):
        found = arms_within(name, definitions)
        leaves = {canonical(leaf): leaf for inner in found for leaf in arms[inner] or [to(inner)]}
        different = [
            leaf for leaf in leaves.values() if not arms.get(definition_name(leaf.get("$ref", "")))
        ]
        ways[name] = len(different)
        inline = len(arms[name]) - len(within[name])
        if inline + sum(map(ways.__getitem__, within[name])) > len(different):
            result[name] = {"anyOf": different} if different[1:] else different[0]
    return result


def _arms(schema: Json) -> list[Json]:
    arms: list[Json] = schema.get("anyOf", [schema] if "$ref" in schema else [])
    return [] if "properties" in schema else arms


def _with_arms(definitions: Json, unions: Mapping[str, Sequence[str]]) -> Json:
    """Restore unions of a single arm: published files replace the arm's name by its content."""
    result = dict(definitions)
    for name, stated in unions.items():
        content = definitions.get(name, {})
        if "properties" not in content:
            continue
        for arm in (*stated, *definitions):
            if arm != name and definitions.get(arm) == content:
                result[name] = {"anyOf": [to(arm)]}
                break
    return result


def _is_complete(name: str, definitions: Json, facts: Facts) -> bool:
    """Return whether a missing union can be made of existing definitions."""
    return name not in definitions and all(arm in definitions for arm in facts.unions[name])


def _in_order(name: str, stated: Sequence[str], definitions: Json) -> Json:
    """Return the union `name` with its arms in the `stated` order.

    Arms are recognised by name or content, because published files expand some aliases.
    """
    arms: list[Json] = definitions[name].get("anyOf", [definitions[name]])
    inline = [arm for arm in arms if "$ref" not in arm]
    found_leaves = frozenset(_leaves(name, definitions))
    known = [arm for arm in stated if arm in definitions]
    listed_leaves = frozenset(leaf for arm in known for leaf in _leaves(arm, definitions))

    def same(leaf: str, others: frozenset[str], own: frozenset[str]) -> bool:
        content = definitions[leaf]
        return leaf in others or any(
            content == definitions[candidate] for candidate in others - own
        )

    def is_kept(leaf: str) -> bool:
        return same(leaf, found_leaves, listed_leaves) or definitions[leaf] in inline

    present = [arm for arm in known if any(map(is_kept, _leaves(arm, definitions)))]
    covered = frozenset(leaf for arm in present for leaf in _leaves(arm, definitions))

    def is_new(arm: Json) -> bool:
        if "$ref" not in arm:
            return all(arm != definitions[leaf] for leaf in covered)
        leaves = _leaves(definition_name(arm["$ref"]), definitions)
        return not all(same(leaf, covered, found_leaves) for leaf in leaves)

    return {"anyOf": [*map(to, present), *filter(is_new, arms)]}


def _is_union(schema: Json) -> bool:
    return "anyOf" in schema or set(schema) == {"$ref"}


def _leaves(name: str, definitions: Json) -> list[str]:
    """Return the objects of a union, also of inner unions."""
    return [arm for arm in arms_within(name, definitions) if not _is_union(definitions[arm])]


class _Renaming:
    """The names of sets of arms, and the order of the values of enumerations."""

    def __init__(self, named: dict[frozenset[str], str], facts: Facts) -> None:
        self.named = named
        self.enums = facts.enums


def _rewrite(schema: Any, path: str, renaming: _Renaming) -> Any:
    if not is_object(schema):
        return schema
    done: Json = {}
    for key, value in schema.items():
        if key == "properties":
            done[key] = {
                name: _rewrite(item, f"{path}.{name}", renaming) for name, item in value.items()
            }
        elif key == "anyOf":
            done[key] = _collapse_arms([_rewrite(arm, path, renaming) for arm in value], renaming)
        elif key in ("items", "additionalProperties"):
            done[key] = _rewrite(value, path, renaming)
        else:
            done[key] = value
    order = renaming.enums.get(path)
    if order is not None and "enum" in done:
        done["enum"] = sorted(done["enum"], key=_position(order))
    return done["anyOf"][0] if set(done) == {"anyOf"} and len(done["anyOf"]) == 1 else done


def _position(order: Sequence[str]) -> Callable[[str], int]:
    return lambda value: order.index(value) if value in order else len(order)


def _collapse_arms(arms: list[Json], renaming: _Renaming) -> list[Json]:
    """Return the arms, or the name of the union that they make up."""
    refs = [definition_name(arm["$ref"]) for arm in arms if "$ref" in arm]
    name = renaming.named.get(frozenset(refs))
    if name is None:
        return arms
    return [to(name), *(arm for arm in arms if "$ref" not in arm)]


def tag_unions(definitions: Json, content_kinds: Container[str]) -> Json:
    """Return definitions with a discriminator at each union whose arms all require the constant.

    A union of content blocks stays open: newer revisions add kinds, and readers keep unknown ones.
    """
    tagging = _Tagging(definitions, content_kinds)
    for name, schema in definitions.items():
        tagging.done[name] = tagging.definition(name, schema)
    return tagging.done


class _Tagging:
    def __init__(self, definitions: Json, content_kinds: Container[str]) -> None:
        self.definitions = definitions
        self.content_kinds = content_kinds
        self.done: Json = {}

    def definition(self, name: str, schema: Json) -> Json:
        """Return the definition `name`, with names in place of inline tagged unions."""
        if "properties" in schema:
            members = {
                member: self._inline(name + pascal(member), value)
                for member, value in schema["properties"].items()
            }
            return {**schema, "properties": members}
        return self._with_tag(schema)

    def _with_tag(self, schema: Json) -> Json:
        arms = schema.get("anyOf", [])
        if not arms or not all("$ref" in arm for arm in arms):
            return schema
        kinds = [definition_name(arm["$ref"]) for arm in arms]
        tag = _tag(kinds, self.definitions)
        if tag is None:
            return schema
        marked = {**schema, "discriminator": {"propertyName": tag}}
        return (
            {**marked, "x-open": True}
            if all(kind in self.content_kinds for kind in kinds)
            else marked
        )

    def _inline(self, name: str, schema: Json) -> Json:
        """Return a schema; a tagged union in it becomes the definition `name`."""
        inner = dict(schema)
        for keyword in ("items", "additionalProperties"):
            if is_object(inner.get(keyword)):
                inner[keyword] = self._inline(name, inner[keyword])
        marked = self._with_tag(inner)
        if "discriminator" not in marked:
            return inner
        self.done[name] = marked
        return to(name)


def _tag(arms: list[str], definitions: Json) -> str | None:
    """Return the member that every arm requires with a different constant."""
    if len(arms) < 2:
        return None
    first = definitions.get(arms[0], {}).get("properties", {})
    for member in first:
        values = [_required_constant(definitions.get(arm, {}), member) for arm in arms]
        if None not in values and len(set(values)) == len(values):
            return str(member)
    return None


def _required_constant(schema: Json, member: str) -> str | None:
    value = schema.get("properties", {}).get(member, {}).get("const")
    return value if member in schema.get("required", ()) and isinstance(value, str) else None
