"""Content unions that stay readable when a later revision adds an arm.

One member that every arm requires (`type`) tells the arms of such a union apart. A block with a
known tag is validated by the rules of its arm. A block with any other tag becomes the arm that
leaves the tag open, and is written back unchanged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, ValidationError
from pydantic_core import core_schema as cs

from ..json import is_object
from .base import WireModel


class UnknownContent(WireModel):
    """A content block of a kind that this revision does not know, with its members as extras."""

    type: str
    """The kind of block."""


@dataclass(frozen=True, slots=True)
class OpenUnion:
    """A mark of a union of models as discriminated by the member `tag`, and open to unknown tags.

    `Annotated[TextContent | ImageContent | UnknownContent, OpenUnion("type")]`: the arm whose tag
    is not a constant takes every tag that no other arm names.
    """

    tag: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        known: dict[str, CoreSchema] = {}
        fallback: CoreSchema | None = None
        for arm in get_args(source):
            tags = _tags(arm, self.tag)
            schema = handler.generate_schema(arm)
            known |= dict.fromkeys(tags, schema)
            fallback = fallback if tags else schema
        if fallback is None or not known:
            raise TypeError(f"an open union needs known arms and one without a constant {self.tag}")
        # A known tag is validated without Python code. Instances are written by their own class:
        # this is faster than a search for their arm, and right for subclasses.
        return cs.union_schema(
            [
                (cs.tagged_union_schema(known, self.tag), f"({self.tag})"),
                cs.no_info_wrap_validator_function(_unknown_only(self.tag, known), fallback),
            ],
            mode="left_to_right",
            serialization=cs.simple_ser_schema("any"),
        )


def _tags(arm: type[WireModel], tag: str) -> tuple[str, ...]:
    for name, field in arm.model_fields.items():
        if (field.alias or name) == tag and get_origin(field.annotation) is Literal:
            return get_args(field.annotation)
    return ()


def _unknown_only(
    tag: str, known: dict[str, CoreSchema]
) -> Callable[[Any, cs.ValidatorFunctionWrapHandler], Any]:
    def validate(value: Any, handler: cs.ValidatorFunctionWrapHandler) -> Any:
        found = value.get(tag) if is_object(value) else getattr(value, tag, None)
        if not isinstance(found, str) or found in known:
            # The known arms have already reported the problems: an error without lines adds
            # nothing.
            raise ValidationError.from_exception_data("unknown", [])
        return handler(value)

    return validate
