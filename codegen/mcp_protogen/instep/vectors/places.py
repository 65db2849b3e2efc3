"""All places of a value: the members, items and arms that a schema gives it.

A place can put a value into an otherwise valid whole. References to other definitions with members
are not followed, because those definitions have their own vectors. Definitions without members,
such as enumerations and unions, are followed at each use, because few implementations have a type
for them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.instep.vectors.samples import Samples, least_items
from mcp_protogen.instep.vectors.shapes import Node, ResolvedSchema, Shapes

ANY_KEY = "key"
"""The name that stands for every free key of a map."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a value.

    `whole` makes a complete value from one for this place. `path` leads there; `label` does too,
    and names arms on the way. `member` is the member that contains the place, and `optional` says
    whether it may be absent. A `closed` place is not followed. `inside` are the definitions on the
    way here, and `foreign` says whether one of its members contains a JSON Schema of a user.
    """

    node: Node
    shape: ResolvedSchema
    whole: Callable[[Any], Any]
    path: tuple[str | int, ...] = ()
    label: str = ""
    member: str = ""
    optional: bool = False
    closed: bool = False
    inside: frozenset[str] = frozenset()
    foreign: bool = False

    @property
    def pointer(self) -> str:
        """The JSON Pointer to the place."""
        return jsonpointer.join(*self.path)


@dataclass(frozen=True, slots=True)
class PlaceWalk:
    """A walk through the places of values; `json_schemas` are members (`Type.member`)."""

    samples: Samples
    json_schemas: frozenset[str] = frozenset()

    def places(self, node: Node) -> Iterator[Place]:
        """Yield the place of the whole value, then every place inside it."""
        shape = self.samples.shapes.of(node)
        yield from self._from(Place(node, shape, _itself, inside=shape.names))

    def _from(self, place: Place) -> Iterator[Place]:
        yield place
        if place.closed:
            return
        shape = place.shape
        if shape.arms:
            for name, arm in label_arms(shape, self.samples.shapes):
                label = f"{place.label}/as-{name}"
                yield from self._from(replace(self._at(place, arm), label=label, optional=False))
        elif "object" in shape.kinds:
            yield from self._members(place)
        elif "array" in shape.kinds and shape.items.parts:
            yield from self._items(place)

    def _members(self, place: Place) -> Iterator[Place]:
        shape, base = place.shape, self.samples.minimal(place.node, place.member)
        base = base if is_object(base) else {}
        members = dict(shape.members)
        if (
            shape.other_members is not None
            and not self.samples.shapes.of(shape.other_members).anything
        ):
            members[_free_key(shape)] = shape.other_members
        for name, node in members.items():
            inner = replace(
                self._at(place, node),
                whole=_with_member(place.whole, base, name),
                path=(*place.path, name),
                label=f"{place.label}{jsonpointer.join(name)}",
                member=name if name in shape.members else place.member,
                optional=name not in shape.required,
                foreign=place.foreign or self._is_foreign(place.shape, name),
            )
            yield from self._from(inner)

    def _items(self, place: Place) -> Iterator[Place]:
        others = max(least_items(place.shape) - 1, 0)
        item = self.samples.minimal(place.shape.items, place.member)
        inner = replace(
            self._at(place, place.shape.items),
            whole=_with_item(place.whole, [item] * others),
            path=(*place.path, 0),
            label=f"{place.label}/0",
            optional=False,
        )
        yield from self._from(inner)

    def _at(self, place: Place, node: Node) -> Place:
        """Return a place for `node` that inherits from `place`."""
        shape = self.samples.shapes.of(node)
        closed = bool(shape.names & place.inside) or (
            node.reference is not None and shape.kinds == ("object",) and not shape.arms
        )
        inside = place.inside | shape.names
        return replace(place, node=node, shape=shape, closed=closed, inside=inside)

    def _is_foreign(self, shape: ResolvedSchema, member: str) -> bool:
        return any(f"{name}.{member}" in self.json_schemas for name in shape.names)


def _free_key(shape: ResolvedSchema) -> str:
    name = ANY_KEY
    while name in shape.members:
        name += "-"
    return name


def label_arms(shape: ResolvedSchema, shapes: Shapes) -> Iterator[tuple[str, Node]]:
    """Yield the arms of a union with a name each; equal names are numbered."""
    names = [_arm_name(shapes.of(arm), arm) for arm in shape.arms]
    for number, (name, arm) in enumerate(zip(names, shape.arms, strict=True)):
        yield (f"{name}-{number}" if names.count(name) > 1 else name), arm


def _arm_name(shape: ResolvedSchema, node: Node) -> str:
    """Return the name of an arm: a definition, its required members, or a kind."""
    last = node.parts[-1].schema
    if "$ref" in last:
        return str(last["$ref"]).rpartition("/")[2]
    if "required" in last and "type" not in last:
        return "+".join(last["required"])
    return shape.kinds[0] if len(shape.kinds) == 1 else "value"


def _itself(value: Any) -> Any:
    return value


def _with_member(whole: Callable[[Any], Any], base: Any, name: str) -> Callable[[Any], Any]:
    return lambda value: whole({**base, name: value})


def _with_item(whole: Callable[[Any], Any], more: list[Any]) -> Callable[[Any], Any]:
    return lambda value: whole([value, *more])
