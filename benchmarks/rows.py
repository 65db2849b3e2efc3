"""Results as rows of one table: the figures of both sides, their ratio, and its goal."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Unit: TypeAlias = Literal["ms", "µs", "MiB", ""]

# Units in a second or in a byte; counts have no unit.
_FACTORS: dict[Unit, float] = {"ms": 1e3, "µs": 1e6, "MiB": 2**-20, "": 1}
_HEAD = ("what", "ours", "other", "", "ratio", "goal", "verdict")
_VERDICTS = {True: "met", False: "MISSED", None: "floor"}
# Columns of figures line up at their right edge.
_RIGHT = {1, 3, 4, 5}


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison; `ours` and `theirs` are seconds, bytes or counts; `goal` limits the ratio.

    Without `theirs`, the other side could not be measured. `floor` is the part of `ours` that
    Pydantic or uvicorn alone take: a goal below it is not missed.
    """

    topic: str
    what: str
    ours: float
    other: str
    theirs: float | None
    goal: float | None
    unit: Unit = "ms"
    floor: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Our figure divided by the other: below 1, ours is less."""
        return None if self.theirs is None else self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """True if the ratio is within the goal; None without one, or if it is below the floor."""
        if self.goal is None or self.theirs is None or self.floor > self.goal * self.theirs:
            return None
        return self.ours <= self.goal * self.theirs

    def as_json(self) -> dict[str, Any]:
        """Return the row for programs, with times in seconds."""
        return {
            "topic": self.topic,
            "what": self.what,
            "ours": self.ours,
            "peer": self.other,
            "theirs": self.theirs,
            "unit": self.unit,
            "ratio": self.ratio,
            "target": self.goal,
            "met": self.met,
        }


def as_table(rows: Iterable[Row]) -> str:
    """Return all rows as aligned text, with a heading above each topic."""
    rows = list(rows)
    cells = [_HEAD, *map(_cells, rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(_HEAD))]
    lines = [_align(_HEAD, widths)]
    for index, row in enumerate(rows):
        if index == 0 or row.topic != rows[index - 1].topic:
            lines += ["", row.topic]
        lines.append(_align(_cells(row), widths))
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        _amount(row.ours, row.unit),
        row.other,
        "" if row.theirs is None else _amount(row.theirs, row.unit),
        "" if row.ratio is None else f"{row.ratio:.2f}",
        "" if row.goal is None else f"{row.goal:.2f}",
        "" if row.goal is None or row.theirs is None else _VERDICTS[row.met],
    )


def _amount(measured: float, unit: Unit) -> str:
    amount = measured * _FACTORS[unit]
    return f"{amount:,.{0 if amount >= 100 or not unit else 1}f} {unit}".rstrip()


def _align(cells: Sequence[str], widths: Sequence[int]) -> str:
    columns = [
        cell.rjust(width) if column in _RIGHT else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return ("  " + "  ".join(columns)).rstrip()
