"""Values that expire, in bounded memory."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

V = TypeVar("V")


class ExpiringCache(Generic[V]):
    """At most `max_entries` values by key; the least recently used ones make room."""

    def __init__(self, max_entries: int) -> None:
        if max_entries <= 0:
            raise ValueError("max_entries must be at least 1")
        self.max_entries: Final = max_entries
        self._entries: OrderedDict[Hashable, tuple[V, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable, now: float) -> V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, until = entry
        if now >= until:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: Hashable, value: V, until: float, now: float) -> bool:
        """Store a value; return whether an unexpired one had to make room."""
        if until <= now:
            self._entries.pop(key, None)
            return False
        self._entries[key] = value, until
        self._entries.move_to_end(key)
        if len(self._entries) <= self.max_entries:
            return False
        _, (_, expires) = self._entries.popitem(last=False)
        return expires > now

    def clear(self) -> None:
        self._entries.clear()
