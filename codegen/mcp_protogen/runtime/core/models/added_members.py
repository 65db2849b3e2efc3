"""Models with the members that extensions add to types of a revision."""

from collections.abc import Iterable
from copy import copy
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import create_model

from .base import WireModel

Added = tuple[type[WireModel], ...]
"""Subclasses of a revision's classes with additional members."""


def with_members(cls: Any, added: Added) -> Any:
    """Return a subclass of `cls` that also reads added members, its own or nested ones.

    If nothing is added, return `cls`.
    """
    if classes := [subclass for subclass in added if cls in subclass.__bases__]:
        return classes[0] if len(classes) == 1 else type(cls.__name__, tuple(classes), {})
    cls.model_rebuild()
    fields: dict[str, Any] = {}
    for name, field in cls.__pydantic_fields__.items():
        kind = _annotation(field.annotation, added)
        if kind is not field.annotation:
            fields[name] = (kind, copy(field))
    return create_model(cls.__name__, __base__=cls, **fields) if fields else cls


def _annotation(kind: Any, added: Added) -> Any:
    if isinstance(kind, type) and any(kind in subclass.__bases__ for subclass in added):
        return with_members(kind, added)
    arms = get_args(kind)
    new_arms = tuple(_annotation(arm, added) for arm in arms)
    if all(old is new for old, new in zip(arms, new_arms, strict=True)):
        return kind
    origin: Any = get_origin(kind)
    if origin is UnionType:
        origin = Union
    return origin[new_arms]


def narrow_to(model: Any, classes: Iterable[type[Any]]) -> Any:
    """Return a model converted to one of `classes`; other models are unchanged.

    A class writes the declared members of its members' classes, and leaves out those of subclasses.
    """
    for cls in classes:
        if isinstance(model, cls):
            wire = model.__pydantic_serializer__.to_python(
                model, mode="json", by_alias=True, exclude_unset=True, serialize_as_any=True
            )
            return cls.from_wire(wire)
    return model
