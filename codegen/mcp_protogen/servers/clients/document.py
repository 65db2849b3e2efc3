"""A whole schema, in which references are resolved.

Nothing is fetched: a reference that leads out of the document leads nowhere.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.servers.clients.keywords import ANNOTATIONS, UNIONS, intersect

Json = dict[str, Any]


class Document:
    """A schema that can resolve references and `allOf` in its subschemas."""

    def __init__(self, whole: Json) -> None:
        self._whole = whole

    def resolve(self, schema: Any) -> Json | None:
        """Return a schema without a reference; None if it cannot be resolved."""
        if isinstance(schema, bool):
            return {}
        if not is_object(schema):
            return None
        seen: set[str] = set()
        parts: list[Json] = []
        while isinstance(schema.get("$ref"), str):
            ref: str = schema["$ref"]
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            if beside.keys() - ANNOTATIONS:
                parts.append(beside)
            found = self._resolve(ref)
            if ref in seen or found is None:
                return None
            seen.add(ref)
            schema = found
        return {"allOf": [schema, *parts]} if parts else schema

    def _resolve(self, ref: str) -> Json | None:
        if ref != "#" and not ref.startswith("#/"):
            return None
        try:
            found = jsonpointer.get(self._whole, unquote(ref[1:]))
        except jsonpointer.NothingThere:
            return None
        return {} if found is True else found if is_object(found) else None

    def join(self, schema: Json) -> Json:
        """Return a schema without `allOf` that accepts at least the same values."""
        parts = schema.get("allOf")
        if not is_array(parts):
            return schema
        done = {key: value for key, value in schema.items() if key != "allOf"}
        for part in parts:
            inner = self.resolve(part)
            if inner is not None:
                done = intersect(done, self.join(inner))
        return done

    def alternatives(self, schema: Json) -> Iterator[Json]:
        """Yield schemas that together accept all values of a schema.

        They may accept more, which only makes the answer more careful.
        """
        whole = self.join(schema)
        for keyword in UNIONS:
            arms = whole.get(keyword)
            if is_array(arms) and arms:
                rest = {key: value for key, value in whole.items() if key != keyword}
                beside = [rest] if rest.keys() - ANNOTATIONS else []
                for arm in arms:
                    if arm is not False:
                        inner = self.resolve(arm) or {}
                        yield from self.alternatives({"allOf": [*beside, inner]})
                return
        yield whole
