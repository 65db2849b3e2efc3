"""Capabilities that a listed entry, such as a tool, needs of the client: in its `_meta`."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from ..core.json import JSONObject, is_object
from ..core.spec import Capability
from .capabilities import declare


class EntryNeeds(NamedTuple):
    """The key of `_meta` with that object, and the capabilities that empty objects imply."""

    key: str
    implied: Collection[Capability] = ()

    def missing(self, entry: Any, declared: Mapping[str, Any]) -> JSONObject:
        """Return the needs of an entry that are not `declared`, compared at every depth."""
        meta = entry.to_wire().get("_meta")
        needs = meta.get(self.key) if is_object(meta) else None
        known = {capability.path: capability for capability in self.implied}
        capabilities = (
            known.get(path, Capability("client", path, value is True))
            for path, value in _leaves(needs)
        )
        return declare(found for found in capabilities if not found.declared_in(declared))


def _leaves(value: object, *path: str) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the innermost members; false needs nothing."""
    members = value if is_object(value) else {}
    for key, inner in members.items():
        yield from _leaves(inner, *path, key)
    if path and not members and value is not False:
        yield path, value
