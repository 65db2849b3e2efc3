"""JSON Schemas from types: those of Pydantic, without titles that only repeat a name."""

from collections.abc import Callable
from typing import Any, Final

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import CoreSchema

from ..core.json import JSONObject, is_object

_DEFS: Final = "#/$defs/"
_IGNORED: Final[set[JsonSchemaWarningKind]] = {"skipped-choice", "non-serializable-default"}


class PlainJsonSchema(GenerateJsonSchema):
    """Pydantic's generator, without what tells the reader nothing."""

    # A default without a JSON form is left out of the schema; the function still has it.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = _IGNORED

    def field_title_should_be_set(self, schema: CoreSchema | Any) -> bool:
        """Return False: the title would only repeat the name of the member."""
        return False

    def generate(self, schema: CoreSchema, mode: Any = "validation") -> JSONObject:
        """Return the schema of one type, with an object at its root if the type is one."""
        generated = super().generate(schema, mode)
        definitions: JSONObject = generated.get("$defs", {})
        for name, definition in definitions.items():
            _drop_title(definition, name)
        return _with_own_root(generated, definitions)


def _drop_title(schema: Any, name: str) -> None:
    # `module__Class` tells classes of the same name apart.
    if is_object(schema) and name.rpartition("__")[2] == schema.get("title"):
        del schema["title"]


def _with_own_root(schema: JSONObject, definitions: JSONObject) -> JSONObject:
    """Return the schema with the definition of its root in place of a reference to it.

    A type that refers to itself gives such a reference.
    """
    target = schema.get("$ref")
    if not isinstance(target, str) or not target.startswith(_DEFS):
        return schema
    own: JSONObject = definitions[target.removeprefix(_DEFS)]
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return {**own, **beside}


def plain(generate: Callable[..., JSONObject], where: str, **options: Any) -> JSONObject:
    """Return the schema that `model_json_schema` or `TypeAdapter.json_schema` makes.

    Raises `TypeError` if the type has none.
    """
    try:
        schema = generate(schema_generator=PlainJsonSchema, **options)
    except PydanticInvalidForJsonSchema as error:
        raise TypeError(f"{where}: {error.message}") from error
    schema.pop("title", None)
    return schema
