"""Types as dataclasses, with functions that read and write them, without dependencies."""

from .target import TARGET

__all__ = ["TARGET"]
