"""The building blocks of generated models, in one place to import from."""

from .base import SUPPLIED, WireModel, validator_of
from .core_schema import Implied, Nullable
from .outcome import Outcome
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
    "Outcome",
    "Problem",
    "UnknownContent",
    "WireModel",
    "problems",
    "validator_of",
]
