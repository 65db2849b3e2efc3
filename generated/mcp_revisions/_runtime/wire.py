"""The building blocks of generated models, in one place to import from."""

from .adjusting import Implied, Nullable
from .model import SUPPLIED, WireModel, validator_of
from .pointers import Problem, problems
from .scalars import Exact, Integer, Number
from .unions import OpenUnion, UnknownContent

__all__ = [
    "SUPPLIED",
    "Exact",
    "Implied",
    "Integer",
    "Nullable",
    "Number",
    "OpenUnion",
    "Problem",
    "UnknownContent",
    "WireModel",
    "problems",
    "validator_of",
]
