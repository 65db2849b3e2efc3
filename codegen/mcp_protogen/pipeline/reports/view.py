"""The page of a command: how it is to be shown, and what becomes of it."""

from dataclasses import dataclass

from mcp_protogen.base.problems import Problem


@dataclass(frozen=True, slots=True)
class View:
    """The form of a page and, of text, whether it has colours and how many columns."""

    form: str
    colour: bool = False
    width: int = 100


@dataclass(frozen=True, slots=True)
class FindingsPage:
    """The page of what a command has found, and whether the command fails because of it.

    `notes` are problems that were met on the way. If the findings are `saved` in a baseline, the
    text says only that.
    """

    text: str
    failed: bool = False
    notes: tuple[Problem, ...] = ()
    saved: bool = False
