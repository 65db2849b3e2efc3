"""Everything the generated models are made of, in one place to import from."""

from .model import SUPPLIED, Implied, Nullable, WireModel, validator_of
from .pointers import Problem, problems
from .scalars import Integer, Number
from .unions import OpenUnion, UnknownContent

__all__ = [
    "SUPPLIED",
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
