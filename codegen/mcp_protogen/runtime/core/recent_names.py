"""Facts derived from the lists of a peer, in bounded memory."""

from typing import Final, Generic, TypeVar

from .json import json_text

T = TypeVar("T")

# Far more than any usual list; a peer with an endless list must not fill the memory.
_MOST: Final = 8 * 1024 * 1024

_EACH: Final = 256


class RecentNames(Generic[T]):
    """Facts by the names that a peer has listed; the oldest make room for new ones."""

    __slots__ = ("_known", "_size")

    def __init__(self) -> None:
        self._known: dict[str, tuple[T, int]] = {}
        self._size = 0

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def get(self, name: str) -> T | None:
        return self._known.get(name, (None, 0))[0]

    def learn(self, name: str, known: T, listed: object) -> None:
        """Store a fact about a name, derived from the entry `listed`."""
        self.forget(name)
        size = _EACH + len(name) + len(json_text(listed))
        self._known[name] = known, size
        self._size += size
        while self._size > _MOST:
            self.forget(next(iter(self._known)))

    def forget(self, name: str) -> None:
        self._size -= self._known.pop(name, (None, 0))[1]
