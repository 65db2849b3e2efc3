"""The facts that vectors must show of a schema, and those that values show: read from the schema.

This shares no code with the generator of vectors. A fact is a tuple: its kind, and its pointer in
the schema.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator
from mcp_protogen.base import jsonpointer

Json = dict[str, Any]
Fact = tuple[str, ...]

_CONSTRAINTS = {
    "additionalProperties",
    "const",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "type",
    "uniqueItems",
}
_KINDS = ("array", "boolean", "null", "number", "object", "string")
_BOUNDS = {"maxItems", "maximum", "minItems", "minimum"}
_SCHEMAS = ("items", "additionalProperties")
_IS_ARM = re.compile(r"/(anyOf|oneOf)/\d+$")
_LISTS = ("allOf", "anyOf", "oneOf")


class Document:
    """A patched schema, read place by place; `names` restricts it to some definitions."""

    def __init__(self, schema: Json, names: Iterable[str] | None = None) -> None:
        self.schema = schema
        self.names = sorted(schema["$defs"] if names is None else names)
        self._validators: dict[str, Any] = {}

    def accepts(self, pointer: str, value: Any) -> bool:
        """Whether the schema at a pointer accepts a value."""
        if pointer not in self._validators:
            whole = {**self.schema, "$ref": f"#{pointer}"}
            self._validators[pointer] = Draft202012Validator(whole)
        return bool(self._validators[pointer].is_valid(value))

    @cached_property
    def right(self) -> set[Fact]:
        """Yield every fact that a valid value must show."""
        return {fact for name in self.names for fact in self._right(f"/$defs/{name}")}

    @cached_property
    def wrong(self) -> set[Fact]:
        """Yield every keyword that an invalid value must violate."""
        return {fact for name in self.names for fact in self._wrong(f"/$defs/{name}")}

    def _right(self, pointer: str) -> Iterator[Fact]:
        schema = jsonpointer.get(self.schema, pointer)
        if pointer.count("/") == 2:
            yield ("definition", pointer)
        for name in schema.get("properties", {}):
            member = f"{pointer}/properties/{jsonpointer.escape(name)}"
            yield ("present", member)
            if name not in schema.get("required", ()):
                yield ("absent", member)
        for keyword in ("anyOf", "oneOf", "enum"):
            for index in range(len(schema.get(keyword, ()))):
                yield ("alternative", f"{pointer}/{keyword}/{index}")
        # One undeclared member is enough where any is allowed.
        if "type" in schema or not pointer.endswith("/additionalProperties"):
            for kind in _kinds(schema):
                yield ("kind", pointer, kind)
        for keyword in sorted(_BOUNDS & schema.keys()):
            yield ("met", f"{pointer}/{keyword}")
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            yield ("undeclared", pointer)
        for inner in _inner(schema, pointer):
            yield from self._right(inner)

    def _wrong(self, pointer: str) -> Iterator[Fact]:
        schema = jsonpointer.get(self.schema, pointer)
        for keyword in sorted(_CONSTRAINTS & schema.keys()):
            if keyword != "additionalProperties" or schema[keyword] is False:
                yield ("violated", f"{pointer}/{keyword}")
        for name in schema.get("required", ()):
            yield ("missing", f"{pointer}/required", name)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield ("violated", f"{pointer}/{keyword}")
        for inner in _inner(schema, pointer):
            yield from self._wrong(inner)

    def facts_of(self, pointer: str, value: Any) -> Iterator[Fact]:
        """Yield the facts of the schema at a pointer that a valid value shows."""
        schema = jsonpointer.get(self.schema, pointer)
        if schema is True:
            return
        if pointer.count("/") == 2:
            yield ("definition", pointer)
        if "$ref" in schema:
            yield from self.facts_of(schema["$ref"].removeprefix("#"), value)
        for index, constant in enumerate(schema.get("enum", ())):
            if constant == value:
                yield ("alternative", f"{pointer}/enum/{index}")
        for kind in _kinds(schema):
            if is_of_kind(value, kind):
                yield ("kind", pointer, kind)
        for keyword in sorted(_BOUNDS & schema.keys()):
            if schema[keyword] == (len(value) if keyword.endswith("Items") else value):
                yield ("met", f"{pointer}/{keyword}")
        for number in range(len(schema.get("allOf", ()))):
            yield from self.facts_of(f"{pointer}/allOf/{number}", value)
        for keyword in ("anyOf", "oneOf"):
            for index in range(len(schema.get(keyword, ()))):
                arm = f"{pointer}/{keyword}/{index}"
                if self.accepts(arm, value):
                    yield ("alternative", arm)
                    yield from self.facts_of(arm, value)
        if isinstance(value, dict):
            yield from self._members(schema, pointer, value)  # pyright: ignore
        if isinstance(value, list) and "items" in schema:
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                yield from self.facts_of(f"{pointer}/items", item)

    def _members(self, schema: Json, pointer: str, value: Json) -> Iterator[Fact]:
        declared = schema.get("properties", {})
        for name in declared:
            member = f"{pointer}/properties/{jsonpointer.escape(name)}"
            if name in value:
                yield ("present", member)
                yield from self.facts_of(member, value[name])
            else:
                yield ("absent", member)
        if value.keys() - declared.keys():
            yield ("undeclared", pointer)
        if isinstance(schema.get("additionalProperties"), dict):
            for name in value.keys() - declared.keys():
                yield from self.facts_of(f"{pointer}/additionalProperties", value[name])

    def violations(self, schema: Json, value: Any) -> Iterator[tuple[Fact, str]]:
        """Yield the violations of an invalid value, in alternatives too, with their places."""
        validator: Any = Draft202012Validator({**self.schema, **schema})
        for error in validator.iter_errors(value):
            yield from self._of_error(error, schema)

    def _of_error(self, error: Any, schema: Json) -> Iterator[tuple[Fact, str]]:
        pointer = self._canonical(error.absolute_schema_path, schema)
        place = jsonpointer.join(*error.absolute_path)
        if error.validator == "required":
            for name in set(error.validator_value) - set(error.instance):
                yield ("missing", pointer, name), f"{place}/{jsonpointer.escape(name)}"
        elif error.validator == "additionalProperties":
            known = error.schema.get("properties", {})
            for name in set(error.instance) - set(known):
                yield ("violated", pointer), f"{place}/{jsonpointer.escape(name)}"
        else:
            yield ("violated", pointer), place
        for inner in error.context:
            yield from self._of_error(inner, schema)

    def _canonical(self, path: Any, schema: Json) -> str:
        """Return a path of keywords as a pointer into the document, following references."""
        here, pointer = {**self.schema, **schema}, ""
        for token in path:
            while "$ref" in here and token not in here:  # jsonschema leaves them out of paths
                pointer = here["$ref"].removeprefix("#")
                here = jsonpointer.get(self.schema, pointer)
            here = here[token]
            pointer += jsonpointer.join(token)
        return pointer

    def uses(self, name: str) -> Iterator[str]:
        """Return the definitions with required members that another definition refers to.

        Without alternatives: a value that is wrong for one may be right for another.
        """
        for pointer in self._below(f"/$defs/{name}"):
            ref = jsonpointer.get(self.schema, pointer).get("$ref", "").removeprefix("#")
            if ref and "required" in jsonpointer.get(self.schema, ref):
                yield ref

    def _below(self, pointer: str) -> Iterator[str]:
        yield pointer
        for inner in _inner(jsonpointer.get(self.schema, pointer), pointer):
            if not _IS_ARM.search(inner):
                yield from self._below(inner)


def is_of_kind(value: Any, kind: str) -> bool:
    """Return whether a value has a type of JSON Schema."""
    validator: Any = Draft202012Validator({"type": kind})
    return bool(validator.is_valid(value))


def _kinds(schema: Json) -> tuple[str, ...]:
    """Return every possible type of a value in a place."""
    if not schema.keys() - {"default", "description", "title"}:
        return _KINDS
    stated = schema.get("type")
    return tuple(stated) if isinstance(stated, list) else ()  # pyright: ignore


def _inner(schema: Json, pointer: str) -> Iterator[str]:
    for name in schema.get("properties", {}):
        yield f"{pointer}/properties/{jsonpointer.escape(name)}"
    for keyword in _SCHEMAS:
        if isinstance(schema.get(keyword), dict):
            yield f"{pointer}/{keyword}"
    for keyword in _LISTS:
        for index in range(len(schema.get(keyword, ()))):
            yield f"{pointer}/{keyword}/{index}"
