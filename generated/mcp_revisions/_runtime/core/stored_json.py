"""What a peer declares about itself, kept for as long as its connection.

Text takes as many bytes as were received; the decoded value may take twenty times as many. A server
may have many clients, so it keeps text, and decodes it on demand. Both sides limit how much they
keep, in bytes and in values.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from pydantic_core import from_json

from .json import is_array, is_object, json_text
from .models.validation_errors import Problem, escaped
from .spec import Role

T = TypeVar("T")

# Far more than any usual list; a peer with an endless list must not fill the memory.
_MOST: Final = 8 * 1024 * 1024
_LARGEST: Final = _MOST // 8

# The memory that an entry takes at least.
_EACH: Final = 256


class StoredJSON(Mapping[Role, Mapping[str, Any]]):
    """JSON objects by the side that declared them, decoded or as text."""

    __slots__ = ("_said",)

    def __init__(self, said: Mapping[Role, Mapping[str, Any]] | None = None) -> None:
        self._said: dict[Role, Mapping[str, Any] | bytes] = dict(said or {})

    def keep(self, role: Role, said: Mapping[str, Any]) -> None:
        """Keep an object as text, which is decoded at each access."""
        self._said[role] = json_text(said)

    def __setitem__(self, role: Role, said: Mapping[str, Any]) -> None:
        self._said[role] = said

    def __getitem__(self, role: Role) -> Mapping[str, Any]:
        said = self._said[role]
        return from_json(said) if isinstance(said, bytes) else said

    def __iter__(self) -> Iterator[Role]:
        return iter(self._said)

    def __len__(self) -> int:
        return len(self._said)


class SizeLimit(NamedTuple):
    """A limit in bytes of JSON and in values, where every object and array counts too."""

    size: int
    values: int

    def problems(self, at: str, said: Mapping[str, Any]) -> list[Problem]:
        """Return the problem of an object whose members together exceed the limit.

        The pointer names the largest of the members.
        """
        for measure, most, unit in (
            (_size, self.size, "bytes of JSON"),
            (self._values, self.values, "values"),
        ):
            measured = {name: measure(value) for name, value in said.items()}
            if sum(measured.values()) > most:
                largest = max(measured, key=measured.__getitem__)
                may = f"{' and '.join(said)} may have at most {most} {unit}"
                return [Problem(f"{at}/{escaped(largest)}", may)]
        return []

    def _values(self, value: object) -> int:
        """Count the values, but not further than the limit."""
        left, seen = [value], 0
        while left and seen <= self.values:
            one = left.pop()
            seen += 1
            if is_object(one):
                left += one.values()
            elif is_array(one):
                left += one
        return seen


class RecentNames(Generic[T]):
    """Knowledge about the names that a peer listed last; old entries make room for new ones."""

    __slots__ = ("_known", "_size")

    def __init__(self) -> None:
        self._known: dict[str, tuple[T, int]] = {}
        self._size = 0

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def get(self, name: str) -> T | None:
        """Return what is known of a name, or None."""
        known = self._known.get(name)
        return None if known is None else known[0]

    def learn(self, name: str, known: T, said: object) -> None:
        """Store what follows from `said` about a name; the entries listed longest ago make room."""
        self.forget(name)
        size = _EACH + len(name) + _size(said)
        self._known[name] = known, size
        self._size += size
        while self._size > _MOST:
            self.forget(next(iter(self._known)))

    def forget(self, name: str) -> None:
        """Remove a name."""
        self._size -= self._known.pop(name, (None, 0))[1]


def is_too_large(said: object) -> bool:
    """Return whether an entry would leave too little room for the others."""
    return _size(said) > _LARGEST


def _size(value: object) -> int:
    return len(json_text(value))
