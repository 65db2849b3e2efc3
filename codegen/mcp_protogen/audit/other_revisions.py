"""The other revisions that have something: an SDK often has one class for all of them."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.jsonpointer import walk
from mcp_protogen.inputs.pins import load_pins, read_snapshot

Json = dict[str, Any]


class OtherRevisions:
    """The pinned revisions except one; each is read when it is needed."""

    def __init__(self, revision: str) -> None:
        self._revision = revision

    def types(self, name: str) -> list[str]:
        """Return the revisions that define a type."""
        return [revision for revision, schema in self._others() if name in schema]

    def members(self, name: str, wire: str) -> list[str]:
        """Return the revisions whose type of that name has a member."""
        return [
            revision
            for revision, schema in self._others()
            if wire in schema.get(name, {}).get("properties", {})
        ]

    def methods(self, method: str) -> list[str]:
        """Return the revisions that have a method."""
        return [revision for revision, schema in self._others() if method in _constants(schema)]

    def _others(self) -> Iterator[tuple[str, Json]]:
        for revision in load_pins():
            if revision != self._revision:
                yield revision, _definitions(revision)


def known_messages() -> Mapping[str, str]:
    """Return the method of each message of any pinned revision, by definition name."""
    return {
        name: method["const"]
        for revision in load_pins()
        for name, definition in _definitions(revision).items()
        if "const" in (method := definition.get("properties", {}).get("method", {}))
    }


@cache
def _definitions(revision: str) -> Json:
    schema: Json = parse_json(read_snapshot(revision), f"schema/{revision}/schema.json")
    definitions: Json = schema.get("$defs") or schema.get("definitions") or {}
    return definitions


def _constants(schema: Json) -> set[str]:
    return {value for pointer, value in walk(schema) if pointer.endswith("/method/const")}
