"""What a peer declares about itself, kept for as long as its connection."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import from_json

from .json import json_text
from .spec import Role


class StoredJSON(Mapping[Role, Mapping[str, Any]]):
    """JSON objects by the side that declared them, decoded or as text.

    Text takes as many bytes as were received; the decoded value may take twenty times as many. A
    server may have many clients, so it keeps text, and decodes it at each access.
    """

    __slots__ = ("_objects",)

    def __init__(self, objects: Mapping[Role, Mapping[str, Any]] | None = None) -> None:
        self._objects: dict[Role, Mapping[str, Any] | bytes] = dict(objects or {})

    def keep(self, role: Role, declared: Mapping[str, Any]) -> None:
        """Keep an object as text."""
        self._objects[role] = json_text(declared)

    def __setitem__(self, role: Role, declared: Mapping[str, Any]) -> None:
        self._objects[role] = declared

    def __getitem__(self, role: Role) -> Mapping[str, Any]:
        kept = self._objects[role]
        return from_json(kept) if isinstance(kept, bytes) else kept

    def __iter__(self) -> Iterator[Role]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)
