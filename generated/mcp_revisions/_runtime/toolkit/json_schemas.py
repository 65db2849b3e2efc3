"""JSON Schemas from types: Pydantic's, without the titles that only repeat a name."""

from collections.abc import Callable
from typing import Any, Final

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import CoreSchema

from ..jsonvalue import JSONObject, is_object

_DEFS: Final = "#/$defs/"
_IGNORED: Final[set[JsonSchemaWarningKind]] = {"skipped-choice", "non-serializable-default"}


class PlainJsonSchema(GenerateJsonSchema):
    """What Pydantic generates, less what tells a reader nothing."""

    # A default without a JSON form is not described; the function has it all the same.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = _IGNORED

    def field_title_should_be_set(self, schema: CoreSchema | Any) -> bool:
        """Never: what a member is called says as much."""
        return False

    def generate(self, schema: CoreSchema, mode: Any = "validation") -> JSONObject:
        """The schema of one type, an object at its root wherever the type is one."""
        generated = super().generate(schema, mode)
        definitions: JSONObject = generated.get("$defs", {})
        for name, definition in definitions.items():
            _drop_title(definition, name)
        return _with_own_root(generated, definitions)


def _drop_title(schema: Any, name: str) -> None:
    # Classes of the same name in two modules are told apart by `module__Class`.
    if is_object(schema) and name.rpartition("__")[2] == schema.get("title"):
        del schema["title"]


def _with_own_root(schema: JSONObject, definitions: JSONObject) -> JSONObject:
    """The same schema, with what a type that refers to itself is, in place of a reference to it."""
    target = schema.get("$ref")
    if not isinstance(target, str) or not target.startswith(_DEFS):
        return schema
    own: JSONObject = definitions[target.removeprefix(_DEFS)]
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return {**own, **beside}


def plain(generate: Callable[..., JSONObject], where: str, **options: Any) -> JSONObject:
    """What `model_json_schema` or `TypeAdapter.json_schema` gives; `TypeError` if it has none."""
    try:
        schema = generate(schema_generator=PlainJsonSchema, **options)
    except PydanticInvalidForJsonSchema as error:
        raise TypeError(f"{where}: {error.message}") from error
    schema.pop("title", None)
    return schema
