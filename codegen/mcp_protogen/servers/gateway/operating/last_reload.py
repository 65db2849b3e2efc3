"""The last reading of a gateway's file."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_protogen.base.problems import Problem


@dataclass(frozen=True, slots=True)
class Reload:
    """The last time at which the file was read, and the problems for which it was not applied."""

    at: datetime
    problems: Sequence[Problem] = ()
