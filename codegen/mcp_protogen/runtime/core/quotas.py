"""Limits on shared resources: a total, and a lower one for each owner."""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

# By default, an owner may have a quarter of the total.
_PARTS: Final = 4

Free: TypeAlias = Callable[[str | None, int], bool]
"""Frees an amount for an owner, or of the total for None; returns whether that was enough."""


class NoRoom(Exception):
    """The quota of an owner is used up, or the total if `owner` is None."""

    def __init__(self, quota: str, owner: str | None) -> None:
        super().__init__(f"{quota} is used up")
        self.quota: Final = quota
        self.owner: Final = owner


class Quota:
    """Amounts used by owners: `most` in total and `share` each; None counts only in total."""

    def __init__(
        self, most: int, share: int | None = None, *, at_least: int = 1, name: str = ""
    ) -> None:
        self._most = most
        self._share = max(-(-most // _PARTS), at_least) if share is None else share
        self._used_by: dict[str, int] = {}
        self.name: Final = name
        self.used = 0

    def take(self, owner: str | None, amount: int = 1) -> None:
        self.used += amount
        if owner is not None and (used := self._used_by.pop(owner, 0) + amount):
            self._used_by[owner] = used

    def give_back(self, owner: str | None, amount: int = 1) -> None:
        self.take(owner, -amount)

    def require(self, owner: str | None, amount: int = 1, free: Free | None = None) -> None:
        """Raise `NoRoom` unless `amount` more fits, if need be after calling `free`."""
        if owner is None and self.used + amount <= self._most:
            return
        for limited, excess in self.excesses(owner, amount):
            if free is None or not free(limited, excess):
                raise NoRoom(self.name, limited)

    def excesses(self, owner: str | None, amount: int = 0) -> Iterator[tuple[str | None, int]]:
        """Yield each owner whose limit `amount` more would exceed, and the excess.

        None, the total, comes last, so that what the owner gives back meanwhile counts.
        """
        used = self._used_by.get(owner, 0) if owner is not None else 0
        if owner is not None and (excess := used + amount - self._share) > 0:
            yield owner, excess
        if (excess := self.used + amount - self._most) > 0:
            yield None, excess
