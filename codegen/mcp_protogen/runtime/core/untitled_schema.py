"""JSON Schemas of users' types, without noise."""

from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import CoreSchema, PydanticSerializationError

from .sendable import Unsendable, check_finite

_IGNORED: Final[set[JsonSchemaWarningKind]] = {"skipped-choice", "non-serializable-default"}


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
