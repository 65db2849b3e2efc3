"""Numbers and constants of JSON Schema as Python types.

JSON has one number type. An `Integer` is a number without a fraction, however it is written. A
`Number` keeps its form, so that 3 does not come back as 3.0. Neither accepts a boolean, a string,
NaN or an infinity.
"""

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core import core_schema as cs


def _whole(number: float) -> int:
    if not number.is_integer():
        raise ValueError("not a whole number")
    return int(number)


class _WholeNumber:
    """An integer, for which `1.0` is valid too; that is checked only if the strict check fails."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        written_with_fraction = cs.no_info_after_validator_function(
            _whole, cs.float_schema(strict=True, allow_inf_nan=False)
        )
        return cs.union_schema(
            [cs.int_schema(strict=True), written_with_fraction],
            mode="left_to_right",
            custom_error_type="int_type",
            serialization=cs.simple_ser_schema("int"),
        )


class _AnyNumber:
    """A number; the integer arm comes first, because a strict float would turn 3 into 3.0."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return cs.union_schema(
            [cs.int_schema(strict=True), cs.float_schema(strict=True, allow_inf_nan=False)],
            mode="left_to_right",
            custom_error_type="number_type",
            custom_error_message="Input should be a valid number",
        )


class Exact:
    """A mark for constants that include a boolean, 0 or 1: `Annotated[Literal[True], Exact]`.

    In Python true equals 1. In JSON it does not, but 1.0 equals 1.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        constants = get_args(source)
        return cs.no_info_before_validator_function(
            _one_of(constants), cs.literal_schema([*constants])
        )


def _one_of(constants: tuple[Any, ...]) -> Callable[[Any], Any]:
    known = {(isinstance(constant, bool), constant): constant for constant in constants}
    expected = {"expected": " or ".join(map(repr, constants))}

    def check(value: Any) -> Any:
        if isinstance(value, str | int | float):
            found = known.get((isinstance(value, bool), value))
            if found is not None:
                return found
        raise PydanticCustomError("literal_error", "Input should be {expected}", expected)

    return check


Integer: TypeAlias = Annotated[int, _WholeNumber()]
"""A whole number; `1.0` on the wire is read as 1."""

Number: TypeAlias = Annotated[int | float, _AnyNumber()]
"""A finite number; it stays an int or a float, as written."""
