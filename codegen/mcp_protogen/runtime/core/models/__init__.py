"""The building blocks of generated models, in one place to import from."""

from .base import SUPPLIED, WireModel, validator_of
from .core_schema import Implied, Nullable
from .tool_result import ToolResult
from .types import Exact, Integer, Number, OpenUnion, UnknownContent
from .validation_errors import Problem, problems

__all__ = [
    "SUPPLIED",
    "Exact",
    "Implied",
    "Integer",
    "Nullable",
    "Number",
    "OpenUnion",
    "Problem",
    "ToolResult",
    "UnknownContent",
    "WireModel",
    "problems",
    "validator_of",
]
