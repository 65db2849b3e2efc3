"""The building blocks of generated models."""

from ..value_paths import PathEntry, ToolPlaces
from .base import SUPPLIED, ToolResult, WireModel, validator_of
from .core_schema import Implied, Nullable
from .types import Exact, Integer, Number, OpenUnion, UnknownContent

__all__ = [
    "SUPPLIED",
    "Exact",
    "Implied",
    "Integer",
    "Nullable",
    "Number",
    "OpenUnion",
    "PathEntry",
    "ToolPlaces",
    "ToolResult",
    "UnknownContent",
    "WireModel",
    "validator_of",
]
