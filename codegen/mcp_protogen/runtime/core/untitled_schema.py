"""Adapters and JSON Schemas of users' types."""

from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import CoreSchema, PydanticSerializationError, SchemaError

from .models.base import BUILDING
from .sendable import Unsendable, check_finite

_IGNORED: Final[set[JsonSchemaWarningKind]] = {"skipped-choice", "non-serializable-default"}

UNFIT_TYPE: Final = (PydanticUserError, SchemaError, NameError, TypeError, ValueError)
"""Raised by Pydantic for unsupported types, and for constraints that do not apply."""


def unfit_type(wrong: str, error: Exception) -> TypeError:
    return TypeError(f"{wrong}: " + str(error).partition("\n")[0])


def adapter_of(kind: Any, wrong: str) -> TypeAdapter[Any]:
    """Return the adapter of a type; raise a `TypeError` that begins with `wrong`."""
    try:
        with BUILDING:
            adapter: TypeAdapter[Any] = TypeAdapter(kind)
            adapter.rebuild()
            return adapter
    except UNFIT_TYPE as error:
        raise unfit_type(wrong, error) from error


class UntitledJsonSchema(GenerateJsonSchema):
    """Pydantic's generator, without titles that only repeat a name."""

    # Defaults that JSON lacks are left out of the schema.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = _IGNORED

    def field_title_should_be_set(self, schema: CoreSchema | Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        encoded = super().encode_default(dft)
        try:
            check_finite(encoded)
        except Unsendable as error:
            raise PydanticSerializationError(str(error)) from error
        return encoded
