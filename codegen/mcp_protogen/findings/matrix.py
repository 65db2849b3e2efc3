"""The methods and types of each revision, as a table."""

from dataclasses import dataclass

from mcp_protogen.findings.change import Category


@dataclass(frozen=True, slots=True)
class Cell:
    """The state of a row in one revision.

    `detail` is a short text, such as the sender of a method and its result. `digest` stands for the
    whole meaning: if it differs from that of the cell before, something has changed.
    """

    present: bool
    detail: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A method or a type over time; `cells` are in the order of the revisions."""

    category: Category
    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Every row in every revision, oldest revision first."""

    revisions: tuple[str, ...]
    rows: tuple[Row, ...]
