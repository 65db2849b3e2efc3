"""The page of a command, and its view."""

from dataclasses import dataclass

from mcp_protogen.base.problems import Problem


@dataclass(frozen=True, slots=True)
class View:
    """The format of a page; for text, also its colours and columns."""

    format: str
    colour: bool = False
    width: int = 100


@dataclass(frozen=True, slots=True)
class FindingsPage:
    """The page of a command's findings; `failed` makes the command fail.

    If it is `incomplete`, something could not be looked at. `notes` are further problems. If the
    findings are `saved` in a baseline, the text only reports that.
    """

    text: str
    failed: bool = False
    notes: tuple[Problem, ...] = ()
    saved: bool = False
    incomplete: bool = False
