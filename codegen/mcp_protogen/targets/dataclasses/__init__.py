"""Types as dataclasses, with functions that read and write them; all without any dependency."""

from .target import TARGET

__all__ = ["TARGET"]
