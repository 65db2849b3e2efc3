"""The result of a run of the command line."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the command line ended."""

    code: int
    out: str
    err: str


Run: TypeAlias = Callable[..., Ran]
"""Runs `mcp-gen` with arguments."""
