"""Pieces of Markdown for made pages."""

from collections.abc import Iterable, Sequence
from typing import Final

_DASHES: Final = {"left": "---", "centre": ":-:"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, align: str = "left") -> str:
    """Return a table of Markdown; `align` is for all columns but the first."""
    dashes = ["---", *[_DASHES[align]] * (len(head) - 1)]
    lines = (head, dashes, *rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(text: str) -> str:
    """Return text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """Return code for a cell of a table; it may have bars and backticks."""
    return f"`` {cell(text)} ``" if "`" in text else f"`{cell(text)}`"
