"""Types of JSON Schema that Python lacks."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, get_args, get_origin

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, ValidationError
from pydantic_core import core_schema as cs

from ..json import is_object
from .base import WireModel


def _to_integer(number: float) -> int:
    if not number.is_integer():
        raise ValueError("not a whole number")
    return int(number)


class _Numeric(NamedTuple):
    """A mark for numbers. The integer arm comes first: a strict float would turn 3 into 3.0."""

    whole: bool

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        number: CoreSchema = cs.float_schema(strict=True, allow_inf_nan=False)
        if self.whole:
            number = cs.no_info_after_validator_function(_to_integer, number)
        return cs.union_schema(
            [cs.int_schema(strict=True), number],
            mode="left_to_right",
            custom_error_type="int_type" if self.whole else "number_type",
            custom_error_message=None if self.whole else "Input should be a valid number",
            serialization=cs.simple_ser_schema("int") if self.whole else None,
        )


Integer: TypeAlias = Annotated[int, _Numeric(whole=True)]
"""A whole number; `1.0` on the wire is read as 1."""

Number: TypeAlias = Annotated[int | float, _Numeric(whole=False)]
"""A finite number; it stays an int or a float."""


class Exact:
    """A mark for constants that include a boolean, 0 or 1: `Annotated[Literal[True], Exact]`.

    In Python true equals 1. In JSON it does not, but 1.0 equals 1.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        constants = get_args(source)
        return cs.no_info_before_validator_function(
            _literal_check(constants), cs.literal_schema([*constants])
        )


def _literal_check(constants: tuple[Any, ...]) -> Callable[[Any], Any]:
    table = {(isinstance(constant, bool), constant): constant for constant in constants}
    expected = {"expected": " or ".join(map(repr, constants))}

    def check(value: Any) -> Any:
        if isinstance(value, str | int | float):
            match = table.get((isinstance(value, bool), value))
            if match is not None:
                return match
        raise PydanticCustomError("literal_error", "Input should be {expected}", expected)

    return check


class UnknownContent(WireModel):
    """A content block of a kind unknown to this revision, with its members as extras."""

    type: str


class OpenUnion(NamedTuple):
    """A mark for a union of models, told apart by the member `tag`, that accepts unknown tags.

    `Annotated[TextContent | ImageContent | UnknownContent, OpenUnion("type")]`: the arm without a
    constant tag takes every other tag, and is written back unchanged.
    """

    tag: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schemas: dict[str, CoreSchema] = {}
        fallback: CoreSchema | None = None
        for arm in get_args(source):
            tags = _tags(arm, self.tag)
            schema = handler.generate_schema(arm)
            schemas |= dict.fromkeys(tags, schema)
            fallback = fallback if tags else schema
        if fallback is None or not schemas:
            raise TypeError(f"an open union needs arms with a constant {self.tag}, and one without")
        # Instances are written by their own class, which is fast, and right for subclasses.
        return cs.union_schema(
            [
                (cs.tagged_union_schema(schemas, self.tag), f"({self.tag})"),
                cs.no_info_wrap_validator_function(_unknown_only(self.tag, schemas), fallback),
            ],
            mode="left_to_right",
            serialization=cs.simple_ser_schema("any"),
        )


def _tags(arm: type[WireModel], tag: str) -> tuple[str, ...]:
    for name, field in arm.__pydantic_fields__.items():
        if (field.alias or name) == tag and get_origin(field.annotation) is Literal:
            return get_args(field.annotation)
    return ()


def _unknown_only(
    tag: str, schemas: dict[str, CoreSchema]
) -> Callable[[Any, cs.ValidatorFunctionWrapHandler], Any]:
    def validate(value: Any, handler: cs.ValidatorFunctionWrapHandler) -> Any:
        kind = value.get(tag) if is_object(value) else getattr(value, tag, None)
        if not isinstance(kind, str) or kind in schemas:
            # The known arms have reported the problems: an error without lines adds nothing.
            raise ValidationError.from_exception_data("unknown", [])
        return handler(value)

    return validate
