"""What a peer says of itself, and is kept for as long as its connection.

Text takes as many bytes as came; decoded, the same may take twenty times as many. So a server,
which may have many clients, keeps text, and decodes it when somebody asks. How much it may be, in
bytes and in values, is bounded for both sides.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, NamedTuple, TypeVar

from pydantic_core import from_json

from .jsonvalue import is_array, is_object, json_text
from .pointers import Problem, escaped
from .spec import Role

T = TypeVar("T")

# Far more than what is listed takes; a peer whose list does not end is not remembered for ever.
_MOST: Final = 8 * 1024 * 1024
_LARGEST: Final = _MOST // 8

# What a name takes at least.
_EACH: Final = 256


class Kept(Mapping[Role, Mapping[str, Any]]):
    """JSON objects by the side that said them, each as it is or as text."""

    __slots__ = ("_said",)

    def __init__(self, said: Mapping[Role, Mapping[str, Any]] | None = None) -> None:
        self._said: dict[Role, Mapping[str, Any] | bytes] = dict(said or {})

    def keep(self, role: Role, said: Mapping[str, Any]) -> None:
        """Keep an object as text, which is decoded whenever it is looked up."""
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


class Bound(NamedTuple):
    """How much may be kept: bytes of JSON, and values, each object and array being one, too."""

    size: int
    values: int

    def problems(self, at: str, said: Mapping[str, Any]) -> list[Problem]:
        """What is wrong with members of the object at a pointer that are more than may be kept.

        The bound is for all of them together, and the largest is named.
        """
        for measure, most, unit in (
            (_size, self.size, "bytes of JSON"),
            (self._values, self.values, "values"),
        ):
            measured = {name: measure(value) for name, value in said.items()}
            if sum(measured.values()) > most:
                largest = max(measured, key=measured.__getitem__)
                may = f"{' and '.join(said)} may have {most} {unit}"
                return [Problem(f"{at}/{escaped(largest)}", may)]
        return []

    def _values(self, value: object) -> int:
        """How many values there are, counted no further than has to be known."""
        left, seen = [value], 0
        while left and seen <= self.values:
            one = left.pop()
            seen += 1
            if is_object(one):
                left += one.values()
            elif is_array(one):
                left += one
        return seen


class Newest(Generic[T]):
    """What is known of the names that a peer has listed last, as much as there is room for."""

    __slots__ = ("_known", "_size")

    def __init__(self) -> None:
        self._known: dict[str, tuple[T, int]] = {}
        self._size = 0

    def __contains__(self, name: str) -> bool:
        return name in self._known

    def get(self, name: str) -> T | None:
        """What is known of a name."""
        known = self._known.get(name)
        return None if known is None else known[0]

    def learn(self, name: str, known: T, said: object) -> None:
        """Take note of what follows from what was `said`; those listed longest ago make room."""
        self.forget(name)
        size = _EACH + len(name) + _size(said)
        self._known[name] = known, size
        self._size += size
        while self._size > _MOST:
            self.forget(next(iter(self._known)))

    def forget(self, name: str) -> None:
        """Nothing is known of a name any more."""
        self._size -= self._known.pop(name, (None, 0))[1]


def is_too_large(said: object) -> bool:
    """Whether what is said of a name would leave too little room for the others."""
    return _size(said) > _LARGEST


def _size(value: object) -> int:
    return len(json_text(value))
