"""All drawings by name, and their marks in pages."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from website.drawings.finding import finding
from website.drawings.graphs import Graph
from website.drawings.states import handshake, task

DRAWN: Final[Mapping[str, Callable[[], Graph]]] = {
    "finding": finding,
    "handshake": handshake,
    "task": task,
}

MARKED: Final = re.compile(r"(?P<mark><!-- drawn: (?P<name>\w+) -->\n)```mermaid\n.*?```", re.S)
"""A drawing in a page: its mark, its name, and a drawing for git hosts."""
