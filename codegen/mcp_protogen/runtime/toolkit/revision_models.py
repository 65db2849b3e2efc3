"""The models of one revision for a toolkit, found in its method table."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache, cached_property
from types import ModuleType
from typing import Any, Final, TypeAlias, get_args

from ..core.copies import put
from ..core.errors import McpError
from ..core.json import JSONObject, read_json
from ..core.models.base import BUILDING, Validate, WireModel, places_of, validator_of
from ..core.spec import CALL_TOOL, LIST_TOOLS, AnyRequest
from ..core.value_paths import PathEntry, ToolPlaces, ValuePath
from ..messages.method_table import MethodTable
from ..messages.writing import classes_in

Models: TypeAlias = frozenset[type[WireModel]]
Kinds: TypeAlias = frozenset[str]

LISTS: Final[Mapping[str, str]] = {
    "tools": LIST_TOOLS,
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resource_templates": "resources/templates/list",
}
"""The first names of list methods, by kind of entry."""


class Media(ABC):
    """Content that a function returns in any revision: an image, a sound or a file."""

    @abstractmethod
    def block(self, kinds: Kinds) -> JSONObject: ...

    @abstractmethod
    def contents(self, uri: str) -> JSONObject: ...


class RevisionModels:
    def __init__(self, table: MethodTable) -> None:
        self._table = table
        self.rules = table.rules

    @cached_property
    def added_items(self) -> ModuleType | None:
        """The module that makes the items of an extension, if there is one."""
        return next((added.items() for added in self._table.extensions if added.items), None)

    def results(self, known_as: str) -> tuple[type[Any], ...]:
        spec: AnyRequest = self._table.spec_of(known_as)
        return spec.results

    def list(self, field: str) -> AnyRequest:
        spec: AnyRequest = self._table.spec_of(LISTS[field])
        return spec

    def entry(self, field: str) -> type[Any]:
        spec = self.list(field)
        if not spec.items:
            raise TypeError(f"nothing says where the result of {spec.method} has its items")
        return next(iter(_models_of(annotation_at(spec.results[0], (spec.items,)))))

    @cached_property
    def call_results(self) -> tuple[type[Any], ...]:
        return self.results(CALL_TOOL)

    @cached_property
    def places(self) -> ToolPlaces:
        """The places in results of tools; raise `TypeError` if they are unknown."""
        found = places_of(self.call_result)
        if not (found.content or found.structured):
            name = self.call_result.__name__
            wrong = f"nothing says where its {name} has what a tool returns"
            raise TypeError(f"a server of MCP {self._table.revision} cannot have tools: {wrong}")
        return found

    @cached_property
    def blocks(self) -> Models:
        content = self.places.content
        if content is None:
            return self.message_blocks
        return _models_of(annotation_at(self.call_result, content))

    @cached_property
    def call_result(self) -> type[Any]:
        return self.call_results[0]

    @cached_property
    def has_structured(self) -> bool:
        return self.places.structured is not None

    @cached_property
    def has_any_structured(self) -> bool:
        """Return whether structured content may be any JSON value."""
        structured = self.places.structured
        return structured is not None and annotation_at(self.call_result, structured) is Any

    @cached_property
    def message(self) -> type[Any]:
        (message,) = models_in(self.results("prompts/get")[0], "messages")
        return message

    @cached_property
    def message_blocks(self) -> Models:
        return models_in(self.message, "content")

    @cached_property
    def contents(self) -> Mapping[str, type[Any]]:
        found = models_in(self.results("resources/read")[0], "contents")
        members = ("text", "blob")
        return {name: model for model in found for name in members if name in fields_of(model)}

    @cached_property
    def _empty_result(self) -> tuple[Validate, JSONObject, ValuePath]:
        model: Any = self.call_result
        path = self.places.content or self.places.structured or ()
        return validator_of(model), model(**put({}, path, [])).to_wire(), path

    def text_result(self, text: str, *structured: Any) -> Any:
        has_blocks = self.places.content is not None
        return self.tool_result([text_block(text)] if has_blocks else text, *structured)

    def tool_result(self, content: Any, *structured: Any) -> Any:
        # Reading takes half the time of constructors.
        read, empty, path = self._empty_result
        wire = put(empty, path, content)
        for value in structured:
            wire = put(wire, self.places.structured or (), value)
        return read(wire)

    def not_found(self, uri: str, meant: str = "") -> McpError:
        return McpError(self.rules.resource_not_found, f"Resource not found{meant}", {"uri": uri})

    def read_result(self, members: bytes) -> Any:
        return self._empty_result[0](read_json(b"{%b}" % members))


revision_models: Final = cache(RevisionModels)


@cache
def kinds_of(blocks: Models) -> Kinds:
    types = (fields_of(block)["type"].annotation for block in blocks)
    return frozenset(name for type in types for name in get_args(type))


def text_block(text: str) -> JSONObject:
    return {"type": "text", "text": text}


def fields_of(model: type[WireModel]) -> Mapping[str, Any]:
    with BUILDING:
        model.model_rebuild()
    return model.__pydantic_fields__


def models_in(model: type[WireModel], field: str) -> Models:
    return _models_of(fields_of(model)[field].annotation)


def _models_of(expression: Any) -> Models:
    return frozenset(cls for cls in classes_in(expression) if issubclass(cls, WireModel))


def annotation_at(model: type[WireModel], path: ValuePath) -> Any:
    """Return the annotation of the value at a path in objects of a class."""
    found: Any = model
    for step in path:
        members = {
            cls: {field.alias or name: field.annotation for name, field in fields_of(cls).items()}
            for cls in _models_of(found)
        }
        if isinstance(step, PathEntry):
            found = next(cls for cls, own in members.items() if _may_have(own, step.constants))
        else:
            found = next(own[step] for own in members.values() if step in own)
    return found


def _may_have(annotations: Mapping[str, Any], constants: Mapping[str, Any]) -> bool:
    return annotations.keys() >= constants.keys() and all(
        value in (get_args(annotations[name]) or (value,)) for name, value in constants.items()
    )


def as_list(value: Any) -> list[Any]:
    many: bool = isinstance(value, (list, tuple))
    return [*value] if many else [value]
