"""Valid values: the smallest and the fullest one for a place in the schema.

No reader should refuse these values: a value obeys its format, a time is a time, base64 is base64.
In the schemas of the protocol, formats are annotations, but a reader may check them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcp_protogen.instep.vectors.shapes import Keyword, Node, ResolvedSchema, Shapes

_TEXT = "text"
_TIME = "2025-11-25T10:30:00Z"

_BY_FORMAT: Mapping[str, str] = {
    "byte": "AAEC",
    "date": "2025-11-25",
    "date-time": _TIME,
    "email": "ada@example.com",
    "uri": "https://example.com/a",
    "uri-template": "https://example.com/{path}",
}
"""The values by `format`. Icons and pages must be on the web."""

_BY_MEMBER: Mapping[str, str] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "createdAt": _TIME,
    "cursor": "cursor-1",
    "id": "request-1",
    "lastModified": _TIME,
    "lastUpdatedAt": _TIME,
    "mimeType": "text/plain",
    "name": "example",
    "nextCursor": "cursor-2",
    "pattern": "^[a-z]*$",
    "progressToken": "progress-1",
    "requestId": "request-1",
    "resultType": "complete",
    "sizes": "48x48",
    "stopReason": "endTurn",
    "taskId": "task-1",
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "uri": "file:///example.txt",
    "version": "1.0.0",
}
"""The values by member name, if pages of the specification say more than the schema.

A root is a file (client/roots), and any other resource may be one.
"""

_REVISION_MEMBERS = frozenset({"protocolVersion", "io.modelcontextprotocol/protocolVersion"})
_REVISION_LISTS = frozenset({"supported", "supportedVersions"})
_CODE = -32603

UNDECLARED = "x-undeclared"
"""The name of the member that no schema declares."""

ANYTHING: tuple[tuple[str, Any], ...] = (
    ("null", None),
    ("false", False),
    ("zero", 0),
    ("fraction", 0.5),
    ("empty-string", ""),
    ("empty-array", []),
    ("empty-object", {}),
    ("nested", {"a": [{"b": None}, 1, "text", True]}),
)
"""Values for a place where any JSON value is allowed, with a name for each."""

LONGEST = 10_000
"""The most characters or items that a vector has; more would not be useful."""
_DEEPEST = 3  # references that a full value follows below its own type
_TRIED = ("text", "a", "A", "1", "0", "aa", "a1", "A1", "a-b", "a/b", "1.0", "2025-11-25", "")


class NoSampleError(Exception):
    """Raised if no valid value is known for a place; `pointer` leads to the cause."""

    def __init__(self, message: str, pointer: str) -> None:
        super().__init__(message)
        self.message = message
        self.pointer = pointer


class _Endless(Exception):
    """Raised if a value of this place would contain itself without end."""


@dataclass(frozen=True)
class Samples:
    """Valid values for the places of one document."""

    shapes: Shapes
    revision: str

    def minimal(self, node: Node, member: str = "") -> Any:
        """Return the smallest value: only required members, and the first arm that is finite.

        Raise `NoSampleError`, like everything that makes values.
        """
        try:
            return self.make(node, member, None, frozenset())
        except _Endless:
            message = "no value is finite: each would contain another value of the same type"
            raise NoSampleError(message, self.shapes.of(node).parts[-1].pointer) from None

    def full(self, node: Node, member: str = "") -> Any:
        """Return a value with every declared member, and one item in each list and each map."""
        return self.make(node, member, _DEEPEST, frozenset())

    def make(self, node: Node, member: str, deep: int | None, above: frozenset[str]) -> Any:
        """Return a value below the definitions `above`; `deep` is explained in `_SampleMaker`."""
        shape = self.shapes.of(node)
        if shape.names & above:
            if deep is None:
                raise _Endless
            deep = None
        inside = above | shape.names
        if deep is not None and shape.names:
            deep = deep - 1 if deep else None
        making = _SampleMaker(self, member, deep, inside)
        return making.union(shape) if shape.arms else making.plain(shape)


@dataclass(frozen=True, slots=True)
class _SampleMaker:
    """One value in the making; `deep` is how many more references are filled, or None."""

    samples: Samples
    member: str
    deep: int | None
    above: frozenset[str]

    def union(self, shape: ResolvedSchema) -> Any:
        """Return a value of the first arm that is finite."""
        for arm in shape.arms:
            try:
                return self._inner(arm, self.member)
            except _Endless:
                continue
        raise _Endless

    def plain(self, shape: ResolvedSchema) -> Any:
        """Return a value of a shape without arms."""
        if fixed := shape.first_keyword("const"):
            return fixed.value
        if listed := shape.first_keyword("enum"):
            return listed.value[0]
        if shape.anything:
            return _TEXT
        match "number" if "number" in shape.kinds[:2] else shape.kinds[0]:
            case "object":
                return self._object(shape)
            case "array":
                return self._array(shape)
            case "string":
                return text(shape, self.member, self.samples.revision)
            case "integer":
                return number(shape, _CODE if self.member == "code" else 1)
            case "number":
                return number(shape, 0.5)
            case "boolean":
                return True
            case _:
                return None

    def _object(self, shape: ResolvedSchema) -> Any:
        made = {name: self._inner(self._member_node(shape, name), name) for name in shape.required}
        if self.deep is None:
            return made
        for name, node in shape.members.items():
            if name not in made and (found := self._optional(node, name)):
                made[name] = found[0]
        free = (
            shape.other_members
            if not shape.members and shape.first_keyword("additionalProperties")
            else None
        )
        if free is not None and (found := self._optional(free)):
            made["key"] = found[0]
        return made

    @staticmethod
    def _member_node(shape: ResolvedSchema, name: str) -> Node:
        return shape.members.get(name) or shape.other_members or Node(())

    def _array(self, shape: ResolvedSchema) -> Any:
        if count := least_items(shape):
            return make_several(shape, self._inner(shape.items, self.member), count)
        return [*(self._optional(shape.items) or ())] if self.deep is not None else []

    def _optional(self, node: Node, member: str = "") -> tuple[Any] | None:
        """Return a value in a tuple, or None if it would have no end."""
        try:
            return (self._inner(node, member or self.member),)
        except _Endless:
            return None

    def _inner(self, node: Node, member: str) -> Any:
        return self.samples.make(node, member, self.deep, self.above)


def text(shape: ResolvedSchema, member: str = "", revision: str = "") -> str:
    """Return a string that fits the place, by its format or the name of its member."""
    if member in _REVISION_MEMBERS or member in _REVISION_LISTS:
        chosen = revision
    else:
        format = shape.first_keyword("format")
        chosen = _BY_MEMBER.get(member) or (format and _BY_FORMAT.get(format.value)) or _TEXT
    if pattern := shape.first_keyword("pattern"):
        chosen = _matching(pattern.value, chosen, pattern.pointer)
    if least := shape.first_keyword("minLength"):
        _require_short(least, "characters")
        chosen = chosen.ljust(least.value, "x")
    most = shape.first_keyword("maxLength")
    return chosen[: most.value] if most else chosen


def number(shape: ResolvedSchema, wanted: float) -> float:
    """Return the number nearest to the wanted one that the bounds of the place allow."""
    if (least := shape.first_keyword("minimum")) and wanted < least.value:
        wanted = least.value
    if (most := shape.first_keyword("maximum")) and wanted > most.value:
        wanted = most.value
    if (above := shape.first_keyword("exclusiveMinimum")) and wanted <= above.value:
        wanted = above.value + 1
    if (below := shape.first_keyword("exclusiveMaximum")) and wanted >= below.value:
        wanted = below.value - 1
    return wanted


def _matching(pattern: str, wanted: str, pointer: str) -> str:
    try:
        expression = re.compile(pattern)
    except re.error as error:
        message = f"the pattern {pattern!r:.80} cannot be read by Python: {error}"
        raise NoSampleError(message, pointer) from None
    for tried in (wanted, *_BY_FORMAT.values(), *_BY_MEMBER.values(), *_TRIED):
        if expression.search(tried):
            return tried
    message = f"no known string matches the pattern {pattern!r:.80}"
    raise NoSampleError(message, pointer)


def least_items(shape: ResolvedSchema) -> int:
    """Return the smallest number of items of an array."""
    least = shape.first_keyword("minItems")
    if least is None:
        return 0
    _require_short(least, "items")
    return int(least.value)


def _require_short(least: Keyword, of_what: str) -> None:
    """Raise `NoSampleError` if a value would fill the memory; no revision comes near it."""
    if least.value > LONGEST:
        message = f"a vector cannot contain {least.value} {of_what} or more"
        raise NoSampleError(message, least.pointer)


def make_several(shape: ResolvedSchema, item: Any, count: int) -> list[Any]:
    """Return that many items, all different if the schema requires that."""
    unique = shape.first_keyword("uniqueItems")
    if unique is None or not unique.value:
        return [item] * count
    if isinstance(item, str):
        return [item, *(f"{item}{index}" for index in range(1, count))]
    return [item, *range(1, count)]
